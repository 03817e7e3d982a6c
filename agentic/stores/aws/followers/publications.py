"""How far each target outside was told of each execution: attributes of the execution's head.

An append that holds something for somebody outside marks the head that it moves anyway; so nothing is written for an event,
and the index of what waits is touched only when an execution begins to wait and when all targets were told of all of it.  What
is found in the index is read from the log itself, behind the number up to which the target was told, and so in its order.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import cast

import orjson

from agentic.aws.aws_errors import ConditionFailed
from agentic.aws.items import ABSENT, PRESENT, Item, Put, Update, Value, keyed, number, text
from agentic.core.events.execution_events import Envelope
from agentic.core.outside.outline import FOLLOWED, Stream
from agentic.ports.errors import StoreCorrupt, StoreTooNew
from agentic.ports.maintenance import EventRow
from agentic.ports.stores import LogEntry
from agentic.stores.aws import layout
from agentic.stores.aws.layout import PARTITION, SORT, WAITING, Key
from agentic.stores.aws.store_subject import Aws, StoreSubject
from agentic.stores.event_rows import to_envelope

SORT_OF_WAITING = "told"
TARGETS_SECONDS = 30.0
"""So long it may take until a process knows of a target that another one has subscribed; what it misses until then is
told with the next event of the same execution, and one that ends before that is never told of, where there was no target."""
_FRESH = 200
"""Executions of this process that are looked at before the index shows them."""
_HEADS = 50
"""Heads of executions that are read together."""
_LAST: dict[Stream, str] = {"log": "tell", "outcome": "tell_outcome"}
"""Attributes with the number of the last event that is to be told."""
_SORTS: dict[Stream, str] = {"log": "EV", "outcome": "OC"}
_INDEX_OUT = f"REMOVE #{WAITING.partition}, #{WAITING.sort}"
_KIND = re.compile(r'\{"kind":"(\w{1,40})"')


async def mark(aws: Aws, thread: str, execution: str, events: Sequence[Envelope], stream: Stream = "log") -> Item:
    """Attributes of an execution's head of which somebody outside is to be told these; none where nobody is."""
    told = [envelope.seq for envelope in events if envelope.event.kind in FOLLOWED]
    if not told or not await _targets(aws):
        return {}
    order = aws.order.next()
    aws.following.fresh[layout.execution(thread, execution)] = None
    while len(aws.following.fresh) > _FRESH:
        del aws.following.fresh[next(iter(aws.following.fresh))]
    return {
        _LAST[stream]: told[-1],
        "tell_order": order,
        **layout.waiting(SORT_OF_WAITING, thread, layout.padded(order)),
    }


def changes(marks: Item) -> list[str]:
    """How an update sets them, each value under its name; what waits already goes on waiting since then."""
    index = (WAITING.partition, WAITING.sort)
    return [f"#{name} = if_not_exists(#{name}, :{name})" if name in index else f"#{name} = :{name}" for name in marks]


async def _targets(aws: Aws, *, anew: bool = False) -> dict[str, int]:
    """The targets with the order since when they are told."""
    if anew or time.monotonic() - aws.following.looked_at > TARGETS_SECONDS:
        found = [item async for item in aws.table.query(layout.TARGETS)]
        aws.following.targets = {text(item, SORT): number(item, "order") for item in found}
        aws.following.looked_at = time.monotonic()
    return aws.following.targets


