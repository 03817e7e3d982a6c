"""The inbox of a thread: store each arriving item durably under its current meaning, within bounds, then wake the
thread's task.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime, timedelta

from agentic.core.events.execution_events import InboxItem
from agentic.core.events.ids import execution_id
from agentic.ports.errors import AgenticError, StoreError
from bot.access.denials import NOTHING_RUNS
from bot.history.summaries import is_tour
from bot.messages.error_text import Attempted, error_text
from bot.ports.conversation import Activity, Receipt
from bot.sessions.backlog import FULL, MESSAGES, ROOM
from bot.sessions.dependencies import Ground
from bot.sessions.learning import Opinions
from bot.sessions.leftover_inbox import FILES, as_sent, doubles, until_fetched
from bot.sessions.recovery import ended_after_all
from bot.sessions.session import Session
from bot.sessions.start import Receive, left_out
from bot.thread_state.message_meaning import ACTS, GUIDANCE, Deliver, Refuse, input_of, meaning_of, starts
from bot.thread_state.session_state import Discarded, FetchBegan, FetchEnded, Phase, Queued, Stored, Storing
from bot.threads.fork_requests import Forks
from bot.threads.in_flight import id_at, time_of

ACTING = "🛑 That is short and already under way, so I finish it rather than stop halfway. Nothing starts after it."
OF_THE_TOUR = (
    "No model is configured, so this was only the tour and I didn't work on your task. There is nothing to rate."
)
NO_RESULT = "There is no result here to rate yet."
OVERTAKEN = "Stopped before it started; nothing was done. Send it again if you want it."
UNQUEUED = "A queued message was deleted, so I dropped it: {text}"
REPLACED = frozenset(("guidance", "side"))
"""Kinds of waiting items that an edit of their message replaces."""
ROOM_SECONDS = 2.0
"""How often a full inbox is looked at that another process empties."""
_OF_DISCORD = re.compile(r"(?:r|d|gone)?\d")
"""Ids of what is dated by Discord's clock: of messages and clicks, and of reactions, deletions and departures of them."""
SHOWN = 5
"""Queued items that are listed at most."""

log = logging.getLogger(__name__)


