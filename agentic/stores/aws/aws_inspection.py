"""What is looked at before anything is kept on AWS: table, bucket, queues, the rights on them, and the clock.

Nothing is changed by it. A right to write is tried by a write whose condition never holds: AWS looks at rights first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any

from agentic.aws.aws_errors import RIGHT, ConditionFailed, code_of, wrong_clock
from agentic.aws.aws_place import AwsPlace, events_place, queue_name, region_of
from agentic.aws.clients import Answer, Clients
from agentic.aws.items import ABSENT, PRESENT, Delete, Put, Update, keyed
from agentic.ports.errors import StoreError
from agentic.ports.maintenance import StoreFinding
from agentic.stores.aws.layout import INDEXES, PARTITION, SORT, TTL, definition
from agentic.stores.aws.table import Table

PATIENCE = 3.0
"""Seconds for which a request is tried again: who starts a bot waits for it."""
MOST_SECONDS_OFF = 5.0
"""How far a clock may be off: leases of 20 s are compared between machines."""
NOBODY = ("INSPECTION", "-")
"""The key and the name of what is never there."""
NEVER = f"{ABSENT} AND {PRESENT}"
"""A condition that holds of no item."""


async def inspect(place: AwsPlace, now: Callable[[], float] = time.time) -> tuple[StoreFinding, ...]:
    """Look at all that a place names, side by side; what several parts suffer from alike is said once."""
    clock = _Clock(now)
    async with AsyncExitStack() as stack:

        def clients_of(where: AwsPlace) -> Clients:
            clients = Clients(where, PATIENCE, clock.heard)
            stack.push_async_callback(clients.close)
            return clients

        clients = clients_of(place)
        looks: list[Awaitable[list[StoreFinding]]] = []
        if place.table:
            looks.append(_looked("table", place.table, _table(Table(clients), place)))
            looks.append(_looked("bucket", place.bucket, _bucket(clients, place)))
        if place.queue:
            looks.append(_looked("queue", queue_name(place.queue), _doorbell(clients, place)))
        if place.events:
            outside = clients_of(events_place(place.events, place.region, place.endpoint))
            looks.append(_looked("events", queue_name(place.events), _events(outside, place.events)))
        found = _together([each for part in await asyncio.gather(*looks) for each in part])
    return (*found, *clock.findings())


class _Clock:
    """Compares the time that AWS writes on its answers with ours."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._ahead: list[float] = []

    def heard(self, service: str, operation: str, arguments: dict[str, Any], answer: Answer) -> None:
        """Take in the time of an answer."""
        date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        if date:
            self._ahead.append(parsedate_to_datetime(date).timestamp() - self._now())

    def findings(self) -> list[StoreFinding]:
        """What is wrong with the clock; an answer that was long on its way counts less than one that was fast."""
        off = min(self._ahead, key=abs, default=0.0)
        return [StoreFinding("clock", "", "wrong", wrong_clock(off))] if abs(off) > MOST_SECONDS_OFF else []


async def _looked(part: str, name: str, look: Awaitable[list[StoreFinding]]) -> list[StoreFinding]:
    try:
        return await look
    except StoreError as error:
        return [StoreFinding(part, name, "wrong", str(error))]


def _together(findings: Sequence[StoreFinding]) -> list[StoreFinding]:
    """One finding for those that say the same: without credentials, nothing can be looked at."""
    told: dict[str, StoreFinding] = {}
    for each in findings:
        same = told.get(each.said) if each.verdict == "wrong" else None
        key = each.said if each.verdict == "wrong" else f"{each.part} {each.name}"
        told[key] = each if same is None else replace(same, part=f"{same.part}, {each.part}", name="")
    return list(told.values())


async def _table(table: Table, place: AwsPlace) -> list[StoreFinding]:
    there = (await table.call("describe_table"))["Table"]
    if wrong := _other_keys(there, place):
        return [StoreFinding("table", place.table, "wrong", wrong)]
    if there["TableStatus"] not in {"ACTIVE", "UPDATING"}:
        said = f"it is {there['TableStatus'].lower()}: wait until it is active, then start again"
        return [StoreFinding("table", place.table, "wrong", said)]
    await _may_write(table)
    async for _ in table.query(NOBODY[0], most=1):
        pass
    expiry = (await table.call("describe_time_to_live"))["TimeToLiveDescription"]
    if expiry.get("TimeToLiveStatus") not in {"ENABLED", "ENABLING"} or expiry.get("AttributeName") != TTL:
        said = (
            f"rows of turns are never deleted: aws dynamodb update-time-to-live --table-name {place.table}"
            f" --time-to-live-specification Enabled=true,AttributeName={TTL}"
        )
        return [StoreFinding("table", place.table, "limited", said)]
    return [StoreFinding("table", place.table, "ok", f"keys, indexes and rights as needed; in {place.where}")]


