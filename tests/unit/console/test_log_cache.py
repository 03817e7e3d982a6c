"""Which logs stay in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import cast

import pytest

from agentic.core.events.execution_events import Envelope
from agentic.ports.runtime import ExecutionRow, Store
from bot.console.logs import log_cache
from bot.console.logs.log_cache import LogCache
from bot.rendering.secrets import Discretion
from tests.integration.console.logs import THREAD, enveloped, started


class Shelf:
    """A store with logs; ``read_after`` has what was asked for."""

    def __init__(self, **logs: Sequence[Envelope]) -> None:
        self.logs = logs
        self.read_after: list[tuple[str, int]] = []

    async def execution(self, execution: str) -> ExecutionRow:
        return ExecutionRow(execution, THREAD, "Fix", len(self.logs[execution]))

    async def session(self, thread: str) -> None:
        return None

    async def read(self, execution: str, after: int) -> AsyncIterator[Envelope]:
        self.read_after.append((execution, after))
        for envelope in self.logs[execution][after:]:
            yield envelope

    def cache(self) -> LogCache:
        return LogCache(cast("Store", self), Discretion())


async def test_logs_with_too_much_text_go_and_one_that_is_held_is_not_read_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_cache, "CHARACTERS_KEPT", 2_500)
    shelf = Shelf(**{name: enveloped(name, [started(name * 1_000)]) for name in "abc"})
    cache = shelf.cache()
    held = await cache.task("a")
    for name in "bcbac":
        await cache.task(name)
    assert shelf.read_after == [(name, 0) for name in "abcc"]
    assert await cache.task("a") is held
    assert held is not None
    assert 1_000 < held.size < 1_500
