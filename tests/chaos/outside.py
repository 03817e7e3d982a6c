"""The invariants, checked from outside when everything is at rest: the guild's messages, files, logs, processes.

Every message of the bot must be the one receipt of one visible effect, and every effect must have its message; what
people said must have been kept, once; each line that an unkeyed call leaves stands there at most once, and once where
the log says that the call was done.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import apsw
import orjson

from agentic.core.events.execution_events import (
    Envelope,
    InputReceived,
    OutboxItem,
    Started,
    ToolFinished,
    ToolStarted,
)
from agentic.ports.runtime import ExecutionRow
from agentic.stores.sqlite.store import SQLiteStore
from bot.cli.replay.invariants import broken_promises
from bot.inbound.intake import RECEIPTS
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from bot.outbound.live.task_signs import DONE, FAILED, STOPPED
from tests.chaos.counts import Counts
from tests.chaos.house import House
from tests.chaos.mind import CALLS

UNKNOWN = "outcome is unknown"

Log = tuple[ExecutionRow, list[Envelope]]
_LEFT = re.compile(rf"echo (\S+) .*{re.escape(CALLS)}")
"""The line that a command leaves."""


class Surroundings(Protocol):
    """What there is to see from outside."""

    home: Path
    guild: LocalGuild

    @property
    def general(self) -> int:
        """The channel in which tasks are given."""
        ...

    def said(self, channel: int) -> list[Message]:
        """The bot's messages in a channel or thread."""
        ...

    def lines(self, thread: int) -> list[str]:
        """What the unkeyed calls of a thread left behind."""
        ...


@dataclass(frozen=True)
class Kept:
    """What a store holds at the end."""

    logs: list[Log]
    outbox: list[tuple[OutboxItem, list[str] | None]]
    """With the messages that each became; None where it was not delivered."""
    inbox: Mapping[str, bool]
    """The ids of all that was kept, and whether it was taken in."""


async def judged(house: House, seed: int = 0) -> Counts:
    """What became of everything that was given to the house; the bot must have ended."""
    store = SQLiteStore.open(house.database)
    try:
        rows = [row async for row in store.all_executions()]
        logs = [(row, [envelope async for envelope in store.read(row.execution)]) for row in rows]
    finally:
        await store.close()
    inbox = {cast(str, id): item is None for id, item in _query(house.database, "SELECT id, item FROM inbox")}
    return judgement(house, Kept(logs, _outbox(house.database), inbox), seed)


def judgement(house: Surroundings, kept: Kept, seed: int = 0) -> Counts:
    """What became of everything that was given, by what is kept and what there is to see."""
    counts, logs = Counts(), kept.logs
    counts.executions = len(logs)
    visible = _Visible(house, kept.outbox)
    counts.doubled += _noted(counts, seed, "seen twice", visible.doubled())
    counts.lost += _noted(counts, seed, "lost", (*visible.lost(), *_lost_words(house, kept)))
    counts.unkeyed_twice += _noted(counts, seed, "done twice", _twice(house, logs))
    counts.other += _noted(counts, seed, "broken", (*_broken(house, logs), *_left(house)))
    begun = [e.event for _, log in logs for e in log if isinstance(e.event, ToolStarted)]
    unkeyed = {event.call for event in begun if event.effect == "unkeyed"}
    counts.unkeyed = len(unkeyed)
    counts.unknown = sum(
        isinstance(e.event, ToolFinished) and e.event.outcome == "unknown" and e.event.call in unkeyed
        for _, log in logs
        for e in log
    )
    finished = (e.event for _, log in logs for e in log if isinstance(e.event, ToolFinished))
    of_servers = {event.call for event in begun if event.tool.startswith("mcp__")}
    counts.faults.update(f"a server's call: {event.outcome}" for event in finished if event.call in of_servers)
    return counts


def _noted(counts: Counts, seed: int, what: str, lines: Iterator[str] | tuple[str, ...]) -> int:
    found = [f"seed {seed}: {what}: {line}" for line in lines]
    counts.problems += found
    return len(found)


# --- what people see ----------------------------------------------------------------------------------------------


class _Visible:
    """The bot's messages beside the effects that they are the receipts of."""

    def __init__(self, house: Surroundings, outbox: list[tuple[OutboxItem, list[str] | None]]) -> None:
        self._house, self._outbox = house, outbox
        self._said: dict[str, Message] = {
            str(message.id): message for channel in house.guild.state.channels for message in house.said(channel)
        }
        receipts = [receipt for item, receipt in outbox if item.sort != "thread" and receipt is not None]
        self._receipts = Counter(message for receipt in receipts for message in receipt)

    def doubled(self) -> Iterator[str]:
        """Messages that no effect accounts for, and effects that share one."""
        for id, message in self._said.items():
            if not self._receipts[id] and not _beside(message):
                yield f"message {id} in {message.channel_id}: {message.content[:120]!r}"
        for id, times in self._receipts.items():
            if times > 1:
                yield f"message {id} is the receipt of {times} effects"
        for message in self._tasks():
            if len(signs := self._signs(message)) > 1:
                yield f"{' '.join(signs)} on {message.id}"

    def lost(self) -> Iterator[str]:
        """Effects without their message."""
        for item, receipt in self._outbox:
            if receipt is None:
                yield f"{item.sort} {item.key} was never delivered"
            elif item.sort not in ("thread", "title") and not receipt and not self._is_signed(item):
                yield f"{item.sort} {item.key} became no message"
        for id in self._receipts.keys() - self._said.keys():
            yield f"message {id}, of which there is a receipt"
        for message in self._tasks():
            if not {DONE, FAILED, STOPPED}.issuperset(signs := self._signs(message)) or not signs:
                yield f"the sign of an end on {message.content!r}: {' '.join(signs) or 'none'}"

    def _signs(self, message: Message) -> list[str]:
        """What the bot says on a task's message of how it goes."""
        own = self._house.guild.bot_user_id
        return [one.emoji for one in message.reactions if own in message.reactors(one.emoji)]

    def _is_signed(self, item: OutboxItem) -> bool:
        """Whether a sign of the bot on the message that it answers says it."""
        guild = self._house.guild
        places = (guild.messages(int(place)) for place in {item.thread, str(self._house.general)})
        return item.sign and any(str(one.id) == item.target and self._signs(one) for place in places for one in place)

    def _tasks(self) -> Iterator[Message]:
        house = self._house
        for message in house.guild.messages(house.general):
            if message.author_id != house.guild.bot_user_id and " job " in message.content:
                yield message