class Publications(StoreSubject):
    """Reads what is to be told, and notes what was."""

    async def subscribe(self, target: str) -> None:
        """Events wait for it from now on."""
        new = Put(keyed(layout.target(target), {"order": self._aws.order.next()}), ABSENT)
        with suppress(ConditionFailed):  # it is known
            await self._table.write(new)
        await _targets(self._aws, anew=True)

    async def unpublished(self, target: str, limit: int) -> list[LogEntry]:
        """What waits for it: execution by execution, each in its order."""
        since = (await _targets(self._aws)).get(target)
        found: list[LogEntry] = []
        keys = await self._untold() if since is not None else []
        for start in range(0, len(keys), _HEADS):
            part = keys[start : start + _HEADS]
            heads = await self._table.get_all(part)
            for key in part:
                head = heads.get(key)
                if head is None or WAITING.partition not in head:
                    self._aws.following.fresh.pop(key, None)
                    continue
                async for entry in self._entries(head, target, cast(int, since)):
                    found.append(entry)
                    if len(found) == limit:
                        return found
        return found

    async def published(self, target: str, entries: Sequence[LogEntry]) -> None:
        """These wait no more."""
        if target not in await _targets(self._aws):
            return
        told: dict[Key, dict[str, Value]] = {}
        ends: dict[Key, int] = {}
        for entry in entries:
            thread, _, order = entry.mark.partition(" ")
            key = layout.execution(thread, entry.envelope.execution)
            told.setdefault(key, {})[_told(target, entry.stream)] = entry.envelope.seq
            ends[key] = int(order)
        for key, values in told.items():
            if not await self._ended(key, values, ends[key]):
                with suppress(ConditionFailed):  # its log was deleted, or there is more to be told of it
                    await self._settle(key, await self._table.write(Update(key, _set(values), PRESENT, values)))

    async def _ended(self, key: Key, values: dict[str, Value], order: int) -> bool:
        """Note it and take it out of what waits with one write, where nobody else is told and nothing came since ``order``."""
        if not order or len(await _targets(self._aws)) > 1:
            return False
        still = Update(key, f"{_set(values)} {_INDEX_OUT}", "#tell_order = :order", {**values, "order": order})
        with suppress(ConditionFailed):
            await self._table.write(still)
            self._aws.following.fresh.pop(key, None)
            return True
        return False

    async def _settle(self, key: Key, head: Item) -> None:
        """Take it out of what waits, once every target was told of all of it."""
        for target, since in (await _targets(self._aws)).items():
            behind = any(number(head, _told(target, stream)) < number(head, last) for stream, last in _LAST.items())
            if behind and since < number(head, "tell_order"):
                return
        order: dict[str, Value] = {"order": number(head, "tell_order")}
        await self._table.write(Update(key, _INDEX_OUT, "#tell_order = :order", order))
        self._aws.following.fresh.pop(key, None)

    async def _untold(self) -> list[Key]:
        """Heads of executions that wait, the longest waiting first; what this process wrote may not be in the index yet."""
        shards = layout.shards(SORT_OF_WAITING)
        found = [item for part in await asyncio.gather(*map(self._of_shard, shards)) for item in part]
        found.sort(key=lambda item: (text(item, WAITING.sort), text(item, SORT)))
        return list(
            dict.fromkeys([*((text(item, PARTITION), text(item, SORT)) for item in found), *self._aws.following.fresh])
        )

    async def _of_shard(self, shard: str) -> list[Item]:
        return [item async for item in self._table.query(shard, index=WAITING)]

    async def _entries(self, head: Item, target: str, since: int) -> AsyncIterator[LogEntry]:
        """What is to be told of one execution, its log before its outcome."""
        thread, execution, order = text(head, PARTITION), text(head, "execution"), number(head, "tell_order")
        final: Stream = "outcome" if "tell_outcome" in head else "log"
        for stream, sort in _SORTS.items():
            told = number(head, _told(target, stream))
            if told >= number(head, _LAST[stream]):
                continue
            begins = f"{sort}#{execution}#"
            first, last = f"{begins}{layout.padded(told)}", f"{begins}{layout.padded(10**19)}"
            async for item in self._table.query(thread, after=first, until=last):
                for row in await self._rows_to_tell(item, told) if number(item, "order") > since else ():
                    ends = stream == final and row[0] == number(head, _LAST[stream])
                    try:
                        yield LogEntry(to_envelope(execution, row), stream, f"{thread} {order if ends else 0}")
                    except (StoreCorrupt, StoreTooNew):
                        continue

    async def _rows_to_tell(self, item: Item, told: int) -> list[EventRow]:
        try:
            rows = cast(list[EventRow], orjson.loads(await self._aws.bodies.unpack(item)))
        except (StoreCorrupt, ValueError):
            return []
        kinds = [(row, _KIND.match(row[-1])) for row in rows if row[0] > told]
        return [row for row, kind in kinds if kind is not None and kind[1] in FOLLOWED]


def _set(values: dict[str, Value]) -> str:
    return "SET " + ", ".join(f"#{name} = :{name}" for name in values)


def _told(target: str, stream: Stream) -> str:
    """The attribute with the number of the last event that a target was told."""
    return f"told_{target}" if stream == "log" else f"told_{target}_outcome"
