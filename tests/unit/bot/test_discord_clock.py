"""The present by Discord's clock, as far as the ids of what came tell it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from agentic.core.events.execution_events import InboxItem, Person
from agentic.stores.sqlite.store import SQLiteStore
from bot.catch_up.discord_clock import DiscordClock
from bot.threads.in_flight import id_at
from tests.stores import fresh_store

NOON = datetime(2031, 5, 1, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


async def waiting(*ids_and_times: tuple[str, datetime]) -> SQLiteStore:
    store = fresh_store()
    for id, time in ids_and_times:
        await store.put(InboxItem(id=id, thread="5", sort="queue", author=Person(id="7", name="Ann"), at=time))
    return store


async def test_the_newest_of_what_came_says_the_time_and_it_goes_on_from_there() -> None:
    seconds = [100.0]
    clock = DiscordClock(lambda: seconds[0])
    clock.saw(id_at(at(0)))
    seconds[0] += 60
    assert abs(clock.now() - at(1)) < timedelta(seconds=0.01)
    clock.saw(id_at(at(-30)))  # an old one that comes late
    assert abs(clock.now() - at(1)) < timedelta(seconds=0.01)
    clock.saw(id_at(at(3)))
    assert abs(clock.now() - at(3)) < timedelta(seconds=0.01)


async def test_what_comes_without_a_time_comes_after_all_that_waits() -> None:
    clock = DiscordClock(lambda: 0.0)
    store = await waiting(("a", at(1)), ("b", at(4)))
    about = str(id_at(at(2)))
    assert await clock.arrival(store, "5", about) > at(4)
    assert await clock.arrival(await waiting(), "5", about) == at(2)
    clock.saw(id_at(at(9)))
    assert await clock.arrival(store, "5", about) >= at(9)
    assert await clock.arrival(await waiting(), "5", "") >= at(9)


async def test_until_anything_came_it_goes_by_the_machines_clock() -> None:
    clock = DiscordClock()
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(minutes=1)
    assert abs(await clock.arrival(await waiting(), "5", "") - datetime.now(UTC)) < timedelta(minutes=1)
