"""The agent: how it decides, what it acts on, and where its log is kept.  Knows nothing of Discord."""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType


def mend_timeouts() -> None:
    """Have ``asyncio.timeout`` end in ``TimeoutError`` within a task that was called off, too.

    In the first releases of Python 3.11, of which Debian 12 has one, it ends in ``CancelledError`` there: what cleans up
    after a stop (a kill that is not answered) is itself called off, and the command runs on.
    """
    begin, end = asyncio.Timeout.__aenter__, asyncio.Timeout.__aexit__

    async def entered(self: asyncio.Timeout) -> asyncio.Timeout:
        vars(self)["called_off"] = _called_off()
        return await begin(self)

    async def left(
        self: asyncio.Timeout, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> bool | None:
        outcome = await end(self, kind, error, at)
        if self.expired() and kind is asyncio.CancelledError and _called_off() <= vars(self)["called_off"]:
            raise TimeoutError from error
        return outcome

    for name, method in (("__aenter__", entered), ("__aexit__", left)):
        setattr(asyncio.Timeout, name, method)


def _called_off() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task is not None else 0


if sys.version_info < (3, 11, 4):
    mend_timeouts()
