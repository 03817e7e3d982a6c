"""A store on AWS while the wire breaks: what was committed is not doubled, what was refused is tried again.

The requests are real, and so are the faults between them and the local AWS.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from agentic.aws.aws_place import AwsPlace
from agentic.aws.clients import Answer, Clients, Service
from agentic.aws.items import number, text
from agentic.core.events.execution_events import (
    Confidence,
    ConfidenceParts,
    Event,
    FeedbackGiven,
    ModelAnswered,
    ModelRequested,
    Noted,
    TextBlock,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    Usage,
)
from agentic.core.events.values import FileChange
from agentic.ports.errors import AppendTooLarge, LeaseLost, SequenceConflict, StoreUnavailable
from agentic.runtime.clock import SystemClock
from agentic.runtime.event_recorder import Recorder
from agentic.stores.aws import layout
from agentic.stores.aws.store import AwsStore
from agentic.stores.aws.table import Table
from agentic.stores.process_identity import this_process
from tests.aws.wire_faults import Fault, WireFaults
from tests.integration.stores.samples import (
    ANNA,
    Seconds,
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

TRANSACTION = "dynamodb.TransactWriteItems"
UPDATE = "dynamodb.UpdateItem"
DONE: tuple[Fault, ...] = ("lost", "half", "doubled")
"""The request was done, and whoever sent it cannot know, or it was done twice."""
REFUSED: tuple[Fault, ...] = ("conflict", "throttled", "broken", "cut")
"""It was not done; the next time it may be."""


class Forgetful(Clients):
    """Sends a transaction under another token each time, as if the first one had been forgotten meanwhile."""

    async def call(self, service: Service, operation: str, arguments: dict[str, object]) -> Answer:
        """Send it without a token: the client draws one."""
        return await super().call(service, operation, {k: v for k, v in arguments.items() if k != "ClientRequestToken"})


@pytest.fixture
async def wire(aws_place: AwsPlace) -> AsyncIterator[WireFaults]:
    """The way to AWS, which can be broken."""
    async with WireFaults(aws_place.endpoint) as wire:
        yield wire


@pytest.fixture(params=[Clients, Forgetful])
async def remembering(
    request: pytest.FixtureRequest, aws_place: AwsPlace, wire: WireFaults, seconds: Seconds
) -> AsyncIterator[AwsStore]:
    """A store behind that way, where AWS knows a transaction again by its token, or not."""
    store = AwsStore.over(request.param(replace(aws_place, endpoint=wire.address)), seconds)
    yield store
    await store.close()


@pytest.fixture
async def behind(aws_place: AwsPlace, wire: WireFaults, seconds: Seconds) -> AsyncIterator[AwsStore]:
    """A store behind that way."""
    store = AwsStore.over(Clients(replace(aws_place, endpoint=wire.address)), seconds)
    yield store
    await store.close()


@pytest.fixture
async def direct(aws_place: AwsPlace, seconds: Seconds) -> AsyncIterator[AwsStore]:
    """Another worker's, whose way is good."""
    store = AwsStore.over(Clients(aws_place), seconds)
    yield store
    await store.close()


async def test_what_was_committed_and_not_answered_stands_once(remembering: AwsStore, wire: WireFaults) -> None:
    store = remembering
    for fault in DONE:
        execution, lease = f"x-{fault}", await take(store)
        wire.break_next(TRANSACTION, fault)
        await begin(store, execution, lease)
        wire.break_next(TRANSACTION, fault)
        item, key = inbox_item(f"i-{fault}"), f"k-{fault}"
        assert await store.put(item) is True, "it was kept by this very call"
        wire.break_next(TRANSACTION, fault)
        events = envelopes(execution, lease, 1, notes(3))
        await store.append(execution, 1, lease, events, [outbox_item(key)], [item.id])
        assert [each.seq for each in await log_of(store, execution)] == [1, 2, 3, 4]
        assert [row.item.key for row in await store.undelivered("thread")] == [key]
        assert await store.pending("thread") == []
        wire.break_next(TRANSACTION, fault)
        await store.delivered(key, [f"m-{fault}"])
        wire.break_next(TRANSACTION, fault)
        await store.put_outbox([outbox_item(f"k2-{fault}")])
        await store.delivered(f"k2-{fault}", [])
        assert await store.undelivered() == []
        row = await store.by_message(f"m-{fault}")
        assert row is not None
        assert row.item.key == key
        await finish(store, execution, lease, 4)
        wire.break_next(TRANSACTION, fault)
        await store.append_outcome(execution, envelopes(execution, lease, 0, [FeedbackGiven(by=ANNA, vote="up")]))
        assert [each.seq for each in await store.read_outcome(execution)] == [1]
        assert await store.open_executions() == []
        with pytest.raises(SequenceConflict):
            await store.append(execution, 1, lease, events)
        await store.release(lease)
    assert len(wire.broken) == 6 * len(DONE)


