"""The registry of threads: from thread id to its session, with at most one running asyncio task each.

Everything people do arrives at ``deliver``, is durable when it returns, and is handled by the thread's own task. The
registry decides which thread works when, and under whose lease; it never decides what an execution does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from agentic.core.events.execution_events import Envelope, Finished, InboxItem
from agentic.core.events.ids import is_child
from agentic.ports.errors import DoorbellSilent, StoreError
from agentic.ports.failpoints import reach
from agentic.ports.runtime import ExecutionRow, SessionRow
from bot.ports.conversation import Receipt, StatusView, ThreadState
from bot.sessions.dependencies import Ground
from bot.sessions.learning import Feedback, Opinions, catch_up
from bot.sessions.leftover_inbox import as_sent, doubles
from bot.sessions.recovery import recall, waits_for_a_person
from bot.sessions.session import Session
from bot.sessions.session_work import serve
from bot.sessions.start import Receive
from bot.thread_state.message_meaning import ACTS, starts
from bot.thread_state.session_state import BrokenOff, InboxRead, Phase, ProcessEnding, TakenUp
from bot.threads.fork_requests import Forks
from bot.threads.inbox import Arrivals
from bot.threads.status import status_of
from bot.threads.thread_follower import ThreadFollower


class Roster:
    """The sessions of a process by thread; a sink of events, so that each session knows when a person is being asked."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self._running: dict[str, Session] = {}

    def saw(self, envelope: Envelope) -> None:
        """Pass an event to the session of its execution; of a child its session sees nothing."""
        if is_child(envelope.execution):
            return
        session = self._running.get(envelope.execution)
        if session is None:
            session = next((s for s in self.sessions.values() if s.state.execution(envelope.execution)), None)
            if session is None:
                return
            self._running[envelope.execution] = session
        session.saw(envelope)
        if isinstance(envelope.event, Finished):
            del self._running[envelope.execution]

    def streamed(self, execution: str, text: str) -> None:
        """Ignore streamed text, which says nothing about questions."""


CLOSE_SECONDS = 8.0
ACCESSED = timedelta(minutes=1)
"""Precision with which the last use of a thread is stored."""

log = logging.getLogger(__name__)


