"""Delivery in the background, over both stores: at least once, in order, each target at its own pace, told of once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentic.core.events.execution_events import BranchMerged, Envelope, Event, Finished, Reported, Triaged
from agentic.core.outside.outside_events import AnyOutsideEvent
from agentic.event_targets import event_publisher
from agentic.event_targets.event_publisher import EventPublisher
from agentic.event_targets.event_target import EventTarget, NotDelivered
from agentic.ports.runtime import Lease, LogEntry, Store
from agentic.runtime.clock import SystemClock
from tests.integration.stores.samples import ANNA, NOW, STORES, Seconds, begin, envelopes, extend, notes, take
from tests.unit.core.test_outline import turn
from tests.waiting import eventually


@dataclass
class Outside(EventTarget):
    """A target that takes what it is let, and remembers each arrival."""

    name: str = "webhook"
    place: str = "hooks.test"
    takes: Callable[[AnyOutsideEvent], bool] = lambda _: True
    got: list[str] = field(default_factory=list[str])
    tries: int = 0
    closed: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def deliver(self, events: Sequence[AnyOutsideEvent]) -> AsyncIterator[str]:
        self.tries += 1
        self.changed.set()
        for event in events:
            if not self.takes(event):
                raise NotDelivered("it is down: start it")
            self.got.append(f"{event.key} {event.event}")
            yield event.key

    async def close(self) -> None:
        self.closed = True

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not done():
                self.changed.clear()
                await self.changed.wait()


@pytest.fixture
def seconds() -> Seconds:
    """The clock that leases run by."""
    return Seconds()


@pytest.fixture(params=sorted(STORES))
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, aws_credentials: None, seconds: Seconds
) -> AsyncIterator[Store]:
    made = STORES[str(request.param)](tmp_path, seconds)
    yield made
    await made.close()


@asynccontextmanager
async def publishing(
    store: Store, *targets: Outside, owner: str = "me", clock: SystemClock | None = None, shared: bool = False
) -> AsyncGenerator[EventPublisher]:
    made = EventPublisher(store, clock or SystemClock(), owner, targets, shared=shared)
    await made.open()
    try:
        yield made
    finally:
        await made.close()


async def append(
    store: Store, publisher: EventPublisher | None, lease: Lease, after: int, *events: Event, execution: str = "x1"
) -> None:
    """Make events durable, and let the publisher know as the loop does."""
    await extend(store, execution, lease, after, events)
    for envelope in envelopes(execution, lease, after, events) if publisher is not None else ():
        publisher.saw(envelope)


async def test_what_is_durable_is_told_at_once_and_a_target_that_is_down_delays_only_itself(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(event_publisher, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(event_publisher, "LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(event_publisher, "TELL_SECONDS", 0.02)
    down, up = Outside(takes=lambda _: False), Outside("queue")
    whole = ["x1/2 execution_started", "x1/4 turn_completed", "x1/5 turn_completed", "x1/5.1 confidence_changed"]
    async with publishing(store, down, up) as publisher:
        lease = await begin(store)
        await append(
            store, publisher, lease, 1, Triaged(talk=False), Reported(status="stuck", confidence=3), turn(1, 50)
        )
        await up.until(lambda: len(up.got) == 2)
        await append(store, publisher, lease, 4, turn(2, 40), *notes(3))
        await up.until(lambda: len(up.got) == 4)
        assert up.got == whole
        await down.until(lambda: caplog.text != "")
        assert (await publisher.waiting_since())["webhook"] == envelopes("x1", lease, 1, notes(1))[0].at
        tries = down.tries
        await down.until(lambda: down.tries > tries + 3)
        down.takes = lambda event: event.turn < 2 if event.event == "turn_completed" else True  # takes the first two
        await down.until(lambda: len(down.got) >= 2)
        down.takes = lambda _: True
        await down.until(lambda: len(down.got) >= 4)
    assert down.got == whole  # what it had taken was not sent again
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert told == [
        "events are not delivered to the webhook (hooks.test): it is down: start it. They wait, and are tried again",
        "events are delivered to the webhook (hooks.test) again",
    ]
    assert (down.closed, up.closed) == (True, True)


async def test_the_next_process_goes_on_where_the_last_one_was_and_its_end_tells_what_there_is(store: Store) -> None:
    first, second, third = Outside(), Outside(), Outside()
    async with publishing(store, first) as publisher:
        lease = await begin(store)
        await append(store, publisher, lease, 1, Triaged(talk=False), turn(1, 50))
    assert first.got == ["x1/2 execution_started", "x1/3 turn_completed"]
    await append(store, None, lease, 3, turn(2, 40))  # while nobody published
    async with publishing(store, second):
        await second.until(lambda: len(second.got) == 2)
    assert second.got == ["x1/4 turn_completed", "x1/4.1 confidence_changed"], "by what the log said before"
    await append(store, None, lease, 4, Finished(reason="done", answer=""))
    merged = BranchMerged(offer="o", branch="fix", commit="c1", by=ANNA)
    await store.append_outcome("x1", [Envelope(execution="x1", seq=0, at=NOW, fence=0, event=merged)])
    await store.release(lease)
    async with publishing(store, third):
        pass  # it ends at once, and tells first what waits
    assert third.got == ["x1/5 execution_completed", "x1/outcome/1 branch_merged"]


async def test_more_than_a_page_goes_out_in_order_and_what_a_fork_copied_does_not_hold_it_up(store: Store) -> None:
    target = Outside()
    await store.subscribe("webhook")
    lease = await begin(store)
    many = event_publisher.PAGE * 2 + 10
    await append(store, None, lease, 1, Triaged(talk=False), *(turn(number, 50) for number in range(1, many)))
    log = [each async for each in store.read("x1")]
    copy = [each.model_copy(update={"execution": "x2"}) for each in log]
    begun = copy[0].event.model_copy(update={"forked_from": ("x1", len(copy))})
    await store.begin("x2", lease, [copy[0].model_copy(update={"event": begun}), *copy[1:]])
    await append(store, None, lease, len(copy), turn(many, 50), execution="x2")
    async with publishing(store, target):
        await target.until(lambda: len(target.got) >= many + 2)
    assert [one for one in target.got if one.startswith("x1/")] == [
        "x1/2 execution_started", *(f"x1/{seq} turn_completed" for seq in range(3, many + 2)),
    ]  # fmt: skip
    last = len(copy) + 1
    assert [one for one in target.got if one.startswith("x2/")] == [
        f"x2/{last} execution_started", f"x2/{last}.1 turn_completed",
    ]  # fmt: skip


async def test_after_a_page_that_was_not_full_nothing_is_asked_until_there_is_news(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, look, looks = Outside(), store.unpublished, list[int]()

    async def counted(name: str, limit: int) -> list[LogEntry]:
        looks.append(target.tries)
        return await look(name, limit)

    async def all_told() -> bool:
        return not await look("webhook", 1)

    monkeypatch.setattr(store, "unpublished", counted)
    async with publishing(store, target) as publisher:
        lease = await begin(store)
        await append(store, publisher, lease, 1, Triaged(talk=False), turn(1, 50))
        await target.until(lambda: len(target.got) == 2)
        await eventually(all_told)
    assert looks.count(1) == 1, "the look at its end"


async def test_of_two_processes_one_delivers(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_publisher, "LOOK_SECONDS", 0.005)
    monkeypatch.setattr(event_publisher, "COLLECT_SECONDS", 0.0)
    one, other = Outside(), Outside()
    async with publishing(store, one, owner="one") as publisher:
        lease = await begin(store)
        await append(store, publisher, lease, 1, Triaged(talk=False))
        await one.until(lambda: len(one.got) == 1)
        async with publishing(store, other, owner="other") as second:
            for number in range(1, 20):
                await append(store, second, lease, 1 + number, turn(number, 50))
                await one.until(lambda seen=number + 1: len(one.got) == seen)
            assert other.tries == 0
    assert await store.acquire("events to webhook", "somebody") is not None


async def test_of_processes_that_share_a_target_each_delivers_what_happens_there_without_looking_for_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_publisher, "LOOK_SECONDS", 60.0)
    monkeypatch.setattr(event_publisher, "COLLECT_SECONDS", 0.0)
    got = list[str]()
    one, other, read, reads = Outside(got=got), Outside(got=got), store.read, list[str]()

    def counted(execution: str, after: int = 0) -> AsyncIterator[Envelope]:
        reads.append(execution)
        return read(execution, after)

    async def told(number: int, publisher: EventPublisher) -> None:
        await append(store, publisher, lease, number - 1, turn(number, 50))
        await eventually(lambda: len(got) >= number - 1, "it is told by whichever of them")

    monkeypatch.setattr(store, "read", counted)
    async with publishing(store, one, owner="one", shared=True) as first:
        lease = await begin(store)
        await append(store, first, lease, 1, Triaged(talk=False))
        for number in (3, 4):
            await told(number, first)
        assert len(reads) == 1, "nobody else had the target meanwhile, so the log is not read again"
        async with publishing(store, other, owner="other", shared=True) as second:
            for number in range(5, 11):
                await told(number, (first, second)[number % 2])
    assert [each.partition(" ")[0] for each in got] == [f"x1/{number}" for number in range(2, 11)]


async def test_who_delivers_again_after_another_process_knows_what_that_one_told(
    store: Store, seconds: Seconds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_publisher, "LOOK_SECONDS", 0.005)
    monkeypatch.setattr(event_publisher, "RENEW_SECONDS", 0.0)
    target = Outside()

    async def all_told() -> bool:
        return not await store.unpublished("webhook", 1)

    async with publishing(store, target, owner="one") as publisher:
        lease = await begin(store)
        await append(store, publisher, lease, 1, Triaged(talk=False), turn(1, 50))
        await target.until(lambda: len(target.got) == 2)
        await eventually(all_told)
        seconds.advance(1_000)
        other = await take(store, "events to webhook", "other")
        lease = await take(store)
        await append(store, None, lease, 3, turn(2, 40))
        await store.published("webhook", await store.unpublished("webhook", 9))
        await store.release(other)
        await append(store, publisher, lease, 4, turn(3, 40))
        await target.until(lambda: len(target.got) == 3)
    assert target.got == ["x1/2 execution_started", "x1/3 turn_completed", "x1/5 turn_completed"]


async def test_an_execution_whose_log_is_held_by_a_full_store_is_told_later(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is told of what the store has not, and a store that fails for a while stops nothing for good."""
    from agentic.ports.errors import StoreUnavailable

    monkeypatch.setattr(event_publisher, "FIRST_PAUSE", 0.001)
    target, failures = Outside(), [1, 1, 1]
    told = store.published

    async def failing(*given: object) -> None:
        if failures:
            failures.pop()
            raise StoreUnavailable("the disk is full")
        await told(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "published", failing)
    async with publishing(store, target) as publisher:
        lease = await take(store)
        publisher.saw(envelopes("x1", lease, 0, [turn(1, 50)])[0])  # heard of, and not durable
        await begin(store, "x1", lease)
        await append(store, publisher, lease, 1, Triaged(talk=False))
        await target.until(lambda: len(target.got) == 4)
    assert target.got == ["x1/2 execution_started"] * 4, "again under the same key, until the store knew"