def _beside(message: Message) -> bool:
    """What no effect accounts for: what stands in a thread because it was made, and the direct answer to a command."""
    return message.type.is_system or message.content == RECEIPTS["fork"]


def _outbox(database: Path) -> list[tuple[OutboxItem, list[str] | None]]:
    rows = _query(database, "SELECT item, delivered FROM outbox ORDER BY position")
    return [
        (OutboxItem.model_validate_json(cast(str, item)), orjson.loads(cast(str, receipt)) if receipt else None)
        for item, receipt in rows
    ]


def _query(database: Path, sql: str) -> list[tuple[object, ...]]:
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [tuple(row) for row in connection.execute(sql)]
    finally:
        connection.close()


# --- what people said ---------------------------------------------------------------------------------------------


def _lost_words(house: Surroundings, held: Kept) -> Iterator[str]:
    """Messages of people to the bot that were never kept, or kept and taken in by nothing."""
    kept = held.inbox
    told = {item.key for item, _ in held.outbox}
    for message in _of_people(house):
        id = str(message.id)
        if id not in kept and f"told.{id}" not in told:
            yield f"what was said in {message.channel_id}: {message.content[:80]!r}"
        elif not kept.get(id, True):
            yield f"still in the inbox of {message.channel_id}: {message.content[:80]!r}"
    begun = Counter(row.thread for row, _ in held.logs)
    for message in house.guild.messages(house.general):
        if " job " in message.content and not begun[str(message.id)]:
            yield f"task {message.content!r}: nothing was ever begun"


def _of_people(house: Surroundings) -> Iterator[Message]:
    for channel in house.guild.state.channels.values():
        for message in house.guild.messages(channel.id):
            addressed = channel.is_thread or house.guild.bot.mention in message.content
            if addressed and message.author_id != house.guild.bot_user_id and message.content:
                yield message


# --- what was done ------------------------------------------------------------------------------------------------


def _twice(house: Surroundings, logs: list[Log]) -> Iterator[str]:
    for thread in {row.thread for row, _ in logs}:
        for line, times in Counter(house.lines(int(thread))).items():
            if times > 1:
                yield f"{line} in {thread}: {times} times"


def _broken(house: Surroundings, logs: list[Log]) -> Iterator[str]:
    taken = Counter[str]()
    for row, log in logs:
        for problem in broken_promises(log):
            yield f"{row.execution}: {problem}"
        if not row.finished:
            yield f"{row.execution} has no end"
        for envelope in log:
            if isinstance(envelope.event, Started | InputReceived):
                taken[envelope.event.inbox] += 1
        yield from _misreported(house, row, log)
    yield from (f"inbox item {id} was taken in {times} times" for id, times in taken.items() if id and times > 1)
    starts = Counter(e.event.inbox for _, log in logs for e in log if isinstance(e.event, Started))
    yield from (f"{id} began {times} executions" for id, times in starts.items() if id and times > 1)


def _misreported(house: Surroundings, row: ExecutionRow, log: list[Envelope]) -> Iterator[str]:
    """A call that was done as its result says left its line; one of unknown outcome is told in the thread."""
    lines = set(house.lines(int(row.thread)))
    begun = {e.event.call: e.event for e in log if isinstance(e.event, ToolStarted)}
    unknown = 0
    for envelope in log:
        if not isinstance(envelope.event, ToolFinished) or envelope.event.call not in begun:
            continue
        intent, outcome = begun[envelope.event.call], envelope.event.outcome
        unknown += outcome == "unknown"
        left = _line_of(intent)
        if outcome == "ok" and left and left not in lines:
            yield f"{row.execution}: {left} is said to be done, and left no line"
    told = sum(UNKNOWN in message.content for message in house.said(int(row.thread)))
    if told < min(unknown, 1):
        yield f"{row.execution}: {unknown} unknown outcomes were not told in the thread"


def _line_of(intent: ToolStarted) -> str:
    """The line that a call leaves in its workspace, '' where it leaves none."""
    found = _LEFT.match(str(intent.arguments.get("command", "")))
    return found[1] if found else str(intent.arguments.get("line", ""))


def _left(house: Surroundings) -> Iterator[str]:
    """Processes of sandboxes that go on without their owner."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(house.home) in command:
                yield f"process {entry.name} is left: {command[:120]}"
