"""The table: what DynamoDB can do, over plain items."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from agentic.aws.clients import Answer, Clients
from agentic.aws.items import (
    ConditionCheck,
    Delete,
    Item,
    Put,
    Update,
    Value,
    Wire,
    Write,
    expression_values,
    from_wire,
    key_of,
    request,
    to_wire,
    wire_key,
)
from agentic.ports.errors import StoreUnavailable
from agentic.stores.aws.layout import PARTITION, SORT, WAITING, Index, Key

MOST_WRITES = 100
"""Items of one transaction."""
_MOST_GETS = 100
_MOST_PUTS = 25
_MOST_TRIES = 20
_MOST_NOTED = 10_000
_WAITS = f"#{WAITING.partition}"
INDEX_SECONDS = 60.0
"""After this, what an index shows is true of what was written then; usually it takes less than one."""
_NAMES: dict[type[Write], str] = {Put: "Put", Update: "Update", Delete: "Delete", ConditionCheck: "ConditionCheck"}
_SINGLY: dict[type[Write], str] = {Put: "put_item", Update: "update_item", Delete: "delete_item"}


class OwnWrites:
    """What this process put among what waits, and took from it: the index shows either a little later."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._put = OrderedDict[Key, tuple[float, Item]]()
        self._gone = OrderedDict[Key, float]()

    def note(self, writes: Iterable[Write]) -> None:
        """These were done."""
        for write in writes:
            if isinstance(write, Put) and WAITING.partition in write.item:
                key = key_of(write.item)
                names = (PARTITION, SORT, WAITING.partition, WAITING.sort)
                self._put[key] = self._seconds(), {name: write.item[name] for name in names}
                self._gone.pop(key, None)
            elif isinstance(write, Delete) or (isinstance(write, Update) and _WAITS in write.change):
                self._put.pop(write.key, None)
                self._gone.pop(write.key, None)
                if isinstance(write, Delete) or _WAITS in write.change.partition("REMOVE")[2].partition("SET")[0]:
                    self._gone[write.key] = self._seconds()
        for kept in (self._put, self._gone):
            while len(kept) > _MOST_NOTED:
                kept.popitem(last=False)

    def seen_in(self, sort: str, found: Iterable[Item]) -> list[Item]:
        """What waits of a sort, by what the index shows, and this process knows better for a while."""
        before = self._seconds() - INDEX_SECONDS
        shown = {key_of(item): item for item in found}
        ours = {key: item for key, (at, item) in self._put.items() if at > before and _is_of(sort, item)}
        return [item for key, item in {**shown, **ours}.items() if self._gone.get(key, before) <= before]


def _is_of(sort: str, item: Item) -> bool:
    return str(item[WAITING.partition]).rpartition("#")[0] == sort


