"""Faults on the wire: what each does to a request, what our client makes of it, and that a seed decides."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from agentic.aws import clients as clients_module
from agentic.aws.aws_place import AwsPlace
from agentic.aws.bucket import Bucket
from agentic.aws.clients import Clients
from agentic.aws.items import Put, Update
from agentic.ports.errors import StoreUnavailable
from agentic.stores.aws.table import Table
from tests.aws.wire_faults import Fault, FaultPlan, WireFaults, operation_of

REFUSED: tuple[Fault, ...] = ("conflict", "throttled", "broken", "cut")
"""What never reaches AWS."""


@pytest.fixture
async def wire(aws_place: AwsPlace) -> AsyncIterator[WireFaults]:
    async with WireFaults(aws_place.endpoint) as wire:
        yield wire


@pytest.fixture
async def clients(aws_place: AwsPlace, wire: WireFaults) -> AsyncIterator[Clients]:
    clients = Clients(replace(aws_place, endpoint=wire.address))
    yield clients
    await clients.close()


@pytest.fixture
async def impatient(aws_place: AwsPlace, wire: WireFaults) -> AsyncIterator[Clients]:
    """Tries each request once."""
    clients = Clients(replace(aws_place, endpoint=wire.address), patience=0)
    yield clients
    await clients.close()


def item(name: str) -> dict[str, str]:
    return {"pk": "thread", "sk": name}


async def names(clients: Clients) -> list[object]:
    return [each["sk"] async for each in Table(clients).query("thread")]


async def test_what_never_arrived_is_refused_and_what_arrived_is_done(wire: WireFaults, impatient: Clients) -> None:
    """Each with one attempt, so that nothing makes up for it."""
    table = Table(impatient)
    for number, fault in enumerate((*REFUSED, "lost", "half", "doubled")):
        wire.break_next("dynamodb.TransactWriteItems", fault)  # type: ignore[arg-type]
        writes = [Put(item(f"{number}-{fault}-{part}")) for part in "ab"]
        if fault == "doubled":
            await table.transact(writes)
            continue
        with pytest.raises(StoreUnavailable):
            await table.transact(writes)
    assert await names(impatient) == [
        f"{number}-{fault}-{part}" for number, fault in ((4, "lost"), (5, "half"), (6, "doubled")) for part in "ab"
    ]
    assert wire.counted() == dict.fromkeys((*REFUSED, "lost", "half", "doubled"), 1)
    assert wire.seen["dynamodb.TransactWriteItems"] == len(wire.broken)


async def test_our_client_tries_again_and_writes_once(wire: WireFaults, clients: Clients) -> None:
    """Also where the first time was committed: the transaction is sent again under its token."""
    table = Table(clients)
    for fault in (*REFUSED, "lost", "half", "doubled"):
        wire.break_next("dynamodb.TransactWriteItems", fault, None)  # type: ignore[arg-type]
        await table.transact([Update(("thread", "counter"), "ADD #n :one", values={"one": 1})])
    counted = await table.get(("thread", "counter"))
    assert counted is not None
    assert counted["n"] == 7


async def test_numbers_are_the_same_when_they_are_sent_again(wire: WireFaults, clients: Clients) -> None:
    """Under a token, letter by letter: what stands in for AWS compares with what it made of them."""
    table = Table(clients)
    wire.break_next("dynamodb.TransactWriteItems", "lost")
    await table.transact([Put({**item("numbers"), "whole": 50.0, "small": 1e-7, "some": 0.1 + 0.2})])
    stood = await table.get(("thread", "numbers"))
    assert stood == {**item("numbers"), "whole": 50, "small": 1e-7, "some": 0.1 + 0.2}


async def test_a_bucket_stumbles_and_breaks_off(wire: WireFaults, clients: Clients) -> None:
    bucket, content = Bucket(clients), bytes(range(256)) * 4000
    wire.break_next("s3.PutObject", "throttled", "broken", "cut", "lost")
    await bucket.put("threads/1/ä b+c%.txt", content)
    assert wire.seen["s3.PutObject"] == 5
    wire.break_next("s3.GetObject", "broken", "cut", "half")
    assert await bucket.get("threads/1/ä b+c%.txt") == content
    assert wire.seen["s3.GetObject"] == 4
    wire.break_next("s3.GetObject", *["half"] * 10)
    with pytest.raises(StoreUnavailable, match="broke off"):
        await bucket.get("threads/1/ä b+c%.txt")


async def test_a_request_that_is_never_answered_ends_by_the_clients_time_out(
    aws_place: AwsPlace, wire: WireFaults, clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(clients_module._READ_SECONDS, "dynamodb", 0.3)
    wire.break_next("dynamodb.PutItem", "silent")
    await Table(clients).write(Put(item("once")))
    assert wire.seen["dynamodb.PutItem"] == 2
    assert await names(clients) == ["once"]


async def test_a_message_can_come_twice(aws_place: AwsPlace, wire: WireFaults, clients: Clients) -> None:
    wire.break_next("sqs.SendMessage", "throttled", "doubled")
    await clients.call("sqs", "send_message", {"QueueUrl": aws_place.queue, "MessageBody": "look"})
    got = await clients.call("sqs", "receive_message", {"QueueUrl": aws_place.queue, "MaxNumberOfMessages": 10})
    assert [each["Body"] for each in got["Messages"]] == ["look", "look"]


def test_a_seed_decides_what_breaks() -> None:
    """By the number of a request among those of its operation, so requests of others change nothing."""

    def drawn(seed: int, operation: str) -> list[Fault | None]:
        plan = FaultPlan(seed, {"conflict": 0.1, "lost": 0.2}, ("dynamodb.*Item*",))
        return [plan.fault(operation, number) for number in range(500)]

    assert drawn(1, "dynamodb.PutItem") == drawn(1, "dynamodb.PutItem")
    assert drawn(1, "dynamodb.PutItem") != drawn(2, "dynamodb.PutItem")
    written = drawn(1, "dynamodb.TransactWriteItems")
    assert 30 < written.count("conflict") < 70
    assert 70 < written.count("lost") < 130
    assert set(drawn(1, "dynamodb.GetItem")) == {None, "lost"}, "nothing is in the way of a read"
    assert set(drawn(1, "dynamodb.Query")) == {None}


def test_operations_are_told_apart() -> None:
    assert [
        operation_of(method, path, {})
        for method, path in (
            ("PUT", "/b/threads/1/a"), ("GET", "/b/threads/1/a"), ("HEAD", "/b/a"), ("DELETE", "/b/a"),
            ("GET", "/b?list-type=2&prefix=threads%2F"), ("GET", "/b/?versions"), ("GET", "/b?versioning"),
            ("PUT", "/b?versioning"), ("POST", "/b?delete"), ("PUT", "/b"), ("PUT", "/b/a?partNumber=1&uploadId=x"),
        )
    ] == [
        "s3.PutObject", "s3.GetObject", "s3.HeadObject", "s3.DeleteObject", "s3.ListObjectsV2", "s3.ListObjectVersions",
        "s3.GetBucketVersioning", "s3.PutBucketVersioning", "s3.DeleteObjects", "s3.PutBucket", "s3.UploadPart",
    ]  # fmt: skip
