"""A posted message is kept true: made anew when what it is about changed, also by the next process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.errors import StoreUnavailable
from agentic.ports.runtime import OutboxRow
from agentic.stores.sqlite.store import SQLiteStore
from bot.messages.question_text import Standing
from bot.outbound.discord_api import ARCHIVED, Gone, Held
from bot.outbound.live import live_message
from bot.outbound.live.live_message import LiveMessages, View
from tests.stores import fresh_store
from tests.waiting import eventually

FACT = "things.due"
KEY = "x1.3.0"


class Place:
    """Where messages stand; what is in ``refusals`` meets the next edits."""

    def __init__(self, *refusals: Exception) -> None:
        self.refusals = list(refusals)
        self.tried = 0
        self.edits: list[str] = []
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    async def show_question(self, item: OutboxItem, message: str, content: str | None, standing: Standing) -> None:
        self.tried += 1
        await self.goes_on.wait()
        if self.refusals:
            raise self.refusals.pop(0)
        self.edits.append(content or "")


class Fact:
    """What the message is about."""

    def __init__(self, words: str, *, final: bool = True) -> None:
        self.words, self.final = words, final
        self.settled_with: list[str | None] = []

    async def view(self, row: OutboxRow) -> View:
        return View(self.words, Standing(), self.final)

    async def settled(self, item: OutboxItem, view: View) -> None:
        self.settled_with.append(view.content)


async def posted(store: SQLiteStore) -> SQLiteStore:
    """A store in which the message stands in a thread."""
    await store.put_outbox([OutboxItem(key=KEY, thread="900", execution="x1", sort="notice", text="before")])
    await store.delivered(KEY, ["77"])
    return store


@asynccontextmanager
async def running(live: LiveMessages, place: Place) -> AsyncGenerator[None]:
    task = asyncio.create_task(live.run(place))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_many_changes_while_an_edit_is_under_way_become_one_more_edit() -> None:
    fact, place = Fact("one"), Place()
    live = LiveMessages("thing", await posted(fresh_store()), fact)
    place.goes_on.clear()
    async with running(live, place):
        live.changed(KEY)
        await eventually(lambda: place.tried == 1)
        for words in ("two", "three", "four"):
            fact.words = words
            live.changed(KEY)
        place.goes_on.set()
        await eventually(lambda: not live.waits(KEY))
    assert place.edits == ["one", "four"]


async def test_what_discord_puts_off_is_tried_again_with_what_is_true_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_message, "LONGEST_WAIT", 0.0)
    fact, place = Fact("one"), Place(Held("no right", 60.0), Held("no right", 60.0))
    live = LiveMessages("thing", await posted(fresh_store()), fact)
    place.goes_on.clear()
    async with running(live, place):
        live.changed(KEY)
        await eventually(lambda: place.tried == 1)
        fact.words = "two"
        place.goes_on.set()
        await eventually(lambda: place.edits)
    assert (place.tried, place.edits) == (3, ["two"])


async def test_a_message_is_tried_until_it_is_true_however_long_that_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """After many refusals, and where the store is silent, without a restart and without another change."""
    monkeypatch.setattr(live_message, "LONGEST_WAIT", 0.0)

    class Silent(Fact):
        left = 12

        async def view(self, row: OutboxRow) -> View:
            self.left -= 1
            if self.left >= 0:
                raise StoreUnavailable("the store is silent")
            return await super().view(row)

    place = Place(*(Held("no network", 60.0) for _ in range(12)))
    live = LiveMessages("thing", await posted(fresh_store()), Silent("one"))
    async with running(live, place):
        live.changed(KEY)
        await eventually(lambda: place.edits)
    assert (place.tried, place.edits) == (13, ["one"])


async def test_what_is_posted_only_after_many_looks_is_made_true_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_message, "LONGEST_WAIT", 0.0)
    monkeypatch.setattr(live_message, "PAUSE", 0.0)

    class Counted(SQLiteStore):
        reads = 0

        async def outbox_row(self, key: str) -> OutboxRow | None:
            self.reads += 1
            return await super().outbox_row(key)

    store, place = fresh_store(Counted), Place()
    await store.put_outbox([OutboxItem(key=KEY, thread="900", execution="x1", sort="notice", text="before")])
    live = LiveMessages("thing", store, Fact("one"))
    async with running(live, place):
        live.changed(KEY)
        await eventually(lambda: store.reads > live_message.LOOKS + 1)
        await store.delivered(KEY, ["77"])
        await eventually(lambda: place.edits)
    assert place.edits == ["one"]


async def test_tries_grow_rarer_and_a_change_tries_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    place = Place(*(Held("no network", 2.0) for _ in range(12)))
    live = LiveMessages("thing", await posted(fresh_store()), Fact("one"))
    async with running(live, place):
        loop = asyncio.get_running_loop()
        later = loop.call_later

        def noted(seconds: float, act: object, *more: object) -> asyncio.TimerHandle:
            if act == live.changed:
                waits.append(seconds)
            return later(seconds, act, *more)  # type: ignore[arg-type]

        monkeypatch.setattr(loop, "call_later", noted)
        for n in range(12):
            live.changed(KEY)
            await eventually(lambda n=n: len(waits) == n + 1)
            assert live.waits(KEY)
        live.changed(KEY)
        await eventually(lambda: place.edits)
    assert waits == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0, 300.0, 300.0, 300.0]


async def test_of_too_many_that_wait_the_one_that_waits_longest_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_message, "MOST_WAITING", 1)
    store = await posted(fresh_store())
    await store.put_outbox([OutboxItem(key="x2.3.0", thread="900", execution="x2", sort="notice", text="before")])
    await store.delivered("x2.3.0", ["78"])
    place = Place(Held("no network", 60.0), Held("no network", 60.0))
    live = LiveMessages("thing", store, Fact("one"))
    async with running(live, place):
        live.changed(KEY)
        await eventually(lambda: place.tried == 1 and KEY in live._later)  # pyright: ignore[reportPrivateUsage]
        live.changed("x2.3.0")
        await eventually(lambda: place.tried == 2 and not live.waits(KEY))
        assert live.waits("x2.3.0")


async def test_what_a_process_noted_is_shown_by_the_next_though_the_store_is_silent_at_its_start() -> None:
    class Silent(SQLiteStore):
        left = 2

        async def fact(self, key: str) -> str | None:
            self.left -= key == FACT
            if key == FACT and self.left >= 0:
                raise StoreUnavailable("the store is silent")
            return await super().fact(key)

    store = await posted(fresh_store(Silent))
    await store.set_fact(FACT, json.dumps([KEY]))
    place = Place()
    async with running(LiveMessages("thing", store, Fact("one"), FACT), place):
        await eventually(lambda: place.edits)
    assert place.edits == ["one"]


async def test_a_message_in_an_archived_thread_waits_until_that_thread_is_used_again() -> None:
    fact, place = Fact("one"), Place(Held("archived", 60.0, ARCHIVED))
    live = LiveMessages("thing", await posted(fresh_store()), fact)
    async with running(live, place):
        live.changed(KEY)
        await eventually(lambda: place.tried == 1 and not place.refusals)
        live.awoken("901")
        assert live.waits(KEY)
        assert place.edits == []
        live.awoken("900")
        await eventually(lambda: place.edits)
    assert place.edits == ["one"]


async def test_a_change_that_one_process_noted_is_shown_by_the_next() -> None:
    store = await posted(fresh_store())
    await LiveMessages("thing", store, Fact("one"), FACT).expect(KEY)
    fact, place = Fact("two"), Place()
    async with running(LiveMessages("thing", store, fact, FACT), place):
        await eventually(lambda: fact.settled_with)
    assert place.edits == ["two"]
    assert json.loads(await store.fact(FACT) or "") == []


async def test_what_an_older_version_noted_with_more_than_the_key_is_shown_too() -> None:
    store = await posted(fresh_store())
    await store.set_fact(FACT, json.dumps({KEY: ["x1", "q1"]}))
    place = Place()
    async with running(LiveMessages("thing", store, Fact("one"), FACT), place):
        await eventually(lambda: place.edits)
    assert place.edits == ["one"]


async def test_a_message_that_may_change_again_stays_noted_and_one_that_was_deleted_does_not() -> None:
    store = await posted(fresh_store())
    fact, place = Fact("one", final=False), Place()
    live = LiveMessages("thing", store, fact, FACT)
    await live.expect(KEY)
    async with running(live, place):
        await eventually(lambda: place.edits and not live.waits(KEY))
        assert json.loads(await store.fact(FACT) or "") == [KEY]
        place.refusals.append(Gone())
        live.changed(KEY)
        await eventually(lambda: fact.settled_with)
        await eventually(lambda: not live.waits(KEY))
    assert json.loads(await store.fact(FACT) or "") == []
