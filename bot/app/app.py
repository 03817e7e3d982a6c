"""The composition root: the one place that builds adapters and wires them.

    store ── Loop ── Threads ── ThreadwrightBot ── Discord or the local guild
             │          └ Reflexion ── lessons (bot/app/container.py)
             ├ ModelRouter
             └ StandardToolbox ── RealWorld ── Sandboxes

What is slow is left for after the bot is online, so that the first 👀 does not wait for it: in the background model
libraries are warmed up, the sandbox is tried, and what the end of an execution needs is imported (``bot/app/container.py``).
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import discord

from agentic.core.events.execution_events import OutboxItem
from agentic.core.lazy_dataclass import dataclass
from agentic.models.router import ModelRouter
from agentic.models.tier_config import TierChoice
from agentic.ports.errors import AgenticError, ModelLibraryBroken
from agentic.ports.runtime import SessionRow, Sink, Store
from agentic.runtime.budget_ledger import Purse
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.runtime.loop_watchdog import Watchdog
from agentic.runtime.shutdown import Leaving
from agentic.sandbox.pool import Sandboxes
from agentic.sandbox.protocol.heartbeat import Heartbeat
from agentic.stores.process_identity import seconds_since_boot, this_process
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.app.adapters import chooser
from bot.app.client import ThreadwrightBot, create_bot
from bot.app.discord_connection import raise_why
from bot.app.options import options_from
from bot.app.services import Backstage
from bot.config.home import (
    CHECKPOINTS,
    DATABASE,
    LESSONS,
    SANDBOXES,
    open_lessons,
    open_store,
)
from bot.config.models import models_from, prices_from
from bot.config.preferences import AUTO
from bot.config.settings import Settings
from bot.history.run_history import undoable
from bot.inbound.recent_messages import Quoting
from bot.later import close, later, load
from bot.outbound.attachment_urls import Refetching
from bot.outbound.branch_offer_messages import BranchOfferMessages
from bot.outbound.compose import FILE_BYTES
from bot.progress.feed import Feed
from bot.retention.expiry import forget_logs
from bot.sessions.dependencies import Ground
from bot.sessions.recovery import settle_leftovers
from bot.sessions.slots import Courteous, Courtesy, Slots
from bot.sessions.start import Beginning, caps_from, policy_from
from bot.threads.registry import Roster, Threads
from bot.workspace.attachments import download
from bot.workspace.environment import environment
from bot.workspace.folders import Workspaces
from bot.workspace.sandboxes import Workshop

if TYPE_CHECKING:
    from bot.app.container import Rest
    from bot.local_discord import LocalGuild

BUILD = "0.1.0"
WARM_UP_AFTER = 0.5
"""Seconds after the bot is online; what a person does first should not share the processor with imports."""
EVICT_EVERY = 60.0
SWITCH_SECONDS = 0.0005
"""So long at most the event loop waits for a thread that computes, each time that it comes back from the disk; not 5 ms."""
REST = ("bot.app.container", "bot.messages.final_card", "bot.lessons.approvals")
"""What is imported where it is first used, and before that in the background."""
DISCORD = str(Settings.model_fields["discord_api"].default)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an app keeps its state, and how it stands to people.

    ``bound``: the one folder that every thread works in; ``attended``: somebody can answer questions;
    ``recovers``: what an earlier process left in this home is taken up.
    """

    home: Path
    bound: Path | None = None
    attended: bool = True
    recovers: bool = True


