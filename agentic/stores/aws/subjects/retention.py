"""How logs, contents and delivered messages go, piece by piece.

An execution is buried by one transaction: its head goes, and the item ``GONE`` comes, so that no reader finds its log. Then
what is under its name is cleared away, the oldest burial of a thread first; the place of an execution stays and says that
it was there, unless its whole thread is forgotten. Whatever a cleared log named is noted, and swept once no other log names
it.

Before anything of a log goes or changes, that is noted under ``CHANGED``, for whoever keeps words of it elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import cast

import orjson
from pydantic import ValidationError

from agentic.aws.aws_errors import ConditionFailed
from agentic.aws.items import PRESENT, Delete, Item, Put, Update, Value, Write, key_of, keyed, number, text
from agentic.core.events.execution_events import Envelope, OutboxItem, Started
from agentic.ports.errors import StoreCorrupt, StoreUnavailable
from agentic.ports.maintenance import EventRow
from agentic.ports.retention import Buried, Kept
from agentic.stores.aws import layout
from agentic.stores.aws.bodies import BODY, OBJECT
from agentic.stores.aws.layout import LISTED, PARTITION, SORT, Key, padded
from agentic.stores.aws.subjects import blobs, budgets
from agentic.stores.aws.subjects.events import GONE, LIST, Events, changed, log_folder
from agentic.stores.aws.subjects.inbox import waiting_threads
from agentic.stores.aws.subjects.outbox import LIST_OF_SENT, Outbox
from agentic.stores.event_rows import micros, moment, to_row

SORT_OF_WAITING = "buried"
ITEMS_A_PIECE = 100
"""Of a log that are deleted at a time, and of the outbox."""
READ_A_PIECE = 50
"""Executions that are looked at together."""
TOGETHER = 10
"""Logs that are read beside each other."""
AGE_EVERY = timedelta(hours=1)
"""So exactly the age of what was delivered is known."""
_MOST_TRIES = 10
FORGOTTEN = "forgotten"
"""An attribute of a burial after which the name of the execution goes too."""


class Retention(Events, Outbox):
    """Each method does one piece; a process may end between any two."""

    async def expire(self, before: datetime, most: int = 20) -> int:
        """Bury what is finished and old; how many executions that were."""
        done, held = 0, dict[str, bool]()
        listed: list[Item] = []
        async for item in self._table.query(LIST, until=padded(micros(before)), index=LISTED):
            listed.append(item)
            if len(listed) == READ_A_PIECE:
                done += await self._expire(listed, before, most - done, held)
                listed = []
            if done >= most:
                return done
        return done + await self._expire(listed, before, most - done, held)

    async def _expire(self, listed: Sequence[Item], before: datetime, most: int, held: dict[str, bool]) -> int:
        done = 0
        for head in await self._heads(listed, "EXEC"):
            if done == most:
                break
            if await self._is_old(head, before) and not await self._is_held(text(head, PARTITION), held):
                done += await self._bury(head, "#last_at = :last_at", {"last_at": number(head, "last_at")})
        return done

    async def _is_old(self, head: Item, before: datetime) -> bool:
        if not text(head, "finished") or number(head, "last_at") >= micros(before):
            return False
        imported = await self._table.get(layout.fact(f"imported: {text(head, 'execution')}"))
        return imported is None or int(text(imported, "value")) < before.timestamp()

    async def _is_held(self, thread: str, known: dict[str, bool]) -> bool:
        """Whether something in the thread is open, waits, or is still to be delivered."""
        if thread not in known:
            sorts = ("OPEN", "INBOX", "OUT")
            known[thread] = any([await self._any(thread, layout.prefix(sort)) for sort in sorts])
        return known[thread]

    async def _any(self, partition: str, begins: str) -> bool:
        return bool([item async for item in self._table.query(partition, begins, most=1)])

    async def bury(self, executions: Sequence[str]) -> int:
        """Bury these, unless they are open."""
        found = [await self._placed(name) for name in executions]
        return sum([await self._bury(each[1]) for each in found if each is not None])

    async def _bury(self, head: Item, condition: str = "", values: dict[str, Value] | None = None) -> bool:
        """Whether it was finished and is buried now."""
        thread, name, order = text(head, PARTITION), text(head, "execution"), number(head, "order")
        began: dict[str, Value] = {"execution": name, "started_at": number(head, "started_at")}
        waits = layout.waiting(SORT_OF_WAITING, thread, padded(order))
        place = "SET #gone = :order, #started_at = :began REMOVE #" + ", #".join(BODY)
        finished = f"{PRESENT} AND #finished <> :open" + (f" AND {condition}" if condition else "")
        writes: list[Write] = [
            Update(layout.execution_place(name), place, PRESENT, {"order": order, "began": began["started_at"]}),
            Delete(layout.execution(thread, name), finished, {"open": "", **(values or {})}),
            Put(keyed(layout.burial(thread, order, name), {**began, **waits})),
            changed(self._aws, thread, name),
        ]
        try:
            await self._table.transact(writes)
        except ConditionFailed:
            return False
        self._aws.threads.drop(name)
        return True

    async def forget_thread(self, thread: str, facts: Sequence[str] = ()) -> bool:
        """Let go of a thread that is no more, unless something in it is open; its own row goes last."""
        if await self._any(thread, layout.prefix("OPEN")):
            return False
        heads = [item async for item in self._table.query(thread, layout.prefix("EXEC"))]
        if not all([await self._bury(head) for head in heads]):
            return False
        async for burial in self._table.query(thread, layout.prefix("GONE")):
            waits = layout.waiting(SORT_OF_WAITING, thread, padded(0))
            change = "SET #forgotten = :yes, #waits = :waits, #waits_at = :waits_at"
            await self._table.write(Update(key_of(burial), change, values={"yes": True, **waits}))
        await self._drop([item async for item in self._table.query(thread, layout.prefix("INBOX"))])
        effects = await self._effects(thread)
        await self._drop_effects([item for item in effects if not await self._asks_about_a_lesson(item)])
        await self._table.delete_all([*(layout.fact(fact) for fact in facts), layout.session(thread)])
        return True

    async def burials(self) -> list[str]:
        """Threads in which something is to be cleared."""
        return await waiting_threads(self._aws, SORT_OF_WAITING)

    async def clear(self, thread: str) -> bool:
        """Delete a piece of what is buried; False when nothing is left."""
        async for burial in self._table.query(thread, layout.prefix("GONE")):
            if "waits" in burial:
                await self._clear(thread, burial)
                return True
        return False

    async def _clear(self, thread: str, burial: Item) -> None:
        name = text(burial, "execution")
        for sort in ("EV", "OC"):
            piece = [item async for item in self._table.query(thread, f"{sort}#{name}#", most=ITEMS_A_PIECE)]
            rows = [row for item in piece for row in await self._whole_rows(item)]
            await self._unname(name, blobs.hashes(rows))
            await self._table.delete_all([key_of(item) for item in piece])
            if len(piece) == ITEMS_A_PIECE:
                return
        await self._aws.bucket.erase(await self._aws.bucket.versions_below(f"{log_folder(thread, name)}/"))
        await self._drop(await self._turns(thread, name))
        below = (f"{name}.", f"{name}/")
        await self._drop_effects([item for item in await self._effects(thread) if text(item, "key").startswith(below)])
        await budgets.forget_settled(self._aws, name)
        await self._table.delete_all([layout.fact(f"{fact}: {name}") for fact in ("learned", "imported")])
        if FORGOTTEN in burial:
            await self._table.delete_all([layout.execution_place(name), key_of(burial)])
        else:
            await self._table.write(Update(key_of(burial), "REMOVE #waits, #waits_at"))

    async def _unname(self, execution: str, shas: Iterable[str]) -> None:
        """Note contents that one log less names; the note comes first."""
        named = sorted(shas)
        await self._table.put_all([keyed(layout.unnamed(sha), {}) for sha in named])
        await self._table.delete_all([layout.reference(sha, execution) for sha in named])

    async def buried(self, thread: str) -> list[Buried]:
        """Executions of a thread whose logs were deleted, oldest first."""
        return [
            Buried(text(item, "execution"), thread, moment(number(item, "started_at")))
            async for item in self._table.query(thread, layout.prefix("GONE"))
        ]

    async def was_buried(self, execution: str) -> Buried | None:
        """One whose log was deleted."""
        place = await self._table.get(layout.execution_place(execution))
        if place is None or GONE not in place:
            return None
        return Buried(execution, text(place, "thread"), moment(number(place, "started_at")))

    # --- outbox ---

    async def expire_outbox(self, now: datetime, before: datetime) -> bool:
        """Note how far the outbox is now, and delete a piece of what was there before and is delivered."""
        ages = [item async for item in self._table.query(layout.OUTBOX_AGES)]
        newest = int(text(ages[-1], SORT)) if ages else None
        if newest is None or micros(now) - newest >= AGE_EVERY // timedelta(microseconds=1):
            age = keyed(layout.outbox_age(micros(now)), {"order": self._aws.order.next()})
            await self._table.write(Put(age))
            ages.append(age)
        old = [age for age in ages if int(text(age, SORT)) < micros(before)]
        if not old:
            return False
        await self._table.delete_all([key_of(age) for age in old[:-1]])
        return await self._expire_outbox(number(old[-1], "order"))

    async def _expire_outbox(self, mark: int) -> bool:
        found: list[Item] = []
        listed: list[Key] = []
        async for item in self._table.query(LIST_OF_SENT, until=padded(mark), index=LISTED):
            listed.append(key_of(item))
            if len(listed) == READ_A_PIECE:
                found += await self._of_no_log(listed)
                listed = []
            if len(found) >= ITEMS_A_PIECE:
                break
        found += await self._of_no_log(listed)
        await self._drop_effects(found)
        return len(found) >= ITEMS_A_PIECE

    async def _of_no_log(self, keys: Sequence[Key]) -> list[Item]:
        """Those items of these that belong to no execution whose log is there."""
        items = (await self._table.get_all(keys)).values()
        return [item for item in items if not await self._has_log(item)]

    async def _has_log(self, item: Item) -> bool:
        effect = await self._effect_of(item)
        return effect is not None and bool(effect.execution) and await self._placed(effect.execution) is not None

    async def said_in(self, thread: str) -> list[OutboxItem]:
        """All outbox items of a thread, delivered or not, in order."""
        return [(await self._effect_row(item)).item for item in await self._effects(thread)]

    async def reword(self, items: Sequence[OutboxItem]) -> None:
        """Put items in the place of those under the same keys; what those became in Discord stays known."""
        for item in items:
            for _ in range(_MOST_TRIES):
                stands = await self._effect(item.key)
                if stands is None or await self._reworded(stands, item):
                    break
            else:
                raise StoreUnavailable(f"outbox item {item.key!r} is changed by others: it is tried again later")

    async def _reworded(self, stands: Item, item: OutboxItem) -> bool:
        """False where it was delivered meanwhile, and stands elsewhere."""
        kept = {name: value for name, value in stands.items() if name not in BODY}
        said = item.model_dump_json(exclude_defaults=True).encode()
        body = await self._aws.bodies.pack(said, f"threads/{item.thread}/outbox")
        try:
            await self._table.write(Put({**kept, **body}, PRESENT))
        except ConditionFailed:
            return False
        await self._erase_objects([stands], but=body)
        return True

    async def _effects(self, thread: str) -> list[Item]:
        found = [item for sort in ("OUT", "SENT") async for item in self._table.query(thread, layout.prefix(sort))]
        return sorted(found, key=lambda item: number(item, "order"))

    async def _effect_of(self, item: Item) -> OutboxItem | None:
        with suppress(ValidationError, StoreCorrupt):
            return OutboxItem.model_validate_json(await self._aws.bodies.unpack(item))
        return None

    async def _asks_about_a_lesson(self, item: Item) -> bool:
        effect = await self._effect_of(item)
        return effect is not None and effect.sort == "lesson"

    async def _drop_effects(self, items: Sequence[Item]) -> None:
        """Outbox items with what points to them."""
        pointers = [layout.outbox_place(text(item, "key")) for item in items]
        messages = {id for item in items for id in cast(Sequence[str], item.get("delivered", ()))}
        await self._drop(items)
        await self._table.delete_all([*pointers, *map(layout.message, sorted(messages))])
        for item in items:
            self._aws.outbox.drop(text(item, "key"))

    # --- contents, words ---

    async def sweep_blobs(self) -> bool:
        """Look at some contents that a log which is gone named, and delete those that no other names."""
        noted = [text(item, SORT) async for item in self._table.query(layout.UNNAMED, most=ITEMS_A_PIECE)]
        for sha in noted:
            await blobs.sweep(self._aws, sha)
            await self._table.write(Delete(layout.unnamed(sha)))
        return bool(noted)

    async def scrub(self) -> bool:
        """Nothing of what was deleted stands anywhere else here."""
        return True

    async def rewrite(self, execution: str, log: Sequence[Envelope], outcome: Sequence[Envelope]) -> bool:
        """Put other events in the places of a finished execution's; where it ends in the middle, it is done again."""
        found = await self._placed(execution)
        if found is None or not text(found[1], "finished"):
            return False
        place, thread = found[0], text(found[0], "thread")
        streams = {"EV": [to_row(each) for each in log], "OC": [to_row(each) for each in outcome]}
        there = {sort: await self._stream(thread, execution, sort) for sort in streams}
        for sort, rows in streams.items():
            if [row[:3] for _, each in there[sort] for row in each] != [row[:3] for row in rows]:
                return False
        await self._table.write(changed(self._aws, thread, execution))
        for sort, rows in streams.items():
            left = iter(rows)
            for item, old in there[sort]:
                new = list(islice(left, len(old)))
                if new != old:
                    await self._replace(item, old, new, execution)
        first = log[0].event
        said = first.task.encode() if isinstance(first, Started) else b""
        task = await self._aws.bodies.pack(said, log_folder(thread, execution))
        kept = {name: value for name, value in place.items() if name not in BODY}
        with suppress(ConditionFailed):
            await self._table.write(Put({**kept, **task}, f"{PRESENT} AND attribute_not_exists(#{GONE})"))
        await self._erase_objects([place], but=task)
        await self._drop(await self._turns(thread, execution))
        return True

    async def _replace(self, item: Item, old: Sequence[EventRow], new: Sequence[EventRow], execution: str) -> None:
        kept = {name: value for name, value in item.items() if name not in BODY}
        body = await self._packed(new, text(item, PARTITION), execution)
        await self._table.write(Put({**body, **kept}, PRESENT))
        await self._erase_objects([item], but=body)
        await self._unname(execution, blobs.hashes(old) - blobs.hashes(new))

    async def mentioning(self, words: str) -> list[str]:
        """Executions in whose log or outcome these characters stand somewhere, oldest first; reads all there is."""
        found: list[str] = []
        names = [(row.thread, row.execution) async for row in self.all_executions()]
        for start in range(0, len(names), TOGETHER):
            part = names[start : start + TOGETHER]
            said = await asyncio.gather(*(self._mentions(*each, words) for each in part))
            found += [name for (_, name), yes in zip(part, said, strict=True) if yes]
        return found

    async def _mentions(self, thread: str, execution: str, words: str) -> bool:
        for sort in ("EV", "OC"):
            async for item in self._table.query(thread, f"{sort}#{execution}#"):
                if any(words in row[-1] for row in await self._rows_of(item)):
                    return True
        return False

    async def kept(self) -> Kept:
        """How much there is; goes through all of it."""
        heads = [row async for row in self.all_executions()]
        threads = {row.thread for row in heads} | set(await self.undelivered_threads())
        outbox = sum([len(await self._effects(thread)) for thread in sorted(threads)])
        began = [row.started_at for row in heads if row.started_at is not None]
        size = (await self._table.call("describe_table"))["Table"].get("TableSizeBytes", 0)
        large = sum([each.size async for each in self._aws.bucket.objects("")])
        opened = sum(not row.finished for row in heads)
        return Kept(len(heads), opened, sum(row.head for row in heads), min(began, default=None), outbox, size + large)

    # --- inside ---

    async def _stream(self, thread: str, execution: str, sort: str) -> list[tuple[Item, list[EventRow]]]:
        items = [item async for item in self._table.query(thread, f"{sort}#{execution}#")]
        return [(item, await self._rows_of(item)) for item in items]

    async def _rows_of(self, item: Item) -> list[EventRow]:
        return [cast(EventRow, tuple(row)) for row in orjson.loads(await self._aws.bodies.unpack(item))]

    async def _whole_rows(self, item: Item) -> list[EventRow]:
        """The same, none where they are damaged."""
        with suppress(StoreCorrupt, ValueError):
            return await self._rows_of(item)
        return []

    async def _turns(self, thread: str, execution: str) -> list[Item]:
        """The readable rows of an execution's turns."""
        return [
            item
            async for item in self._table.query(thread, layout.prefix("TURN"))
            if text(item, "execution") == execution
        ]

    async def _drop(self, items: Sequence[Item]) -> None:
        """Items, and first what of them lies in the bucket."""
        await self._erase_objects(items)
        await self._table.delete_all([key_of(item) for item in items])

    async def _erase_objects(self, items: Sequence[Item], but: Item | None = None) -> None:
        """What of items lies in the bucket; ``but``: what came in their place, and may be the same."""
        names = [text(item, OBJECT) for item in items if OBJECT in item and item[OBJECT] != (but or {}).get(OBJECT)]
        await self._aws.bucket.erase(await self._aws.bucket.versions(names))
