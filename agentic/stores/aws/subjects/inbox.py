"""What people did.  An item waits in its thread; that its id was kept stays for ever, so that it cannot come twice."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from pydantic import ValidationError

from agentic.aws.aws_errors import ConditionFailed
from agentic.aws.items import ABSENT, Item, Put, key_of, keyed, text
from agentic.core.events.execution_events import InboxItem
from agentic.ports.failpoints import reach
from agentic.stores.aws import layout
from agentic.stores.aws.layout import SORT, WAITING, Key, padded
from agentic.stores.aws.store_subject import Aws, StoreSubject
from agentic.stores.event_rows import micros

log = logging.getLogger(__name__)

SORT_OF_WAITING = "inbox"


class Inbox(StoreSubject):
    """Kept until an execution has taken it in."""

    async def put(self, item: InboxItem) -> bool:
        """Keep it durably; False if its id was ever kept."""
        reach("inbox.put.before")
        at, order = micros(item.at), self._aws.order.next()
        key = layout.inbox(item.thread, at, order, item.id)
        waits = layout.waiting(SORT_OF_WAITING, item.thread, f"{padded(at)}#{padded(order)}")
        body = await self._aws.bodies.pack(item.model_dump_json().encode(), f"threads/{item.thread}/inbox")
        try:
            await self._table.transact(
                [
                    Put(keyed(layout.seen(item.id), {"thread": item.thread, "at": key[1]}), ABSENT),
                    Put(keyed(key, {"id": item.id, **waits, **body})),
                ]
            )
        except ConditionFailed as refused:
            # Its place has a number that is used once: it is ours where the answer to what was sent first was lost.
            kept = text(refused.reasons[0].item or {}, "at") == key[1]
        else:
            kept = True
        reach("inbox.put.after")
        return kept

    async def pending(self, thread: str) -> list[InboxItem]:
        """What waits for this thread, oldest first."""
        items = [item async for item in self._table.query(thread, layout.prefix("INBOX"))]
        for item in items:
            self._aws.waiting.put(text(item, "id"), key_of(item))
        read = [await self._inbox_item(item) for item in items]
        return [item for item in read if item is not None]

    async def _inbox_item(self, item: Item) -> InboxItem | None:
        """None for one that is damaged: it stays, and the others are taken in."""
        try:
            return InboxItem.model_validate_json(await self._aws.bodies.unpack(item))
        except ValidationError:
            log.error("inbox item %s is damaged and is not taken in", text(item, "id"))
            return None

    async def pending_threads(self) -> list[str]:
        """Threads for which something waits, the longest waiting first."""
        return await waiting_threads(self._aws, SORT_OF_WAITING)

    async def discard(self, ids: Sequence[str]) -> None:
        """Acknowledge items that no execution will take in."""
        reach("inbox.discard.before")
        await self._table.delete_all(await places(self._aws, ids))
        reach("inbox.discard.after")


async def places(aws: Aws, ids: Sequence[str]) -> list[Key]:
    """Where items with these ids stand, or stood."""
    known = {id: aws.waiting.get(id) for id in ids}
    unknown = [id for id, key in known.items() if key is None]
    if unknown:
        for item in (await aws.table.get_all([layout.seen(id) for id in unknown])).values():
            id = text(item, layout.PARTITION).removeprefix(layout.prefix("SEEN"))
            known[id] = text(item, "thread"), text(item, "at")
    return [key for key in known.values() if key is not None]


async def waiting_items(
    aws: Aws, sort: str, after: str = "", most: int = 0, wanted: Callable[[Item], bool] = lambda _: True
) -> list[Item]:
    """The keys of what waits of a sort over all threads, the longest waiting first.

    ``after``: only what began to wait later. ``most``: how many at most, 0 for all; no more is read than that takes.
    """

    async def of_shard(shard: str) -> list[Item]:
        found: list[Item] = []
        async for item in aws.table.query(shard, after=after, page=most, index=WAITING):
            found += [item] if wanted(item) else []
            if most and len(found) == most:
                break
        return found

    found = [item for part in await asyncio.gather(*map(of_shard, layout.shards(sort))) for item in part]
    seen = [each for each in aws.table.own.seen_in(sort, found) if text(each, WAITING.sort) > after and wanted(each)]
    seen.sort(key=lambda item: (text(item, WAITING.sort), text(item, SORT)))
    return seen[:most] if most else seen


async def waiting_threads(aws: Aws, sort: str) -> list[str]:
    """Threads for which something of a sort waits, the longest waiting first."""
    return list(dict.fromkeys(text(item, layout.PARTITION) for item in await waiting_items(aws, sort)))
