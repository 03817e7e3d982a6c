"""Words of logs, found in a copy that each process keeps for itself.

A copy begins with the list of all executions; from then on it follows ``CHANGED``, where it is noted that a log began,
went, or was rewritten, and reads on in those that have not ended. What is found there is read in the table before it is
told: what is gone, or does not say it any more, is not found.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import cast

import orjson

from agentic.aws.items import Item, number, text
from agentic.core.events.execution_events import Envelope
from agentic.core.text.searchable import searchable
from agentic.ports.errors import StoreCorrupt, StoreTooNew
from agentic.ports.lookup import Hit, Wanted
from agentic.ports.maintenance import EventRow
from agentic.stores.aws import layout, words_copy
from agentic.stores.aws.layout import LISTED, PARTITION, SORT, padded
from agentic.stores.aws.store_subject import StoreSubject
from agentic.stores.aws.subjects.events import LIST, NOTED_SECONDS
from agentic.stores.aws.words_copy import Log, WordPlace, Words
from agentic.stores.event_rows import to_envelope
from agentic.stores.sqlite.tables.search import text_of
from agentic.text.word_query import WordQuery, composed

LOGS_A_PIECE, ITEMS_A_PIECE = 8, 20
"""Logs that are read beside each other, and appends that are read of each."""
LATE_SECONDS = 600
"""By so much the clock of whoever notes a change may be late."""
POSITIONS = 1 << 11
"""Positions of one append, which may be as many events as a long past has in one item."""


class Search(StoreSubject):
    """Takes in and finds."""

    async def take_in(self) -> bool:
        """Take in a piece of what was written since the last time; True while there may be more."""
        if not self._aws.due:
            await self._follow_changes()
            self._aws.due.extend(await self._grown())
        piece = [self._aws.due.popleft() for _ in range(min(LOGS_A_PIECE, len(self._aws.due)))]
        more = await asyncio.gather(*map(self._take_in, piece))
        self._aws.due.extend(log for log in more if log is not None)
        return bool(self._aws.due)

    async def search(self, query: WordQuery, wanted: Wanted) -> list[Hit]:
        """Events that have every phrase of the query, the newest first."""
        hits: list[Hit] = []
        while query.phrases and len(hits) < wanted.most:
            places = await self._aws.words.do(partial(words_copy.found, query=query, wanted=wanted))
            hits += [hit for hit in await asyncio.gather(*map(self._hit, places)) if hit and _has(hit.envelope, query)]
            if len(places) < wanted.most:
                break
            wanted = replace(wanted, before=places[-1].position)
        return hits[: wanted.most]

    # --- following ---

    async def _follow_changes(self) -> None:
        words, now = self._aws.words, self._aws.order.next()
        since = await words.do(words_copy.changed_until)
        if now - since > (NOTED_SECONDS - LATE_SECONDS) * 1_000_000:
            since = 0
            await words.do(words_copy.clear)
            listed = self._table.query(LIST, index=LISTED)
            began = [(f"0 {text(item, SORT)}", _log(text(item, SORT), text(item, PARTITION))) async for item in listed]
            await words.do(lambda connection: words_copy.follow(connection, began, now))
        after = padded(max(since - LATE_SECONDS * 1_000_000, 0))
        items = self._table.query(layout.CHANGED, after=after)
        changes = [(text(item, SORT), Log(text(item, "execution"), text(item, "thread"))) async for item in items]
        await words.do(lambda connection: words_copy.follow(connection, changes, now))
        await words.do(lambda connection: words_copy.prune(connection, after))

    async def _grown(self) -> list[Log]:
        """Logs that are longer than they were, or have ended, or gone."""
        logs = await self._aws.words.do(words_copy.open_logs)
        keys = {log: layout.execution(log.thread, log.execution) for log in logs}
        heads = await self._table.get_all(list(keys.values()))
        return [log for log, key in keys.items() if _has_news(log, heads.get(key))]

    async def _take_in(self, log: Log) -> Log | None:
        """Read on in a log; where there may be more, how far it is now."""
        words = self._aws.words
        head = await self._table.get(layout.execution(log.thread, log.execution))
        if head is None:
            await words.do(lambda connection: words_copy.forget(connection, log.execution))
            return None
        first, last = (layout.events(log.thread, log.execution, seq)[1] for seq in (log.seq, 10**19))
        items = [item async for item in self._table.query(log.thread, after=first, until=last, most=ITEMS_A_PIECE)]
        read = [(item, row) for item in items for row in await self._event_rows(item) if row[0] > log.seq]
        texts = [(item, row, text_of(row[3], row[7])) for item, row in read]
        said = [Words(_position(item, row), row[0], words_of) for item, row, words_of in texts if words_of is not None]
        seq = read[-1][1][0] if read else log.seq
        session = await self._table.get(layout.session(log.thread))
        guild = None if session is None else text(session, "guild")
        grows = not text(head, "finished") or seq < number(head, "head")
        await words.do(lambda connection: words_copy.take_in(connection, log, said, seq, grows=grows, guild=guild))
        return replace(log, seq=seq) if len(items) == ITEMS_A_PIECE else None

    # --- finding ---

    async def _hit(self, place: WordPlace) -> Hit | None:
        first, last = (layout.events(place.thread, place.execution, seq)[1] for seq in (place.seq - 1, 10**19))
        head = await self._table.get(layout.execution(place.thread, place.execution))
        if head is None:
            return None
        async for item in self._table.query(place.thread, after=first, until=last, most=1):
            for row in await self._event_rows(item):
                if row[0] == place.seq:
                    return _readable(place, row)
        return None

    async def _event_rows(self, item: Item) -> list[EventRow]:
        try:
            return [cast(EventRow, tuple(row)) for row in orjson.loads(await self._aws.bodies.unpack(item))]
        except (StoreCorrupt, orjson.JSONDecodeError):
            return []  # it is damaged, and not read elsewhere either


def _log(sort: str, thread: str) -> Log:
    return Log(sort.removeprefix(layout.prefix("EXEC")), thread)


def _has_news(log: Log, head: Item | None) -> bool:
    return head is None or number(head, "head") > log.seq or bool(text(head, "finished"))


def _position(item: Item, row: EventRow) -> int:
    """By when its append was written, and its place in it."""
    return number(item, "order") * POSITIONS + min(row[0] - number(item, "first"), POSITIONS - 1)


def _readable(place: WordPlace, row: EventRow) -> Hit | None:
    try:
        return Hit(place.position, place.thread, to_envelope(place.execution, row))
    except (StoreCorrupt, StoreTooNew):
        return None


def _has(envelope: Envelope, query: WordQuery) -> bool:
    words = searchable(envelope.event)
    return words is not None and bool(query.places(composed(words.text)))
