"""A checkout of a mirror in a sandbox: made there, and what was committed in it taken out as a pack.

git touches the checkout inside the sandbox only.  What comes out is bytes of a bounded size, which are believed for
nothing: on our side they are unpacked into the mirror with every object checked.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from agentic.ports.errors import GitFailed, NotPublished
from agentic.remotes.host_git import MB
from agentic.remotes.mirror import BRANCH, Mirror
from agentic.sandbox.protocol.results import ExecResult
from agentic.sandbox.shown_mirror import CONFIGURATION, place_of
from agentic.workspace.workspace import RealWorld

CLONE_SECONDS = 600.0
PACK_SECONDS = 120.0
PACK_BYTES = 48 * MB
LISTED = 12
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_EMPTY = 41
_CLONE = """set -e
new=.threadwright-checkout unfinished=.git/threadwright-unfinished
rm -rf "$new"
if [ ! -f "$unfinished" ]; then
  if [ -n "$(ls -A . 2>/dev/null)" ]; then exit 41; fi
  place={place} configuration={configuration}
  if [ ! -d "$place" ]; then place={on_host} configuration={on_host_configuration}; fi
  unset GIT_CONFIG_NOSYSTEM; export GIT_CONFIG_SYSTEM="$configuration"
  git -c protocol.file.allow=always clone --quiet --no-hardlinks --no-checkout {branch} -- "$place" "$new"
  touch "$new/$unfinished"
  mv "$new/.git" .git; rmdir "$new"
fi
rm -f .git/index.lock
git remote set-url origin {web}
if git rev-parse -q --verify 'HEAD^{{commit}}' 2>/dev/null; then git reset --quiet --hard; fi
rm -f "$unfinished"
exec 2>/dev/null
if [ -f .gitmodules ] || git ls-files -s | grep -q '^160000'; then echo has-submodules; fi
if git ls-files -z | grep -zE '(^|/)[.]gitattributes$' | xargs -0 -r cat -- | grep -q 'filter=lfs'; then echo has-lfs; fi
"""
"""Cut off anywhere, it goes on where it was; what is there before that is nobody's yet."""
_LOOK = """exec 2>/dev/null
git rev-parse -q --verify 'HEAD^{commit}' || exit
git status --porcelain=v1 -z --untracked-files=normal --ignore-submodules=all
"""
_PACK = """head={head}
{{ echo "$head"; git cat-file --batch-check='%(objectname) %(objecttype)' | sed -n 's/^\\([0-9a-f]*\\) commit$/^\\1/p'; }} \\
  | git pack-objects --revs --thin --stdout --quiet --delta-base-offset 2>/dev/null
"""


@dataclass(frozen=True, slots=True)
class Checked:
    """How a checkout was made: its commit ('' where the repository is empty), and what is special about it."""

    commit: str
    submodules: bool = False
    lfs: bool = False


@dataclass(frozen=True, slots=True)
class AtWork:
    """The commit that is checked out, and files with changes that are in no commit."""

    commit: str
    open: tuple[str, ...] = ()


async def check_out(world: RealWorld, mirror: Mirror, web: str, branch: str) -> Checked | None:
    """Clone a mirror into an empty workspace; None where the workspace is not empty.  Raises ``GitFailed``."""
    if branch and not BRANCH.fullmatch(branch):
        raise GitFailed(f"{branch[:60]!r} is no name of a branch.")
    place = place_of(mirror.folder)
    script = _CLONE.format(
        place=shlex.quote(place), configuration=shlex.quote(f"{place}/{CONFIGURATION}"), web=shlex.quote(web),
        on_host=shlex.quote(str(mirror.folder)),
        on_host_configuration=shlex.quote(f"{mirror.folder}/host.{CONFIGURATION}"),
        branch=f"--branch {shlex.quote(branch)}" if branch else "",
    )  # fmt: skip
    done = await world.own(script, timeout=CLONE_SECONDS, cap=MB)
    if done.exit_code == _EMPTY:
        return None
    if not done.ok:
        raise GitFailed(f"The repository could not be checked out: {_said(done)}")
    lines = done.text.split()
    commit = next((line for line in lines if _HASH.fullmatch(line)), "")
    return Checked(commit, "has-submodules" in lines, "has-lfs" in lines)


async def at_work(world: RealWorld, folder: str) -> AtWork:
    """What stands in a checkout.  Raises ``NotPublished`` where there is no commit."""
    look = await world.own(_LOOK, timeout=60.0, cwd=folder, cap=MB, scan=False)
    head, _, rest = look.output.decode("utf-8", "replace").partition("\n")
    if not _HASH.fullmatch(head):
        raise NotPublished(f"There is no repository with a commit in {folder}. Clone it there, or name its folder.")
    return AtWork(head, tuple(line[3:] for line in rest.split("\0") if len(line) > 3)[:LISTED])


async def packed(world: RealWorld, folder: str, commit: str, known: Sequence[str]) -> bytes:
    """A pack of what a commit needs beyond commits that are ``known`` on our side.  Raises ``NotPublished``."""
    stdin = "".join(f"{each}\n" for each in known).encode()
    script = _PACK.format(head=shlex.quote(commit))
    made = await world.own(script, timeout=PACK_SECONDS, cwd=folder, stdin=stdin, cap=PACK_BYTES, scan=False)
    if made.truncated or made.killed_reason:
        raise NotPublished(
            f"The commits hold more than {PACK_BYTES // MB} MB, which is as much as I publish at once. Leave large files out."
        )
    at = made.output.find(b"PACK")
    if not made.ok or at < 0:
        raise GitFailed(f"The commits could not be read: {_said(made)}")
    return made.output[at:]


def _said(result: ExecResult) -> str:
    if result.timed_out:
        return "it took too long"
    return " ".join(result.text.split())[-300:] or f"exit {result.exit_code}"