class Arrivals:
    """Stores arriving items in the inboxes of threads."""

    def __init__(
        self, ground: Ground, opinions: Opinions, receive: Receive, forks: Forks,
        discord_now: Callable[[], datetime | None],
        follow: Callable[[Session], Awaitable[None]] | None = None,
    ) -> None:  # fmt: skip
        self._ground, self._opinions, self._receive, self._forks = ground, opinions, receive, forks
        self._discord_now, self._follow = discord_now, follow
        """Brings a session up to date on which another process works."""
        self._newest = 0
        """The newest id of Discord's that came, in whatever thread."""
        self._beside: set[asyncio.Task[None]] = set()

    @property
    def tasks(self) -> tuple[asyncio.Task[None], ...]:
        """The background tasks that are running."""
        return tuple(self._beside)

    async def take(self, item: InboxItem, session: Session) -> Receipt:
        """Store the item and wake what it concerns. Raises ``StoreError`` where it could not be stored."""
        meaning = meaning_of(input_of(item, session.state), session.state.phase)
        if isinstance(meaning, Refuse):
            return Receipt(False, _activity(session), meaning.text)
        item = _as(meaning, item)
        if session.crowd.refuses(item):
            return self._left_out(item, session)
        if starts(item):
            session.apply(Storing(item.id, item.author.id))
        try:
            receipt = await self._keep(await self._in_order(item), session)
            if not self._ground.works:
                session.wake()
            return receipt
        except StoreError as error:
            if item.sort != "stop" or not session.interrupt():
                session.wake()  # it may lie in the inbox all the same: whoever looks there settles it
                raise
            return Receipt(False, "busy", error_text(Attempted.STOP, error))
        finally:
            session.apply(Stored(item.id))

    async def _in_order(self, item: InboxItem) -> InboxItem:
        """Give an act that no id of Discord's dates its place in the order of all: after what came before it, and at the
        present by Discord's clock, where that is known, since another process may have heard more.

        Its own time is this machine's, whose clock may be seconds ahead of Discord's, or behind: a stop on the console would
        refuse what is said after it, or leave what was queued before it to run.
        """
        if item.id.isdecimal():
            self._newest = max(self._newest, int(item.id))
        if _OF_DISCORD.match(item.id):
            return item
        came = [one.at for one in await self._ground.store.pending(item.thread)]
        came += [time_of(max(self._newest, int(item.thread) if item.thread.isdecimal() else 0))]
        came += [now] if (now := self._discord_now()) is not None else []
        return item.model_copy(update={"at": max(came) + timedelta(microseconds=1)})

    async def _keep(self, item: InboxItem, session: Session) -> Receipt:
        if item.sort == "deleted":
            return await self._deleted(item, session)
        overtaken = starts(item) and item.id.isdecimal() and int(item.id) < session.state.stopped
        later = item.sort in ("guidance", "answer") and any(file.path and not file.skipped for file in item.files)
        if later and not overtaken:
            return await self._keep_with_files(item, session)
        if not await self._ground.store.put(item):
            return await self._kept_before(item, session)
        if overtaken:  # a stop waits for nobody, so what was said before it may come after it
            await self._ground.store.discard([item.id])
            return Receipt(False, _activity(session), OVERTAKEN)
        session.crowd.added(item)
        if item.sort in REPLACED and item.message not in ("", item.id):
            await self._replace(item, session)
        if item.sort in ("guidance", "answer") and (notice := left_out(item, item.files)):
            await self._ground.tell(notice)
        if item.sort in ("feedback", "correction"):
            return await self._opinion(item, session)
        called_off = await self._ground.spoken(item) if self._ground.spoken is not None else ""
        if item.sort == "stop":
            return await self._stop(item, session, called_off)
        if called_off:
            await session.tell(f"{item.id}.asleep", "", called_off)
        if item.sort == "fork":
            self._forks.take(item, session.row)
            return Receipt(True, _activity(session))
        begins = item.sort in ACTS or (starts(item) and item.sort != "side")
        if begins:
            session.apply(Queued(item.id))
        session.wake()
        return Receipt(True, _activity(session), await self._place(session, item))

    async def _kept_before(self, item: InboxItem, session: Session) -> Receipt:
        """Handle an item that is stored already: its first handler may have crashed or be another process, so look at
        the inbox again.
        """
        if any(one.id == item.id for one in await self._ground.store.pending(item.thread)):
            session.stop() if item.sort == "stop" and session.state.phase is not Phase.IDLE else session.wake()
        return Receipt(False, _activity(session), again=True)

    async def _replace(self, item: InboxItem, session: Session) -> None:
        """Replace a waiting item of the same message by its edit; the new one is stored before the old one goes."""
        pending = await self._ground.store.pending(session.thread)
        before = [one.id for one in pending if one.sort in REPLACED and _is_edited(one, item)]
        await self._ground.store.discard(before)
        session.apply(Discarded(tuple(before)))
        session.crowd.gone(before)

    async def _keep_with_files(self, item: InboxItem, session: Session) -> Receipt:
        """Store the text at once, as a queued task; once its files have arrived, store it under its real meaning."""
        again = item.id in session.state.fetching
        session.apply(FetchBegan(item.id))
        kept = False
        try:
            kept = await self._ground.store.put(until_fetched(item))
        finally:
            if not kept and not again:
                session.apply(FetchEnded(item.id))
        if not kept:
            return Receipt(False, _activity(session)) if again else await self._kept_before(item, session)
        if not self._ground.works:  # who works has the workspace
            session.apply(FetchEnded(item.id))
            return Receipt(True, _activity(session))
        self.begin(self._fetch(item, session), f"files of {item.id}")
        return Receipt(True, _activity(session))

    def found(self, news: list[InboxItem], pending: list[InboxItem], session: Session) -> None:
        """Have what another process stored take effect on what runs here; ``news`` are among what is ``pending``."""
        twice = doubles(pending)
        for item in news:
            session.crowd.added(item)
            if item.sort == "fork":
                self._forks.take(item, session.row)
            elif (sent := as_sent(item)) is not None and session.state.current is not None and item.id not in twice:
                if item.id not in session.state.fetching:
                    self.fetch_again(sent, session)
            elif starts(item) or item.sort in ACTS:
                session.apply(Queued(item.id))
        stop = next((item for item in news if item.sort == "stop" and not item.target), None)
        if stop is not None:
            session.stop(_said(stop))
        else:
            session.wake()

    def fetch_again(self, item: InboxItem, session: Session) -> None:
        """Fetch the files of an item again, because an earlier process ended while fetching them."""
        session.apply(FetchBegan(item.id))
        self.begin(self._fetch_connected(item, session), f"files of {item.id}")

    async def _fetch_connected(self, item: InboxItem, session: Session) -> None:
        """Wait for the connection, since an expired address has to be renewed by Discord, and fetch the files."""
        if self._ground.missed is not None:
            await self._ground.missed(session.thread)
        await self._fetch(item, session)

    async def _fetch(self, item: InboxItem, session: Session) -> None:
        """Fetch the files into the workspace before the running execution reads of them."""
        store = self._ground.store
        try:
            files = await self._receive(item)
            if notice := left_out(item, files):
                await self._ground.tell(notice)
            pending = await store.pending(item.thread)
            if any(one.id == item.id for one in pending):
                edits = [one for one in pending if one.sort == "edited" and one.message in (item.id, item.message)]
                meaning = meaning_of(input_of(item, session.state), session.state.phase)
                meant = _as(
                    meaning if isinstance(meaning, Deliver) else GUIDANCE, item
                )  # answered by a button meanwhile
                fetched = {"id": f"{item.id}{FILES}", "message": item.message or item.id, "files": files}
                reads = {"text": edits[-1].text} if edits else {}
                await store.put(meant.model_copy(update={**fetched, **reads}))
                await store.discard([item.id, *(one.id for one in edits)])
        except AgenticError as error:
            log.warning("the files of %s wait for the end of what runs: %s", item.id, error)
        finally:
            session.apply(FetchEnded(item.id))
            session.wake()

    async def _opinion(self, item: InboxItem, session: Session) -> Receipt:
        """Handle a vote: guidance for a running execution, feedback for a finished one."""
        await ended_after_all(session)
        one = session.state.current
        about, running = item.target.partition("/")[0], one.id if one is not None else ""
        if await self._is_tour(about or running or await self._opinions.newest(session.thread)):
            await self._ground.store.discard([item.id])
            return Receipt(False, _activity(session), OF_THE_TOUR)
        if running and about in ("", running):
            if not session.interrupted:
                session.wake()
        elif not await self._opinions.take(item):
            return Receipt(False, _activity(session), NO_RESULT)
        return Receipt(True, _activity(session))

    async def _is_tour(self, execution: str) -> bool:
        """Whether the execution is the tour without a model; False for one that has not begun."""
        if not execution or await self._ground.store.execution(execution) is None:
            return False
        async for envelope in self._ground.store.read(execution):
            return is_tour([envelope])
        return False

    async def _stop(self, item: InboxItem, session: Session, called_off: str) -> Receipt:
        """End what runs; ``called_off`` says that the agent will not go on by itself later."""
        idle = session.state.phase is Phase.IDLE
        if idle and not await self._ground.store.open_executions(session.thread):  # one may lie there, broken off
            await self._ground.store.discard([item.id])
            return Receipt(True, "idle", called_off or NOTHING_RUNS)
        if called_off:
            await session.tell(f"{item.id}.asleep", "", called_off)
        session.stop(_said(item))
        return Receipt(True, _activity(session), ACTING if session.state.acting else "")

    async def _deleted(self, item: InboxItem, session: Session) -> Receipt:
        """Handle a deleted message: tell the running execution, and remove items of it that still wait."""
        store, begun = self._ground.store, execution_id(session.thread, item.message)
        if _is_current(begun, session):
            kept = await store.put(item)
            if kept:
                session.wake()
            return Receipt(kept, _activity(session))
        pending = await store.pending(session.thread)
        out = [one for one in pending if one.sort in MESSAGES and item.message in (one.id, one.message)]
        if not out:
            return Receipt(False, _activity(session))
        gone = [one.id for one in out]
        await store.discard(gone)
        session.apply(Discarded(tuple(gone)))
        session.crowd.gone(gone)
        if _is_current(begun, session):  # it was begun in this very moment
            kept = await store.put(item)
            session.wake()
            return Receipt(kept, _activity(session))
        if out[0].sort == "queue":
            await session.tell(f"{item.id}.taken-out", "", UNQUEUED.format(text=_short(out[0])))
        return Receipt(True, _activity(session))

    def _left_out(self, item: InboxItem, session: Session) -> Receipt:
        """Refuse an item because the inbox is full; the sender is told once, and again when there is room."""
        if len(session.crowd.left_out) == 1 and session.crowd.left_out.get(item.author.name) == 1:
            self.begin(self._until_room(item, session), f"room in {session.thread}")
        first = session.crowd.left_out.get(item.author.name) == 1
        return Receipt(False, _activity(session), FULL.format(room=ROOM) if first else "")

    async def _until_room(self, item: InboxItem, session: Session) -> None:
        while self._follow is not None and not session.crowd.room.is_set():
            await self._ground.clock.sleep(ROOM_SECONDS)
            await self._follow(session)
        await session.crowd.room.wait()
        await session.tell(f"{item.id}.room", "", session.crowd.over())

    async def _place(self, session: Session, item: InboxItem) -> str:
        if item.sort == "queue" and session.state.current is not None:
            return await self._queued(session)
        if session.learning and session.state.current is None:
            return "I'm still learning from the last task; this starts in a moment."
        before = self._ground.slots.position(session.state.main)
        return f"Waiting: number {before} in line." if before else ""

    async def _queued(self, session: Session) -> str:
        """Describe the item's place in the thread's queue."""
        queue = [one for one in await self._ground.store.pending(session.thread) if one.sort in ("queue", "task")]
        if len(queue) < 2:
            return "Queued. Starts when this task finishes."
        lines = [f"{place}. {_short(one)}" for place, one in enumerate(queue, start=1)]
        if len(lines) > SHOWN:
            lines[SHOWN - 1 : -1] = ["…"]
        return f"Queued as number {len(queue)}. They start in this order:\n" + "\n".join(lines)

    def begin(self, work: Coroutine[None, None, None], name: str) -> None:
        """Run work in the background; a failure is logged."""
        task = asyncio.create_task(work, name=name)
        self._beside.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._beside.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s broke", task.get_name(), exc_info=error)


def _as(meaning: Deliver, item: InboxItem) -> InboxItem:
    """Return the item under its current meaning; text that no longer answers a question loses its question."""
    if meaning.kind == item.sort:
        return item
    return item.model_copy(update={"sort": meaning.kind, "target": "" if item.sort == "answer" else item.target})


def _said(stop: InboxItem) -> int:
    """When a stop was said, as an id of Discord's."""
    return int(stop.id) if stop.id.isdecimal() else id_at(stop.at)


def _activity(session: Session) -> Activity:
    return session.state.phase.activity


def _is_current(execution: str, session: Session) -> bool:
    one = session.state.current
    return one is not None and one.id == execution


def _is_edited(waiting: InboxItem, edit: InboxItem) -> bool:
    return waiting.id != edit.id and edit.message in (waiting.id, waiting.message)


def _short(item: InboxItem) -> str:
    text = " ".join(item.text.split())
    return f"“{text[:80]}{'…' if len(text) > 80 else ''}”"