class Table:
    """Reads are strongly consistent, but for those of an index."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._name = clients.place.table
        self.own = OwnWrites()

    async def call(self, operation: str, **arguments: Any) -> Answer:
        """Any operation on the table."""
        return await self._clients.call("dynamodb", operation, {"TableName": self._name, **arguments})

    async def get(self, key: Key) -> Item | None:
        """One item."""
        found: Wire | None = (await self.call("get_item", Key=wire_key(key), ConsistentRead=True)).get("Item")
        return None if found is None else from_wire(found)

    async def get_all(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """Those items of these that there are."""
        parts = [keys[start : start + _MOST_GETS] for start in range(0, len(keys), _MOST_GETS)]
        found = await asyncio.gather(*(self._get_part(list(dict.fromkeys(part))) for part in parts))
        return {key: item for part in found for key, item in part.items()}

    async def _get_part(self, keys: Sequence[Key]) -> dict[Key, Item]:
        found: dict[Key, Item] = {}
        asked: Any = {self._name: {"Keys": [wire_key(key) for key in keys], "ConsistentRead": True}}
        for tried in range(_MOST_TRIES):
            answer = await self._clients.call("dynamodb", "batch_get_item", {"RequestItems": asked})
            for wire in answer.get("Responses", {}).get(self._name, []):
                item = from_wire(wire)
                found[str(item[PARTITION]), str(item[SORT])] = item
            asked = answer.get("UnprocessedKeys")
            if not asked:
                return found
            await asyncio.sleep(min(1.0, 0.02 * 2**tried))
        raise StoreUnavailable("DynamoDB does not keep up with what is read: it is tried again later")

    async def query(
        self,
        partition: str,
        begins: str = "",
        *,
        after: str = "",
        until: str = "",
        newest: bool = False,
        most: int = 0,
        page: int = 0,
        index: Index | None = None,
    ) -> AsyncIterator[Item]:
        """The items of a partition in the order of their sort keys, page by page; of an index their keys alone.

        ``begins``: what the sort key begins with; or it is greater than ``after`` and, where that is given, at most
        ``until``.  ``newest``: from the end.  ``most``: how many at most, 0 for all.  ``page``: how many
        are asked for at a time where not all will be looked at, 0 for a megabyte.
        """
        first, second = (index.partition, index.sort) if index is not None else (PARTITION, SORT)
        condition, values = f"#{first} = :partition", dict[str, Value](partition=partition)
        if begins:
            condition, values = f"{condition} AND begins_with(#{second}, :begins)", {**values, "begins": begins}
        elif until:
            if until <= after:
                return  # DynamoDB refuses a range that holds nothing
            condition = f"{condition} AND #{second} BETWEEN :after AND :until"
            values = {**values, "after": after + "\0", "until": until}
        elif after:
            condition, values = f"{condition} AND #{second} > :after", {**values, "after": after}
        arguments: dict[str, Any] = {
            "KeyConditionExpression": condition,
            "ScanIndexForward": not newest,
            **({"ConsistentRead": True} if index is None else {"IndexName": index.name}),
            **expression_values(condition, values),
        }
        told = 0
        while True:
            if most or page:
                arguments["Limit"] = most - told if most else page
            answer = await self.call("query", **arguments)
            for wire in answer.get("Items", []):
                yield from_wire(wire)
                told += 1
            last = answer.get("LastEvaluatedKey")
            if not last or (most and told >= most):
                return
            arguments["ExclusiveStartKey"] = last

    async def write(self, write: Put | Update | Delete) -> Item:
        """One write by itself; the item as it is after an update.  Raises ``ConditionFailed``."""
        arguments = request(write, self._name)
        if isinstance(write, Update):
            arguments["ReturnValues"] = "ALL_NEW"
        answer = await self._clients.call("dynamodb", _SINGLY[type(write)], arguments)
        self.own.note([write])
        return from_wire(answer.get("Attributes", {}))

    async def transact(self, writes: Sequence[Write]) -> None:
        """All of them or none, once, however often it has to be sent.  Raises ``ConditionFailed``, with a reason a write."""
        await self._clients.call(
            "dynamodb",
            "transact_write_items",
            {
                "TransactItems": [{_NAMES[type(write)]: request(write, self._name)} for write in writes],
                "ClientRequestToken": str(uuid4()),
            },
        )
        self.own.note(writes)

    async def put_all(self, items: Sequence[Item]) -> None:
        """Write items whole, in no order and not together; each can be written again."""
        await self._in_parts([{"PutRequest": {"Item": to_wire(item)}} for item in items])

    async def delete_all(self, keys: Sequence[Key]) -> None:
        """Take items away, in no order and not together."""
        await self._in_parts([{"DeleteRequest": {"Key": wire_key(key)}} for key in keys])
        self.own.note(map(Delete, keys))

    async def _in_parts(self, requests: Sequence[Mapping[str, Any]]) -> None:
        for start in range(0, len(requests), _MOST_PUTS):
            asked: Any = {self._name: list(requests[start : start + _MOST_PUTS])}
            for tried in range(_MOST_TRIES):
                answer = await self._clients.call("dynamodb", "batch_write_item", {"RequestItems": asked})
                asked = answer.get("UnprocessedItems")
                if not asked:
                    break
                await asyncio.sleep(min(1.0, 0.02 * 2**tried))
            else:
                raise StoreUnavailable("DynamoDB does not keep up with what is written: it is tried again later")
