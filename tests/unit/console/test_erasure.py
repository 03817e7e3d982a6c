"""What was erased is in nothing that the console keeps, however it was kept."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import InputReceived, Person
from bot.console.logs.log_cache import LogCache
from bot.console.logs.sent_requests import SentRequests
from bot.console.logs.task_log import TaskLog
from bot.console.overall.task_summaries import TaskSummaries
from bot.rendering.secrets import Discretion
from bot.retention.expiry import Retention, forget_logs
from bot.retention.personal_data import PersonalData
from tests.integration.console import logs
from tests.stores import fresh_store

BOB = Person(id="8", name="Bob Miller", level="executor")
SAID = InputReceived(inbox="m1", sort="guidance", author=BOB, text="my phone is 555-0199")
OWN = "2575491652707942400"
"""A thread of Bob's own."""


def words(log: TaskLog | None) -> str:
    assert log is not None
    kept = [each.model_dump_json() for each in (*log.events, *log.outcome)]
    return "".join((*kept, log.row.task, str(log.session), str(log.story.turns)))


async def test_nothing_that_is_kept_survives_an_erasure() -> None:
    store = fresh_store()
    cache, requests = LogCache(store, Discretion()), SentRequests(store)
    summaries = TaskSummaries(store, cache, lambda model, used: None)
    others = [logs.started(), logs.triaged(), *logs.turn(1), SAID, *logs.turn(2), *logs.end()]
    await store.release(await logs.written(store, "others", others))
    own = [logs.started("Look for Bob", requester=BOB, thread=OWN), *logs.turn(1), *logs.end()]
    await store.release(await logs.written(store, "own", own, thread=OWN))
    before = await cache.task("others")
    assert before is not None
    assert "555-0199" in words(before)
    second = len(others) - len(logs.end()) - len(logs.turn(2)) + 1
    (sent,) = await requests.of(before, [second])
    assert "555-0199" in str(sent.messages)
    await summaries.read(await summaries.since(logs.BEGAN), 5.0)
    assert summaries.latest("own") is not None

    await PersonalData(store, None, Retention(store, 0)).erase("8", "Bob Miller")
    after = await cache.task("others")
    assert after is not None
    assert "555-0199" not in words(after)
    assert "Bob" not in words(after)
    assert "555-0199" not in str((await requests.of(after, [second]))[0].messages)
    rows = await summaries.since(logs.BEGAN)
    assert [row.execution for row in rows] == ["others"]
    await summaries.read(rows, 5.0)
    assert summaries.latest("own") is None
    assert await cache.task("own") is None
    await summaries.close()


async def test_a_thread_that_is_forgotten_leaves_what_is_kept_too() -> None:
    store = fresh_store()
    cache = LogCache(store, Discretion())
    await store.release(await logs.written(store, "e", logs.events(1)))
    log = await cache.task("e")
    mark = cache.mark
    await forget_logs(store, logs.THREAD, "bot-1")
    assert await cache.task("e") is None
    assert log is not None
    assert await cache.look() != mark


async def test_a_log_that_was_being_read_meanwhile_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The erasure comes between the look and the end of the reading."""
    store = fresh_store()
    cache = LogCache(store, Discretion())
    others = [logs.started(), logs.triaged(), *logs.turn(1), SAID, *logs.end()]
    await store.release(await logs.written(store, "others", others))
    session = store.session

    async def slow(thread: str) -> object:
        monkeypatch.setattr(store, "session", session)
        await PersonalData(store, None, Retention(store, 0)).erase("8", "Bob Miller")
        await cache.look()
        return await session(thread)

    monkeypatch.setattr(store, "session", slow)
    first = await cache.task("others")
    assert await cache.task("others") is not first
