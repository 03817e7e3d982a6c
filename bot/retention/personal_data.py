"""What is stored of one person: listed in plain words, and erased at their request.

Logs of their own tasks are deleted whole. In logs of others' tasks their words and their name are removed in place
(``agentic/core/audit/erasure.py``). Everything may be repeated: if it was interrupted, the person presses again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from agentic.core.audit.erasure import (
    ERASED,
    Erasure,
    Share,
    erased,
    share_of,
    unsaid,
    without,
)
from agentic.core.events.execution_events import Envelope, OutboxItem
from agentic.ports.errors import StoreError
from bot.history.erasure_mark import mark_erasure
from bot.ports.conversation import named_fact
from bot.workspace.pull_requests import PullRows
from reflexion.errors import LessonStoreError
from reflexion.lessons.changes import changed
from reflexion.lessons.fact import names, without_person
from reflexion.lessons.lesson import Lesson

if TYPE_CHECKING:
    from agentic.ports.runtime import ExecutionRow, Store
    from bot.retention.expiry import Retention
    from bot.workspace.repositories import Repositories
    from reflexion.ports import LessonStore

SOMEBODY = "somebody"
"""Replaces an erased name in the history of a lesson."""
REWORDED_AT_ONCE = 100
"""Number of messages that are changed in one transaction."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredData:
    """What is stored of a person."""

    tasks: int = 0
    opened: tuple[str, ...] = ()
    """Threads in which a task of theirs is open, or in whose open task they take part."""
    messages: int = 0
    votes: int = 0
    since: datetime | None = None
    reflections: int = 0
    lessons: int = 0
    """Lessons in their words, or that name them."""
    schedules: int = 0
    accounts: int = 0
    """Accounts at hosts of repositories that they linked."""
    facts: int = 0
    """Facts that tasks of theirs said, or that they approved."""
    unread: int = 0
    """Number of logs that are damaged and could not be searched."""

    @property
    def any(self) -> bool:
        """Whether anything is stored."""
        made = self.tasks or self.messages or self.votes or self.schedules or self.accounts
        return bool(made or self.reflections or self.lessons or self.facts)


@dataclass(slots=True)
class _Found:
    """The logs in which a person takes part."""

    called: frozenset[str]
    shares: dict[str, tuple[ExecutionRow, Share]] = field(default_factory=dict[str, "tuple[ExecutionRow, Share]"])
    unread: int = 0

    @property
    def own(self) -> list[ExecutionRow]:
        return [row for row, share in self.shares.values() if share.asked]

    @property
    def opened(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.thread for row, _ in self.shares.values() if not row.finished))

    @property
    def threads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.thread for row, _ in self.shares.values()))

    @property
    def names(self) -> frozenset[str]:
        return self.called.union(*(share.names for _, share in self.shares.values())) - {""}

    @property
    def texts(self) -> frozenset[str]:
        return frozenset(text for _, share in self.shares.values() for text in share.texts)


