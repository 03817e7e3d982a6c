"""Which logs stay in memory, and what a reading that is broken off leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import cast

import pytest

from agentic.core.events.execution_events import Envelope
from agentic.core.fold.fold import evolve, fold
from agentic.core.state.execution import Execution
from agentic.ports.runtime import ExecutionRow, Store
from bot.console.logs import log_cache, task_log
from bot.console.logs.log_cache import LogCache
from bot.rendering.secrets import Discretion
from tests.integration.console.logs import THREAD, enveloped, events, started


class Shelf:
    """A store with logs; ``read_after`` has what was asked for; a reading waits before the event ``halts_at`` for ever."""

    def __init__(self, **logs: Sequence[Envelope]) -> None:
        self.logs = logs
        self.read_after: list[tuple[str, int]] = []
        self.halts_at = 0
        self.halted = asyncio.Event()
        self.mark: str | None = None

    async def execution(self, execution: str) -> ExecutionRow:
        return ExecutionRow(execution, THREAD, "Fix", len(self.logs[execution]))

    async def fact(self, key: str) -> str | None:
        return self.mark

    async def session(self, thread: str) -> None:
        return None

    async def read(self, execution: str, after: int) -> AsyncIterator[Envelope]:
        self.read_after.append((execution, after))
        for envelope in self.logs[execution][after:]:
            if envelope.seq == self.halts_at:
                self.halted.set()
                await asyncio.Event().wait()
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


async def test_a_reading_that_is_broken_off_is_continued_where_it_was() -> None:
    shelf = Shelf(a=enveloped("a", events(60)))
    cache = shelf.cache()
    shelf.halts_at = 250
    reading = asyncio.create_task(cache.task("a"))
    async with asyncio.timeout(60):
        await shelf.halted.wait()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    shelf.halts_at = 0
    log = await cache.task("a")
    assert shelf.read_after == [("a", 0), ("a", 200)]
    assert log is not None
    assert [each.seq for each in log.events] == list(range(1, len(shelf.logs["a"]) + 1))
    assert [turn.number for turn in log.story.turns] == list(range(61))
    assert log.ended


async def test_a_log_that_a_fault_left_half_taken_in_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(a=enveloped("a", events(60)))
    cache = shelf.cache()
    with monkeypatch.context() as broken:
        broken.setattr(task_log, "evolve", _fails_at(150))
        with pytest.raises(ValueError, match="bad"):
            await cache.task("a")
    log = await cache.task("a")
    assert log is not None
    assert log.folded == fold(shelf.logs["a"])


def _fails_at(seq: int) -> Callable[[Execution, Envelope], Execution]:
    def failing(state: Execution, envelope: Envelope) -> Execution:
        if envelope.seq == seq:
            raise ValueError("bad")
        return evolve(state, envelope)

    return failing
