"""What every doorbell promises, and what a queue of SQS adds; the queue is MiniStack's, over the wire."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aioboto3
import pytest
from botocore.exceptions import BotoCoreError, ClientError

from agentic.core.events.execution_events import InboxItem, Person
from agentic.doorbells import queue_doorbell as module
from agentic.doorbells.doorbell import Doorbell, Ring
from agentic.doorbells.queue_doorbell import QueueDoorbell, queue_doorbell
from agentic.doorbells.shared_inbox import SharedInbox
from agentic.ports.errors import DoorbellSilent
from agentic.runtime.clock import SystemClock
from agentic.stores.memory import MemoryStore

MINISTACK = Path(".venv-aws/bin/ministack")
DEAD_AFTER = 2
SECONDS = 20.0
REGION = "eu-central-1"


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
    store = MemoryStore()
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


@asynccontextmanager
async def queues(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[tuple[Any, str, str, str]]:
    """A local AWS of its own: a client, the queue, its dead letters, and the address."""
    if not MINISTACK.exists():
        pytest.skip("`make aws` installs MiniStack")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    kept = {"PATH": os.environ["PATH"], "BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(port)}
    process = await asyncio.create_subprocess_exec(
        str(MINISTACK.absolute()), env=kept, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    endpoint = f"http://127.0.0.1:{port}"
    try:
        async with aioboto3.Session().client("sqs", region_name=REGION, endpoint_url=endpoint) as client:  # type: ignore[call-overload]
            dead = await _made(client, "dead")
            arn = (await client.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"]))["Attributes"][
                "QueueArn"
            ]
            policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": str(DEAD_AFTER)})
            yield client, await _made(client, "bell", RedrivePolicy=policy), dead, endpoint
    finally:
        process.kill()
        await process.wait()


async def _made(client: Any, name: str, **attributes: str) -> str:
    """A queue, once the server answers."""
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                return (await client.create_queue(QueueName=name, Attributes=attributes))["QueueUrl"]
            except (BotoCoreError, ClientError):
                await asyncio.sleep(0.05)


async def test_a_queue_tells_one_worker_at_a_time_for_as_long_as_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HIDDEN_SECONDS", 1)
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.25)
    monkeypatch.setattr(module, "WAIT_SECONDS", 1)
    async with asyncio.timeout(60), queues(monkeypatch) as (client, queue, dead, endpoint):
        async with queue_doorbell(queue, REGION, endpoint) as one, queue_doorbell(queue, REGION, endpoint) as other:
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

            await one.ring("deadly", "g")
            for _ in range(DEAD_AFTER):  # each worker dies of it: nobody acknowledges, nobody hides it any longer
                dying = QueueDoorbell(client, queue)
                monkeypatch.setattr(module, "BEAT_SECONDS", 600.0)
                await heard(dying, "deadly")
            async with asyncio.timeout(SECONDS):
                while not (lost := (await client.receive_message(QueueUrl=dead)).get("Messages", [])):
                    await other.heard(10)
            assert lost[0]["Body"] == "deadly"

            await one.ring("u", "a server")
            answer = await client.receive_message(QueueUrl=queue, AttributeNames=["All"], WaitTimeSeconds=1)
            assert answer["Messages"][0]["Attributes"]["MessageGroupId"] == "a server", "quiet servers go first by it"

            async with queue_doorbell(f"{queue}-that-is-not", REGION, endpoint) as deaf:
                with pytest.raises(DoorbellSilent, match="there is no queue"):
                    await deaf.ring("t", "g")
                with pytest.raises(DoorbellSilent, match="there is no queue"):
                    await deaf.heard(1)
        async with asyncio.timeout(SECONDS):
            with pytest.raises(DoorbellSilent, match="standard"):
                async with queue_doorbell(f"{queue}.fifo", REGION, endpoint):
                    pass
