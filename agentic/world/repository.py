"""A git repository of the workspace, touched inside the sandbox only.

Nothing a repository brings along runs on the host, and what it could bring into a command of ours is switched off: hooks,
fsmonitor, signing, editors, pagers, external diffs.  The agent's commit is built beside the checkout with an index of its
own, so at no moment is anybody's branch, index or HEAD another than before; then the committed files become as they are
on the base branch.  A branch is merged and deleted by its commit, never by its name alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from agentic.core.events import CommitCreated
from agentic.core.lazy_dataclass import dataclass
from agentic.world.real import RealWorld
from agentic.world.results import ExecResult

SECONDS = 60.0
READ_BYTES = 4 * 1024 * 1024
OFFERED = re.compile(r"threadwright/[a-z0-9][a-z0-9-]{0,60}")
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.editor=false", "core.pager=cat", "core.quotePath=false",
    "commit.gpgSign=false", "merge.autoStash=false", "merge.verifySignatures=false", "rerere.enabled=false",
    "gc.auto=0", "maintenance.auto=false", "protocol.allow=never", "submodule.recurse=false", "safe.directory=*",
)  # fmt: skip
_ENVIRONMENT = (
    "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_LITERAL_PATHSPECS=1",
    "GIT_AUTHOR_NAME=Threadwright", "GIT_AUTHOR_EMAIL=threadwright@users.noreply.invalid",
    "GIT_COMMITTER_NAME=Threadwright", "GIT_COMMITTER_EMAIL=threadwright@users.noreply.invalid", "LC_ALL=C.UTF-8",
)  # fmt: skip
_GIT = " ".join(["git", *(f"-c {shlex.quote(setting)}" for setting in _SETTINGS)])
_PRELUDE = (
    f'unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE; export {" ".join(_ENVIRONMENT)}; git() {{ command {_GIT} "$@"; }}\n'
)
_UNCHANGED = 42
_COMMIT = """set -e
index="$(git rev-parse --git-path {index})"; trap 'rm -f "$index" "$index.lock"' EXIT; rm -f "$index"
export GIT_INDEX_FILE="$index"
git read-tree {base}; git add -A -- {files}; tree="$(git write-tree)"
if [ "$tree" = "$(git rev-parse '{base}^{{tree}}')" ]; then exit 42; fi
commit="$(git commit-tree "$tree" -p {base} -m {message})"
git update-ref -m 'threadwright: commit' refs/heads/{branch} "$commit" {nothing}
"""


class GitProblem(Exception):
    """It was not done, and nothing was changed; the text says why and what to do."""


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
        changed = await self._changed(head, commit)
        await self._as_in(head, changed)
        return await self._offered(offer, branch, commit, base, head, message)

    async def merge(self, offer: CommitCreated) -> str:
        """Merge the offered commit into its base, without fast-forward; returns the base's new commit."""
        branch, commit, base = _valid(offer.branch), _commit(offer.commit), offer.base
        if await self._contains(base, commit):
            return await self._tip(base)
        await self._still_offered(branch, commit)
        current = await self._value_of("git symbolic-ref -q --short HEAD")
        if current != base:
            where = f"on `{current}`" if current else "not on a branch"
            raise GitProblem(
                f"The repository is {where}; it has to be on `{base}`. Ask me to switch to it, then decide again."
            )
        await self._clear(offer)
        words = f"Merge branch '{branch}'"
        merged = await self._git(f"git merge --no-ff --no-verify --no-edit -m {shlex.quote(words)} {commit}")
        if not merged.ok:
            await self._call_off(base, merged)
        return await self._tip(base)

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

    async def _as_in(self, commit: str, changes: Sequence[tuple[str, str]]) -> None:
        """Make files in the index and the work tree as they are in a commit."""
        kept = [shlex.quote(path) for letter, path in changes if letter != "A"]
        added = [shlex.quote(path) for letter, path in changes if letter == "A"]
        script = "set -e\n"
        if kept:
            script += f"git checkout -q {commit} -- {' '.join(kept)}\n"
        if added:
            script += f"git rm -q --cached -f --ignore-unmatch -- {' '.join(added)}\nrm -f -- {' '.join(added)}\n"
            folders = sorted({path.rpartition("/")[0] for letter, path in changes if letter == "A" and "/" in path})
            script += "".join(f"rmdir -p -- {shlex.quote(folder)} 2>/dev/null || true\n" for folder in folders)
        done = await self._git(script)
        if not done.ok:
            raise GitProblem(f"The branch was made, but its files could not be put back as on the base: {_said(done)}")

    async def _offered(self, offer: str, branch: str, commit: str, base: str, head: str, message: str) -> Offered:
        between = f"--no-color --no-ext-diff --no-textconv --no-renames {head} {commit}"
        numbers = (await self._read(f"git diff --numstat -z {between}")).split("\0")
        rows = [row.split("\t", 2) for row in numbers if row.count("\t") >= 2]
        created = CommitCreated(
            offer=offer, branch=branch, commit=commit, base=base, base_commit=head, message=message,
            repository="" if self._folder == "." else self._folder,
            files=tuple(path for _, _, path in rows),
            insertions=sum(int(more) for more, _, _ in rows if more.isdecimal()),
            deletions=sum(int(less) for _, less, _ in rows if less.isdecimal()),
            diffstat=(await self._read(f"git diff --stat=72 --stat-count=20 {between}")).rstrip(),
        )  # fmt: skip
        return Offered(created, await self._read(f"git diff {between}"))

    async def _changed(self, base: str, commit: str) -> list[tuple[str, str]]:
        """(letter, path) of each file that differs."""
        fields = (await self._read(f"git diff --name-status -z --no-renames {base} {commit}")).split("\0")
        return list(zip(fields[0::2], fields[1::2], strict=False))

    # --- parts of a merge -------------------------------------------------------------------------------------

    async def _still_offered(self, branch: str, commit: str) -> None:
        tip = await self._tip(branch)
        if not tip:
            raise GitProblem(f"The branch `{branch}` is gone. Ask me to make the change again.")
        if tip != commit:
            raise GitProblem(
                f"`{branch}` has moved since it was offered, so nothing was done. Ask me to offer it again."
            )

    async def _clear(self, offer: CommitCreated) -> None:
        """Nothing in the work tree stands in the way; what a merge of ours left behind is called off first."""
        begun = await self._value("MERGE_HEAD")
        if begun == offer.commit:
            await self._git("git merge --abort")
        elif begun:
            raise GitProblem(
                "Another merge is under way in the repository. End it (git merge --abort), then decide again."
            )
        changed = await self._changed(offer.base_commit or f"{offer.commit}^", offer.commit)
        paths = " ".join(shlex.quote(path) for _, path in changed)
        dirty = set((await self._read(f"git diff --name-only -z HEAD -- {paths}")).split("\0"))
        dirty |= set((await self._read(f"git ls-files --others -z -- {paths}")).split("\0"))
        theirs = [path for path in sorted(dirty - {""}) if not await self._stands_as(offer.commit, path)]
        if theirs:
            names = ", ".join(f"`{path}`" for path in theirs[:8])
            raise GitProblem(
                f"These files have changes that are not committed, and the merge would overwrite them: {names}."
            )
        await self._as_in("HEAD", [(letter, path) for letter, path in changed if path in dirty])

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
        result = await self._world.exec(
            _PRELUDE + script, timeout=SECONDS, cwd=self._folder, by=self._by, cap=READ_BYTES
        )
        if result.exit_code == 127:
            raise GitProblem("git is not installed in the sandbox.")
        return result


def _valid(branch: str) -> str:
    if not OFFERED.fullmatch(branch):
        raise GitProblem(f"{branch!r} is no branch of mine.")
    return branch


def _commit(written: str) -> str:
    if not _HASH.fullmatch(written):
        raise GitProblem(f"{written!r} is no commit.")
    return written


def _said(result: ExecResult) -> str:
    """What git said, in a line."""
    if result.timed_out:
        return f"it took longer than {SECONDS:.0f} s"
    return " ".join(result.text.split())[-400:] or f"exit {result.exit_code}"
