"""``commit``: put finished work on a branch of its own, which the person merges or deletes.

The tool exists only where the workspace holds a git repository (``repositories_in``), which is checked when an
execution begins, so that its tools stay the same.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

from pydantic import Field

from agentic.core.events.execution_events import BlobRef
from agentic.ports.runtime import Observation
from agentic.tools.base.observation import failed
from agentic.tools.base.paths import FilePath, FolderPath
from agentic.tools.base.terminal_text import visible
from agentic.tools.base.tool import Arguments, CallContext, Tool
from agentic.workspace.git_repository import GitProblem, Offered, Repository

_UNFIT = re.compile(r"[^a-z0-9]+")
FILES = 300
SLUG_CHARACTERS = 40
DIFF_BYTES = 2 * 1024 * 1024
SECONDS = 180.0


class CommitArguments(Arguments):
    """What goes onto the branch, and how it is described."""

    message: str = Field(
        min_length=1, max_length=4_000, description="Commit message: one line what, then, if needed, why."
    )
    files: tuple[FilePath, ...] = Field(
        min_length=1,
        max_length=FILES,
        description="Every file that belongs to it, deleted ones too; paths from 'repository'.",
    )
    repository: FolderPath = Field(default=".", description="Folder of the repository, if not the workspace itself.")


async def _run(arguments: CommitArguments, call: CallContext) -> Observation:
    world = await call.world()
    mark = hashlib.sha256(call.id.encode()).hexdigest()[:8]
    repository = Repository(world.real, arguments.repository, by=world.model.agent)
    try:
        offered = await repository.commit(
            f"offer-{mark}", branch_for(arguments.message, mark), arguments.message, arguments.files
        )
    except GitProblem as problem:
        return failed(str(problem))
    return _observe(offered, (await world.seen(offered.diff)).text)


def _observe(offered: Offered, difference: str) -> Observation:
    diff = _bounded(difference.encode("utf-8", "replace"))
    kept = BlobRef(sha=hashlib.sha256(diff).hexdigest(), size=len(diff), media="text/x-diff")
    created = offered.created.model_copy(update={"diff": kept})
    told = (
        f"Committed to the branch {created.branch} and offered to the person, who decides about it: merge into"
        f" {created.base}, or delete. You do not merge it. The files below are again as they are on {created.base}.\n"
        f"{created.diffstat}"
    )
    return Observation("ok", visible(told), output=diff, events=(created,))


def _bounded(diff: bytes) -> bytes:
    """Cut a diff to what is stored, and say how much is missing."""
    if len(diff) <= DIFF_BYTES:
        return diff
    note = f"\n… {len(diff) - DIFF_BYTES} bytes more of this difference are not shown.\n".encode()
    return f"Only the beginning of {len(diff)} bytes is shown.\n".encode() + diff[:DIFF_BYTES] + note


def branch_for(message: str, mark: str) -> str:
    """Return ``threadwright/<first words>-<mark>``: letters, digits and dashes only."""
    words = _UNFIT.sub("-", message.strip().partition("\n")[0].lower()).strip("-")
    slug = words[:SLUG_CHARACTERS].rstrip("-") or "change"
    return f"threadwright/{slug}-{mark}"


def repositories_in(workspace: Path) -> tuple[str, ...]:
    """Return folders of the workspace, its root or just below, that are git repositories; links are not followed."""
    try:
        names = sorted(entry.name for entry in os.scandir(workspace) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return ()
    return tuple(name for name in (".", *names) if _is_repository(workspace / name / ".git"))


def _is_repository(folder: Path) -> bool:
    try:
        return stat.S_ISDIR(folder.lstat().st_mode)
    except OSError:
        return False


COMMIT_TOOL = Tool(
    name="commit",
    description=(
        "Offer finished work as a branch that the person merges or deletes. Only when they ask for a branch, a commit or a"
        " merge request; otherwise just change the files. Do it last, after the checks have passed: the named files are then"
        " put back as they are on the branch that is checked out, which is not touched. Do not create branches for this"
        " with shell, and do not merge."
    ),
    example=CommitArguments(
        message="Round prices half up\n\nBankers' rounding lost a cent.", files=("shop/price.py", "tests/test_price.py")
    ),
    act=_run,
    effect="keyed",
    permission="write",
    seconds=lambda _: SECONDS,
)
