"""All threads with an agent: thread id -> its one running asyncio task and its inbox.

Whatever people do arrives at ``deliver``, is durable when it returns, and is taken in by the thread's own task.
Nothing here decides what an execution does; it decides only which thread works when, and under whose lease.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from datetime import datetime

from agentic.core.events import Envelope, Finished, InboxItem, ModelRequested
from agentic.core.evolving import fold
from agentic.core.execution import Execution
from agentic.errors import AgenticError, StoreError
from agentic.ports import ExecutionRow, SessionRow
from bot.conversation import Receipt, StatusView, ThreadState
from bot.learning import Feedback, Opinions, catch_up
from bot.recovery import hand_over, is_quarantined, quarantine_notice
from bot.rights import may_steer
from bot.session import CLOSED, Ground, Session, starts
from bot.starting import Receive, left_out

CLOSE_SECONDS = 8.0
INTERRUPTED = (
    "⚠️ I interrupted it, but could not write down that you stopped it ({error}). When I am restarted, or when something "
    "is written here, it goes on where it was: stop it again once the disk has room."
)

log = logging.getLogger(__name__)


class Roster:
    """The sessions of the process by thread; a sink, so that each knows when a person is being asked."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self._running: dict[str, Session] = {}

    def saw(self, envelope: Envelope) -> None:
        """Tell the session whose execution it is."""
        session = self._running.get(envelope.execution)
        if session is None:
            session = next((s for s in self.sessions.values() if s.execution == envelope.execution), None)
            if session is None:
                return
            self._running[envelope.execution] = session
        session.saw(envelope)
        if isinstance(envelope.event, Finished):
            del self._running[envelope.execution]

    def streamed(self, execution: str, text: str) -> None:
        """Streams say nothing about questions."""