class App:
    """Everything, running."""

    def __init__(
        self, settings: Settings, models: TierChoice, store: Store, sandboxes: Sandboxes, workshop: Workshop, threads: Threads,
        router: ModelRouter, bot: ThreadwrightBot, guild: LocalGuild | None, watchdog: Watchdog,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.models = models
        self.store = store
        self.sandboxes = sandboxes
        self.workshop = workshop
        self.threads = threads
        self.bot = bot
        self.guild = guild
        self.watchdog = watchdog
        self._router = router
        self._loaded, self._complete, self._warming = asyncio.Event(), asyncio.Event(), False
        self.warmed = asyncio.Event()
        """The models can be asked without waiting for their libraries, and who waited was served; or it failed."""
        self.library = ""
        """Why a library that asks the models cannot be loaded, in words; '' where it can."""
        self._background: set[asyncio.Task[None]] = set()
        self._connection: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, settings: Settings, place: Place, *, guild: LocalGuild | None = None, sinks: tuple[Sink, ...] = ()
    ) -> AsyncGenerator[Self]:
        """Build everything and connect; at the end all of it is closed, in order, what runs being kept for later."""
        async with AsyncExitStack() as stack:
            app = await cls._build(stack, settings, place, guild, sinks)
            stack.push_async_callback(app._close)
            if place.recovers:
                await settle_leftovers(app.store, caps_from(settings))
            if place.recovers and await app.threads.recover():
                app._warm_up_now()
            app._connect()
            yield app

    @classmethod
    async def _build(
        cls, stack: AsyncExitStack, settings: Settings, place: Place, guild: LocalGuild | None, sinks: tuple[Sink, ...]
    ) -> Self:
        sys.setswitchinterval(SWITCH_SECONDS)
        durable, watchdog = settings.store == "sqlite", stack.enter_context(Watchdog())
        clock, feed, roster, quotes, refetching = SystemClock(), Feed(), Roster(), Quoting(), Refetching()
        store = open_store(place.home / DATABASE if durable else None)
        stack.push_async_callback(store.close)
        lessons = later(lambda: open_lessons(place.home / LESSONS if durable else None))
        stack.push_async_callback(close, lessons)
        prices = prices_from(settings)
        models = models_from(settings, os.environ, prices)
        router = ModelRouter(os.environ, prices=prices, schema_models=settings.schema_models)
        stack.push_async_callback(router.close)
        state = place.home / SANDBOXES
        heartbeat = Heartbeat()
        sandboxes = Sandboxes(state, chooser(settings, state, heartbeat), count=settings.max_sandboxes)
        stack.push_async_callback(sandboxes.close)
        snapshots = Snapshots(place.home / CHECKPOINTS, home=settings.home, needed=partial(undoable, store))
        workshop = Workshop(
            sandboxes, Workspaces(place.home / "workspaces", place.bound), download, refetching, snapshots,
            offers=place.recovers, masks=settings.mask_secrets,
        )  # fmt: skip
        offers = BranchOfferMessages(store)
        purse = Purse(store, caps_from(settings))
        policy = policy_from(settings, models.tiers, attended=place.attended, prices=prices, tries=place.recovers)

        async def tell(item: OutboxItem) -> None:
            await store.put_outbox([item])
            feed.outbox.set()

        def the_rest() -> Rest:
            from bot.app.container import Given, Rest  # with the first use: no start waits for it

            return Rest(Given(
                settings, policy, store, lessons, router, clock, purse, workshop, snapshots, offers, begin, tell, BUILD,
                bot, threads, lasts=place.recovers,
            ))  # fmt: skip

        rest = later(the_rest)
        learning = later(lambda: rest.learning)
        stack.push_async_callback(close, learning)

        async def missed(thread: str) -> None:
            await bot.catching.before_going_on(thread)

        async def role(row: SessionRow) -> str:
            chosen = (await bot.preferences.of(row.thread, row.channel, row.guild)).role
            return "" if chosen == AUTO else chosen

        courtesy, leaving = Courtesy(), Leaving()
        begin = Beginning(
            store=store,
            lessons=learning,
            policy=policy,
            receive=workshop.receive,
            tell=tell,
            quotes=quotes,
            place=workshop.place,
            surroundings=lambda where: environment(where, clock.now(), settings.sandbox_image),
            instructions=settings.instructions,
            role=role,
            calibrator=lambda: rest.labels.calibrator(),  # noqa: PLW0108 - else it is made here
        )
        ground = Ground(
            store=store,
            clock=clock,
            courtesy=courtesy,
            runner=Loop(
                store,
                Courteous(router, courtesy),
                clock,
                (feed, roster, *sinks),
                BUILD,
                caps_from(settings),
                leaving,
                seconds_since_boot,
            ),
            workshop=workshop,
            learning=learning,
            slots=Slots(settings.max_executions),
            owner=this_process(),
            leaving=leaving,
            drain_seconds=settings.drain_seconds,
            begin=begin,
            tell=tell,
            acts=later(lambda: rest.acts),
            forking=later(lambda: rest.forking),
            allow=heartbeat.allow,
            missed=missed,
        )
        threads = Threads(ground, roster, learning, workshop.receive)
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # it never speaks

        async def forget(thread: str) -> None:
            await threads.idle(thread)
            await workshop.forget(thread)
            await forget_logs(store, thread, this_process())
            threads.forget(thread)

        bot = create_bot(
            threads, store, feed, partial(workshop.shown_file, cap=FILE_BYTES),
            options_from(settings, local=guild is not None),
            Backstage(lessons, workshop, policy, snapshots.content, offers, forget, later(lambda: rest.studio),
                      purse, place.home if durable else None, lambda: rest.reflexion.trouble, watchdog.longest),
        )  # fmt: skip
        quotes.through(bot.desk)
        refetching.through(bot.desk)
        return cls(settings, models, store, sandboxes, workshop, threads, router, bot, guild, watchdog)

    async def online(self) -> None:
        """Wait until the bot hears what is said.  Raises ``CannotConnect``."""
        connection = self._connection
        assert connection is not None
        ready = asyncio.create_task(self._ready(), name="ready")
        try:
            await asyncio.wait((ready, connection), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if connection.done():
            raise_why(connection)
        if not self._warming:
            self.beside("warm-up", self._warm_up(WARM_UP_AFTER))
            self.beside("the rest", self._load_rest(partial(asyncio.sleep, WARM_UP_AFTER)))
        self.beside("eviction", self._evict())

    async def _ready(self) -> None:
        await self._begun.wait()  # before it begins, a client cannot be waited for
        await self.bot.wait_until_ready()

    async def until(self, stopped: asyncio.Event) -> None:
        """Wait until ``stopped``, or raise ``CannotConnect`` when Discord shuts the bot out."""
        assert self._connection is not None
        waiting = asyncio.create_task(stopped.wait(), name="stop signal")
        try:
            await asyncio.wait((waiting, self._connection), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if self._connection.done():
            raise_why(self._connection)

    async def delivered(self, thread: str, seconds: float = 10.0) -> None:
        """Wait until everything that is due in the thread was posted, or the time is over."""
        deadline = asyncio.get_running_loop().time() + seconds
        while await self._is_due(thread) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.02)  # a store tells nobody, so it is asked

    async def _is_due(self, thread: str) -> bool:
        """Something waits to be posted, or a progress message does not show the end yet."""
        if await self.store.undelivered(thread):
            return True
        rows = [row for row in await self.store.executions(thread) if row.finished]
        progress = await self.store.outbox_row(f"{rows[-1].execution}.1.0") if rows else None
        return progress is not None and any(self.bot.board.shows(message) for message in progress.delivered)

    def _connect(self) -> None:
        if self.guild is not None:
            self.guild.attach()
            token = self.guild.bot_token
        else:
            assert self.settings.discord_token is not None
            token = self.settings.discord_token.get_secret_value()
        self._connection = asyncio.create_task(self._start(token), name="connection")

    async def _start(self, token: str) -> None:
        elsewhere = self.settings.discord_api
        if self.guild is None and elsewhere != DISCORD:
            from bot.local_discord.redirect import attach_over_http

            await attach_over_http(elsewhere, token)
        self._begun.set()
        await self.bot.start(token)

    def _warm_up_now(self) -> None:
        """What an earlier process left goes on as soon as it can: its models are needed before anything else is."""
        self._warming = True
        self.bot.catching.goes_on = self._loaded.wait
        self.bot.unhurried = self._complete.wait
        self.beside("warm-up", self._warm_up(0.0))
        self.beside("the rest", self._load_rest(self.warmed.wait))

    async def _warm_up(self, after: float) -> None:
        await asyncio.sleep(after)
        try:
            await self._router.warm_up(self.models.models)
            self._loaded.set()
            await asyncio.sleep(WARM_UP_AFTER)  # whoever waited for the library has their answer first
        except ModelLibraryBroken as error:
            log.error("%s", error)
            self.library = str(error)
        finally:
            self.warmed.set()
        try:
            await self.workshop.choice()
        except (AgenticError, OSError) as error:
            log.warning("the sandbox could not be tried: %s", error)

    async def _load_rest(self, after: Callable[[], Awaitable[object]]) -> None:
        """What was left out of the start, so that whoever needs it first does not wait for its import."""
        await after()
        await load(*REST)
        self._complete.set()
        await self.warmed.wait()
        await self._router.expect_refusals()

    async def _evict(self) -> None:
        while True:
            await asyncio.sleep(EVICT_EVERY)
            try:
                self.workshop.tidy()
                await self.sandboxes.evict_idle()
            except Exception:  # one look that failed must not be the last one
                log.exception("idle sandboxes could not be ended; the next look is in %.0f s", EVICT_EVERY)

    def beside(self, name: str, work: Coroutine[None, None, None]) -> None:
        """Do something in the background, until the app closes; if it breaks, the log says so."""
        task = asyncio.create_task(work, name=name)
        self._background.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s broke", task.get_name(), exc_info=error)

    async def _close(self) -> None:
        """Take nothing more in, end what runs (it goes on after the next start), then let the adapters close."""
        background = tuple(self._background)
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await self.workshop.close()
        await self.threads.close()
        await self.bot.close()
        if self._connection is not None:
            await asyncio.gather(self._connection, return_exceptions=True)
