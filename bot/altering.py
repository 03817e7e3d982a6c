"""What an execution changed, with the content before (from its checkpoint) and after (from the workspace)."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable

from agentic.errors import AgenticError
from bot.differences import Difference, difference
from bot.progress import Changed, Progress

COMPARED_AT_MOST = 20
COMPARE_BYTES = 256 * 1024
SECONDS = 5.0

FetchFile = Callable[[str, str], Awaitable[bytes | None]]
"""(thread, path in its workspace) -> content, None where there is no such file."""
FetchBefore = Callable[[str, str, str], Awaitable[bytes | None]]
"""(thread, checkpoint, path) -> content as it was then, None where that is not kept."""

log = logging.getLogger(__name__)


async def nothing_kept(thread: str, manifest: str, path: str) -> bytes | None:
    """For a bot without checkpoints."""
    return None


class Changes:
    """Reads both sides of what changed."""

    def __init__(self, before: FetchBefore, after: FetchFile) -> None:
        self._before, self._after = before, after

    async def of(self, progress: Progress) -> tuple[Difference, ...]:
        """The files an execution changed; compared as far as that is quickly done, and named in any case."""
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
