"""The one progress message of each execution that is work, edited in place; small talk has none.

Edits of one message are at least ``EDIT_SECONDS`` apart, further apart while many threads are busy, and coalesced:
what is shown is what is newest when the edit's turn has come.  How much it tells is the channel's choice
(``bot/config/preferences.py``), also while it runs.  A message that somebody deleted is posted anew; one that comes near an
hour of age is closed and continued in a new one, because Discord limits edits of older messages.  Before an answer or
a question is posted, the message above it is brought up to date at once, so that it never says "running" over an
answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import discord
from discord.utils import MISSING

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.errors import StoreError
from agentic.ports.runtime import Store
from bot.config.preferences import Preference, Preferences, Verbosity
from bot.outbound.discord_api import (
    DiscordApi,
    Gone,
    Held,
    Post,
    Unfit,
    nonce_of,
)
from bot.outbound.live.post_tags import PostTags
from bot.outbound.live.task_signs import WORKS, TaskSigns, sign_of, sign_of_end
from bot.outbound.request_queue import Sender
from bot.progress.feed import Feed, folded
from bot.progress.model import Progress, steering
from bot.progress.text import progress_text
from bot.rendering.buttons import buttons_of
from bot.rendering.discord_text import Steering

ROLL_SECONDS = 55 * 60.0
LOOK_SECONDS = 0.1
"""A model streams a hundred pieces a second; to look at each would cost more than to show them."""
SETTLE_SECONDS = 0.8
"""How long an answer waits for the progress above it; with limits on edits it goes first."""
TICK_SECONDS = 3.0
"""How often the time that a step has taken is brought up to date, and a changed choice of verbosity noticed."""
CHOICE_SECONDS = 15.0
"""How long it may take until a verbosity that was chosen in another process shows; each look is a request."""
TICKS_AT_MOST = 60
"""With more threads than that, time alone is no reason to edit."""
CONTINUED = "-# ⬇ continued below"
_FACT = "progress:"

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ShownProgress:
    """A progress message as it stands in Discord."""

    thread: str
    message: str
    generation: int = 0
    text: str = ""
    steer: tuple[Steering, ...] | None = None
    """Which buttons it has; None where that is not known."""
    turn: int = 0
    due: float = 0.0
    """When, by the event loop's clock, it may be edited again."""
    hurried: asyncio.Event = field(default_factory=asyncio.Event)
    """The next edit waits no longer."""
    place: tuple[str, str] | None = None
    """Its channel and guild, once they were looked up."""
    verbosity: Verbosity = "normal"
    chosen_until: float = 0.0
    """Until when, by the event loop's clock, a choice that another process may have changed is not looked at again."""


