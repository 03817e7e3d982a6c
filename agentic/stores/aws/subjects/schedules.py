"""Schedules: all in one partition, for there are few, and whoever looks at one wants it as it stands now."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast
from uuid import uuid4

from agentic.aws.aws_errors import ConditionFailed
from agentic.aws.items import ABSENT, Delete, Item, Put, Update, Value, keyed, number, text
from agentic.ports.failpoints import reach
from agentic.ports.schedules import ScheduleRow
from agentic.stores.aws import layout
from agentic.stores.aws.store_subject import StoreSubject
from agentic.stores.event_rows import micros, moment


class Schedules(StoreSubject):
    """Each is changed only at the revision that it was read at."""

    async def put_schedule(self, row: ScheduleRow) -> ScheduleRow | None:
        """Keep it, unless it was changed meanwhile."""
        key, kept = layout.schedule(row.id), replace(row, revision=row.revision + 1)
        values: dict[str, Value] = {
            "guild": row.guild,
            "person": row.person,
            "thread": row.thread,
            "due": None if row.due is None else micros(row.due),
            "body": row.body,
            "revision": kept.revision,
            "stamp": uuid4().hex,
        }
        reach("schedule.put.before")
        try:
            if row.revision == 0:
                await self._table.write(Put(keyed(key, {**values, "made": self._aws.order.next()}), ABSENT))
            else:
                changes = ", ".join(f"#{name} = :{name}" for name in values)
                read_at = {**values, "read": row.revision}
                await self._table.write(Update(key, f"SET {changes}", "#revision = :read", read_at))
        except ConditionFailed as refused:
            # It is ours where the answer to what was sent first was lost.
            return kept if text(refused.reasons[0].item or {}, "stamp") == values["stamp"] else None
        reach("schedule.put.after")
        return kept

    async def schedule(self, id: str) -> ScheduleRow | None:
        """One of them."""
        item = await self._table.get(layout.schedule(id))
        return None if item is None else _row(item)

    async def schedules(self, *, guild: str = "", person: str = "", thread: str = "") -> list[ScheduleRow]:
        """All, or those that fit, in the order in which they were made."""
        return [
            row
            for row in await self._all_schedules()
            if guild in ("", row.guild) and person in ("", row.person) and thread in ("", row.thread)
        ]

    async def schedules_due(self, by: datetime) -> list[ScheduleRow]:
        """Those that are to be looked at by then, the earliest first."""
        found = [(row.due, row) for row in await self._all_schedules() if row.due is not None and row.due <= by]
        return [row for _, row in sorted(found, key=lambda pair: pair[0])]

    async def delete_schedules(self, ids: Sequence[str]) -> None:
        """Forget them."""
        await asyncio.gather(*(self._table.write(Delete(layout.schedule(id))) for id in ids))

    async def _all_schedules(self) -> list[ScheduleRow]:
        items = [item async for item in self._table.query(layout.SCHEDULES)]
        return [_row(item) for item in sorted(items, key=lambda item: number(item, "made"))]


def _row(item: Item) -> ScheduleRow:
    due = cast("int | None", item.get("due"))
    return ScheduleRow(
        text(item, "sk"),
        text(item, "guild"),
        text(item, "person"),
        text(item, "thread"),
        None if due is None else moment(due),
        text(item, "body"),
        number(item, "revision"),
    )
