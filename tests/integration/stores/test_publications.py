"""What waits for targets outside: from which event on, in which order, and that nothing is passed over or comes later."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from agentic.core.events.execution_events import (
    BranchMerged,
    Envelope,
    Event,
    FeedbackGiven,
    Finished,
    Noted,
    Reported,
    Triaged,
)
from agentic.ports.runtime import LogEntry, Store
from agentic.stores.factory import store_maintenance
from agentic.stores.sqlite.file.connection import connect
from tests.integration.stores.samples import ANNA, NOW, begin, envelopes, extend, finish, notes, sqlite, take

DAMAGED = "UPDATE events SET event = replace(event, 'coder', 'other') WHERE seq = 2"


def places(entries: Sequence[LogEntry]) -> list[str]:
    """Which events these are."""
    return [f"{e.envelope.execution}/{e.envelope.seq} {e.envelope.event.kind}" for e in entries]


async def waiting(store: Store, target: str = "webhook", limit: int = 100) -> list[str]:
    """What waits, by execution: which of two goes first is left to the store."""
    return sorted(places(await store.unpublished(target, limit)), key=lambda place: place.partition("/")[0])


async def told(store: Store, most: int, target: str = "webhook") -> None:
    """The first so many were told."""
    await store.published(target, (await store.unpublished(target, 100))[:most])


def merged() -> list[Envelope]:
    """What a person did after the end, beside a vote that nobody outside is told of."""
    events: tuple[Event, ...] = (
        FeedbackGiven(by=ANNA, vote="up"), BranchMerged(offer="o", branch="fix", commit="c0ffee", by=ANNA),
    )  # fmt: skip
    return [Envelope(execution="x1", seq=0, at=NOW, fence=0, event=event) for event in events]


async def test_what_says_something_waits_in_order_for_each_target_from_its_first_day_on(store: Store) -> None:
    lease = await begin(store)  # nobody listens
    await store.subscribe("webhook")
    await extend(store, "x1", lease, 1, [Triaged(talk=False), *notes(20), Reported(status="stuck", confidence=3)])
    await store.subscribe("queue")
    await begin(store, "x2", lease)
    await finish(store, "x1", lease, 23)
    await store.append_outcome("x1", merged())

    late = ["x1/24 finished", "x1/2 branch_merged", "x2/1 started"]
    assert await waiting(store) == ["x1/2 triaged", "x1/23 reported", *late]
    assert (await waiting(store, limit=3))[:2] == ["x1/2 triaged", "x1/23 reported"]
    assert len(await waiting(store, limit=3)) == 3
    assert await waiting(store, "queue") == late
    assert await waiting(store, "nobody") == []
    queued = await store.unpublished("queue", 9)
    assert [entry.stream for entry in queued if entry.envelope.execution == "x1"] == ["log", "outcome"]

    await told(store, 2)
    assert await waiting(store) == await waiting(store, "queue") == late
    await told(store, 3)
    await store.published("nobody", await store.unpublished("queue", 9))
    await store.subscribe("webhook")  # after a restart: it goes on where it was
    assert (await waiting(store), await waiting(store, "queue")) == ([], late)
    await store.published("queue", queued[:1])
    assert places(await store.unpublished("queue", 9)) == places(queued[1:])


async def test_a_log_that_was_deleted_waits_no_more_and_what_follows_it_does(store: Store) -> None:
    await store.subscribe("webhook")
    lease = await begin(store)
    await finish(store, "x1", lease, 1)
    read = await store.unpublished("webhook", 100)
    await store.bury(["x1"])
    assert await waiting(store) == []
    while await store.clear("thread"):
        pass
    await begin(store, "x2", lease)  # in the places of those that are gone, where there are places
    await store.append("x2", 1, lease, envelopes("x2", lease, 1, [Triaged(talk=False), Noted(text="")]))
    await store.published("webhook", read)  # they were told while they were deleted
    assert await waiting(store) == ["x2/1 started", "x2/2 triaged"]
    await told(store, 2)
    await finish(store, "x2", lease, 3)
    await told(store, 1)
    await store.bury(["x2"])
    while await store.clear("thread"):
        pass
    await begin(store, "x3", lease)
    assert await waiting(store) == ["x3/1 started"]


async def test_where_it_was_is_durable_and_what_was_brought_in_or_is_damaged_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "threadwright.db"
    async with sqlite(tmp_path) as store:
        await store.subscribe("webhook")
        lease = await begin(store)
        await extend(store, "x1", lease, 1, [Triaged(talk=False, role="coder"), Finished(reason="done", answer="")])
        await told(store, 1)
        await begin(store, "x2", lease)
        await store.set_fact("imported: x2", "1")
    assert store_maintenance(path).waiting_since("webhook") == NOW + timedelta(microseconds=2)
    assert store_maintenance(path).waiting_since("queue") is None
    connection = connect(str(path))
    connection.execute(DAMAGED)
    connection.close()
    async with sqlite(tmp_path) as store:
        assert await waiting(store) == ["x1/3 finished"]
        await told(store, 1)
        assert await waiting(store) == []
    assert store_maintenance(path).waiting_since("webhook") is None


async def test_the_end_of_a_log_comes_before_its_outcome_whatever_else_is_written(store: Store) -> None:
    """A page that is full of logs holds no outcome, also of one whose end is on an earlier page."""
    await store.subscribe("webhook")
    lease = await begin(store)
    await finish(store, "x1", lease, 1)
    await store.append_outcome("x1", merged())
    other = await take(store, "other")
    await begin(store, "x2", other)
    pages: list[str] = []
    while page := await store.unpublished("webhook", 1):
        pages += places(page)
        await store.published("webhook", page)
    assert sorted(pages) == ["x1/1 started", "x1/2 branch_merged", "x1/2 finished", "x2/1 started"]
    assert pages.index("x1/2 finished") < pages.index("x1/2 branch_merged")