class ProgressMessages:
    """Keeps progress messages up to date for as long as ``run`` runs."""

    def __init__(
        self, store: Store, desk: DiscordApi, feed: Feed, preferences: Preferences | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        discord_now: Callable[[], datetime] | None = None,
    ) -> None:  # fmt: skip
        self._store, self._desk, self._feed, self.now = store, desk, feed, now
        self.discord_now = discord_now or now
        """By the clock that a message's id was made from."""
        self._preferences = preferences or Preferences(store)
        self._shown: dict[str, ShownProgress] = {}
        self._pending: set[str] = set()
        self._keepers: dict[str, asyncio.Task[None]] = {}
        self._gone: set[str] = set()
        self._signs, self._tags = TaskSigns(store, desk), PostTags(desk)

    async def run(self) -> None:
        """Show what changes, until cancelled."""
        ticking = asyncio.create_task(self._tick(), name="progress, tick by tick")
        try:
            while True:
                await self._feed.changed.wait()
                for execution in self._feed.take_dirty():
                    self._note(execution)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            ticking.cancel()
            self._signs.close()
            self._tags.close()
            for keeper in self._keepers.values():
                keeper.cancel()

    async def posted(self, execution: str, thread: str, message: str) -> None:
        """The outbox has posted the message in which the execution is to be shown."""
        self._shown[execution] = ShownProgress(thread, message, due=self._soon())
        self._signs.begun(execution)
        self._tags.note(thread, WORKS)
        await self._remember(execution)
        self._note(execution)

    async def settle(self, execution: str) -> None:
        """Show an execution as it is now, before its answer or question is posted below; within ``SETTLE_SECONDS``."""
        self._note(execution)
        if (shown := self._shown.get(execution)) is not None:
            shown.hurried.set()
        await asyncio.wait((self._keepers[execution],), timeout=SETTLE_SECONDS)

    async def sign(self, execution: str, *, doubtful: bool = False) -> None:
        """Show on the message that gave the task how it goes; ``doubtful``: the sign that is known may not be there."""
        row = await self._store.execution(execution)
        if row is None:
            return
        if row.finished:
            wanted = sign_of_end(row.finished)
        else:
            wanted = sign_of(self._feed.progress(execution) or await folded(self._store, execution))
        self._signs.note(execution, wanted, doubtful=doubtful)
        self._tags.note(row.thread, wanted)
        await self._signs.settled(execution)
        if row.finished:
            self._signs.forget(execution)
            await self._without_message(execution, row.thread)

    def retry_now(self) -> None:
        """Something changed in Discord: show at once what could not be shown, or is just being refused."""
        for execution in self._keepers:
            if (shown := self._shown.get(execution)) is not None:
                shown.hurried.set()

    def gone(self, thread: str) -> None:
        """A thread was deleted: nothing more is shown there."""
        self._gone.add(thread)
        for execution, shown in list(self._shown.items()):
            if shown.thread == thread:
                self._pending.discard(execution)
                del self._shown[execution]
                self._feed.forget(execution)
                self._signs.forget(execution)
                if (keeper := self._keepers.get(execution)) is not None:
                    keeper.cancel()

    async def stands_in(self, thread: str) -> bool:
        """Whether progress or an answer was ever posted there: then the thread existed, and was deleted if it is gone."""
        return await self._store.fact(_FACT + thread) is not None

    def shows(self, message: str) -> tuple[str, int] | None:
        """(execution, turn) that a progress message shows now."""
        for execution, shown in self._shown.items():
            if shown.message == message:
                return execution, shown.turn
        return None

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            for execution, shown in list(self._shown.items()):
                progress = self._feed.progress(execution)
                timed = progress is not None and progress.running and len(self._shown) <= TICKS_AT_MOST
                if timed or await self._chosen(shown) != shown.verbosity:
                    self._note(execution)

    async def chosen(self, thread: str, place: tuple[str, str] | None = None) -> Preference:
        """What people chose for a thread."""
        channel, guild = place or await self._place(thread) or ("", "")
        return await self._preferences.of(thread, channel, guild)

    async def _place(self, thread: str) -> tuple[str, str] | None:
        session = await self._store.session(thread)
        return (session.channel, session.guild) if session is not None else None

    async def _chosen(self, shown: ShownProgress) -> Verbosity:
        """The same; what cannot be read now stays as it is, and what other processes choose is looked at now and then."""
        now = asyncio.get_running_loop().time()
        if self._preferences.shared and now < shown.chosen_until:
            return shown.verbosity
        shown.chosen_until = now + CHOICE_SECONDS
        try:
            shown.place = shown.place or await self._place(shown.thread)
            return (await self.chosen(shown.thread, shown.place)).verbosity
        except StoreError:
            return shown.verbosity

    def _note(self, execution: str) -> None:
        self._pending.add(execution)
        keeper = self._keepers.get(execution)
        if keeper is None or keeper.done():  # one that has ended is let go of only in the loop's next round
            keeper = asyncio.create_task(self._keep(execution), name=f"progress of {execution}")
            self._keepers[execution] = keeper
            keeper.add_done_callback(partial(self._let_keeper_go, execution))

    def _let_keeper_go(self, execution: str, keeper: asyncio.Task[None]) -> None:
        if self._keepers.get(execution) is keeper:
            del self._keepers[execution]

    async def _keep(self, execution: str) -> None:
        while execution in self._pending:
            shown = await self._ready(execution)
            if shown is None:  # nothing is shown of it; what is posted later is looked at then
                self._pending.discard(execution)
                return
            await _due(shown)
            self._pending.discard(execution)
            try:
                await self._show(execution, shown)
                shown.due = self._soon()
            except Held as held:
                log.info("the progress of %s is not shown now: %s", execution, held)
                self._pending.add(execution)
                shown.due = self._soon() + held.seconds
            except (Gone, Unfit, StoreError) as error:
                log.info("the progress of %s is not shown now: %s", execution, error)
                shown.due = self._soon()

    async def _ready(self, execution: str) -> ShownProgress | None:
        """The message and the read model, from the store where the execution began before this process."""
        try:
            if self._feed.progress(execution) is None:
                told = await folded(self._store, execution, self._feed.discretion)
                if not told.seq:  # nothing is left of it: its thread was deleted meanwhile
                    self._feed.forget(execution)
                    return None
                self._feed.load(told)
            progress = self._feed.progress(execution)
            if progress is not None and (progress.side or progress.thread in self._gone):
                self._feed.forget(execution)
            elif progress is not None and progress.talk and progress.finished is None:
                self._signs.begun(execution)
            elif execution not in self._shown:
                await self._recall(execution)
                if execution not in self._shown and progress is not None and progress.finished is not None:
                    self._feed.forget(execution)
        except StoreError as error:
            log.info("the progress of %s cannot be read now: %s", execution, error)
            return None
        return self._shown.get(execution)

    async def _show(self, execution: str, shown: ShownProgress) -> None:
        progress = self._feed.progress(execution)
        if progress is None:
            return
        if progress.finished is None:  # the last sign is set with the answer
            self._signs.note(execution, sign_of(progress))
            self._tags.note(shown.thread, sign_of(progress))
        shown.verbosity = await self._chosen(shown)

        def text() -> str:
            details = self._feed.links.task(shown.thread, execution)
            return progress_text(progress, self._feed.tail(execution), shown.verbosity, self.now(), details)

        steer = steering(progress)
        if self._age(shown) > ROLL_SECONDS and progress.finished is None:
            await self._roll(progress, shown, text())
        elif text() != shown.text or steer != shown.steer:
            view = MISSING if steer == shown.steer else buttons_of(_item(progress), steer=steer)
            try:
                shown.text = await self._desk.edit(shown.thread, shown.message, text, view)
                shown.steer = steer
            except Gone:
                await self._again(progress, shown, text())
        shown.turn = progress.turn
        self._let_go(execution, shown, progress)

    def _let_go(self, execution: str, shown: ShownProgress, progress: Progress) -> None:
        """What has ended is shown once more, with its end, and then never again."""
        ended = progress_text(progress, "", shown.verbosity, details=self._feed.links.task(shown.thread, execution))
        if progress.finished is not None and shown.text == ended and not shown.steer:
            self._shown.pop(execution, None)
            self._feed.forget(execution)

    async def _roll(self, progress: Progress, shown: ShownProgress, text: str) -> None:
        before = shown.message
        await self._again(progress, shown, text)
        try:
            await self._desk.edit(shown.thread, before, lambda: CONTINUED, None)
        except Gone:
            log.debug("the progress message before was deleted")

    async def _again(self, progress: Progress, shown: ShownProgress, text: str) -> None:
        execution = progress.execution
        generation = shown.generation + 1
        nonce = nonce_of(f"progress.{execution}", 0, generation)
        try:
            post = Post(shown.thread, text, nonce, item=_item(progress), steer=steering(progress))
            shown.message = await self._desk.post(post)
        except Gone:  # posted under this nonce before, and deleted since: the next one takes another
            shown.generation = generation
            self._pending.add(execution)
            raise
        shown.generation, shown.text, shown.steer = generation, text, post.steer
        await self._remember(execution)

    async def _remember(self, execution: str) -> None:
        shown = self._shown[execution]
        value = f"{execution} {shown.message} {shown.generation}"
        await self._store.set_fact(_FACT + shown.thread, value)

    async def _without_message(self, execution: str, thread: str) -> None:
        """Keep nothing of what was answered without a progress message but that its thread exists."""
        if execution in self._shown:
            return
        self._feed.forget(execution)
        if not await self.stands_in(thread):
            await self._store.set_fact(_FACT + thread, "")

    async def _recall(self, execution: str) -> None:
        progress = self._feed.progress(execution)
        if progress is None or not progress.thread:
            return
        known, _, where = (await self._store.fact(_FACT + progress.thread) or "").partition(" ")
        if known == execution:
            message, generation = where.split(" ")
            self._shown[execution] = ShownProgress(progress.thread, message, int(generation))
        elif (row := await self._store.outbox_row(_key(execution))) is not None and row.delivered:
            # a process died when its post was recorded, and before it was noted here
            self._shown[execution] = ShownProgress(progress.thread, row.delivered[0])

    def _age(self, shown: ShownProgress) -> float:
        return (self.discord_now() - discord.utils.snowflake_time(int(shown.message))).total_seconds()

    def _soon(self) -> float:
        return asyncio.get_running_loop().time() + Sender.edit_interval(len(self._shown))


def _key(execution: str) -> str:
    """The key of the outbox item by which a progress message is first posted."""
    return f"{execution}.1.0"


def _item(progress: Progress) -> OutboxItem:
    return OutboxItem(
        key=_key(progress.execution), thread=progress.thread, execution=progress.execution, sort="progress"
    )


async def _due(shown: ShownProgress) -> None:
    try:
        async with asyncio.timeout_at(shown.due):
            await shown.hurried.wait()
    except TimeoutError:
        return
    shown.hurried.clear()