class Threads:
    """Implements ``Conversation``; ``roster`` must be among the sinks of what runs."""

    def __init__(self, ground: Ground, roster: Roster, feedback: Feedback, receive: Receive) -> None:
        self._ground = ground
        self._receive = receive
        self._opinions = Opinions(ground.store, feedback)
        self._sessions = roster.sessions
        self._closed = False
        self._beside: set[asyncio.Task[None]] = set()

    # --- Conversation -----------------------------------------------------------------------------------------

    async def deliver(self, item: InboxItem, *, guild: str, title: str = "") -> Receipt:
        """Keep the item durably, then start or nudge the thread's execution."""
        session = await self._session(item, guild, title)
        item = _as_meant(item, session)
        if item.sort == "answer" and item.target.partition("#")[0] not in ("", session.question):
            return Receipt(False, session.activity, CLOSED)
        if starts(item):
            _mark(item, session)
        try:
            return await self._keep(item, session)
        except StoreError as error:
            if item.sort != "stop" or not session.interrupt():
                raise
            return Receipt(False, "busy", INTERRUPTED.format(error=error))
        finally:
            session.arriving.discard(item.id)

    async def _keep(self, item: InboxItem, session: Session) -> Receipt:
        later = item.sort in ("guidance", "answer") and any(file.path and not file.skipped for file in item.files)
        if later:
            return await self._keep_with_files(item, session)
        if not await self._ground.store.put(item):
            return Receipt(False, session.activity)
        if item.sort in ("guidance", "answer") and (notice := left_out(item, item.files)):
            await self._ground.tell(notice)
        if item.sort in ("feedback", "correction"):
            return await self._opinion(item, session)
        if item.sort == "stop":
            return await self._stop(item, session)
        session.waits = session.waits or (starts(item) and not session.ended)
        session.wake()
        return Receipt(True, session.activity, self._place(session, item))

    async def _keep_with_files(self, item: InboxItem, session: Session) -> Receipt:
        """The words are durable at once, as a task for afterwards; with their files they become what they are."""
        again = item.id in session.fetching
        session.fetching.add(item.id)
        kept = False
        try:
            kept = await self._ground.store.put(item.model_copy(update={"sort": "queue"}))
        finally:
            if not kept and not again:
                session.fetching.discard(item.id)
        if kept:
            self._begin(self._fetch(item, session), f"files of {item.id}")
        return Receipt(kept, session.activity)

    def state(self, thread: str) -> ThreadState:
        """What the thread is doing now."""
        session = self._sessions.get(thread)
        return session.activity if session else "unknown"

    def knows(self, thread: str) -> bool:
        """Whether the thread is a session."""
        return thread in self._sessions

    async def status(self, thread: str) -> StatusView:
        """The thread's newest execution in a person's terms."""
        session = self._sessions.get(thread)
        if session is None:
            return StatusView("unknown")
        pending = await self._ground.store.pending(thread)
        queued = sum(item.sort in ("task", "queue") for item in pending)
        rows = await self._ground.store.executions(thread)
        if not rows:
            return StatusView(session.activity, requester=session.requester, queued=queued)
        return await self._view(session, rows[-1], queued)

    async def thread_of_message(self, message_id: str) -> str | None:
        """The session a message belongs to: a thread made from a message has that message's id."""
        if message_id in self._sessions:
            return message_id
        row = await self._ground.store.by_message(message_id)
        return row.item.thread if row is not None and row.item.thread in self._sessions else None

    # --- life -------------------------------------------------------------------------------------------------

    async def recover(self) -> int:
        """Take up what was running or waiting when the process ended; returns how many threads that are."""
        store = self._ground.store
        for row in await store.sessions():
            self._known(row)
        waiting = set(await store.pending_threads())
        for row in await store.executions(open_only=True):
            if row.thread in waiting or not await self._left_alone(row):
                waiting.add(row.thread)
        for thread in sorted(waiting):
            self._known(SessionRow(thread, "", "")).wake()
        self._begin(catch_up(store, self._ground.learning), "evaluation of what had ended")
        return len(waiting)

    async def _left_alone(self, row: ExecutionRow) -> bool:
        """Whether it ended its process too often; of a damaged log the session tells its thread."""
        try:
            if not await is_quarantined(self._ground.store, row.execution):
                return False
        except StoreError as damaged:
            log.error("execution %s: %s", row.execution, damaged)
            return False
        self._known(SessionRow(row.thread, "", "")).left_open = row.execution
        await self._ground.tell(quarantine_notice(row))
        return True

    def _known(self, row: SessionRow) -> Session:
        fresh = Session(row, self._ground, self._opinions.take, ended=self._closed)
        return self._sessions.setdefault(row.thread, fresh)

    def took_up(self, thread: str) -> bool:
        """Whether the thread was given something to do since the process began."""
        session = self._sessions.get(thread)
        return session is not None and session.woken

    async def idle(self, thread: str) -> None:
        """Wait until nothing runs in the thread, evaluation and reflection included."""
        session = self._sessions.get(thread)
        if session is not None:
            await session.idle()

    async def settled(self, thread: str) -> None:
        """Wait until nothing runs in the thread, or a person is asked."""
        session = self._sessions.get(thread)
        if session is not None:
            await session.settled()

    async def close(self) -> None:
        """End our asyncio tasks within ``CLOSE_SECONDS``; what was running goes on after the next start."""
        self._closed = True
        for session in self._sessions.values():
            session.ended = True
        running = [session.execution for session in self._sessions.values() if session.execution]
        tasks = [session.task for session in self._sessions.values() if session.task is not None]
        tasks += [task for session in self._sessions.values() for task in session.learning]
        tasks += [*self._opinions.tasks, *self._beside]
        for task in tasks:
            task.cancel()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
            for task in late:
                log.warning("%s did not end in %.0f s", task.get_name(), CLOSE_SECONDS)
        try:
            for execution in running:
                await hand_over(self._ground.store, execution)
        except StoreError as error:
            log.warning("what was running could not be handed over in order: %s", error)

    # --- small parts ------------------------------------------------------------------------------------------

    async def _fetch(self, item: InboxItem, session: Session) -> None:
        """Files that come while an execution runs are in its workspace before it is told of them."""
        store = self._ground.store
        try:
            files = await self._receive(item.thread, item.files)
            if notice := left_out(item, files):
                await self._ground.tell(notice)
            if any(one.id == item.id for one in await store.pending(item.thread)):
                fetched = {"id": f"{item.id}.files", "message": item.message or item.id, "files": files}
                await store.put(item.model_copy(update=fetched))
                await store.discard([item.id])
        except AgenticError as error:
            log.warning("the files of %s wait for the end of what runs: %s", item.id, error)
        finally:
            session.fetching.discard(item.id)
            session.wake()

    def _begin(self, work: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._beside.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._beside.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s broke", task.get_name(), exc_info=error)

    async def _session(self, item: InboxItem, guild: str, title: str) -> Session:
        now = self._ground.clock.now()
        session = self._sessions.get(item.thread)
        if session is None:
            row = SessionRow(item.thread, item.channel, guild, title or item.text[:80], now, now)
            await self._ground.store.save_session(row)
            session = self._known(row)
        return session

    async def _opinion(self, item: InboxItem, session: Session) -> Receipt:
        """On what runs it is guidance; on what has ended it is kept with that."""
        about, running = item.target.partition("/")[0], session.execution or session.left_open
        if running and about in ("", running):
            if session.execution:
                session.wake()
        elif not await self._opinions.take(item):
            return Receipt(False, session.activity, "There is no result here yet to have an opinion on.")
        return Receipt(True, session.activity)

    async def _stop(self, item: InboxItem, session: Session) -> Receipt:
        if session.activity == "idle":
            await self._ground.store.discard([item.id])
            return Receipt(True, "idle", "Nothing is running here.")
        session.stop()
        return Receipt(True, session.activity)

    def _place(self, session: Session, item: InboxItem) -> str:
        if item.sort == "queue" and session.execution:
            return "Queued: it begins when what runs now has ended."
        if session.learning and not session.execution:
            return "I am still going over the task before; this begins in a moment."
        before = self._ground.slots.position(session.thread)
        return f"Waiting: {before} thread(s) are to begin first, this one included." if before else ""

    async def _view(self, session: Session, row: ExecutionRow, queued: int) -> StatusView:
        envelopes = [envelope async for envelope in self._ground.store.read(row.execution)]
        execution = fold(envelopes)
        models = [e.event.model for e in envelopes if isinstance(e.event, ModelRequested)]
        until = envelopes[-1].at if row.finished else self._ground.clock.now()
        return StatusView(
            session.activity,
            execution=row.execution,
            task=row.task,
            requester=(session.activity != "idle" and session.requester) or _requester(execution),
            question=session.question,
            asked=execution.question,
            step=", ".join(call.block.tool for call in execution.calls_in_flight),
            turn=execution.turn.number,
            tier=execution.tier,
            model=models[-1] if models else "",
            usd=execution.spent.usd,
            seconds=_seconds(envelopes[0].at, until),
            confidence=execution.confidence.shown if execution.confidence else None,
            queued=queued,
            finished=row.finished,
        )


def _as_meant(item: InboxItem, session: Session) -> InboxItem:
    """Between a message and its arrival here the thread may have gone on: its sort follows what is true now."""
    if item.sort == "task" and session.activity != "idle":
        mine = not session.requester or may_steer(item.author.level, item.author.id, session.requester)
        return item.model_copy(update={"sort": "guidance" if mine else "queue"})
    if item.sort == "answer" and session.execution and not session.question:
        written = not item.target or item.message == item.id
        return item.model_copy(update={"sort": "guidance", "target": ""}) if written else item
    return item


def _mark(item: InboxItem, session: Session) -> None:
    """From now on the thread is busy: what is said next, even in this moment, belongs to what begins."""
    if session.activity == "idle":
        session.requester = item.author.id
    session.arriving.add(item.id)


def _requester(execution: Execution) -> str:
    return execution.started.requester.id if execution.started else ""


def _seconds(since: datetime, until: datetime) -> float:
    return max((until - since).total_seconds(), 0.0)