class Threads:
    """Implements ``Conversation``; ``roster`` must be among the sinks of what runs, ``discord_now`` says the present by
    Discord's clock, never ahead of it, or None while nothing that came tells it.
    """

    def __init__(
        self, ground: Ground, roster: Roster, feedback: Feedback, receive: Receive,
        discord_now: Callable[[], datetime | None] = lambda: None,
    ) -> None:  # fmt: skip
        self._ground = ground
        works = ground.works
        self._follower = None if works else ThreadFollower(ground.store)
        self._opinions = Opinions(ground.store, feedback if works else None, ground.tell)
        self._forks = Forks(ground.forking if works else None, self._adopt)
        follow = self._follower.follow if self._follower is not None else None
        self._arrivals = Arrivals(ground, self._opinions, receive, self._forks, discord_now, follow)
        self._sessions = roster.sessions
        self._closed = False
        self._left: dict[str, tuple[str, int]] = {}
        """Threads whose execution is left alone, with it and the length of its log; a look at it is not free."""
        self.rested = asyncio.Event()
        """Set whenever the work of a thread has ended or been left."""

    # --- Conversation -----------------------------------------------------------------------------------------

    async def deliver(self, item: InboxItem, *, guild: str, title: str = "") -> Receipt:
        """Store the item durably, then start or wake the thread's execution."""
        session = await self._now(item.thread)
        if session is None:
            return await self._begin(item, guild, title)
        await self._accessed(session)
        return await self._arrivals.take(item, session)

    def state(self, thread: str) -> ThreadState:
        """What the thread is doing now."""
        session = self._sessions.get(thread)
        return session.state.phase.activity if session else "unknown"

    async def knows(self, thread: str) -> bool:
        """Whether the thread is a session; where others work, ``state`` says from then on what it does now."""
        return await self._now(thread) is not None

    async def status(self, thread: str) -> StatusView:
        """Describe the thread's newest execution in a person's terms."""
        session = await self._now(thread)
        if session is None:
            return StatusView("unknown")
        return await status_of(session, self._ground.store, self._ground.clock.now())

    async def standing(self, thread: str) -> StatusView:
        """Return who asked for the running execution and what is open in it, without reading its log."""
        session = await self._session(thread)
        return (session.standing() if session is not None else None) or await self.status(thread)

    async def thread_of_message(self, message_id: str) -> str | None:
        """Return the session a message belongs to; a thread made from a message has that message's id."""
        if await self.knows(message_id):
            return message_id
        row = await self._ground.store.by_message(message_id)
        return row.item.thread if row is not None and await self.knows(row.item.thread) else None

    # --- life -------------------------------------------------------------------------------------------------

    async def recover(self) -> int:
        """Resume what was running or waiting when the process ended; returns the number of threads."""
        reach("recover.before")
        store = self._ground.store
        said = frozenset(await store.pending_threads())
        waiting = set(said)
        opened: dict[str, ExecutionRow] = {}
        for row in await store.open_executions():
            opened.setdefault(row.thread, row)  # a side question beside it is taken up with it
        for row in opened.values():
            if not await self._left_alone(row):
                waiting.add(row.thread)
        for thread in sorted(waiting - said) + sorted(said):
            session = await self._kept(thread)
            if thread in said:
                await self._said_before(session)
            session.wake()
        self.learn_on()
        reach("recover.after")
        return len(waiting)

    def learn_on(self) -> None:
        """Learn from executions whose learning was cut off when a process ended."""
        self._arrivals.begin(catch_up(self._ground.store, self._ground.learning), "evaluation of what had ended")

    async def _left_alone(self, row: ExecutionRow) -> bool:
        """Whether the execution crashed its process too often. A damaged log is reported by its session."""
        session = await self._kept(row.thread)
        session.apply(TakenUp(row.execution))  # from the first moment on what people do is about this
        try:
            await recall(session, row.execution)
        except StoreError as damaged:
            log.error("execution %s: %s", row.execution, damaged)
            return False
        left_alone = session.state.phase is Phase.QUARANTINED
        if left_alone:
            session.apply(BrokenOff(row.execution))
        else:
            session.recalled = row.execution
        return left_alone

    def _adopt(self, row: SessionRow) -> None:
        """Begin the work that waits in a completed fork."""
        self._known(row).wake()

    async def _said_before(self, session: Session) -> None:
        """Continue forks and downloads that an earlier process had stored or begun."""
        pending = await self._ground.store.pending(session.thread)
        begins = [item for item in pending if starts(item) or item.sort in ACTS]
        requester = begins[0].author.id if begins else ""
        session.apply(InboxRead(frozenset(item.id for item in begins), requester))
        for item in pending:
            if item.sort == "fork":
                self._forks.take(item, session.row)
            elif (
                session.state.current is not None
                and (sent := as_sent(item)) is not None
                and item.id not in doubles(pending)
            ):
                self._arrivals.fetch_again(sent, session)

    async def _now(self, thread: str) -> Session | None:
        """Return the thread's session as it is now, also where another process works on it."""
        session = await self._session(thread)
        if session is not None and self._follower is not None:
            await self._follower.follow(session)
        return session

    async def _session(self, thread: str) -> Session | None:
        """Return the thread's session, read from the store on first use in this process."""
        if thread not in self._sessions and (row := await self._ground.store.session(thread)) is not None:
            self._known(row)
        return self._sessions.get(thread)

    async def _kept(self, thread: str) -> Session:
        """Return the session of a thread with open or waiting work, even if its row was never written."""
        return await self._session(thread) or self._known(SessionRow(thread, "", ""))

    def _known(self, row: SessionRow) -> Session:
        if row.thread not in self._sessions:
            self._sessions[row.thread] = Session(row, self._ground, self._serve)
            if self._closed:
                self._sessions[row.thread].apply(ProcessEnding())
        return self._sessions[row.thread]

    async def _serve(self, session: Session) -> None:
        if self._ground.works:
            try:
                await serve(session, self._opinions.take)
            finally:
                self.rested.set()
        else:
            await self._ring(session)

    async def _ring(self, session: Session) -> None:
        """Tell those who work. A ring that nobody hears costs the time until one of them looks by himself."""
        self._ground.courtesy.began(session.thread)
        try:
            while session.doorbell.is_set() and self._ground.doorbell is not None:
                session.doorbell.clear()
                await self._ground.doorbell.ring(session.thread, session.row.guild)
        except DoorbellSilent as silent:
            log.warning("thread %s waits until somebody looks: %s", session.thread, silent)
        finally:
            session.task = None

    # --- where others store what people do --------------------------------------------------------------------

    async def look(self, thread: str) -> bool:
        """Do what waits in a thread that nobody else has; where this process works on it, hear what came meanwhile.

        Whether there was anything new for this process.
        """
        session = await self._kept(thread)
        if session.task is not None:
            return await self._hear(session)
        if not self._closed and not await self._ground.store.holder(thread) and await self._is_to_be_done(thread):
            session.row = await self._ground.store.session(thread) or session.row
            await self._said_before(session)
            session.wake()
            return True
        return False

    async def hear(self) -> None:
        """Look into the inbox of every thread that this process works on; of those that wait for a person, where the
        store lists that something came: they may be many.
        """
        ours = [one for one in self._sessions.values() if one.task is not None]
        working = [one for one in ours if self.works_on(one.thread)]
        waiting = frozenset(await self._ground.store.pending_threads() if len(working) < len(ours) else ())
        await asyncio.gather(*(self._hear(one) for one in ours if one in working or one.thread in waiting))

    def works_on(self, thread: str) -> bool:
        """Whether this process works on the thread, and no person is waited for."""
        session = self._sessions.get(thread)
        if session is None or session.task is None:
            return False
        one = session.state.current
        return one is None or one.needs_slot

    async def _hear(self, session: Session) -> bool:
        """Have what others stored take effect, each item once; whether there was anything."""
        pending = await self._ground.store.pending(session.thread)
        heard, session.heard = session.heard, frozenset(item.id for item in pending)
        if news := [item for item in pending if item.id not in heard]:
            self._arrivals.found(news, pending, session)
        return bool(news)

    async def _is_to_be_done(self, thread: str) -> bool:
        """Whether something waits there that does not wait for a person."""
        store = self._ground.store
        pending = frozenset(item.id for item in await store.pending(thread))
        opened = next((row for row in await store.open_executions(thread) if not is_child(row.execution)), None)
        if opened is None:
            return bool(pending) or bool(await store.open_executions(thread))
        seen = await waits_for_a_person(store, opened)
        if seen is not None or pending:
            return not pending <= (seen or frozenset())
        if self._left.get(thread) == (opened.execution, opened.head):
            return False
        if await self._left_alone(opened):
            self._left[thread] = (opened.execution, opened.head)
            return False
        return True

    def took_up(self, thread: str) -> bool:
        """Whether the thread was given work since the process began."""
        session = self._sessions.get(thread)
        return session is not None and session.woken

    async def idle(self, thread: str) -> None:
        """Wait until nothing runs in the thread, evaluation and reflection included."""
        session = self._sessions.get(thread)
        if session is not None:
            await session.idle()
        while not self._ground.works and await self._ground.store.holder(thread):
            await self._ground.clock.sleep(1.0)

    def forget(self, thread: str) -> None:
        """Remove the session of a deleted thread."""
        session = self._sessions.get(thread)
        if session is not None and session.task is None:
            del self._sessions[thread]

    async def settled(self, thread: str) -> None:
        """Wait until nothing runs in the thread, or a person is being asked."""
        session = self._sessions.get(thread)
        if session is not None:
            await session.settled()

    async def close(self) -> None:
        """Shut down in order: short work may finish, everything else continues after the next start.

        Takes at most ``Ground.drain_seconds`` plus ``CLOSE_SECONDS``.
        """
        self._closed = True
        for session in self._sessions.values():
            session.apply(ProcessEnding())
        await self._leave()
        tasks = [session.task for session in self._sessions.values() if session.task is not None]
        tasks += [task for session in self._sessions.values() for task in session.learning]
        tasks += [*self._opinions.tasks, *self._arrivals.tasks, *self._forks.tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
            for task in late:
                log.warning("%s did not end in %.0f s", task.get_name(), CLOSE_SECONDS)

    async def _leave(self) -> None:
        """Begin nothing new; each execution logs that it was left in order."""
        ground = self._ground
        ground.leaving.until = ground.clock.monotonic() + ground.drain_seconds
        if ground.children is not None:
            ground.children.left()
        at_work = [s for s in self._sessions.values() if s.task is not None and s.state.at_work]
        for session in at_work:
            session.doorbell.set()
            session.aside.set()
        tasks = [session.task for session in at_work if session.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=ground.drain_seconds + CLOSE_SECONDS)
            reach("close.handed.over")

    async def _begin(self, item: InboxItem, guild: str, title: str) -> Receipt:
        """Make the thread a session; its row and its first item are stored in one transaction."""
        now = self._ground.clock.now()
        row = SessionRow(item.thread, item.channel, guild, title or item.text[:80], now, now)
        saving = asyncio.create_task(self._ground.store.save_session(row), name=f"save session {row.thread}")
        if not self._ground.works:
            await saving  # who hears the ring reads it
        await asyncio.sleep(0)  # it is asked for first, and known as late as what is said is taken in, for the order
        session = self._known(row)
        try:
            receipt = await self._arrivals.take(item, session)
            await self._saved(saving, row)
        except StoreError:
            await asyncio.gather(saving, return_exceptions=True)  # the same trouble is not told twice
            if session.task is None and self._sessions.get(row.thread) is session:
                del self._sessions[row.thread]
            raise
        return receipt

    async def _saved(self, saving: asyncio.Task[None], row: SessionRow) -> None:
        """Keep the session in memory even where storing its row failed: its first item is stored, and its answer needs
        a place to go.
        """
        try:
            await saving
        except StoreError as error:
            log.warning("thread %s could not be kept, and is tried again: %s", row.thread, error)
            await self._ground.store.save_session(row)

    async def _accessed(self, session: Session) -> None:
        now = self._ground.clock.now()
        if session.row.accessed is None or now - session.row.accessed > ACCESSED:
            with contextlib.suppress(StoreError):  # nothing that is said waits for this
                kept = await self._ground.store.session(session.thread)
                session.row = replace(kept or session.row, accessed=now)
                await self._ground.store.save_session(session.row)
