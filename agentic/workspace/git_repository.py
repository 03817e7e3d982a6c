"""A git repository of the workspace, touched inside the sandbox only, and believed only by what its ids prove.

Nothing a repository brings along runs on the host, and what it could bring into a command of ours is switched off
(``own``).  What is offered is read on our side by the commit's id (``objects``); what a merge comes to is held against
that before the base branch moves.  The agent's commit is built beside the checkout with an index of its own, so at no moment
is anybody's branch, index or HEAD another than before; then the committed files become as they are on the base branch.  A
branch is merged and deleted by its commit, never by its name alone.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentic.core.events.execution_events import CommitCreated
from agentic.sandbox.protocol.results import ExecResult
from agentic.workspace.git_objects import (
    HASH,
    Change,
    GitProblem,
    Objects,
    TreeEntry,
    diffstat,
)
from agentic.workspace.workspace import RealWorld

SECONDS = 60.0
READ_BYTES = 4 * 1024 * 1024
OFFERED = re.compile(r"threadwright/[a-z0-9][a-z0-9-]{0,60}")
_BEGUN = " ".join(f'"$(git rev-parse --git-path {name})"' for name in ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE"))
"""What says that a merge is under way."""
_UNCHANGED = 42
_COMMIT = """set -e
index="$(git rev-parse --git-path {index})"; trap 'rm -f "$index" "$index.lock"' EXIT; rm -f "$index"
export GIT_INDEX_FILE="$index"
git read-tree {base}; git add -A -- {files}; tree="$(git write-tree)"
if [ "$tree" = "$(git rev-parse '{base}^{{tree}}')" ]; then exit 42; fi
commit="$(git commit-tree "$tree" -p {base} -m {message})"
git update-ref -m 'threadwright: commit' refs/heads/{branch} "$commit" {nothing}
"""


@dataclass(frozen=True, slots=True)
class Offered:
    """A commit on a branch of its own, and its difference to the base."""

    created: CommitCreated
    diff: str


class Repository:
    """The repository in ``folder`` of a world.  Raises ``GitProblem`` and what the world raises."""

    def __init__(self, world: RealWorld, folder: str = ".", by: str = "") -> None:
        self._world = world
        self._folder = folder or "."
        self._by = by
        self._objects = Objects(self._fetch)

    async def commit(self, offer: str, branch: str, message: str, files: Sequence[str]) -> Offered:
        """Put the files as they are now on a new branch, and make them in the work tree as they are on the base.

        Done again with the same branch, it goes on where it was cut off.
        """
        _valid(branch)
        base, head = await self._base()
        commit = await self._tip(branch)
        if not commit:
            await self._build(branch, head, message, files)
            commit = await self._tip(branch)
        else:
            head = await self._value(f"{commit}^")
        changes = await self._changes(head, commit)
        await self._as_in(head, changes)
        return await self._offered(offer, branch, commit, base, head, message, changes)

    async def merge(self, offer: CommitCreated) -> str:
        """Merge the offered commit into its base, without fast-forward; returns the base's new commit."""
        branch, commit, base = _valid(offer.branch), _commit(offer.commit), offer.base
        if await self._contains(base, commit):
            if await self._value("MERGE_HEAD") == commit:
                await self._git(f"rm -f {_BEGUN}")
            return await self._tip(base)
        await self._still_offered(branch, commit)
        current = await self._value_of("git symbolic-ref -q --short HEAD")
        if current != base:
            where = f"on `{current}`" if current else "not on a branch"
            raise GitProblem(
                f"The repository is {where}; it has to be on `{base}`. Ask me to switch to it, then decide again."
            )
        changes = await self._changes(offer.base_commit, commit)
        await self._clear(offer, changes)
        tip = await self._tip(base)
        ours = f"-c branch.{shlex.quote(base)}.mergeOptions="
        merged = await self._git(f"git {ours} merge --no-ff --no-commit --no-verify --no-edit {commit}")
        if not merged.ok:
            await self._call_off(base, merged)
        tree = await self._value_of("git write-tree")
        try:
            await self._merged_rightly(tip, tree, changes)
            return await self._move(base, tip, commit, tree, f"Merge branch '{branch}'")
        except GitProblem:
            await self._git("git merge --abort")
            raise

    async def delete(self, offer: CommitCreated) -> None:
        """Delete the offered branch, only as it was offered; one that is gone stays gone."""
        branch, commit = _valid(offer.branch), _commit(offer.commit)
        if not await self._tip(branch):
            return
        if await self._contains(offer.base, commit):
            raise GitProblem(f"`{branch}` was merged into `{offer.base}` already, so there is nothing to turn down.")
        await self._still_offered(branch, commit)
        if await self._value_of("git symbolic-ref -q --short HEAD") == branch:
            raise GitProblem(f"The repository is on `{branch}`. Ask me to switch to `{offer.base}`, then decide again.")
        deleted = await self._git(f"git update-ref -d refs/heads/{branch} {commit}")
        if not deleted.ok:
            raise GitProblem(f"`{branch}` could not be deleted: {_said(deleted)}")

    # --- parts of a commit ------------------------------------------------------------------------------------

    async def _base(self) -> tuple[str, str]:
        """The branch that is checked out, and its commit."""
        if await self._value_of("git rev-parse --git-dir") not in (".git", "/workspace/.git"):
            raise GitProblem(f"{self._folder} is not the root of a git repository.")
        head = await self._value("HEAD^{commit}")
        if not head:
            raise GitProblem(
                "The repository has no commit yet, so there is nothing to merge into. Make the first one with git."
            )
        base = await self._value_of("git symbolic-ref -q --short HEAD")
        if not base:
            raise GitProblem("No branch is checked out. Switch to the branch that the work is for, then commit.")
        if await self._value("MERGE_HEAD"):
            raise GitProblem("A merge is under way. End it (git merge --continue or --abort), then commit.")
        return base, head

    async def _build(self, branch: str, head: str, message: str, files: Sequence[str]) -> None:
        built = await self._git(
            _COMMIT.format(
                index=f"threadwright-{branch.rpartition('-')[2]}", base=head, branch=branch, nothing="0" * len(head),
                files=" ".join(shlex.quote(path) for path in files), message=shlex.quote(message),
            )
        )  # fmt: skip
        if built.exit_code == _UNCHANGED:
            raise GitProblem("None of these files differs from the last commit, so there is nothing to commit.")
        if not built.ok:
            raise GitProblem(f"git refused: {_said(built)}")

    async def _as_in(self, commit: str, changes: Sequence[Change]) -> None:
        """Make files in the index and the work tree as they are in a commit."""
        kept = [shlex.quote(change.path) for change in changes if change.old is not None]
        new = [change.path for change in changes if change.old is None]
        added = " ".join(map(shlex.quote, new))
        script = "set -e\n"
        if kept:
            script += f"git checkout -q {commit} -- {' '.join(kept)}\n"
        if new:
            script += f"git rm -q --cached -f --ignore-unmatch -- {added}\nrm -f -- {added}\n"
            folders = sorted({path.rpartition("/")[0] for path in new if "/" in path})
            script += "".join(f"rmdir -p -- {shlex.quote(folder)} 2>/dev/null || true\n" for folder in folders)
        done = await self._git(script)
        if not done.ok:
            raise GitProblem(f"The branch was made, but the files could not be restored to the base: {_said(done)}")

    async def _offered(
        self, offer: str, branch: str, commit: str, base: str, head: str, message: str, changes: Sequence[Change]
    ) -> Offered:
        shown = await self._objects.shown(changes)
        created = CommitCreated(
            offer=offer, branch=branch, commit=commit, base=base, base_commit=head, message=message,
            repository="" if self._folder == "." else self._folder,
            files=tuple(change.path for change in changes),
            insertions=sum(one.insertions for one in shown), deletions=sum(one.deletions for one in shown),
            diffstat=diffstat(changes, shown),
        )  # fmt: skip
        return Offered(created, "".join(one.text for one in shown))

    async def _changes(self, base: str, commit: str) -> list[Change]:
        """What a commit changes, which has to stand directly on its base, by nothing but the two ids."""
        offered = await self._objects.commit(_commit(commit))
        if len(offered.parents) != 1 or base not in ("", offered.parents[0]):
            raise GitProblem(f"{commit[:10]} is not one commit on top of its base. Ask me to make the change again.")
        before = await self._objects.commit(offered.parents[0])
        return await self._objects.difference(before.tree, offered.tree)

    # --- parts of a merge -------------------------------------------------------------------------------------

    async def _still_offered(self, branch: str, commit: str) -> None:
        tip = await self._tip(branch)
        if not tip:
            raise GitProblem(f"The branch `{branch}` is gone. Ask me to make the change again.")
        if tip != commit:
            raise GitProblem(
                f"`{branch}` has moved since it was offered, so nothing was done. Ask me to offer it again."
            )

    async def _clear(self, offer: CommitCreated, changes: Sequence[Change]) -> None:
        """Nothing in the work tree stands in the way; what a merge of ours left behind is called off first."""
        begun = await self._value("MERGE_HEAD")
        if begun == offer.commit:
            await self._git("git merge --abort")
        elif begun:
            raise GitProblem(
                "Another merge is under way in the repository. End it (git merge --abort), then decide again."
            )
        paths = " ".join(shlex.quote(change.path) for change in changes)
        dirty = set((await self._read(f"git diff --no-ext-diff --name-only -z HEAD -- {paths}")).split("\0"))
        dirty |= set((await self._read(f"git ls-files --others -z -- {paths}")).split("\0"))
        theirs = [path for path in sorted(dirty - {""}) if not await self._stands_as(offer.commit, path)]
        if theirs:
            names = ", ".join(f"`{path}`" for path in theirs[:8])
            raise GitProblem(
                f"These files have changes that are not committed, and the merge would overwrite them: {names}."
            )
        await self._as_in("HEAD", [change for change in changes if change.path in dirty])

    async def _merged_rightly(self, tip: str, tree: str, changes: Sequence[Change]) -> None:
        """What the merge comes to is the base with what was offered, and nothing else."""
        if not HASH.fullmatch(tree):
            raise GitProblem("git could not merge, and nothing was changed.")
        before = await self._objects.commit(_commit(tip))
        sides = {change.path: change for change in changes}
        came = {change.path: change for change in await self._objects.difference(before.tree, tree)}
        base_now = await self._standing(before.tree, sides.values())
        for path in came.keys() | sides.keys():
            offered = sides.get(path)
            stood = came[path].old if path in came else base_now.get(path)
            stands = came[path].new if path in came else stood
            if offered is None or not await self._is_merge(stood, stands, offered):
                raise GitProblem(f"The merge would not come to what was offered (`{path}`), so nothing was changed.")

    async def _standing(self, tree: str, changes: Iterable[Change]) -> dict[str, TreeEntry]:
        """What stands in a tree at the paths of changes."""
        return await self._objects.standing(tree, [change.path for change in changes])

    async def _is_merge(self, stood: TreeEntry | None, stands: TreeEntry | None, offered: Change) -> bool:
        """Whether ``stands`` is what the offered change makes of ``stood``."""
        if stood == offered.old:
            return stands == offered.new
        if stood == offered.new:
            return stands == stood
        if stood is None or stands is None or offered.new is None or stands.mode not in (stood.mode, offered.new.mode):
            return False
        ids = [side.id for side in (stood, stands, offered.old, offered.new) if side is not None]
        contents = await self._objects.contents(ids)
        if len(contents) < len(set(ids)):
            return False
        old = contents[offered.old.id] if offered.old is not None else b""
        texts = (contents[stood.id], contents[stands.id], old, contents[offered.new.id])
        return await asyncio.to_thread(_within_the_offer, *texts)

    async def _move(self, base: str, tip: str, commit: str, tree: str, message: str) -> str:
        """Commit the tree that was looked at, and move the base there from where it was."""
        made = await self._value_of(f"git commit-tree {tree} -p {tip} -p {commit} -m {shlex.quote(message)}")
        merge = await self._objects.commit(_commit(made))
        if (merge.tree, merge.parents) != (tree, (tip, commit)):
            raise GitProblem("git made another commit than was asked for, so nothing was changed.")
        ref = shlex.quote(f"refs/heads/{base}")
        moved = await self._git(f"git update-ref -m {shlex.quote(message)} {ref} {made} {tip} && rm -f {_BEGUN}")
        if not moved.ok:
            raise GitProblem(f"`{base}` moved meanwhile: {_said(moved)}")
        return made

    async def _stands_as(self, commit: str, path: str) -> bool:
        """Whether the work tree has the file as the commit does: a commit of ours that was cut off before its end."""
        quoted = shlex.quote(path)
        same = f'[ "$(git rev-parse -q --verify {commit}:{quoted})" = "$(git hash-object -- {quoted})" ]'
        return (await self._git(f"[ ! -L {quoted} ] && {same}")).ok

    async def _call_off(self, base: str, merged: ExecResult) -> None:
        """A merge that did not go through leaves nothing behind; what stood in its way is told."""
        fields = await self._read("git diff --name-only --diff-filter=U -z")
        conflicts = sorted({path for path in fields.split("\0") if path})
        if await self._value("MERGE_HEAD"):
            await self._git("git merge --abort")
        if not conflicts:
            raise GitProblem(f"git could not merge, and nothing was changed: {_said(merged)}")
        names = ", ".join(f"`{path}`" for path in conflicts[:12]) + (" and more" if len(conflicts) > 12 else "")
        raise GitProblem(
            f"The branch conflicts with `{base}` in {names}. The merge was called off and nothing was changed. "
            f"Ask me to bring the change onto the newest `{base}`, and I will offer it again."
        )

    async def _fetch(self, ids: Sequence[str]) -> bytes | None:
        wanted = "".join(f"{_commit(id)}\n" for id in ids).encode()
        read = await self._world.own(
            "git cat-file --batch 2>/dev/null",
            timeout=SECONDS,
            cwd=self._folder,
            stdin=wanted,
            cap=READ_BYTES,
            scan=False,
        )
        return None if read.truncated or read.killed_reason else read.output

    # --- git ----------------------------------------------------------------------------------------------------

    async def _contains(self, branch: str, commit: str) -> bool:
        tip = await self._tip(branch)
        return bool(tip) and (await self._git(f"git merge-base --is-ancestor {commit} {tip}")).ok

    async def _tip(self, branch: str) -> str:
        return await self._value(f"refs/heads/{branch}^{{commit}}")

    async def _value(self, revision: str) -> str:
        """A revision's hash, '' where there is none."""
        return await self._value_of(f"git rev-parse -q --verify --end-of-options {shlex.quote(revision)}")

    async def _value_of(self, script: str) -> str:
        result = await self._git(f"{script} 2>/dev/null")
        return result.text.strip() if result.ok else ""

    async def _read(self, script: str) -> str:
        result = await self._git(f"{script} 2>/dev/null")
        if not result.ok:
            raise GitProblem(f"git failed: {_said(result)}")
        return result.output.decode("utf-8", "replace")

    async def _git(self, script: str) -> ExecResult:
        result = await self._world.own(script, timeout=SECONDS, cwd=self._folder, by=self._by, cap=READ_BYTES)
        if result.exit_code == 127:
            raise GitProblem("git is not installed in the sandbox.")
        return result


def _valid(branch: str) -> str:
    if not OFFERED.fullmatch(branch):
        raise GitProblem(f"{branch!r} is no branch of mine.")
    return branch


def _commit(written: str) -> str:
    if not HASH.fullmatch(written):
        raise GitProblem(f"{written!r} is no commit.")
    return written


def _within_the_offer(stood: bytes, stands: bytes, old: bytes, new: bytes) -> bool:
    """Whether a file changed on both sides gained and lost no line but those that the offered change gains and loses."""
    before, after, base, offered = (Counter(text.split(b"\n")) for text in (stood, stands, old, new))
    for line in after.keys() | before.keys():
        most, came = offered[line] - base[line], after[line] - before[line]
        if not min(0, most) <= came <= max(0, most):
            return False
    return True


def _said(result: ExecResult) -> str:
    """What git said, in a line."""
    if result.timed_out:
        return f"it took longer than {SECONDS:.0f} s"
    return " ".join(result.text.split())[-400:] or f"exit {result.exit_code}"
