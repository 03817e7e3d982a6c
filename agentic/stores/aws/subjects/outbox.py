"""Visible effects and their receipts.  What is to be delivered stands apart from what was."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import cast

from pydantic import ValidationError

from agentic.aws.aws_errors import ConditionFailed
from agentic.aws.items import ABSENT, PRESENT, Delete, Item, Put, Update, Write, key_of, keyed, number, text
from agentic.core.events.execution_events import OutboxItem
from agentic.ports.errors import StoreError, StoreUnavailable
from agentic.ports.failpoints import reach
from agentic.ports.stores import OutboxRow
from agentic.stores.aws import layout
from agentic.stores.aws.bodies import BODY
from agentic.stores.aws.layout import padded
from agentic.stores.aws.store_subject import Aws, StoreSubject
from agentic.stores.aws.subjects.inbox import waiting_items, waiting_threads
from agentic.stores.aws.table import MOST_WRITES
from agentic.stores.checks import lost_item

log = logging.getLogger(__name__)

SORT_OF_WAITING = "outbox"
LIST_OF_SENT = "SENT"
"""The list of what was delivered and goes by its age: not with a log, and not never."""
WRITES_EACH = 2
"""Writes that an item costs a transaction: itself, and where it stands."""
_TOGETHER = MOST_WRITES // WRITES_EACH
_MOST_RECEIPTS = MOST_WRITES - 2
_MOST_TRIES = 10


class Outbox(StoreSubject):
    """Kept until delivered."""

    async def put_outbox(self, items: Sequence[OutboxItem]) -> None:
        """Keep items; an existing key is left as it is."""
        reach("outbox.put.before")
        for start in range(0, len(items), _TOGETHER):
            fresh = await puts(self._aws, items[start : start + _TOGETHER])
            while fresh:
                try:
                    await self._table.transact(fresh)
                    break
                except ConditionFailed as refused:
                    fresh = without_taken(fresh, refused)
        reach("outbox.put.after")

    async def undelivered(self, thread: str | None = None) -> list[OutboxRow]:
        """What waits, in order."""
        if thread is None:
            keys = [key_of(item) for item in await waiting_items(self._aws, SORT_OF_WAITING)]
            found = await self._table.get_all(keys)
            items = [found[key] for key in keys if key in found]
        else:
            items = [item async for item in self._table.query(thread, layout.prefix("OUT"))]
        return [await self._effect_row(item) for item in items]

    async def undelivered_threads(self) -> list[str]:
        """Threads for which something waits, the longest waiting first."""
        return await waiting_threads(self._aws, SORT_OF_WAITING)

    async def delivered(self, key: str, messages: Sequence[str]) -> None:
        """Record the ids of the messages an item became."""
        reach("outbox.delivered.before")
        receipts = [keyed(layout.message(id), {"key": key}) for id in dict.fromkeys(messages)]
        await self._table.put_all(receipts[_MOST_RECEIPTS:])
        for _ in range(_MOST_TRIES):
            item = await self._effect(key)
            if item is None:
                raise StoreError(f"there is no outbox item {key!r}")
            try:
                await self._table.transact([*_moved(item, messages), *map(Put, receipts[:_MOST_RECEIPTS])])
                break
            except ConditionFailed:
                continue  # somebody else has delivered it meanwhile: their receipt is replaced
        else:
            raise StoreUnavailable(f"outbox item {key!r} is being delivered by somebody else: it is tried again later")
        reach("outbox.delivered.after")

    async def outbox_row(self, key: str) -> OutboxRow | None:
        """One item with its receipts."""
        item = await self._effect(key)
        return None if item is None else await self._effect_row(item)

    async def by_message(self, message: str) -> OutboxRow | None:
        """The item that became this message, also where a later receipt named others."""
        receipt = await self._table.get(layout.message(message))
        return None if receipt is None else await self.outbox_row(text(receipt, "key"))

    async def _effect(self, key: str) -> Item | None:
        place = self._aws.outbox.get(key)
        for _ in range(2):
            if place is None:
                known = await self._table.get(layout.outbox_place(key))
                if known is None:
                    return None
                place = text(known, "thread"), number(known, "order")
                self._aws.outbox.put(key, place)
            # It may be moved between two reads, and only from the first to the second.
            for stands in (layout.outbox, layout.sent):
                if (item := await self._table.get(stands(*place, key))) is not None:
                    return item
            self._aws.outbox.drop(key)
            place = None
        return None

    async def _effect_row(self, item: Item) -> OutboxRow:
        key, order = text(item, "key"), number(item, "order")
        self._aws.outbox.put(key, (text(item, layout.PARTITION), order))
        delivered = cast(list[str] | None, item.get("delivered"))
        try:
            read = OutboxItem.model_validate_json(await self._aws.bodies.unpack(item))
        except ValidationError:
            log.error("outbox item %s is damaged; its thread is told that something is lost", key)
            read = lost_item(key, text(item, layout.PARTITION))
        return OutboxRow(read, order, tuple(delivered or ()), delivered is not None)


async def puts(aws: Aws, items: Sequence[OutboxItem]) -> list[Write]:
    """The writes that keep items, two each; refused where a key is taken."""
    firsts: dict[str, OutboxItem] = {}
    for item in items:
        firsts.setdefault(item.key, item)
    writes: list[Write] = []
    for item in firsts.values():
        order = aws.order.next()
        text = item.model_dump_json(exclude_defaults=True).encode()
        body = await aws.bodies.pack(text, f"threads/{item.thread}/outbox")
        waits = layout.waiting(SORT_OF_WAITING, item.thread, padded(order))
        place = keyed(layout.outbox_place(item.key), {"thread": item.thread, "order": order})
        row = {"key": item.key, "order": order, "ages": _ages(item), **waits, **body}
        writes += [Put(place, ABSENT), Put(keyed(layout.outbox(item.thread, order, item.key), row))]
    return writes


def _ages(item: OutboxItem) -> bool:
    """Whether it goes by its age; what asks about a lesson stays, what an execution said goes with its log."""
    return item.sort != "lesson" and not (item.execution and item.key.startswith(f"{item.execution}."))


def without_taken(writes: Sequence[Write], refused: ConditionFailed) -> list[Write]:
    """The writes of ``puts`` whose keys were not taken; the reasons may be those of a longer transaction that ends so."""
    reasons = refused.reasons[len(refused.reasons) - len(writes) :]
    pairs = range(0, len(writes), WRITES_EACH)
    return [write for at in pairs if not reasons[at].refused for write in writes[at : at + WRITES_EACH]]


def _moved(item: Item, messages: Sequence[str]) -> list[Write]:
    """The writes that put an item with its receipts among what was delivered."""
    thread, key, order = text(item, layout.PARTITION), text(item, "key"), number(item, "order")
    receipt = list(messages)
    if "delivered" in item:
        place = layout.sent(thread, order, key)
        return [Update(place, "SET #delivered = :receipt", PRESENT, {"receipt": receipt})]
    kept = {"key": key, "order": order, "delivered": receipt, **{name: item[name] for name in BODY if name in item}}
    if item.get("ages"):
        kept |= layout.listed(LIST_OF_SENT, padded(order))
    return [Delete(layout.outbox(thread, order, key), PRESENT), Put(keyed(layout.sent(thread, order, key), kept))]