def _other_keys(there: dict[str, Any], place: AwsPlace) -> str:
    """What of a table's keys and indexes is not as we make it; '' for nothing."""
    wanted = definition(place.table)
    if _keys(there["KeySchema"]) != _keys(wanted["KeySchema"]):
        has = " and ".join(_keys(there["KeySchema"]))
        return (
            f"its keys are {has}, not {PARTITION} and {SORT}, so it is another program's table: set"
            " DYNAMODB_EXECUTIONS_TABLE to the one that the template in deploy/ makes"
        )
    has = {each["IndexName"]: _keys(each["KeySchema"]) for each in there.get("GlobalSecondaryIndexes", [])}
    lacking = [index.name for index in INDEXES if has.get(index.name) != [index.partition, index.sort]]
    if lacking:
        return f"its index {' and '.join(lacking)} is missing or has other keys: deploy the template in deploy/ again"
    return ""


def _keys(schema: Any) -> list[str]:
    return [str(each["AttributeName"]) for each in schema]


async def _may_write(table: Table) -> None:
    """Try the rights to put, change and delete an item, with a condition that never holds."""
    for write in (Put(keyed(NOBODY, {}), NEVER), Update(NOBODY, f"REMOVE #{TTL}", NEVER), Delete(NOBODY, NEVER)):
        try:
            await table.write(write)
        except ConditionFailed:
            continue


async def _bucket(clients: Clients, place: AwsPlace) -> list[StoreFinding]:
    versioning = await clients.call("s3", "get_bucket_versioning", {"Bucket": place.bucket})
    if versioning.get("Status") != "Enabled":
        said = (
            "it has no versions, so a file that is overwritten would be lost: aws s3api put-bucket-versioning --bucket"
            f" {place.bucket} --versioning-configuration Status=Enabled"
        )
        return [StoreFinding("bucket", place.bucket, "wrong", said)]
    await clients.call("s3", "list_objects_v2", {"Bucket": place.bucket, "MaxKeys": 1})
    name = {"Bucket": place.bucket, "Key": NOBODY[0]}
    for operation, arguments in (("get_object", name), ("put_object", {**name, "Body": b"", "IfMatch": '"0"'})):
        try:
            await clients.call("s3", operation, arguments)
        except StoreError as error:
            if code_of(error) not in {"NoSuchKey", "PreconditionFailed"}:
                raise
    return [StoreFinding("bucket", place.bucket, "ok", "versioned, rights as needed")]


async def _doorbell(clients: Clients, place: AwsPlace) -> list[StoreFinding]:
    region, name = region_of(place.queue), queue_name(place.queue)
    said, setting = "", "AGENTIC_DOORBELL_QUEUE_URL"
    if region and place.region and region != place.region:
        said = f"it is in {region}, and AWS_REGION is {place.region}: correct the one that is wrong ({setting})"
    elif name.endswith(".fifo"):
        said = (
            f"it is a FIFO queue, in which one busy server would hold up all others: name a standard queue in {setting}"
        )
    return [StoreFinding("queue", name, "wrong", said) if said else await _queue(clients, "queue", place.queue)]


async def _events(clients: Clients, url: str) -> list[StoreFinding]:
    try:
        return [await _queue(clients, "events", url)]
    except StoreError as error:
        if code_of(error) not in RIGHT:
            raise
        return [StoreFinding("events", queue_name(url), "ok", "it may not be looked at, which who sends need not do")]


async def _queue(clients: Clients, part: str, url: str) -> StoreFinding:
    asked = {"QueueUrl": url, "AttributeNames": ["All"]}
    name, attributes = queue_name(url), (await clients.call("sqs", "get_queue_attributes", asked))["Attributes"]
    if "RedrivePolicy" not in attributes:
        said = (
            "it has no dead-letter queue, so a message that nobody can work on comes for ever: give it a redrive policy"
        )
        return StoreFinding(part, name, "limited", said)
    kind = "FIFO" if attributes.get("FifoQueue") == "true" else "standard"
    return StoreFinding(part, name, "ok", f"a {kind} queue with a dead-letter queue")