async def test_what_met_another_or_was_one_too_many_is_tried_again(behind: AwsStore, wire: WireFaults) -> None:
    wire.break_next(UPDATE, *REFUSED)
    lease = await take(behind)
    wire.break_next(TRANSACTION, *REFUSED)
    await begin(behind, lease=lease)
    wire.break_next(TRANSACTION, *REFUSED)
    await behind.append("x1", 1, lease, envelopes("x1", lease, 1, notes(2)))
    wire.break_next(UPDATE, *REFUSED)
    assert await behind.renew(lease)
    wire.break_next("dynamodb.Query", "throttled", "broken", "cut")
    assert len(await log_of(behind, "x1")) == 3
    assert wire.counted() == {"conflict": 4, "throttled": 5, "broken": 5, "cut": 5}


async def test_where_it_does_not_end_nothing_is_acknowledged_and_the_words_say_so(
    aws_place: AwsPlace, wire: WireFaults, seconds: Seconds
) -> None:
    store = AwsStore.over(Clients(replace(aws_place, endpoint=wire.address), patience=0.2), seconds)
    lease = await begin(store)
    wire.break_next(TRANSACTION, *["conflict"] * 200)
    with pytest.raises(StoreUnavailable, match="does not keep up"):
        await store.append("x1", 1, lease, envelopes("x1", lease, 1, notes(1)))
    assert len(await log_of(store, "x1")) == 1
    await store.close()


async def test_an_owner_whose_answer_was_lost_has_the_thread_once(behind: AwsStore, wire: WireFaults) -> None:
    for fault in DONE:
        wire.break_next(UPDATE, fault)
        lease = await take(behind, f"t-{fault}")
        assert lease.fence == 1, "it was taken by one request, though two were sent"
        await begin(behind, f"x-{fault}", lease)
        wire.break_next(UPDATE, fault)
        assert await behind.renew(lease)
        wire.break_next(UPDATE, fault)
        await behind.release(lease)
        assert not await behind.renew(lease)


async def test_of_two_workers_one_has_the_thread_and_what_the_other_had_begun_writes_nothing(
    behind: AwsStore, direct: AwsStore, wire: WireFaults, seconds: Seconds
) -> None:
    for each in range(10):
        both = await asyncio.gather(behind.acquire(f"t{each}", "one"), direct.acquire(f"t{each}", "other"))
        assert sum(lease is not None for lease in both) == 1
    stale = await begin(behind)
    late = envelopes("x1", stale, 1, notes(1))
    wire.break_next(TRANSACTION, "conflict", "conflict")
    seconds.advance(60)
    writing = asyncio.create_task(behind.append("x1", 1, stale, late))
    fresh = await take(direct, owner="another")
    with pytest.raises((LeaseLost, SequenceConflict)):
        await direct.append("x1", 9, fresh, envelopes("x1", fresh, 9, notes(1)))
    before = await asyncio.gather(writing, return_exceptions=True)
    head = len(await log_of(direct, "x1"))
    assert (head, before[0]) == (2, None) or isinstance(before[0], LeaseLost), "it came before the other, or not at all"
    with pytest.raises(LeaseLost):
        await behind.append("x1", head, stale, envelopes("x1", stale, head, notes(1)))
    assert not await behind.renew(stale)
    await behind.release(stale)
    await direct.append("x1", head, fresh, envelopes("x1", fresh, head, notes(1)))
    assert [each.fence for each in await log_of(behind, "x1")][-1] == fresh.fence


