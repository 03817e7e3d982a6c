"""What is done on the console stands in one order with what Discord dates, whatever this machine's clock says."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from agentic.core.events.execution_events import InboxItem, Sort
from agentic.models.scripted.model import answer
from agentic.runtime.clock import SystemClock
from bot.threads.in_flight import id_at
from tests.unit.threads.house import ANN, Bench, house
from tests.waiting import eventually

DONE = answer("", ("finish", {"answer": "done"}))


def said(text: str, number: int, sort: Sort = "task") -> InboxItem:
    """A message, dated by its id."""
    now = SystemClock().now()
    return InboxItem(id=str(id_at(now) + number), thread="100", sort=sort, author=ANN, at=now, text=text)


def on_the_console(sort: Sort, off: float, text: str = "") -> InboxItem:
    """An act on a page, dated by a machine whose clock is off by so many seconds."""
    at = SystemClock().now() + timedelta(seconds=off)
    return InboxItem(id=f"page-{sort}{off}", thread="100", sort=sort, author=ANN, at=at, text=text)


@pytest.mark.parametrize("off", [0.0, 8.0, -8.0, 86_400.0])
async def test_a_stop_on_the_console_drops_what_was_queued_before_it_and_nothing_that_is_said_after_it(
    off: float,
) -> None:
    bench = Bench()
    bench.hold = asyncio.Event()
    script = [answer("", ("work", {})), DONE, DONE, DONE]
    async with house(script, bench=bench) as home:
        await home.threads.deliver(said("first", 1), guild="1")
        await bench.began.wait()
        await home.threads.deliver(said("second", 2, "queue"), guild="1")
        await home.threads.deliver(on_the_console("queue", off, "third"), guild="1")
        await home.threads.deliver(on_the_console("stop", off), guild="1")
        bench.hold.set()
        await home.threads.idle("100")
        receipt = await home.threads.deliver(said("fourth", 3), guild="1")
        assert receipt.accepted

        async def ended() -> list[str]:
            rows = await home.store.executions("100")
            return [row.task for row in rows] if all(row.finished for row in rows) and len(rows) > 1 else []

        assert await eventually(ended, "what was said after the stop has ended") == ["first", "fourth"]
        assert await home.store.pending("100") == []


@pytest.mark.parametrize("off", [8.0, -8.0])
async def test_what_is_queued_on_the_console_runs_in_the_order_in_which_it_came(off: float) -> None:
    bench = Bench()
    bench.hold = asyncio.Event()
    script = [answer("", ("work", {})), DONE, DONE, DONE]
    async with house(script, bench=bench) as home:
        await home.threads.deliver(said("first", 1), guild="1")
        await bench.began.wait()
        await home.threads.deliver(said("second", 2, "queue"), guild="1")
        await home.threads.deliver(on_the_console("queue", off, "third"), guild="1")
        await home.threads.deliver(said("fourth", 3, "queue"), guild="1")
        assert [item.text for item in await home.store.pending("100")] == ["second", "third", "fourth"]
        bench.hold.set()
        await home.threads.idle("100")


async def test_a_stop_on_the_console_comes_after_what_was_said_before_it_and_reached_only_another_process() -> None:
    bench = Bench()
    bench.hold = asyncio.Event()
    later = SystemClock().now() + timedelta(seconds=60)
    async with house([answer("", ("work", {})), DONE, DONE], bench=bench, discord_now=lambda: later) as home:
        await home.threads.deliver(said("first", 1), guild="1")
        await bench.began.wait()
        await home.threads.deliver(on_the_console("stop", 0.0), guild="1")
        before = said("second", 0).model_copy(update={"id": str(id_at(later - timedelta(seconds=1)))})
        assert not (await home.threads.deliver(before, guild="1")).accepted
        after = said("third", 0).model_copy(update={"id": str(id_at(later + timedelta(seconds=1)))})
        assert (await home.threads.deliver(after, guild="1")).accepted
        bench.hold.set()
        await home.threads.idle("100")
