"""Delivers the outbox: each visible effect once, in the order of its thread, whatever fails in between.

An item is durable with the events that caused it, and waits until its messages' ids are recorded.  A repetition
carries the same nonce; what may have been posted too long ago for a nonce is looked for in the channel first
(``bot/outbound/duplicate_detection.py``).  What cannot be delivered now (rights, an archive, Discord away) is kept,
said in the log, and
tried again.

What Discord takes in no form must not hold up all that follows in its thread: it is tried without its files, then as a
file, and then it is said in its place that it is missing, once; only where that is said is it given up.  So a refusal that
is about the place, and not about what was sent, loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.errors import StoreCorrupt, StoreError
from agentic.ports.runtime import OutboxRow, Store
from bot.outbound.compose import Composer
from bot.outbound.discord_api import (
    NO_RIGHT,
    DiscordApi,
    Gone,
    Held,
    Post,
    Unfit,
    nonce_of,
)
from bot.outbound.duplicate_detection import (
    Doubts,
    ExpectedPost,
    known,
    standing,
)
from bot.outbound.live.live_message import until_read
from bot.outbound.live.progress_messages import ProgressMessages
from bot.outbound.live.task_signs import WORKS
from bot.outbound.live.thread_titles import ThreadTitles
from bot.outbound.request_queue import Urgency
from bot.outbound.shared_delivery import SharedDelivery
from bot.progress.feed import Feed
from bot.rendering.answer_card import card_fact
from bot.rendering.discord_text import (
    LIMIT,
    Rendered,
    cut,
    inline,
    length,
)

EVERY_SECONDS = 5.0
"""How often the outbox looks by itself; normally it is told."""
TURN_SECONDS, OF_OTHERS_SECONDS = 0.3, 1.0
"""After these it is looked again at what another process is just delivering, and at what is for another to deliver."""
_FIRST = frozenset(("answer", "question", "receipt"))
_BELOW_PROGRESS = frozenset(("answer", "question", "offer", "pull"))
"""What the progress message above is brought up to date for."""
GENERATIONS = 3
"""A post whose message somebody deleted before it was recorded is posted anew so often."""
UNFIT = ".unfit"
PATIENCE = 3
"""So often an item is refused for a reason that nobody knows, while Discord answers for its thread, before it counts as
what cannot be sent."""
LEFT_OUT = "⚠️ I couldn't send {what}: {why}.{more}"
_WHAT = {
    "answer": "the answer to this task", "question": "a question", "progress": "my progress", "offer": "an offer",
    "lesson": "a message about a lesson", "receipt": "a reply", "pull": "the message about a pull request",
}  # fmt: skip
_QUESTION = " The task is waiting for your answer: write what I should do, or stop it with 🛑."
_WITHOUT_FILES = "-# Not attached, because Discord rejected it: {names}"

log = logging.getLogger(__name__)


class Outbox:
    """Delivers for as long as ``run`` runs; ``poke`` tells it that there is something."""

    def __init__(
        self, store: Store, desk: DiscordApi, feed: Feed, board: ProgressMessages, composer: Composer,
        titles: ThreadTitles, shared: SharedDelivery | None = None,
    ) -> None:  # fmt: skip
        self._shared = shared
        """Who delivers what, where other processes deliver as well."""
        self._store, self._desk, self._feed, self._board, self._composer = store, desk, feed, board, composer
        self._titles = titles
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._held: dict[str, float] = {}
        self._changes = 0
        """How often something changed in Discord: what was refused before that is tried again at once."""
        self._reasons: dict[str, str] = {}
        self._gone: set[str] = set()
        self._doubts = Doubts()
        self._refused: Counter[str] = Counter()
        """How often each item was refused by itself."""

    def poke(self) -> None:
        """There is something to deliver."""
        self._feed.outbox.set()

    def retry_now(self) -> None:
        """Something changed in Discord: try at once what was held back."""
        self._held.clear()
        self._changes += 1
        self._board.retry_now()
        self.poke()

    def retry_in(self, thread: str) -> None:
        """Somebody wrote in a thread: try at once what was held back there."""
        if self._held.pop(thread, None) is not None:
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
        """Nothing is delivered before it is known what an earlier process may have posted."""

        async def inherit() -> None:
            self._doubts.inherit(await self._store.undelivered())

        await until_read(inherit, "the outbox")

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
        changes = self._changes
        try:
            left = await (self._all_due(thread) if self._shared is None else self._due_here(thread, self._shared))
            self._held.pop(thread, None)
            if left:
                self._leave(thread, left)
            if self._reasons.pop(thread, None):
                log.warning("thread %s: delivered what was kept", thread)
        except Held as held:
            self._hold(thread, held.reason, held.seconds if changes == self._changes else 0.0)
        except StoreError as error:
            self._hold(thread, f"the store fails ({error})", EVERY_SECONDS)
        except Exception:  # a bug: its messages are kept and the reason told; other threads go on
            log.exception("a fault of ours while delivering to thread %s", thread)
            self._hold(thread, "a fault of ours", 60.0)

    async def _all_due(self, thread: str) -> float:
        while rows := await self._store.undelivered(thread):
            for row in rows:
                await self._deliver(row)
        return 0.0

    async def _due_here(self, thread: str, shared: SharedDelivery) -> float:
        """The same in turn with other processes; for how long what is left is left to them, 0 where nothing is."""
        while rows := await self._store.undelivered(thread):
            if not await shared.may(rows[0].item):  # should its owner die, it may stand there already
                self._doubts.arise(rows[0].item)
                return OF_OTHERS_SECONDS
            async with shared.turn(thread) as ours:
                if not ours:  # the same, should whoever has the turn die
                    self._doubts.arise(rows[0].item)
                    return TURN_SECONDS
                for row in rows:
                    if not await shared.may(row.item):
                        break
                    await self._deliver(row)
        return 0.0

    def _leave(self, thread: str, seconds: float) -> None:
        """Look again after a while: whose turn it is may be over, or have died."""
        loop = asyncio.get_running_loop()
        self._held[thread] = loop.time() + seconds
        loop.call_later(seconds, self.poke)

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
        if item.sort == "title":
            await self._titles.expect(item.thread, item.text)
            await self._store.delivered(item.key, [])
            return
        if item.key.endswith(UNFIT):  # what it says is missing came before it, and was sent after all
            await self._store.delivered(item.key, [])
            return
        await self._send(item)

    async def _send(self, item: OutboxItem) -> None:
        try:
            messages = [] if await self._signed(item) else await self._posted(item)
        except Held as held:
            self._refused[item.key] += held.perhaps_unfit and await self._desk.answers(item.thread)
            raise
        if item.sort == "answer" and item.execution:
            await self._board.sign(item.execution)
        await self._store.delivered(item.key, messages)
        self._refused.pop(item.key, None)
        self._doubts.settle(item)
        if item.sort == "progress" and messages:
            await self._board.posted(item.execution, item.thread, messages[0])

    async def _signed(self, item: OutboxItem) -> bool:
        """Say it by a sign on the message that it answers; False where there is none, or no sign can be set there."""
        return item.sign and item.target.isdecimal() and await self._desk.react(item.thread, item.target, WORKS)

    async def _is_due(self, item: OutboxItem) -> bool:
        """A list of what waits grows old while it is worked through: another process may have delivered it meanwhile."""
        row = await self._store.outbox_row(item.key)
        return row is not None and not row.done

    async def _posted(self, item: OutboxItem) -> list[str]:
        rendered = await self._composed(item)
        if item.sort in _BELOW_PROGRESS and item.execution:
            await self._board.settle(item.execution)
        why = ""
        tired = self._refused[item.key] >= PATIENCE
        for form, shown in self._forms(item, rendered)[tired:]:
            try:
                if shown.card:
                    await self._store.set_fact(card_fact(item.thread), "posted")
                return await self._in_thread(form, partial(self._post_parts, form, shown))
            except Unfit as unfit:
                why = unfit.words
                log.error("item %s does not fit Discord (%s)", item.key, unfit)
            except Held as held:
                if not (held.perhaps_unfit and tired) and not (held.code == NO_RIGHT and shown.files):
                    raise
                why = "Discord keeps rejecting it" if held.perhaps_unfit else "I'm not allowed to attach files here"
                log.error("item %s is not taken (%s)", item.key, held)
        return await self._left_out(item, why)

    def _forms(self, item: OutboxItem, rendered: Rendered) -> list[tuple[OutboxItem, Rendered]]:
        """As it is meant (a card, then as messages), without its files, and in the plainest form there is."""
        plain = replace(rendered, card=())
        forms = [(item, plain)]
        if rendered.card:
            forms.insert(0, (item, replace(rendered, parts=("\n\n".join(rendered.card),), files=())))
        if rendered.files:
            forms.append((item, _without_files(plain)))
        bare = item.model_copy(update={"options": (), "parts": (), "generation": item.generation + GENERATIONS})
        return [*forms, (bare, self._composer.as_file(item))]

    async def _left_out(self, item: OutboxItem, why: str) -> list[str]:
        """Say in its place that it is missing; raises ``Held`` where that cannot be said either."""
        if item.key.endswith(UNFIT):
            raise Held(f"Discord accepts nothing there ({why})", 60.0)
        log.error("item %s is left out: %s", item.key, why)
        more = _QUESTION if item.sort == "question" else ""
        more += (
            f" Whoever runs the bot can see it with `threadwright replay {item.execution}`." if item.execution else ""
        )
        note = OutboxItem(
            key=f"{item.key}{UNFIT}", thread=item.thread, execution=item.execution, sort="notice", notify=item.notify,
            text=LEFT_OUT.format(what=_WHAT.get(item.sort, "a message"), why=why, more=more),
        )  # fmt: skip
        before = await self._store.outbox_row(note.key)
        if before is None:
            await self._store.put_outbox([note])
            await self._send(note)
        elif not before.done:
            self._doubts.arise(before.item)  # it may have been posted already
            await self._send(before.item)
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
        except Exception:  # a bug in the wording: what is to be said stands in the item, and goes out as a file
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
                steer=rendered.steer,
                wake=rendered.wake,
                pings=rendered.pings if index == last else "",
                card=rendered.card,
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
        return await standing(self._store, ExpectedPost(item, parts, len(rendered.files), _answered(item)), seen)

    async def _post(self, item: OutboxItem, index: int, post: Post) -> str:
        """One message; where it was posted before and somebody deleted it, a new one under a nonce of its own."""
        urgency = Urgency.RESULT if item.sort in _FIRST else Urgency.MESSAGE
        for generation in range(item.generation, item.generation + GENERATIONS):
            try:
                return await self._desk.post(replace(post, nonce=nonce_of(item.key, index, generation)), urgency)
            except Gone:
                log.info("item %s was posted and deleted before it was recorded; it is posted anew", item.key)
        raise Held("its message keeps being deleted", 60.0, perhaps_unfit=True)

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


def _without_files(rendered: Rendered) -> Rendered:
    """The same with the names of its files in their place."""
    line = _WITHOUT_FILES.format(names=", ".join(inline(file.name) for file in rendered.files))
    *before, last = rendered.parts
    return replace(rendered, parts=(*before, f"{cut(last, LIMIT - length(line) - 1)}\n{line}"), files=())


def _answered(item: OutboxItem) -> str:
    """The message it replies to: that of a receipt or side question, and the task where several share a thread."""
    if item.sort not in ("receipt", "progress", "answer") or item.target == item.thread:
        return ""
    return item.target if item.target.isdecimal() else ""