async def test_a_dead_process_is_succeeded_at_once_on_its_own_host_alone(aws_place: AwsPlace, seconds: Seconds) -> None:
    command = "from agentic.stores.process_identity import this_process; print(this_process())"
    ended = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout.strip()
    elsewhere = "/".join(["another-boot", *ended.split("/")[1:]])
    clients = Clients(aws_place)
    us = AwsStore.over(clients, seconds)
    for thread, process, taken in (
        ("here", ended, True),
        ("there", elsewhere, False),
        ("alive", this_process(), False),
    ):
        left = await take(AwsStore.over(clients, seconds, process=process), thread, "left")
        lease = await us.acquire(thread, "successor")
        assert (lease is not None) is taken
        if lease is not None:
            assert lease.fence == left.fence + 1
    await us.close()


async def test_numbers_grow_over_owners_whose_clocks_differ(aws_place: AwsPlace, seconds: Seconds) -> None:
    """Else a later message would be delivered before an earlier one."""
    ahead, behind = AwsStore.over(Clients(aws_place), seconds), AwsStore.over(Clients(aws_place), seconds)
    lease = await take(ahead)
    ahead._aws.order.heard(ahead._aws.order.next() + 3_600_000_000)
    await ahead.put_outbox([outbox_item("first")])
    await ahead.release(lease)
    await take(behind, owner="other")
    await behind.put_outbox([outbox_item("second")])
    assert [row.item.key for row in await behind.undelivered("thread")] == ["first", "second"]
    for store in (ahead, behind):
        await store.close()


async def test_what_is_larger_than_an_item_lies_in_the_bucket(behind: AwsStore, wire: WireFaults) -> None:
    """Also where the write of an object has to be sent again."""
    lease = await begin(behind)
    noise = os.urandom(1_200_000).hex()  # it cannot be packed to less than half
    wire.break_next("s3.PutObject", "lost", "throttled")
    await behind.append("x1", 1, lease, envelopes("x1", lease, 1, [Noted(text=noise)]))
    names = [each.name async for each in behind._aws.bucket.objects("threads/thread/log/x1/")]
    assert len(names) == 1
    assert [each.event for each in await log_of(behind, "x1", 1)] == [Noted(text=noise)]
    result = os.urandom(5_000_000)
    wire.break_next("s3.GetObject", "half", "broken")
    ref = await behind.put_blob(result)
    assert await behind.get_blob(ref.sha) == result
    assert await behind.put_blob(result) == ref
    past = envelopes("x2", lease, 0, [started(), *(Noted(text=os.urandom(40_000).hex()) for _ in range(60))])
    await behind.begin("x2", lease, past)
    assert await log_of(behind, "x2") == past
    last = len(past)
    await behind.append("x2", last, lease, envelopes("x2", lease, last, notes(1)))
    assert [each.seq for each in await log_of(behind, "x2", last - 1)] == [last, last + 1]


async def test_more_effects_than_a_transaction_holds_are_refused_whole(behind: AwsStore) -> None:
    lease = await begin(behind)
    with pytest.raises(AppendTooLarge, match="write them in parts"):
        await behind.append("x1", 1, lease, [], [outbox_item(f"k{each}") for each in range(60)])
    assert await behind.undelivered() == []
    await behind.put_outbox([outbox_item(f"k{each}") for each in range(60)])
    assert [row.item.key for row in await behind.undelivered()] == [f"k{each}" for each in range(60)]


async def test_what_is_noted_at_once_and_more_than_a_transaction_holds_is_written_in_order(
    behind: AwsStore, wire: WireFaults
) -> None:
    """Each part with what it took in, and once, also where the answer to a part is lost."""
    lease = await take(behind)
    recorder = Recorder(behind, SystemClock(), (), lease, "x1", "build")
    recorder.note(started())
    items = [inbox_item(f"{each:03}", minute=each) for each in range(60)]
    assert all(await asyncio.gather(*map(behind.put, items)))
    for item in items:
        recorder.note(Noted(text=item.id), taken=item.id)
    wire.break_next(TRANSACTION, "lost", None, "half")
    await recorder.commit()
    said = [each.event.text for each in await log_of(behind, "x1", 1) if isinstance(each.event, Noted)]
    assert said == [item.id for item in items]
    assert await behind.pending("thread") == []


