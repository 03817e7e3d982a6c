"""Threads that are beginning go first, but only where the process is behind, and not for ever."""

from __future__ import annotations

import asyncio

from bot.sessions import slots
from bot.sessions.slots import Courtesy
from tests.waiting import eventually, loop_time

IN_TIME, BEHIND = slots.LATE / 4, slots.LATE * 2
"""Seconds of one pass of the event loop."""


def with_one_that_begins() -> Courtesy:
    polite = Courtesy()
    polite.begins("1")
    return polite


async def test_with_time_to_spare_nobody_waits_for_a_thread_that_begins() -> None:
    async with loop_time(IN_TIME) as time:
        await with_one_that_begins().give_way()
        assert time.passed < slots.LATE


async def test_a_process_that_is_behind_lets_the_beginning_go_first() -> None:
    polite = with_one_that_begins()
    async with loop_time(BEHIND) as time:
        waiting = asyncio.create_task(polite.give_way())
        await eventually(lambda: time.passed > slots.AT_MOST / 2)
        assert not waiting.done()
        polite.began("1")
        await waiting
        assert time.passed < slots.AT_MOST


async def test_nobody_waits_for_ever() -> None:
    async with loop_time(BEHIND) as time:
        await with_one_that_begins().give_way()
        assert slots.AT_MOST <= time.passed < 2 * slots.AT_MOST


async def test_where_nothing_begins_nobody_waits() -> None:
    async with loop_time(BEHIND) as time:
        await Courtesy().give_way()
        assert time.passed < slots.LATE
