"""The log: one transaction an append, one owner, no gaps."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from agentic.core.events.execution_events import (
    BlobRef,
    Event,
    FeedbackGiven,
    Noted,
)
from agentic.core.events.ids import child_id
from agentic.ports.errors import (
    AppendTooLarge,
    LeaseLost,
    LogInvalid,
    SequenceConflict,
    StoreUnavailable,
)
from agentic.ports.stores import ExecutionRow, Lease, Store
from agentic.stores.aws.store import AwsStore
from agentic.stores.checks import MOST_BYTES, MOST_ITEMS
from tests.integration.stores.samples import (
    ANNA,
    NOW,
    begin,
    envelopes,
    finish,
    inbox_item,
    log_of,
    notes,
    outbox_item,
    started,
    take,
)


async def test_events_come_back_as_they_were_appended(store: Store) -> None:
    lease = await take(store)
    events = envelopes("x1", lease, 0, [started(), *notes(450), Noted(text="ümläut 🧵\n\0")])
    await store.append("x1", 0, lease, events[:1])
    for first in range(1, len(events), MOST_ITEMS):
        await store.append("x1", first, lease, events[first : first + MOST_ITEMS])
    assert await log_of(store, "x1") == events
    assert await log_of(store, "x1", after=449) == events[449:]
    assert await log_of(store, "unknown") == []


async def test_an_append_is_refused_when_the_log_is_longer_or_shorter_than_expected(store: Store) -> None:
    lease = await begin(store)
    for expected in (0, 2):
        events: list[Event] = [started()] if expected == 0 else notes(1)
        with pytest.raises(SequenceConflict) as conflict:
            await store.append("x1", expected, lease, envelopes("x1", lease, expected, events))
        assert conflict.value.actual == 1
    assert len(await log_of(store, "x1")) == 1


async def test_nothing_can_be_appended_after_release_or_with_an_invented_lease(store: Store) -> None:
    lease = await begin(store)
    for wrong in (
        Lease("thread", "me", lease.fence + 1),
        Lease("thread", "thief", lease.fence),
        Lease("other", "me", 1),
    ):
        with pytest.raises(LeaseLost):
            await store.append("x1", 1, wrong, envelopes("x1", wrong, 1, notes(1)))
    await store.release(lease)
    with pytest.raises(LeaseLost):
        await store.append("x1", 1, lease, envelopes("x1", lease, 1, notes(1)))


async def test_the_lease_of_another_thread_cannot_write_to_an_execution(store: Store) -> None:
    await begin(store)
    other = await take(store, thread="other")
    with pytest.raises(LeaseLost):
        await store.append("x1", 1, other, envelopes("x1", other, 1, notes(1)))


async def test_a_log_begins_with_started_once_and_its_events_are_in_their_places(store: Store) -> None:
    lease = await take(store)
    good = envelopes("x1", lease, 0, [started(), *notes(2)])
    for wrong in (
        envelopes("x1", lease, 0, notes(1)),
        envelopes("x1", lease, 0, [started(), started()]),
        envelopes("x1", lease, 0, [started("another thread")]),
        envelopes("x1", lease, 1, [started()]),
        [good[0], good[2]],
        [good[0].model_copy(update={"execution": "x2"})],
        [good[0].model_copy(update={"fence": lease.fence + 1})],
    ):
        with pytest.raises(LogInvalid):
            await store.append("x1", 0, lease, wrong)
    assert await store.newest_executions(1_000) == []


async def test_an_append_keeps_all_of_it_or_nothing(store: Store) -> None:
    lease = await begin(store)
    await store.put(inbox_item("5"))
    content = b"whole output"
    ref = await store.put_blob(b"another")
    wrong = (ref, content)
    stale = Lease("thread", "me", lease.fence - 1)
    for expected, held, blob in ((0, lease, None), (1, stale, None), (1, lease, wrong)):
        first: list[Event] = [started()] if expected == 0 else notes(1)
        with pytest.raises((LeaseLost, SequenceConflict, LogInvalid)):
            await store.append(
                "x1",
                expected,
                held,
                envelopes("x1", held, expected, first),
                [outbox_item("k")],
                ["5"],
                [blob] if blob else [(BlobRef(sha=ref.sha, size=7), b"another")],
            )
    assert len(await log_of(store, "x1")) == 1
    assert await store.undelivered() == []
    assert [item.id for item in await store.pending("thread")] == ["5"]


async def test_an_append_carries_outbox_inbox_and_blobs_with_it(store: Store) -> None:
    lease = await begin(store)
    await store.put(inbox_item("5"))
    ref = await store.put_blob(b"")
    sent = envelopes("x1", lease, 1, notes(1))
    output = BlobRef(sha="2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", size=1)
    await store.append("x1", 1, lease, sent, [outbox_item("a"), outbox_item("b")], ["5"], [(ref, b""), (output, b"x")])
    assert [row.item.key for row in await store.undelivered("thread")] == ["a", "b"]
    assert await store.pending("thread") == []
    assert await store.get_blob(output.sha) == b"x"


async def test_an_append_without_events_only_settles_what_it_carries(store: Store) -> None:
    lease = await begin(store)
    await store.append("x1", 1, lease, [], [outbox_item("a")])
    assert (await store.execution("x1")).head == 1  # type: ignore[union-attr]
    with pytest.raises(SequenceConflict):
        await store.append("x1", 4, lease, [])


async def test_rows_tell_of_executions_without_reading_their_logs(store: Store) -> None:
    lease = await begin(store)
    await begin(store, "x2", lease)
    other = await take(store, thread="other")
    await begin(store, "x3", other)
    await store.append("x1", 1, lease, envelopes("x1", lease, 1, notes(3)))
    await finish(store, "x1", lease, 4)
    rows = await store.newest_executions(1_000)
    assert [row.execution for row in rows] == ["x1", "x2", "x3"]
    assert (rows[0].thread, rows[0].task, rows[0].head, rows[0].finished) == ("thread", "fix it", 5, "done")
    assert rows[0].started_at == NOW.replace(microsecond=NOW.microsecond + 1)
    assert [row.execution for row in await store.executions("thread")] == ["x1", "x2"]
    assert [row.execution for row in await store.open_executions()] == ["x2", "x3"]
    assert [row.execution for row in await store.open_executions("thread")] == ["x2"]
    assert await store.execution("x1") == rows[0]
    assert await store.execution("unknown") is None


async def test_the_outcome_stream_needs_no_lease_and_numbers_itself(store: Store) -> None:
    lease = await begin(store)
    await finish(store, "x1", lease, 1)
    await store.release(lease)
    votes = [FeedbackGiven(by=ANNA, vote=vote) for vote in ("up", "down")]
    for vote in votes:
        await store.append_outcome("x1", envelopes("x1", lease, 40, [vote]))
    stream = await store.read_outcome("x1")
    assert [(envelope.seq, envelope.event) for envelope in stream] == [(1, votes[0]), (2, votes[1])]
    assert len(await log_of(store, "x1")) == 2
    assert await store.read_outcome("unknown") == []
    with pytest.raises(LogInvalid):
        await store.append_outcome("unknown", envelopes("unknown", lease, 0, [votes[0]]))


async def test_many_writers_do_not_disturb_each_other(store: Store) -> None:
    async def write(number: int) -> None:
        lease = await take(store, thread=f"t{number}")
        execution = f"x{number}"
        await begin(store, execution, lease)
        for after in range(1, 21, 2):
            await store.append(execution, after, lease, envelopes(execution, lease, after, notes(2, 400)))
        if number % 10 == 0:
            with pytest.raises(SequenceConflict):
                await store.append(execution, 3, lease, envelopes(execution, lease, 3, notes(1)))

    writers = 30 if isinstance(store, AwsStore) else 100  # one process stands in for all of AWS
    async with asyncio.timeout(60):
        await asyncio.gather(*(write(number) for number in range(writers)))
    for number in range(writers):
        assert [envelope.seq for envelope in await log_of(store, f"x{number}")] == list(range(1, 22))


async def test_of_two_appends_at_the_same_place_one_wins(store: Store) -> None:
    lease = await begin(store)
    appends = [store.append("x1", 1, lease, envelopes("x1", lease, 1, notes(1))) for _ in range(10)]
    results = await asyncio.gather(*appends, return_exceptions=True)
    assert sum(result is None for result in results) == 1
    assert sum(isinstance(result, SequenceConflict) for result in results) == 9


async def test_a_cancelled_writer_leaves_the_others_alone(store: Store) -> None:
    lease = await begin(store)
    other = await take(store, thread="other")
    cancelled = asyncio.create_task(store.append("x1", 1, lease, envelopes("x1", lease, 1, notes(1))))
    going = asyncio.create_task(begin(store, "x2", other))
    await asyncio.sleep(0)
    cancelled.cancel()
    async with asyncio.timeout(60):
        await going
    assert len(await log_of(store, "x1")) in (1, 2)
    assert len(await log_of(store, "x2")) == 1


async def test_a_closed_store_refuses_plainly(store: Store) -> None:
    lease = await begin(store)
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.append("x1", 1, lease, envelopes("x1", lease, 1, notes(1)))
    with pytest.raises(StoreUnavailable):
        await store.pending("thread")
    with pytest.raises(StoreUnavailable):
        await log_of(store, "x1")


async def test_an_append_that_is_more_than_a_transaction_holds_is_refused_whole(store: Store) -> None:
    lease = await begin(store)
    many = envelopes("x1", lease, 1, notes(MOST_ITEMS + 1))
    with pytest.raises(AppendTooLarge, match="write them in parts"):
        await store.append("x1", 1, lease, many)
    with pytest.raises(AppendTooLarge):
        await store.append("x1", 1, lease, many[:-1], [outbox_item("a")])
    long = notes(8, size=MOST_BYTES // 7)
    with pytest.raises(AppendTooLarge, match="bytes of x1"):
        await store.append("x1", 1, lease, envelopes("x1", lease, 1, long))
    assert len(await log_of(store, "x1")) == 1
    assert await store.undelivered() == []
    await store.append("x1", 1, lease, many[:MOST_ITEMS])
    assert len(await log_of(store, "x1")) == 1 + MOST_ITEMS


async def test_a_log_that_begins_with_a_past_is_written_whole_however_long_it_is(store: Store) -> None:
    lease = await take(store)
    log = envelopes("x1", lease, 0, [started(), *notes(3 * MOST_ITEMS)])
    await store.begin("x1", lease, log, [outbox_item("a")])
    assert await log_of(store, "x1") == log
    assert [row.item.key for row in await store.undelivered()] == ["a"]
    with pytest.raises(SequenceConflict):
        await store.begin("x1", lease, log)
    stale = replace(lease, fence=lease.fence - 1)
    with pytest.raises(LeaseLost):
        await store.begin("x2", stale, envelopes("x2", stale, 0, [started()]))


async def test_executions_are_told_by_thread_by_age_and_by_what_is_open(store: Store) -> None:
    for number in range(5):
        lease = await begin(store, f"x{number}", await take(store, f"t{number % 2}"))
        if number < 3:
            await finish(store, f"x{number}", lease, 1)

    def names(rows: Sequence[ExecutionRow]) -> list[str]:
        return [row.execution for row in rows]

    assert names(await store.executions("t0")) == ["x0", "x2", "x4"]
    assert names(await store.open_executions()) == ["x3", "x4"]
    assert names(await store.open_executions("t1")) == ["x3"]
    opened = await store.open_threads(9)
    assert [thread for thread, _ in opened] == ["t1", "t0"]
    assert await store.open_threads(1) == opened[:1]
    assert await store.open_threads(9, opened[0][1]) == opened[1:]
    assert await store.open_threads(9, opened[1][1]) == []
    assert names(await store.newest_executions(2)) == ["x3", "x4"]
    assert names(await store.newest_executions(0)) == []
    assert names([row async for row in store.all_executions()]) == ["x0", "x1", "x2", "x3", "x4"]
    child = child_id("r1.0", 0)
    await begin(store, child, await take(store, "t0"))
    assert names(await store.executions("t0")) == ["x0", "x2", "x4"]
    assert names(await store.newest_executions(1)) == ["x4"]
    assert names(await store.open_executions("t0")) == ["x4", child]
    await finish(store, "x4", await take(store, "t0"), 1)
    assert await store.open_threads(9) == opened[:1], "a child is its parent's"
    assert names([row async for row in store.all_executions()])[-1] == child
