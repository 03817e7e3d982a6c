"""Threads with an agent, and small facts.

A thread's row stands in both indexes by its age: in a list of its guild, which people page through, and among those of all
guilds, which a start goes through.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from itertools import islice
from typing import cast
from uuid import uuid4

import orjson
from pydantic import JsonValue

from agentic.aws.aws_errors import ConditionFailed
from agentic.aws.items import ABSENT, Item, Put, keyed, number, text
from agentic.ports.errors import StoreCorrupt
from agentic.ports.failpoints import reach
from agentic.ports.maintenance import SESSION_FIELDS, Row
from agentic.ports.maintenance import Value as Field
from agentic.ports.stores import SessionRow
from agentic.stores.aws import layout
from agentic.stores.aws.layout import LISTED, WAITING, Index, Key
from agentic.stores.aws.store_subject import StoreSubject
from agentic.stores.event_rows import micros, moment

_SORT = "SESSION"
_PAGE = 100
_FAR = 10**17
"""Microseconds; less this, the last accessed comes first."""


class Sessions(StoreSubject):
    """Rows of threads, found by thread, age, guild and channel."""

    async def save_session(self, row: SessionRow) -> None:
        """Create or replace."""
        fields = (row.thread, row.channel, row.guild, row.title, _micros(row.created), _micros(row.accessed))
        item = item_of_row((*fields, row.confidence, orjson.dumps(row.settings).decode()))
        reach("session.save.before")
        await self._table.write(Put(item))
        reach("session.save.after")

    async def session(self, thread: str) -> SessionRow | None:
        """One thread."""
        item = await self._table.get(layout.session(thread))
        return None if item is None else _row(item)

    async def sessions(self, after: str = "") -> AsyncIterator[SessionRow]:
        """Those whose thread comes after ``after``, by thread, read page by page."""
        found = await asyncio.gather(*(self._session_keys(WAITING, shard) for shard in layout.shards(_SORT)))
        threads = iter(sorted(key[0] for keys in found for _, key in keys if key[0] > after))
        while page := list(islice(threads, _PAGE)):
            for row in await self._session_rows([layout.session(thread) for thread in page]):
                yield row

    async def recent_sessions(
        self, limit: int, *, guild: str | None = None, before: SessionRow | None = None
    ) -> list[SessionRow]:
        """The last accessed, the last first."""
        lists = [_list_of(guild)] if guild is not None else layout.shards(_SORT)
        index = LISTED if guild is not None else WAITING
        after = "" if before is None else _age(before.thread, _micros(before.accessed))
        found = (
            await asyncio.gather(*(self._session_keys(index, each, after, limit) for each in lists))
            if limit > 0
            else []
        )
        return await self._session_rows([key for _, key in islice(heapq.merge(*found), limit)])

    async def sessions_in(self, channel: str) -> list[SessionRow]:
        """Those in a channel, by thread; reads all there are."""
        return [row async for row in self.sessions() if row.channel == channel]

    async def _session_keys(
        self, index: Index, partition: str, after: str = "", most: int = 0
    ) -> list[tuple[str, Key]]:
        """(age, key) of those after ``after``, in order; the same item is asked for its row afterwards."""
        found = self._table.query(partition, after=after, most=most, index=index)
        return [(text(item, index.sort), (text(item, "pk"), text(item, "sk"))) async for item in found]

    async def _session_rows(self, keys: Sequence[Key]) -> list[SessionRow]:
        items = await self._table.get_all(keys)
        return [_row(items[key]) for key in keys if key in items]

    # --- facts ---

    async def set_fact(self, key: str, value: str) -> None:
        """Keep a small fact."""
        reach("fact.set.before")
        await self._table.write(Put(keyed(layout.fact(key), {"value": value})))
        reach("fact.set.after")

    async def fact(self, key: str) -> str | None:
        """A fact, or None."""
        item = await self._table.get(layout.fact(key))
        return None if item is None else text(item, "value")

    async def facts(self, keys: Sequence[str]) -> dict[str, str]:
        """Those of these facts that there are."""
        found = await self._table.get_all([layout.fact(key) for key in keys])
        return {key: text(found[layout.fact(key)], "value") for key in keys if layout.fact(key) in found}

    async def swap_fact(self, key: str, before: str | None, after: str) -> bool:
        """Keep a fact if it is as it was; a request that is sent again is known by its mark."""
        attempt = uuid4().hex
        condition = ABSENT if before is None else "#value = :before"
        values: dict[str, str] = {} if before is None else {"before": before}
        fact = keyed(layout.fact(key), {"value": after, "attempt": attempt})
        try:
            await self._table.write(Put(fact, condition, values))
        except ConditionFailed as refused:
            return text(refused.reasons[0].item or {}, "attempt") == attempt
        return True


def item_of_row(row: Row) -> Item:
    """A thread's row as an item."""
    values = dict(zip(SESSION_FIELDS, row, strict=True))
    thread, guild, accessed = str(row[0]), str(values["guild"]), cast("int | None", values["accessed"])
    age = _age(thread, accessed)
    del values["thread"]
    indexed = {**layout.waiting(_SORT, thread, age), **layout.listed(_list_of(guild), age)}
    return keyed(layout.session(thread), {**values, **indexed})


def row_of_item(item: Item) -> Row:
    """And back."""
    return (text(item, "pk"), *(cast(Field, item.get(name)) for name in SESSION_FIELDS[1:]))


def _list_of(guild: str) -> str:
    return f"{_SORT}#{guild}"


def _age(thread: str, accessed: int | None) -> str:
    return f"{layout.padded(_FAR - (accessed or 0))}#{thread}"


def _micros(at: datetime | None) -> int | None:
    return None if at is None else micros(at)


def _moment(item: Item, name: str) -> datetime | None:
    at = cast("int | None", item.get(name))
    return None if at is None else moment(at)


def _row(item: Item) -> SessionRow:
    try:
        settings = cast(dict[str, JsonValue], orjson.loads(text(item, "settings")))
    except orjson.JSONDecodeError as error:
        raise StoreCorrupt(
            f"the row of thread {text(item, 'pk')} cannot be read: restore the table from a backup"
        ) from error
    return SessionRow(
        text(item, "pk"),
        text(item, "channel"),
        text(item, "guild"),
        text(item, "title"),
        _moment(item, "created"),
        _moment(item, "accessed"),
        number(item, "confidence"),
        settings,
    )
