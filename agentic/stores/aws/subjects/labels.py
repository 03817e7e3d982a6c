"""Labels of executions: each stands in its thread, and in one list in the order in which executions were first labelled."""

from __future__ import annotations

from typing import cast

from pydantic import TypeAdapter, ValidationError

from agentic.aws.items import Item, Update, Value, key_of, number, text
from agentic.ports.errors import StoreCorrupt
from agentic.ports.stores import LabelRow, LabelSource, Look
from agentic.stores.aws import layout
from agentic.stores.aws.layout import LISTED
from agentic.stores.aws.store_subject import StoreSubject

_LIST = "LABEL"
_LOOKS = TypeAdapter(tuple[Look, ...])


class Labels(StoreSubject):
    """A label is an item of its thread, which no retention takes away."""

    async def put_label(self, row: LabelRow) -> None:
        """Keep it in place of what was known; it keeps its place."""
        values: dict[str, Value] = {
            "guild": row.guild,
            "role": row.role,
            "model": row.model,
            "tier": row.tier,
            "label": row.label,
            "source": row.source,
            "weight": row.weight,
            "final": row.final,
            "up": row.up,
            "down": row.down,
            "talk": row.talk,
            "looks": _LOOKS.dump_json(row.looks).decode(),
        }
        place = layout.listed(_LIST, f"{layout.padded(self._aws.order.next())}#{row.execution}")
        changes = [f"#{name} = :{name}" for name in values]
        changes += [f"#{name} = if_not_exists(#{name}, :{name})" for name in place]
        await self._table.write(
            Update(layout.label(row.thread, row.execution), f"SET {', '.join(changes)}", values={**values, **place})
        )

    async def labels(self, thread: str | None = None, *, newest: int = -1) -> list[LabelRow]:
        """All or a thread's, or the newest so many, in order."""
        if newest == 0:
            return []
        if thread is not None:
            items = [item async for item in self._table.query(thread, layout.prefix(_LIST))]
            items.sort(key=lambda item: text(item, LISTED.sort))
            return [_row(item) for item in items[-newest if newest > 0 else 0 :]]
        found = self._table.query(_LIST, newest=True, most=max(newest, 0), index=LISTED)
        keys = [key_of(item) async for item in found][::-1]
        there = await self._table.get_all(keys)
        return [_row(there[key]) for key in keys if key in there]

    async def labelled(self) -> int:
        """Executions with a label; reads all there are."""
        return sum(row.known and not row.talk for row in await self.labels())


def _row(item: Item) -> LabelRow:
    execution = text(item, "sk").removeprefix(layout.prefix(_LIST))
    try:
        looks = _LOOKS.validate_json(text(item, "looks"))
    except ValidationError as error:
        raise StoreCorrupt(
            f"the label of execution {execution} cannot be read: `threadwright calibration --rebuild` makes it anew"
        ) from error
    return LabelRow(
        execution,
        text(item, "pk"),
        text(item, "guild"),
        text(item, "role"),
        text(item, "model"),
        number(item, "tier"),
        cast("bool | None", item.get("label")),
        cast(LabelSource, text(item, "source")),
        float(cast(float, item.get("weight", 0))),
        number(item, "final"),
        number(item, "up"),
        number(item, "down"),
        bool(item.get("talk")),
        looks,
    )
