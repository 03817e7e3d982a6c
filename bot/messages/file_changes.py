"""The files an execution changed, with their content before (from its checkpoint) and after (from the workspace)."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agentic.ports.errors import AgenticError
from agentic.text.line_diff import unified_diff
from bot.progress.model import Changed, Progress
from bot.rendering.code_blocks import FENCE
from bot.rendering.discord_text import clean, inline

INLINE_LINES = 16
INLINE_CHARACTERS = 700
LINES_COMPARED = 2_000
"""Files with more lines are listed as changed, not compared."""
_MARK = 2


@dataclass(frozen=True, slots=True)
class Difference:
    """The change of one file; ``lines`` is a unified diff, empty where its content is not text, not known, or too long."""

    path: str
    kind: str
    added: int | None = None
    removed: int | None = None
    lines: tuple[str, ...] = ()


def difference(change: Changed, before: bytes | None, after: bytes | None) -> Difference:
    """Compare two contents of a file; None stands for a content that is not known."""
    old, new = _text(before if change.before else b""), _text(after if change.after else b"")
    if old is None or new is None or max(len(old), len(new)) > LINES_COMPARED:
        return Difference(change.path, change.kind)
    lines = tuple(line.rstrip("\n") for line in unified_diff(old, new, f"a/{change.path}", f"b/{change.path}", _MARK))
    body = lines[2:]
    return Difference(
        change.path,
        change.kind,
        sum(line.startswith("+") for line in body),
        sum(line.startswith("-") for line in body),
        lines,
    )


def change_line(each: Difference) -> str:
    """Return a file's name with its change: `a.py` +2 −1."""
    counts = [f"{sign}{number}" for sign, number in (("+", each.added), ("−", each.removed)) if number]
    words = {"added": "new", "deleted": "deleted"}.get(each.kind, "" if counts else "changed")
    return " ".join(filter(None, (inline(each.path, NAME_AT_MOST), words, *counts)))


def inline_diff(differences: Sequence[Difference]) -> str:
    """Return the changes as one code block where they are short enough for a message, else ''."""
    shown = [each for each in differences if each.kind in ("modified", "added")]
    if not shown or len(differences) > 2 or not all(each.lines for each in differences):
        return ""
    lines: list[str] = []
    for each in shown:
        lines += [f"--- {each.path}"] if len(shown) > 1 else []
        lines += _trimmed([line for line in each.lines[2:] if not line.startswith("@@")])
    if len(lines) > INLINE_LINES or sum(map(len, lines)) > INLINE_CHARACTERS:
        return ""
    return "\n".join([f"{FENCE}diff", clean("\n".join(lines)).replace(FENCE, "ˋˋˋ"), FENCE])


def _trimmed(lines: list[str]) -> list[str]:
    """Remove empty context lines around the changes."""
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def whole_diff(differences: Sequence[Difference]) -> bytes:
    """Return all changes as one patch."""
    return "".join("\n".join([*each.lines, ""]) for each in differences if each.lines).encode("utf-8", "replace")


def _text(content: bytes | None) -> list[str] | None:
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode().splitlines()
    except UnicodeDecodeError:
        return None


NAME_AT_MOST = 255
"""Characters of a path that are shown: a name is shown whole."""
COMPARED_AT_MOST = 20
COMPARE_BYTES = 256 * 1024
SECONDS = 5.0

FetchFile = Callable[[str, str], Awaitable[bytes | None]]
"""(thread, path in its workspace) -> content, None where there is no such file."""
FetchBefore = Callable[[str, str, str], Awaitable[bytes | None]]
"""(thread, checkpoint, path) -> content at that checkpoint, None where it is not kept."""

log = logging.getLogger(__name__)


async def nothing_kept(thread: str, manifest: str, path: str) -> bytes | None:
    """Return None: for a bot without checkpoints."""
    return None


class Changes:
    """Reads both contents of changed files."""

    def __init__(self, before: FetchBefore, after: FetchFile) -> None:
        self._before, self._after = before, after

    async def of(self, progress: Progress) -> tuple[Difference, ...]:
        """Return the files that an execution changed, compared as far as that is quick; all are named."""
        found = {change.path: Difference(change.path, change.kind) for change in progress.changed}
        try:
            async with asyncio.timeout(SECONDS):
                for change in progress.changed[:COMPARED_AT_MOST]:
                    found[change.path] = await self._compared(progress, change)
        except (AgenticError, OSError) as error:
            log.info("the changes of %s are named, not shown: %s", progress.execution, error or "it takes too long")
        return tuple(found.values())

    async def _compared(self, progress: Progress, change: Changed) -> Difference:
        before = after = b""
        if change.before:
            manifest = progress.checkpoint
            before = await self._before(progress.thread, manifest, change.path) if manifest else None
        if change.after:
            after = await self._after(progress.thread, change.path)
        if after and _is_hash(change.after) and hashlib.sha256(after).hexdigest() != change.after:
            after = None  # it was changed again since
        if before is None or after is None or max(len(before), len(after)) > COMPARE_BYTES:
            return Difference(change.path, change.kind)
        return await asyncio.to_thread(difference, change, before, after)


def _is_hash(text: str) -> bool:
    return len(text) == 64