def turn(number: int) -> list[Event]:
    """What happens in a turn with one call."""
    parts = ConfidenceParts(self_report=80.0, tool_ok=1.0, same_error=0, tests=0.0, progress=0.5, corrections=0)
    change = FileChange(path=f"src/{number}.py", kind="modified", sha_before="a" * 64, sha_after="b" * 64)
    return [
        ModelRequested(request=f"r{number}", turn=number, tier=2, model="small"),
        ModelAnswered(request=f"r{number}", blocks=(TextBlock(text="I fix it."),), usage=Usage(input=900), usd=0.01),
        ToolStarted(call=f"r{number}.0", provider_id="p", tool="edit", effect="keyed", arguments={"path": "a"}, args_sha=""),
        ToolFinished(call=f"r{number}.0", outcome="ok", preview="long " * 1_000, changes=(change,), error="odd"),
        TurnEnded(turn=number, confidence=Confidence(shown=70, heuristic=72, parts=parts)),
    ]  # fmt: skip


async def test_turns_can_be_read_in_the_table_also_where_another_worker_goes_on(
    aws_place: AwsPlace, behind: AwsStore, direct: AwsStore
) -> None:
    """As the `aws` commands of the guide show them."""
    lease = await begin(behind)
    for expected, events in ((1, turn(1)), (6, turn(2)[:3])):
        await behind.append("x1", expected, lease, envelopes("x1", lease, expected, events))
    await direct.append("x1", 9, lease, envelopes("x1", lease, 9, turn(2)[3:]))
    await finish(direct, "x1", lease, 11)
    rows = [item async for item in Table(direct._aws.clients).query("thread", layout.prefix("TURN"))]
    assert [(text(row, "what"), text(row, "sk")[:10]) for row in rows] == [
        ("started", "TURN#0000#"), ("turn", "TURN#0001#"), ("turn", "TURN#0002#"), ("finished", "TURN#0002#"),
    ]  # fmt: skip
    for row in rows[1:3]:
        calls = row["tools"]
        assert isinstance(calls, list)
        assert (text(calls[0], "tool"), text(calls[0], "outcome"), len(text(calls[0], "result"))) == ("edit", "ok", 300)
        assert (row["confidence"], row["usd"], row["tokens"]["input"]) == (70, 0.01, 900)  # type: ignore[index]
        assert (row["files"], row["errors"], row["text"]) == ([f"modified src/{row['turn']}.py"], ["odd"], "I fix it.")
    assert text(rows[0], "task") == "fix it"
    assert text(rows[3], "answer") == "done"
    began = (await log_of(direct, "x1"))[0].at.timestamp()
    assert {(number(row, layout.TTL) - began) // 86_400 for row in rows} == {30}


async def test_what_this_process_wrote_is_known_before_the_index_shows_it(
    direct: AwsStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The local AWS shows it at once, so the index is held back here."""
    query, shown = Table.query, list[dict[str, object]]()

    async def late(table: Table, partition: str, *args: object, **options: object) -> AsyncIterator[dict[str, object]]:
        if options.get("index") is layout.WAITING:
            for item in [each for each in shown if each["waits"] == partition]:
                yield item
            return
        async for item in query(table, partition, *args, **options):  # type: ignore[arg-type]
            yield item

    async def in_index(sort: str) -> list[dict[str, object]]:
        parts = [query(direct._aws.table, shard, index=layout.WAITING) for shard in layout.shards(sort)]
        return [item for part in parts async for item in part]

    monkeypatch.setattr(Table, "query", late)
    lease = await begin(direct)
    await direct.put_outbox([outbox_item("k")])
    await direct.put(inbox_item("i"))
    assert await direct.undelivered_threads() == await direct.pending_threads() == ["thread"]
    assert [row.execution for row in await direct.open_executions()] == ["x1"]
    shown += [*await in_index("outbox"), *await in_index("inbox"), *await in_index("open")]
    assert len(shown) == 3
    await direct.delivered("k", [])
    await direct.discard(["i"])
    await finish(direct, "x1", lease, 1)
    assert await direct.undelivered_threads() == await direct.pending_threads() == []
    assert await direct.open_executions() == await direct.undelivered() == []
    assert await direct.bury(["x1"]) == 1
    assert await direct.burials() == ["thread"]
    while await direct.clear("thread"):
        pass
    assert await direct.burials() == [], "an attribute that was taken away counts as well"
    shown.append({**shown[0], "pk": "other"})
    assert await direct.undelivered_threads() == ["other"], "of what others wrote the index tells"
