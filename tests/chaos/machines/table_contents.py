"""What a table holds when everything is at rest, in the form in which it is judged."""

from __future__ import annotations

from agentic.aws.aws_place import AwsPlace
from agentic.core.events.execution_events import Envelope, OutboxItem, TurnEnded
from agentic.ports.errors import StoreError
from agentic.ports.runtime import ExecutionRow
from agentic.stores.aws.store import AwsStore
from deploy.aws_local.resources import client
from tests.chaos.outside import Kept


async def contents(store: AwsStore, place: AwsPlace) -> tuple[Kept, list[str]]:
    """All of it, and what cannot be read."""
    logs, damaged = list[tuple[ExecutionRow, list[Envelope]]](), list[str]()
    async for row in store.all_executions():
        try:
            logs.append((row, [envelope async for envelope in store.read(row.execution)]))
        except StoreError as error:
            damaged.append(f"{row.execution} cannot be read: {error}")
    effects, kept, waiting = list[str](), set[str](), set[str]()
    for partition, sort in _keys(place):
        if sort == "-" and partition.startswith("OUT#"):
            effects.append(partition.removeprefix("OUT#"))
        elif partition.startswith("SEEN#"):
            kept.add(partition.removeprefix("SEEN#"))
        elif sort.startswith("INBOX#"):
            waiting.add(sort.split("#", 3)[3])
    outbox = list[tuple[OutboxItem, list[str] | None]]()
    for key in effects:
        effect = await store.outbox_row(key)
        if effect is None:
            damaged.append(f"outbox item {key} is nowhere")
        else:
            outbox.append((effect.item, list(effect.delivered) if effect.done else None))
    return Kept(logs, outbox, {id: id not in waiting for id in kept}), damaged


def turns(kept: Kept) -> int:
    """Turns of all executions."""
    return sum(isinstance(envelope.event, TurnEnded) for _, log in kept.logs for envelope in log)


def _keys(place: AwsPlace) -> list[tuple[str, str]]:
    pages = client("dynamodb", place.endpoint).get_paginator("scan").paginate(
        TableName=place.table, ProjectionExpression="pk, sk", ConsistentRead=True
    )  # fmt: skip
    return [(item["pk"]["S"], item["sk"]["S"]) for page in pages for item in page["Items"]]