class PersonalData:
    """Lists and erases a person's data."""

    def __init__(
        self, store: Store, lessons: LessonStore | None, retention: Retention, repositories: Repositories | None = None
    ) -> None:
        self._store, self._lessons, self._retention = store, lessons, retention
        self._repositories, self._accounts = repositories, repositories.accounts if repositories else None

    async def of(self, person: str, name: str) -> StoredData:
        """Return what is stored of a person of this present name. Raises ``StoreError``."""
        found = await self._find(person, name)
        shares = [share for _, share in found.shares.values()]
        reflections, lessons = await self._learned(found)
        return StoredData(
            len(found.own), found.opened, sum(share.messages for share in shares), sum(share.votes for share in shares),
            min((share.since for share in shares if share.since), default=None), reflections, lessons,
            len(await self._store.schedules(person=person)),
            len(self._accounts.all_of(person)) if self._accounts is not None else 0, await self._facts(person),
            found.unread,
        )  # fmt: skip

    async def erase(self, person: str, name: str) -> StoredData:
        """Erase what can be erased, and return what is left: open tasks, and logs that nobody can read.

        Raises ``StoreError``, ``LessonStoreError`` and ``OSError``.
        """
        if self._accounts is not None:
            await self._accounts.erase(person)
        await self._store.delete_schedules([row.id for row in await self._store.schedules(person=person)])
        found = await self._find(person, name)
        erasure = Erasure(person, f"erased-{secrets.token_hex(4)}", found.names, found.texts)
        own = [row for row in found.own if row.finished]
        await self._unlearn([row.execution for row in own], found)
        await self._forget_facts(person)
        try:
            for row, share in found.shares.values():
                if row.finished and not share.asked:
                    await self._rewrite(row, erasure)
            await self._unsay(found, erasure)
            await self._untitle(own)
            await PullRows(self._store).erase(person)
            await self._store.bury([row.execution for row in own])
            await self._leave_repositories({row.thread for row in own})
        finally:
            await mark_erasure(self._store)
        await self._store.erase_spending(f"person {person}", f"{datetime.now(UTC):%Y-%m-%d}")
        await self._retention.clear()
        self._retention.poke()
        return await self.of(person, name)

    async def _find(self, person: str, name: str) -> _Found:
        found = _Found(frozenset({name}))
        for execution in await self._store.mentioning(f'"id":"{person}"'):
            row = await self._store.execution(execution)
            if row is None:
                continue
            try:
                events, outcome = await self._read(execution)
            except StoreError as damaged:
                log.warning("what is a person's in %s is not known: %s", execution, damaged)
                found.unread += 1
                continue
            share = await asyncio.to_thread(share_of, events, outcome, person)
            if share.any:
                found.shares[execution] = (row, share)
        return found

    async def _read(self, execution: str) -> tuple[list[Envelope], list[Envelope]]:
        events = [envelope async for envelope in self._store.read(execution)]
        return events, await self._store.read_outcome(execution)

    async def _rewrite(self, row: ExecutionRow, erasure: Erasure) -> None:
        """Rewrite a log, again if an event such as a vote was added meanwhile."""
        while True:
            events, outcome = await self._read(row.execution)
            clean = await asyncio.to_thread(erased, events, erasure)
            if await self._store.rewrite(row.execution, clean, without(outcome, erasure)):
                return
            if await self._store.execution(row.execution) is None:
                return

    async def _unsay(self, found: _Found, erasure: Erasure) -> None:
        """Rewrite stored messages that quote the person; they are kept as long as logs."""
        opened = {row.execution for row, _ in found.shares.values() if not row.finished}
        for thread in found.threads:
            items = [each for each in await self._store.said_in(thread) if each.execution not in opened]
            other = await asyncio.to_thread(_reworded, items, erasure)
            for start in range(0, len(other), REWORDED_AT_ONCE):
                await self._store.reword(other[start : start + REWORDED_AT_ONCE])

    async def _leave_repositories(self, threads: Iterable[str]) -> None:
        """Delete what is kept of repositories for threads in which all tasks were this person's."""
        for thread in threads:
            if self._repositories is not None and not await self._store.executions(thread):
                await self._repositories.delete(thread)

    async def _untitle(self, own: Sequence[ExecutionRow]) -> None:
        """Remove titles, since a thread's title is made from its first task."""
        theirs = {row.execution for row in own}
        for thread in dict.fromkeys(row.thread for row in own):
            first = next(iter(await self._store.executions(thread)), None)
            session = await self._store.session(thread)
            if session is not None and (first is None or first.execution in theirs) and session.title:
                for fact in (f"titled: {thread}", named_fact(thread)):  # first: who renames looks there afterwards
                    if await self._store.fact(fact):
                        await self._store.set_fact(fact, ERASED)
                await self._store.save_session(replace(session, title=ERASED))

    # --- what was learned -------------------------------------------------------------------------------------

    async def _learned(self, found: _Found) -> tuple[int, int]:
        if self._lessons is None:
            return 0, 0
        own = {row.execution for row in found.own}
        try:
            lessons = await self._lessons.lessons(None)
            return await self._lessons.reflections_of(own), sum(_touches(each, own, found.names) for each in lessons)
        except LessonStoreError as error:
            log.warning("what was learned from a person is not known: %s", error)
            return 0, 0

    async def _facts(self, person: str) -> int:
        if self._lessons is None:
            return 0
        try:
            return sum(names(fact, person) for fact in await self._lessons.facts(None))
        except LessonStoreError as error:
            log.warning("what is remembered from a person is not known: %s", error)
            return 0

    async def _forget_facts(self, person: str) -> None:
        """Erase facts that only their tasks said, and the person in those of others. Raises ``LessonStoreError``."""
        if self._lessons is None:
            return
        theirs = [fact.scope for fact in await self._lessons.facts(None) if names(fact, person)]
        for scope in dict.fromkeys(theirs):
            await self._lessons.change_facts(scope, partial(without_person, person=person))

    async def _unlearn(self, own: list[str], found: _Found) -> None:
        """Erase lessons before any log they came from. Raises ``LessonStoreError``."""
        if self._lessons is None:
            return
        for lesson in await self._lessons.lessons(None):
            if _touches(lesson, set(own), found.names):
                await self._lessons.amend(_without_person(lesson, set(own), found.names))
        await self._lessons.erase_reflections(own, found.texts)


def _reworded(items: Sequence[OutboxItem], erasure: Erasure) -> list[OutboxItem]:
    """Return the items whose text changes without the person."""
    return [clean for item in items if (clean := unsaid(item, erasure)) != item]


def _told(lesson: Lesson, own: set[str]) -> bool:
    """Whether the lesson has this person's words and nobody else's."""
    return lesson.author_trust == "person" and bool(lesson.executions) and set(lesson.executions) <= own


def _touches(lesson: Lesson, own: set[str], names: frozenset[str]) -> bool:
    blank = lesson.action == ERASED
    return (_told(lesson, own) and not blank) or any(change.by in names for change in lesson.history)


def _without_person(lesson: Lesson, own: set[str], names: frozenset[str]) -> Lesson:
    """Blank and retire a lesson in their words; in the history of any other, replace their name."""
    history = tuple(
        change.model_copy(update={"by": SOMEBODY, "what": change.what.replace(change.by, SOMEBODY)})
        if change.by in names
        else change
        for change in lesson.history
    )
    note = lesson.note
    for name in names:
        note = note.replace(f" by {name}", f" by {SOMEBODY}")
    lesson = lesson.model_copy(update={"history": history, "note": note})
    at = datetime.now(UTC)
    if not _told(lesson, own):
        return lesson
    blank = lesson.model_copy(update={"history": ()})
    return changed(
        blank, at=at, what="Erased by its author.", trigger=ERASED, action=ERASED, evidence=(), error_signature="",
        status="retired", expired=False, contradicts=(),
    )  # fmt: skip
