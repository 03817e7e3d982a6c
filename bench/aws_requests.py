"""What the processes of a bot ask of AWS, counted on the wire by what each request is for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from aiohttp import web

from agentic.aws.items import Wire
from agentic.stores.aws.layout import PARTITION, SORT
from tests.aws.wire_faults import WireFaults, operation_of

BY_SORT = {
    "EV": "appends", "OC": "outcomes", "EXEC": "appends", "OPEN": "open executions", "TURN": "appends",
    "INBOX": "inbox", "OUT": "outbox", "SENT": "outbox", "SESSION": "session", "LEASE": "lease", "LABEL": "labels",
    "GONE": "burials", "REF": "contents",
}  # fmt: skip
BY_PARTITION = {
    "SEEN": "inbox", "OUT": "outbox", "MSG": "outbox", "EXEC": "where an execution is", "FACT": "facts",
    "BLOB": "contents", "SCOPE": "money", "RESERVED": "money", "RAISED": "money", "SCHEDULES": "schedules",
    "CHANGED": "search", "UNNAMED": "contents", "TARGETS": "events outside", "LESSONS": "lessons",
    "OUTBOX-AGES": "outbox", "HOME": "shared files",
}  # fmt: skip
BY_NAME = {
    "delivery:": "turns of delivery",
    "learning:": "turns of learning",
    "shard:": "shards",
    "home:": "shared files",
    "events": "events outside",
}
"""Leases that are not of a thread, by what their names begin with."""
WAITS = {"inbox": "sweeps", "open": "sweeps", "outbox": "looks into the outbox", "told": "events outside"}
"""Partitions of the index."""
READ = {"appends": "looks into logs"}
"""What is asked of parts by those who only look."""
FIRST = ("appends", "money", "inbox", "outbox")
"""What a transaction is for that writes several."""


@dataclass(slots=True)
class Asked:
    """Requests and write units by part, and objects that were written."""

    requests: Counter[str] = field(default_factory=Counter[str])
    units: Counter[str] = field(default_factory=Counter[str])
    puts: int = 0

    def since(self, before: Asked) -> Asked:
        """What was asked since then."""
        units = Counter({part: count - before.units[part] for part, count in self.units.items()})
        return Asked(self.requests - before.requests, units, self.puts - before.puts)

    def copy(self) -> Asked:
        """As it is now."""
        return Asked(Counter(self.requests), Counter(self.units), self.puts)

    def and_also(self, other: Asked) -> Asked:
        """Both together."""
        return Asked(self.requests + other.requests, self.units + other.units, self.puts + other.puts)


class CountingWire(WireFaults):
    """A proxy before AWS that breaks nothing and counts everything."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.asked = Asked()

    async def _passed_on(self, request: web.Request, body: bytes) -> tuple[web.StreamResponse, bytes]:
        operation = operation_of(request.method, request.raw_path, request.headers)
        asked: dict[str, Any] = {}
        if not operation.startswith("s3."):
            asked = json.loads(body)
            if operation.startswith("dynamodb."):
                body = json.dumps({**asked, "ReturnConsumedCapacity": "TOTAL"}).encode()
        part = part_of(operation, asked)
        self.asked.requests[part] += 1
        self.asked.puts += operation == "s3.PutObject"
        answer, content = await super()._passed_on(request, body)
        if operation.startswith("dynamodb.") and not operation.endswith(("Query", "GetItem")) and answer.status == 200:
            told = _listed(json.loads(content).get("ConsumedCapacity", []))
            self.asked.units[part] += sum(round(each["CapacityUnits"]) for each in told)
        return answer, content


def part_of(operation: str, asked: dict[str, Any]) -> str:
    """What a request is for."""
    service = operation.partition(".")[0]
    if service == "s3":
        return "bucket"
    if service == "sqs":
        queue = str(asked.get("QueueUrl", ""))
        return "doorbell" if queue.endswith("doorbell") else "events outside"
    parts = [_part_of_key(*key) for key in _keys(asked)]
    if operation.endswith(("Query", "GetItem")):  # of a batch, what it asks for first
        parts = [READ.get(part, part) for part in parts]
    return next((part for part in FIRST if part in parts), parts[0] if parts else operation)


def _part_of_key(partition: str, sort: str) -> str:
    sharded, name = partition.partition("#")[0], partition.partition(" ")[0]
    if not partition.isdecimal():
        if sort == "LEASE":
            return BY_NAME.get(name, f"lease of {name}")
        return WAITS.get(sharded, BY_PARTITION.get(sharded, sharded))
    return BY_SORT.get(sort.partition("#")[0], sort)


def _keys(asked: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Keys that a request names; of a query its partition with what the sort key begins with."""
    for each in asked.get("TransactItems", []):
        for write in each.values():
            yield _key(write.get("Item") or write["Key"])
    for wanted in asked.get("RequestItems", {}).values():
        if isinstance(wanted, dict):
            yield from map(_key, cast("list[Wire]", wanted["Keys"]))
            continue
        for write in cast("list[dict[str, Any]]", wanted):
            yield from (_key(what.get("Item") or what["Key"]) for what in write.values())
    if found := asked.get("Item") or asked.get("Key"):
        yield _key(found)
    if "KeyConditionExpression" in asked:
        values = {name: value.get("S", "") for name, value in asked["ExpressionAttributeValues"].items()}
        yield values[":partition"], values.get(":begins") or values.get(":after") or values.get(":until") or ""


def _listed(told: Any) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", told if isinstance(told, list) else [told])


def _key(item: Wire) -> tuple[str, str]:
    return item[PARTITION]["S"], item[SORT]["S"]
