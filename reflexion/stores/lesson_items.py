"""Rows of lessons in the table, and the order in which they changed.

Everything stands in the partition ``LESSONS``: rows under their table and number, readable; under ``CHANGE#version`` the
keys of the rows that a transaction changed, for as long as others may still be following; and under ``CHANGE#HEAD`` how
many changes there were.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import uuid4

from agentic.aws.aws_errors import ConditionFailed
from agentic.aws.items import ABSENT, PRESENT, Delete, Item, Put, Update, Value, Write, keyed, number, text
from agentic.stores.aws.layout import Key as ItemKey
from agentic.stores.aws.layout import padded
from agentic.stores.aws.table import Table
from reflexion.stores.replica import COLUMNS, Change, Key, Row
from reflexion.stores.schema import MIGRATIONS

KEPT = 1_000
"""So many changes can be followed one by one; whoever is further behind makes a new copy."""

_PARTITION = "LESSONS"
_HEAD: ItemKey = (_PARTITION, "CHANGE#HEAD")
"""It sorts after all versions, so one query tells what changed and how far that is."""
_AT_A_TIME = 500
TURN_SECONDS, PAUSE = 2.0, 0.05
"""Seconds that a process has for its turn, and at most between two looks whether it is another's."""
_MY_TURN = "(attribute_not_exists(#turn) OR #turn = :me OR #turn_until <= :now)"


@dataclass(frozen=True, slots=True)
class Head:
    """How far a table or a copy of it is."""

    store: str = ""
    """Which table, '' before the first change: a copy of another one is none of this."""
    version: int = 0
    schema: int = 0
    """Migrations that its newest writer knew."""


class VersionConflict(Exception):
    """Somebody else changed something first; nothing was written."""


class LessonItems:
    """What a copy reads and writes."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._me = uuid4().hex

    async def since(self, version: int) -> tuple[Head, list[list[Key]]]:
        """How far the table is, and the keys of what changed with each version after this one, without a gap."""
        head, changes = Head(), list[list[Key]]()
        async for item in self._table.query(_PARTITION, after=_change(version)[1], until=_HEAD[1]):
            if text(item, "sk") == _HEAD[1]:
                head = Head(text(item, "store"), number(item, "version"), number(item, "schema"))
            elif (_PARTITION, text(item, "sk")) == _change(version + len(changes) + 1):
                changes.append([_read(each) for each in cast(Sequence[str], item["rows"])])
        return head, changes

    async def rows(self, keys: Collection[Key]) -> Change:
        """Rows as they stand now."""
        places = {_place(key): key for key in keys}
        found = await self._table.get_all(list(places))
        return {key: _row(found[place], key[0]) if place in found else None for place, key in places.items()}

    async def all_rows(self, table: str) -> AsyncIterator[Change]:
        """All rows of a table, in parts, by their numbers."""
        part: dict[Key, Row | None] = {}
        async for item in self._table.query(_PARTITION, f"{table}#"):
            part[_read(text(item, "sk"))] = _row(item, table)
            if len(part) == _AT_A_TIME:
                yield part
                part = {}
        yield part

    async def commit(self, head: Head, rows: Change) -> Head:
        """Write them as the change after ``head``.  Raises ``VersionConflict``."""
        now = Head(head.store or uuid4().hex, head.version + 1, len(MIGRATIONS))
        standing = {"store": now.store, "version": now.version, "schema": max(now.schema, head.schema)}
        at: dict[str, Value] = {"version": head.version, "store": head.store, "me": self._me, "now": time.time()}
        writes: list[Write] = [
            Put(keyed(_HEAD, standing), f"#version = :version AND #store = :store AND {_MY_TURN}", at)
            if head.version
            else Put(keyed(_HEAD, standing), ABSENT),
            Put(keyed(_change(now.version), {"rows": [_place(key)[1] for key in rows]})),
            Delete(_change(now.version - KEPT)),
            *(Delete(_place(key)) if row is None else Put(keyed(_place(key), row)) for key, row in rows.items()),
        ]
        try:
            await self._table.transact(writes)
        except ConditionFailed as refused:
            raise VersionConflict from refused
        return now

    async def take_turn(self) -> bool:
        """From now on others wait until this process has written, or a moment has gone by; whether it waited for them.

        Whoever wrote last need not take anything in before it writes again, so without this it would win again and again.
        """
        change = "SET #turn = :me, #turn_until = :until"
        waited = False
        while True:
            now = time.time()
            asked: dict[str, Value] = {"me": self._me, "now": now, "until": now + TURN_SECONDS}
            try:
                await self._table.write(Update(_HEAD, change, f"{PRESENT} AND {_MY_TURN}", asked))
            except ConditionFailed:
                waited = True
                await asyncio.sleep(random.uniform(0, PAUSE))
            else:
                return waited


def _change(version: int) -> ItemKey:
    return _PARTITION, f"CHANGE#{padded(max(version, 0))}"


def _place(key: Key) -> ItemKey:
    return _PARTITION, f"{key[0]}#{padded(key[1])}"


def _read(place: str) -> Key:
    table, _, at = place.partition("#")
    return table, int(at)


def _row(item: Item, table: str) -> Row:
    return {name: cast("str | bytes", item[name]) for name in COLUMNS[table]}
