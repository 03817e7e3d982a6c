"""What is told to open pages, and how often."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import cast

import pytest

from agentic.ports.errors import StoreUnavailable
from bot.console.logs import followers as module
from bot.console.logs.followers import RELOAD, RESTED_SECONDS, Followers, Watcher, event_of
from bot.console.logs.log_cache import LogCache
from bot.console.logs.task_log import TaskLog


@dataclass
class Growing:
    """A log, and the cache that has it, as far as followers look at them."""

    events: list[int] = field(default_factory=list[int])
    outcome: tuple[()] = ()
    ended: bool = False
    mark: str = ""
    gone: bool = False
    fails: list[Exception] = field(default_factory=list[Exception])
    """What the next looks end with."""

    async def task(self, execution: str) -> Growing | None:
        if self.fails:
            raise self.fails.pop(0)
        return None if self.gone else self


async def test_a_view_that_rests_is_told_of_the_last_change_once_it_is_due_and_all_who_watch_it_together() -> None:
    growing, now = Growing(), [10.2]
    followers = Followers(cast("LogCache", growing), 0.0, lambda: now[0])
    rendered: list[tuple[str, int]] = []

    def renders(name: str) -> None:
        def update(log: TaskLog, since: int) -> str:
            rendered.append((name, since))
            return f"{name} {len(log.events)}"

        followers.add_view(name, update, 1.0 if name == "slow" else 0.0)

    renders("quick")
    renders("slow")
    async with (
        followers.watching("e", "quick", 0) as quick,
        followers.watching("e", "slow", 0) as slow,
        followers.watching("e", "slow", 0) as slower,
    ):
        for one in (quick, slow, slower):
            assert await one.updates.get() is not None  # what the page lacked when it was opened
        assert rendered == [("quick", 0), ("slow", 0)]
        growing.events.append(1)
        assert [await one.updates.get() for one in (quick, slow, slower)] == [
            b"id: 1\ndata: quick 1\n\n", *[b"id: 1\ndata: slow 1\n\n"] * 2,
        ]  # fmt: skip
        for _ in range(3):
            growing.events.append(1)
            await quick.updates.get()
        assert (slow.updates.empty(), slower.updates.empty()) == (True, True)
        now[0] = 11.0  # the next full second, for all of them
        assert [await one.updates.get() for one in (slow, slower)] == [b"id: 4\ndata: slow 4\n\n"] * 2
        assert rendered[-1] == ("slow", 1)
        assert rendered.count(("slow", 1)) == 1


async def test_a_page_that_may_show_what_was_erased_or_deleted_loads_itself_and_no_other_one_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "RESTED_SECONDS", 0.0)
    growing = Growing([1], mark="m1")
    followers = Followers(cast("LogCache", growing), 0.0)
    followers.add_view("view", lambda log, since: f"{len(log.events)}")

    async def told(one: Watcher) -> list[bytes | None]:
        async with asyncio.timeout(60):
            return [await one.updates.get(), await one.updates.get()]

    async with followers.watching("e", "view", 0) as one:
        await one.updates.get()
        growing.mark = "m2"
        growing.events.append(2)
        assert await one.updates.get() == b"id: 2\ndata: 2\n\n", "a task that runs is not changed"
        growing.ended = True
        growing.events.append(3)
        assert await one.updates.get() == b"id: 3\ndata: 3\n\n", "and what it had said is still there once it ended"
        growing.mark = "m3"
        reload = event_of(RELOAD, 0)
        assert await told(one) == [reload, None]
        async with followers.watching("e", "view", 1, "m1") as late, followers.watching("e", "view", 0, "m3") as fresh:
            assert await told(late) == [reload, None]
            assert await fresh.updates.get() == b"id: 3\ndata: 3\n\n"
            growing.gone = True
            assert await told(fresh) == [reload, None]
    assert followers.watched == 0


async def test_a_fault_in_a_view_ends_nothing() -> None:
    growing = Growing([1])
    followers = Followers(cast("LogCache", growing), 0.0)

    def update(log: TaskLog, since: int) -> str:
        assert len(log.events) != 2
        return f"{len(log.events)} since {since}"

    followers.add_view("view", update)
    async with asyncio.timeout(60), followers.watching("e", "view", 0) as one:
        await one.updates.get()
        growing.events.append(2)
        while one.told != (2, 0):
            await asyncio.sleep(0)
        growing.events.append(3)
        assert await one.updates.get() == b"id: 3\ndata: 3 since 1\n\n"


async def test_a_log_that_cannot_be_read_is_said_once_until_it_can_and_is_followed_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    growing, rests = Growing(), list[float]()

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        turn = asyncio.Event()
        asyncio.get_running_loop().call_soon(turn.set)
        await turn.wait()

    monkeypatch.setattr(asyncio, "sleep", rest)
    followers = Followers(cast("LogCache", growing), 0.5)
    followers.add_view("view", lambda log, since: f"{len(log.events)}")

    async def news(one: Watcher, *fails: Exception) -> bytes | None:
        growing.fails += fails
        while growing.fails:
            await asyncio.sleep(0)
        growing.events.append(1)
        return await one.updates.get()

    async with asyncio.timeout(60), followers.watching("e", "view", 0) as one:
        await one.updates.get()
        await asyncio.sleep(0)
        first = await news(
            one, *(StoreUnavailable("away") for _ in range(3)), ValueError("odd"), StoreUnavailable("away")
        )
        assert first == b"id: 1\ndata: 1\n\n"
        assert await news(one, StoreUnavailable("away again")) == b"id: 2\ndata: 2\n\n"
    assert [(each.levelname, each.exc_info is not None) for each in caplog.records] == [
        ("WARNING", False), ("ERROR", True), ("WARNING", False),
    ]  # fmt: skip
    assert rests.count(RESTED_SECONDS) == 6


async def test_what_is_being_written_is_asked_for_once_for_all_pages_that_show_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WRITING_SECONDS", 0.0)
    growing, said, asked = Growing([1]), ["tick 1"], list[str]()

    async def newest(execution: str) -> str:
        asked.append(execution)
        return said[0] if execution else ""

    followers = Followers(cast("LogCache", growing), 0.0, newest=newest)
    for view in ("thoughts", "logs"):
        followers.add_view(view, lambda log, since: f"{len(log.events)}")
    tick = event_of("tick 1")
    async with asyncio.timeout(60), followers.watching("e", "logs", 0) as other:
        assert await other.updates.get() == event_of("1", 1)
        growing.events.append(2)
        assert await other.updates.get() == event_of("2", 2)
        assert asked == [], "nobody shows it"
        async with followers.watching("e", "thoughts", 0) as one:
            assert [await one.updates.get(), await one.updates.get()] == [event_of("2", 2), tick]
            async with followers.watching("e", "thoughts", 0) as late:
                assert [await late.updates.get(), await late.updates.get()] == [event_of("2", 2), tick]
                said[0] = "tick 2"
                assert [await one.updates.get(), await late.updates.get()] == [event_of("tick 2")] * 2
            growing.ended = True
            assert await one.updates.get() == event_of("")
        assert other.updates.empty()
