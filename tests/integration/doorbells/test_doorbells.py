"""What every doorbell promises, and what a queue of SQS adds; the queue is MiniStack's, over the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from agentic.aws.aws_place import AwsPlace
from agentic.core.events.execution_events import InboxItem, Person
from agentic.doorbells import queue_doorbell as module
from agentic.doorbells.doorbell import Doorbell, Ring
from agentic.doorbells.queue_doorbell import QueueDoorbell
from agentic.doorbells.shared_inbox import SharedInbox
from agentic.models.scripted.model import answer
from agentic.ports.errors import DoorbellSilent
from agentic.runtime.clock import SystemClock
from bot.threads import take_up
from bot.threads.take_up import TakeUp
from tests.aws.wire_faults import WireFaults
from tests.stores import fresh_store
from tests.unit.threads.house import Bench, house
from tests.waiting import eventually

DEAD_AFTER = 2
SECONDS = 60.0
REGION = "eu-central-1"


@asynccontextmanager
async def opened(queue: str, endpoint: str) -> AsyncGenerator[QueueDoorbell]:
    """A doorbell over this queue."""
    bell = QueueDoorbell(AwsPlace(region=REGION, endpoint=endpoint, queue=queue))
    try:
        yield bell
    finally:
        await bell.close()


async def heard(bell: Doorbell, thread: str) -> Ring:
    """The ring for a thread, waited for; others are acknowledged."""
    async with asyncio.timeout(SECONDS):
        while True:
            for ring in await bell.heard(10):
                if ring.thread == thread:
                    return ring
                await bell.acknowledge(ring)


# --- one machine ----------------------------------------------------------------------------------------------------


async def test_the_shared_inbox_tells_of_each_thread_for_which_something_waits_until_it_is_taken_out() -> None:
    store = fresh_store()
    bell = SharedInbox(store, SystemClock())
    person = Person(id="1", name="Ada", level="owner")
    item = InboxItem(id="7", thread="t", sort="task", author=person, at=datetime.now(UTC), text="hello")
    waiting = asyncio.create_task(heard(bell, "t"))
    await bell.ring("t", "g")
    await asyncio.sleep(0)
    assert not waiting.done(), "a ring alone says nothing"
    await store.put(item)
    assert (await waiting).thread == "t"
    again = asyncio.create_task(heard(bell, "t"))
    await asyncio.sleep(0)
    assert not again.done(), "it was told just now"
    assert (await again).thread == "t", "it still waits, and is told again"
    await store.discard(["7"])
    await store.put(item.model_copy(update={"id": "8", "thread": "u"}))
    assert [ring.thread for ring in await bell.heard(10)] == ["u"]


# --- many machines --------------------------------------------------------------------------------------------------


@pytest.fixture
async def queues(aws_endpoint: str, aws_credentials: None) -> AsyncGenerator[tuple[Any, str, str]]:
    """A client, a queue of its own, and its dead letters."""
    name = f"bell-{uuid4().hex}"
    import aioboto3

    async with aioboto3.Session().client("sqs", region_name=REGION, endpoint_url=aws_endpoint) as client:  # type: ignore[call-overload]
        dead = (await client.create_queue(QueueName=f"{name}-dead"))["QueueUrl"]
        told = await client.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])
        policy = json.dumps({"deadLetterTargetArn": told["Attributes"]["QueueArn"], "maxReceiveCount": str(DEAD_AFTER)})
        made = await client.create_queue(QueueName=name, Attributes={"RedrivePolicy": policy})
        yield client, made["QueueUrl"], dead


async def test_f88_a_ring_that_comes_twice_or_late_finds_nothing_to_do(
    queues: tuple[Any, str, str], aws_endpoint: str
) -> None:
    """The inbox is the truth: rings say only where to look, in any order and any number."""
    _, queue, _ = queues
    store = fresh_store()
    person = Person(id="1", name="Ada", level="owner")
    for thread in ("t", "u"):
        item = InboxItem(id=thread, thread=thread, sort="task", author=person, at=datetime.now(UTC), text="hello")
        await store.put(item)
    async with WireFaults(aws_endpoint) as wire, asyncio.timeout(SECONDS):
        async with opened(queue, wire.address) as bell:
            wire.break_next("sqs.SendMessage", "doubled", "throttled")
            for thread in ("t", "u"):
                await bell.ring(thread, "g")
            done: list[str] = []
            rung: list[str] = []
            while len(rung) < 3:
                for ring in await bell.heard(10):
                    rung.append(ring.thread)
                    waiting = [item.id for item in await store.pending(ring.thread)]
                    done += waiting
                    await store.discard(waiting)
                    await bell.acknowledge(ring)
    assert sorted(rung) == ["t", "t", "u"]
    assert sorted(done) == ["t", "u"], "each was taken up once"


async def test_f88_a_queue_tells_one_worker_at_a_time_for_as_long_as_it_lives(
    queues: tuple[Any, str, str], aws_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (client, queue, dead), endpoint = queues, aws_endpoint
    monkeypatch.setattr(module, "HIDDEN_SECONDS", 1)
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.25)
    monkeypatch.setattr(module, "WAIT_SECONDS", 1)
    async with asyncio.timeout(60):
        async with opened(queue, endpoint) as one, opened(queue, endpoint) as other, AsyncExitStack() as stack:
            await one.ring("t", "g")
            ring = await heard(one, "t")
            assert await other.heard(10) == [], "one works on it"
            assert await other.heard(10) == [], "and says so again and again"
            await one.acknowledge(ring)
            assert await other.heard(10) == [], "it is done with"

            await one.ring("left", "g")
            await heard(one, "left")
            await one.close()
            await other.acknowledge(await heard(other, "left"))

            await other.ring("deadly", "g")
            for _ in range(DEAD_AFTER):  # each worker dies of it: nobody acknowledges, nobody hides it any longer
                dying = await stack.enter_async_context(opened(queue, endpoint))
                monkeypatch.setattr(module, "BEAT_SECONDS", 600.0)
                await heard(dying, "deadly")
            async with asyncio.timeout(SECONDS):
                while not (lost := (await client.receive_message(QueueUrl=dead)).get("Messages", [])):
                    await other.heard(10)
            assert lost[0]["Body"] == "deadly"

            await other.ring("u", "a server")
            answer = await client.receive_message(QueueUrl=queue, AttributeNames=["All"], WaitTimeSeconds=1)
            assert answer["Messages"][0]["Attributes"]["MessageGroupId"] == "a server", "quiet servers go first by it"

            async with opened(f"{queue}-that-is-not", endpoint) as deaf:
                with pytest.raises(DoorbellSilent, match="there is no queue"):
                    await deaf.ring("t", "g")
                with pytest.raises(DoorbellSilent, match="there is no queue"):
                    await deaf.heard(1)


async def test_a_worker_does_what_a_queue_rings_for_and_leaves_nothing_in_it(
    queues: tuple[Any, str, str], aws_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ring is in flight while its thread is worked on, and gone when it rests; the sweeper has no part in it."""
    monkeypatch.setattr(take_up, "SWEEP_SECONDS", 600.0)
    finish, work = answer("", ("finish", {"answer": "done"})), answer("", ("work", {}))
    client, queue, _ = queues
    bench = Bench()
    bench.hold = asyncio.Event()
    store = fresh_store()

    async def in_flight() -> str:
        told = await client.get_queue_attributes(
            QueueUrl=queue, AttributeNames=["ApproximateNumberOfMessagesNotVisible"]
        )
        return str(told["Attributes"]["ApproximateNumberOfMessagesNotVisible"])

    async with (
        asyncio.timeout(60),
        opened(queue, aws_endpoint) as rings,
        opened(queue, aws_endpoint) as hears,
        house([], store=store, owner="gateway", works=False, doorbell=rings) as gateway,
        house([work, finish], store=store, owner="worker", bench=bench, doorbell=hears) as worker,
    ):
        working = asyncio.create_task(TakeUp(worker.threads, store, hears, SystemClock(), 4, lambda _: None).run())
        await gateway.say("work")
        await bench.began.wait()
        assert await in_flight() == "1", "the more of its threads are at work, the longer a server waits"
        bench.hold.set()
        await gateway.becomes("done")

        async def gone() -> bool:
            return await in_flight() == "0"

        await eventually(gone, "the ring is gone")
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
