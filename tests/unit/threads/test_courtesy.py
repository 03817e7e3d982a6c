"""Threads that are beginning go first, but only where the process is behind, and not for ever."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from bot.sessions import slots
from bot.sessions.slots import Courtesy


async def keep_busy(each: float) -> None:
    """An event loop that is always late."""
    while True:
        time.sleep(each)
        await asyncio.sleep(0)


@pytest.fixture
async def late_loop() -> AsyncIterator[None]:
    task = asyncio.create_task(keep_busy(0.05))
    yield
    task.cancel()


async def test_with_time_to_spare_nobody_waits_for_a_thread_that_begins() -> None:
    polite = Courtesy()
    polite.begins("1")
    async with asyncio.timeout(slots.AT_MOST / 2):
        await polite.give_way()


@pytest.mark.usefixtures("late_loop")
async def test_a_process_that_is_behind_lets_the_beginning_go_first() -> None:
    polite = Courtesy()
    polite.begins("1")
    waiting = asyncio.create_task(polite.give_way())
    await asyncio.sleep(0.3)
    assert not waiting.done()
    polite.began("1")
    async with asyncio.timeout(slots.AT_MOST / 2):
        await waiting


@pytest.mark.usefixtures("late_loop")
async def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "AT_MOST", 0.3)
    polite = Courtesy()
    polite.begins("1")
    async with asyncio.timeout(20):
        await polite.give_way()


@pytest.mark.usefixtures("late_loop")
async def test_where_nothing_begins_nobody_waits() -> None:
    await asyncio.wait_for(Courtesy().give_way(), 5)
