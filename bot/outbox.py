"""Delivers the outbox: each visible effect once, in the order of its thread, whatever fails in between.

An item is durable with the events that caused it, and waits until its messages' ids are recorded.  A repetition
carries the same nonce; what may have been posted too long ago for a nonce is looked for in the channel first
(``bot/rereading.py``).  What cannot be delivered now (rights, an archive, Discord away) is kept, said in the log, and
tried again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from agentic.core.events import OutboxItem
from agentic.errors import StoreCorrupt, StoreError
from agentic.ports import OutboxRow, Store
from bot.board import Board
from bot.composing import Composer
from bot.feed import Feed
from bot.posting import Desk, Gone, Held, Post, Unfit, nonce_of
from bot.render import Rendered
from bot.rereading import Doubts, Wanted, known, standing
from bot.sending import Urgency

EVERY_SECONDS = 5.0
"""How often the outbox looks by itself; normally it is told."""
_FIRST = frozenset(("answer", "question", "receipt"))
_BELOW_PROGRESS = frozenset(("answer", "question", "offer"))
"""What the progress message above is brought up to date for."""
GENERATIONS = 3
"""A post whose message somebody deleted before it was recorded is posted anew so often."""
UNFIT = ".unfit"
LEFT_OUT = "⚠️ I had something to say here that Discord does not take in any form, so it is left out.{execution}"

log = logging.getLogger(__name__)


class Outbox:
    """Delivers for as long as ``run`` runs; ``poke`` tells it that there is something."""

    def __init__(self, store: Store, desk: Desk, feed: Feed, board: Board, composer: Composer) -> None:
        self._store, self._desk, self._feed, self._board, self._composer = store, desk, feed, board, composer
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._held: dict[str, float] = {}
        self._reasons: dict[str, str] = {}
        self._gone: set[str] = set()
        self._doubts = Doubts()

    def poke(self) -> None:
        """There is something to deliver."""
        self._feed.outbox.set()

    def retry_now(self) -> None:
        """Something changed in Discord: try at once what was held back."""
        self._held.clear()
        self._board.retry_now()
        self.poke()

    def holds(self, thread: str) -> bool:
        """What is due there could not be delivered, and is tried again later."""
        return thread in self._held

    def works(self, thread: str) -> bool:
        """Something is being delivered there now."""
        return thread in self._workers

    def gone(self, thread: str) -> None:
        """A thread was deleted: what is due there has no place any more."""
        self._gone.add(thread)
        self._held.pop(thread, None)
        self._board.gone(thread)
        self.poke()

    async def run(self) -> None:
        """Deliver until cancelled."""
        await self._take_over()
        try:
            while True:
                self._feed.outbox.clear()
                await self._look()
                try:
                    async with asyncio.timeout(EVERY_SECONDS):
                        await self._feed.outbox.wait()
                except TimeoutError:
                    continue
        finally:
            for worker in self._workers.values():
                worker.cancel()

    async def _take_over(self) -> None:
        try:
            self._doubts.inherit(await self._store.undelivered())
        except StoreError as error:
            log.warning("the outbox cannot be read: %s", error)

    async def _look(self) -> None:
        try:
            threads = await self._store.undelivered_threads()
        except StoreError as error:
            log.warning("the outbox cannot be read: %s", error)
            return
        now = asyncio.get_running_loop().time()
        for thread in threads:
            if thread not in self._workers and self._held.get(thread, 0.0) <= now:
                worker = asyncio.create_task(self._work(thread), name=f"outbox of {thread}")
                self._workers[thread] = worker
                worker.add_done_callback(lambda _, thread=thread: self._ended(thread))

    def _ended(self, thread: str) -> None:
        """Look again: something may have come after the worker's last look."""
        self._workers.pop(thread, None)
        self.poke()

    async def _work(self, thread: str) -> None:
        try:
            while rows := await self._store.undelivered(thread):
                for row in rows:
                    await self._deliver(row)
            self._held.pop(thread, None)
            if self._reasons.pop(thread, None):
                log.warning("thread %s: delivered what was kept", thread)
        except Held as held:
            self._hold(thread, held.reason, held.seconds)
        except StoreError as error:
            self._hold(thread, f"the store fails ({error})", EVERY_SECONDS)
        except Exception:
            log.exception("a fault of ours while delivering to thread %s", thread)
            self._hold(thread, "a fault of ours", 60.0)

    def _hold(self, thread: str, reason: str, seconds: float) -> None:
        self._held[thread] = asyncio.get_running_loop().time() + seconds
        if self._reasons.get(thread) != reason:
            self._reasons[thread] = reason
            log.warning("thread %s: its messages are kept until they can be delivered: %s", thread, reason)

    async def _deliver(self, row: OutboxRow) -> None:
        item = row.item
        if not await self._is_due(item):
            return
        if item.thread in self._gone:
            log.warning("thread %s was deleted: its %s %s is dropped", item.thread, item.sort, item.key)
            await self._store.delivered(item.key, [])
            return
        if item.sort == "thread":
            await self._desk.open_thread(item.target, item.thread, item.text)
            await self._store.delivered(item.key, [item.thread])
            return
        messages = await self._posted(item)
        await self._store.delivered(item.key, messages)
        self._doubts.settle(item)
        if item.sort == "progress" and messages:
            await self._board.posted(item.execution, item.thread, messages[0])

    async def _is_due(self, item: OutboxItem) -> bool:
        """A list of what waits grows old while it is worked through: another process may have delivered it meanwhile."""
        row = await self._store.outbox_row(item.key)
        return row is not None and not row.done

    async def _posted(self, item: OutboxItem) -> list[str]:
        rendered = await self._composed(item)
        if item.sort in _BELOW_PROGRESS and item.execution:
            await self._board.settle(item.execution)
        try:
            return await self._in_thread(item, lambda: self._post_parts(item, rendered))
        except Unfit as unfit:
            log.error("item %s does not fit Discord (%s); it is sent as a file", item.key, unfit)
            plain = self._composer.as_file(item)
            bare = item.model_copy(update={"options": (), "parts": (), "generation": item.generation + GENERATIONS})
            try:
                return await self._in_thread(item, lambda: self._post_parts(bare, plain))
            except Unfit as again:
                return await self._left_out(item, again)

    async def _left_out(self, item: OutboxItem, why: Unfit) -> list[str]:
        """What Discord takes in no form must not hold up all that follows in its thread; that it is missing is said."""
        log.error("item %s does not fit Discord in any form (%s); it is left out", item.key, why)
        if not item.key.endswith(UNFIT):
            words = LEFT_OUT.format(
                execution=f" `threadwright replay {item.execution}` shows it." * bool(item.execution)
            )
            note = OutboxItem(
                key=f"{item.key}{UNFIT}", thread=item.thread, execution=item.execution, sort="notice", text=words,
                notify=item.notify,
            )  # fmt: skip
            await self._store.put_outbox([note])
        return []

    async def _composed(self, item: OutboxItem) -> Rendered:
        """A fault of ours in the rendering must not keep an answer back: it is shown plainly then."""
        try:
            return await self._composer.compose(item)
        except StoreCorrupt as damaged:  # the log behind it; what is to be said is whole
            log.error("item %s is sent as a file: %s", item.key, damaged)
            return self._composer.as_file(item)
        except StoreError:
            raise
        except Exception:
            log.exception("item %s could not be rendered; it is sent as a file", item.key)
            return self._composer.as_file(item)

    async def _post_parts(self, item: OutboxItem, rendered: Rendered) -> list[str]:
        """Post what does not stand there yet."""
        messages, first = await self._standing(item, rendered)
        last = len(rendered.parts) - 1
        for index in range(first, len(rendered.parts)):
            post = Post(
                item.thread,
                rendered.parts[index],
                nonce_of(item.key, index, item.generation),
                silent=not (item.notify and index == last),
                files=rendered.files if index == last else (),
                item=item if index == last else None,
                reply_to=_answered(item) if index == 0 else "",
                undo=rendered.undo,
                again=rendered.again,
                votes=rendered.votes,
            )
            messages.append(await self._post(item, index, post))
        return messages

    async def _standing(self, item: OutboxItem, rendered: Rendered) -> tuple[list[str], int]:
        """What of it stands there already, where that is in doubt; from now on it is, until it is recorded."""
        if not self._doubts.about(item):
            self._doubts.arise(item)
            return [], 0
        seen = await self._desk.unrecorded(item.thread, partial(known, self._store))
        parts = tuple(self._desk.shown(part) for part in rendered.parts)
        return await standing(self._store, Wanted(item, parts, len(rendered.files), _answered(item)), seen)

    async def _post(self, item: OutboxItem, index: int, post: Post) -> str:
        """One message; where it was posted before and somebody deleted it, a new one under a nonce of its own."""
        urgency = Urgency.RESULT if item.sort in _FIRST else Urgency.MESSAGE
        for generation in range(item.generation, item.generation + GENERATIONS):
            try:
                return await self._desk.post(replace(post, nonce=nonce_of(item.key, index, generation)), urgency)
            except Gone:
                log.info("item %s was posted and deleted before it was recorded; it is posted anew", item.key)
        raise Held("its message is deleted again and again", 60.0)

    async def _in_thread(self, item: OutboxItem, act: Callable[[], Awaitable[list[str]]]) -> list[str]:
        """Run ``act``; where the thread does not exist yet, make it from the task's message first."""
        try:
            return await act()
        except Held as held:
            session = await self._store.session(item.thread) if held.code == 10003 else None
            if session is None or not session.channel or await self._board.stands_in(item.thread):
                raise
        await self._desk.open_thread(session.channel, item.thread, session.title or "A task")
        return await act()


def _answered(item: OutboxItem) -> str:
    """The message it replies to: that of a receipt or side question, and the task where several share a thread."""
    if item.sort not in ("receipt", "progress", "answer") or item.target == item.thread:
        return ""
    return item.target if item.target.isdecimal() else ""
