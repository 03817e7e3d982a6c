"""What a thread costs while nothing is done in it: all that ever were are known, so it has to be little."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from agentic.ports.runtime import SessionRow
from bot.bells import Bell
from bot.sessions.dependencies import Ground
from bot.sessions.session import Session

THREADS, MOST = 2_000, 3_000
"""Bytes of a session with its row, as docs/ARCHITECTURE.md says."""
BELLS = pytest.mark.parametrize("kind", [asyncio.Event, Bell])


async def serve(_: Session) -> None:
    raise AssertionError("nothing is to be done")


def session(number: int) -> Session:
    now = datetime.now(UTC)
    row = SessionRow(str(10**18 + number), str(10**18), str(10**18 + 1), f"Fix the export, number {number}", now, now)
    return Session(row, cast(Ground, None), serve)


def test_a_session_in_which_nothing_runs_costs_what_is_said_of_it() -> None:
    kept = [session(0)]
    gc.collect()
    tracemalloc.start()
    try:
        kept += [session(number) for number in range(THREADS)]
        gc.collect()
        bytes_each = tracemalloc.get_traced_memory()[0] / THREADS
    finally:
        tracemalloc.stop()
    assert bytes_each < MOST
    told = (Path(__file__).parents[3] / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert f"{MOST:,} bytes" in told


@BELLS
async def test_a_bell_wakes_all_who_wait_also_if_it_is_cleared_at_once(kind: type[asyncio.Event]) -> None:
    bell = kind()
    waiting = [asyncio.create_task(bell.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    bell.set()
    bell.clear()
    assert await asyncio.gather(*waiting) == [True, True, True]
    assert not bell.is_set()


@BELLS
async def test_a_bell_that_was_rung_keeps_nobody_waiting_until_it_is_cleared(kind: type[asyncio.Event]) -> None:
    bell = kind()
    bell.set()
    bell.set()
    async with asyncio.timeout(10):
        assert await bell.wait()
    bell.clear()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await bell.wait()


@BELLS
async def test_who_gives_up_waiting_takes_no_ring_from_others(kind: type[asyncio.Event]) -> None:
    bell = kind()
    first, second = (asyncio.create_task(bell.wait()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    bell.set()
    async with asyncio.timeout(10):
        assert await second
    assert first.cancelled()
    bell.clear()
    again = asyncio.create_task(bell.wait())
    await asyncio.sleep(0)
    assert not again.done(), "nothing of who gave up is left"
    bell.set()
    assert await again
