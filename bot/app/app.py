"""The composition root: the one place that builds adapters and wires them.

    store ── Loop ── Threads ── ThreadwrightBot ── Discord or the local guild
             │          └ Reflexion ── lessons
             ├ ModelRouter
             └ StandardToolbox ── RealWorld ── Sandboxes

What is slow is left for after the bot is online: in the background the libraries that ask models are imported by a
thread, and the sandbox is tried.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from agentic.aws.aws_place import AwsPlace
from agentic.code_index.code_search import CodeSearch
from agentic.core.events.execution_events import InboxItem, OutboxItem, Person, Policy
from agentic.doorbells.doorbell import Doorbell
from agentic.doorbells.shared_inbox import SharedInbox
from agentic.egress.doors import HostDoors
from agentic.egress.host_list import private_places
from agentic.egress.proxy import Proxy
from agentic.event_targets.event_publisher import LOOK_HERE_SECONDS, EventPublisher
from agentic.forges.hosts import Forges
from agentic.forges.repository_list import RepositoryList
from agentic.models.router import ModelRouter
from agentic.models.tier_config import TierChoice
from agentic.ports.errors import AgenticError, ModelLibraryBroken, StoreError
from agentic.ports.lookup import Embedder
from agentic.ports.pictures import Sight
from agentic.ports.runtime import Clock, SessionRow, Sink, Store
from agentic.remotes.host_git import MB, HostGit
from agentic.remotes.mirror import Mirrors
from agentic.remotes.publication import Publisher
from agentic.runtime.budget_ledger import BudgetLedger, DailyCaps
from agentic.runtime.child_runs import ChildRegistry
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.runtime.loop_watchdog import Watchdog
from agentic.runtime.shutdown import Leaving
from agentic.sandbox.pool import Sandboxes
from agentic.sandbox.protocol.heartbeat import Heartbeat
from agentic.stores.factory import open_objects, open_store, passing_folder
from agentic.stores.process_identity import seconds_since_boot, this_process
from agentic.stores.shared_files import SharedHome
from agentic.tools.wake import Alarm
from agentic.workspace.snapshots.shared_copies import SharedCopies
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot import BUILD
from bot.actions.branches import Branches
from bot.actions.clean import Cleaning
from bot.actions.dispatch import ThreadActs
from bot.actions.fork import Forking
from bot.actions.rerun import Rewinding
from bot.actions.restore_files import Restoring
from bot.actions.undo import Undoing
from bot.after_run.announce_lessons import AnnounceLessons
from bot.after_run.auto_retry import AutoRetry
from bot.after_run.calibration_labels import CalibrationLabels
from bot.after_run.feedback_survey import FeedbackSurvey
from bot.after_run.pipeline import AfterRunPipeline, turn_of
from bot.after_run.pull_watch import Around, PullWatch
from bot.after_run.webhook_server import CannotListen, WebhookServer
from bot.app.adapters import chooser, event_targets, home_in_step, home_shared, mcp_servers, watching, web_tools
from bot.app.client import ThreadwrightBot
from bot.app.console_link.console_answers import ConsoleAnswers
from bot.app.console_link.console_host import ConsoleHost
from bot.app.discord_connection import raise_why
from bot.app.health_checks import discord_check, draining_check, models_check, sandbox_check, store_check
from bot.app.identify_budget import IdentifyBudget, StartLimit
from bot.app.options import options_from
from bot.app.services import Backstage, Roles
from bot.app.shards import ShardLeases
from bot.config.home import (
    ACCOUNTS,
    CHECKPOINTS,
    CODE_INDEX,
    DATABASE,
    LESSONS,
    MIRRORS,
    SANDBOXES,
)
from bot.config.models import judges_from, models_from, prices_from
from bot.config.network import ThreadNetworks, placed
from bot.config.preferences import AUTO
from bot.config.settings import Settings
from bot.equipment.equipment import Equipment, Equipped, RulePlace
from bot.equipment.skill_store import SkillStore
from bot.equipment.thread_skills import ThreadSkills
from bot.equipment.watcher_files import WatcherFiles
from bot.history.run_history import undoable
from bot.inbound.recent_messages import Quoting
from bot.inbound.voice_messages import Transcription, VoiceReader
from bot.lessons import fact_text
from bot.local_discord.redirect import attach_over_http
from bot.outbound.compose import FILE_BYTES
from bot.outbound.discord_api import AttachmentUrls
from bot.outbound.live.answer_messages import AnswerMessages
from bot.outbound.live.branch_offer_messages import BranchOfferMessages
from bot.outbound.live.pull_messages import PullMessages
from bot.ports.conversation import Receipt, ThreadState
from bot.progress.feed import Feed
from bot.retention.expiry import forget_logs
from bot.retention.local_folders import LocalFolders
from bot.schedules.gate import ScheduleGate
from bot.sessions.dependencies import Ground
from bot.sessions.lease import give_back, while_held
from bot.sessions.recovery import settle_leftovers
from bot.sessions.slots import Courteous, Courtesy, Slots
from bot.sessions.start import Beginning, caps_from, policy_from
from bot.telemetry.health_server import HealthCheck, HealthServer
from bot.telemetry.process_state import ProcessState
from bot.telemetry.reporting import Reporting, wanted
from bot.telemetry.trace_sink import TraceSink
from bot.threads.registry import Roster, Threads
from bot.threads.take_up import TakeUp
from bot.workspace.attachments import download
from bot.workspace.environment import environment
from bot.workspace.folders import Workspaces
from bot.workspace.linked_accounts import LinkedAccounts
from bot.workspace.repositories import Repositories
from bot.workspace.sandboxes import Workshop
from reflexion.evaluation.score import score_of
from reflexion.judge.judge import Judge
from reflexion.judge.model_families import family_of
from reflexion.lessons.fact import Fact
from reflexion.recollection import Recollection
from reflexion.retrieval.embedding import embedder
from reflexion.service import Reflexion
from reflexion.stores.factory import open_lessons

if TYPE_CHECKING:
    from bot.local_discord import LocalGuild
    from reflexion.ports import LessonStore

EVICT_EVERY = 60.0
LINED_UP = 10_000
"""Threads that a worker lines up at most where nobody else keeps the line."""
SWITCH_SECONDS = 0.0005
"""So long at most the event loop waits for a thread that computes, each time that it comes back from the disk; not 5 ms."""
CONSOLE, CONSOLE_SECONDS = "console", 5.0
"""The fact that says where the console is, and how often a process looks that did not start it."""
DISCORD = str(Settings.model_fields["discord_api"].default)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AppHome:
    """Where an app keeps its state, and how it stands to people.

    ``bound``: the one folder that every thread works in; ``attended``: somebody can answer questions;
    ``recovers``: what an earlier process left in this home is taken up; ``roles``: what this process does of it all.
    """

    home: Path
    bound: Path | None = None
    attended: bool = True
    recovers: bool = True
    roles: Roles = field(default_factory=Roles)


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
        self.closing = False
        """It is ending, and begins nothing new."""
        self._reporting: Reporting | None = None
        self._watched: ProcessState | None = None
        self.console: ConsoleHost | None = None
        """Keeps the console that this process started, if it did."""
        self._console_at = ""
        self.watch: PullWatch | None = None
        self.folders: LocalFolders | None = None
        """Deletes what other machines were told to delete."""
        self.shared_home: SharedHome | None = None
        """Keeps files of the home in step with other machines; None where there are none."""
        self.events: EventPublisher | None = None
        """Tells targets outside what happens, if there are any."""
        self.webhooks: WebhookServer | None = None
        self.deaf: CannotListen | None = None
        """Why webhooks are not received although they are wanted."""
        self._router = router
        self.warmed = asyncio.Event()
        """The models can be asked without waiting for their libraries, and who waited was served; or it failed."""
        self.library = ""
        """Why a library that asks the models cannot be loaded, in words; '' where it can."""
        self._background: set[asyncio.Task[None]] = set()
        self.roles = Roles()
        self.take_up: TakeUp | None = None
        """Brings the work that other processes store; None where this one is alone, or does not work."""
        self._connection: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()
        self._left = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, settings: Settings, place: AppHome, *, guild: LocalGuild | None = None, sinks: tuple[Sink, ...] = (),
        clock: Clock | None = None,
    ) -> AsyncGenerator[Self]:  # fmt: skip
        """Build everything and connect; at the end all of it is closed, in order, what runs being kept for later."""
        async with AsyncExitStack() as stack:
            app = await cls._build(stack, settings, place, guild, sinks, clock or SystemClock())
            await app._be_watched(stack, place)
            stack.push_async_callback(app._close)
            if app.events is not None:
                await app.events.open()
            if place.recovers and place.roles.works:
                await _recovered(app, caps_from(settings), place.roles)
            app._connect()
            yield app

    @classmethod
    async def _build(
        cls,
        stack: AsyncExitStack,
        settings: Settings,
        place: AppHome,
        guild: LocalGuild | None,
        sinks: tuple[Sink, ...],
        clock: Clock,
    ) -> Self:
        sys.setswitchinterval(SWITCH_SECONDS)
        roles = place.roles
        watchdog, kept = stack.enter_context(Watchdog()), _kept_in(stack, settings, place)
        aws = settings.aws_place if place.recovers else None  # what nobody takes up again concerns no other machine
        feed, roster = Feed(), Roster()
        store = open_store(aws or kept / DATABASE)
        stack.push_async_callback(store.close)
        events = EventPublisher(
            store, clock, this_process(), event_targets(settings) if place.recovers else (),
            shared=not roles.alone, look=None if aws is not None else LOOK_HERE_SECONDS,
        )  # fmt: skip
        stack.push_async_callback(events.close)
        lessons = open_lessons(aws or kept / LESSONS)
        stack.push_async_callback(lessons.close)
        bot = ThreadwrightBot(options_from(settings, local=guild is not None), store, feed, lessons)
        prices = prices_from(settings)
        models = models_from(settings, os.environ, prices)
        router = ModelRouter(os.environ, prices=prices, schema_models=settings.schema_models)
        stack.push_async_callback(router.close)
        state = place.home / SANDBOXES
        heartbeat = Heartbeat()
        networks = ThreadNetworks(bot.preferences, store)
        doors = HostDoors(state / "doors", Proxy(private_places(settings.network_private)), networks.hosts)
        stack.push_async_callback(doors.close_all)
        sandboxes = Sandboxes(
            state, chooser(settings, state, heartbeat), count=settings.max_sandboxes,
            doors=doors if settings.sandbox != "host" else None,
        )  # fmt: skip
        stack.push_async_callback(sandboxes.close)
        shared = _shared_copies(stack, aws, place.home / CHECKPOINTS)
        snapshots = Snapshots(
            place.home / CHECKPOINTS, home=settings.home, needed=partial(undoable, store), shared=shared
        )
        meaning = embedder(settings.embeddings)
        code_search = CodeSearch(place.home / CODE_INDEX, meaning)
        stack.push_async_callback(code_search.close)
        workshop = Workshop(
            sandboxes, Workspaces(place.home / "workspaces", place.bound), download, AttachmentUrls(bot.desk), snapshots,
            offers=place.recovers, keep=networks.keep, masks=settings.mask_secrets,
            code_search=code_search if settings.code_search == "on" else None,
        )  # fmt: skip
        shared_home = await (
            home_shared(store, place.home)
            if place.recovers
            else stack.enter_async_context(home_in_step(settings, without=(ACCOUNTS,)))  # it may renew a sign-in
        )
        workshop.mcp = mcp_servers(settings, os.environ, sandboxes, state, shared_home)
        workshop.web = web_tools(settings, networks.hosts, doors.hosts)
        stack.callback(workshop.web.close)
        stack.push_async_callback(workshop.end_servers)
        offers, answers, pulls = BranchOfferMessages(store), AnswerMessages(store), PullMessages(store)
        forges = Forges(settings.forge_hosts, os.environ)
        stack.push_async_callback(forges.close)
        git = HostGit(forges, settings.forge_ssh_key, settings.repository_mb * MB)
        purse = BudgetLedger(store, caps_from(settings))
        watched = ProcessState(
            store, clock, watchdog.longest,
            lambda: Counter(session.state.phase.value for session in roster.sessions.values()),
        )  # fmt: skip
        reporting = _reporting(settings, store, watched, bot.feed.discretion.text)
        policy_for = partial(
            policy_from, settings, models.tiers, attended=place.attended, prices=prices, tries=place.recovers
        )
        policy = policy_for()

        async def tell(item: OutboxItem) -> None:
            await store.put_outbox([item])
            feed.outbox.set()

        async def deliver(item: InboxItem, *, guild: str) -> Receipt:
            return await threads.deliver(item, guild=guild)

        async def alarm(thread: str, call: str, minutes: int, why: str) -> Alarm | str:
            return await bot.wakes.arm(thread, call, minutes, why)

        async def spoken(item: InboxItem) -> str:
            return await bot.wakes.spoken(item)

        workshop.alarms, workshop.tell = (alarm if place.recovers else None), tell
        skills = ThreadSkills(SkillStore(settings.home, elsewhere=shared_home is not None), workshop, tell, shared_home)
        workshop.read_skill = skills.read

        async def present(person: str, guild: str) -> Person | None:
            return await bot.present_person(person, guild)

        workshop.may_still = bot.may_still_approve

        async def doing(thread: str) -> ThreadState:
            return threads.state(thread) if await threads.knows(thread) else "unknown"

        around = Around(pulls.changed, tell, deliver, doing, present)
        watch = PullWatch(store, forges, around, settings.pull_request_seconds, alone=roles.alone)
        publisher = Publisher(Mirrors(place.home / MIRRORS, git), forges)
        may_use = RepositoryList(settings.repositories, forges.hosts[0].name, lambda: bot.servers)
        accounts = LinkedAccounts(kept / ACCOUNTS, shared_home)
        workshop.repositories = Repositories(store, publisher, sandboxes, tell, watch.opened, may_use, accounts)

        labels = CalibrationLabels(store)
        reflexion = _reflexion(settings, policy, store, lessons, router, purse, meaning, lasts=place.recovers)
        learning = AfterRunPipeline(
            reflexion, store, clock,
            (
                AnnounceLessons(store, lessons, bot.desk, bot.approving.ask, bot.approving.messages.look_again),
                labels,
                AutoRetry(store, lessons, clock, purse, tell, deliver, BUILD),
                FeedbackSurvey(store, clock, bot.desk, tell, BUILD),
            ),
            roles.name_among_others(),
        )  # fmt: skip
        stack.push_async_callback(learning.close)

        async def missed(thread: str) -> None:
            await bot.catching.before_going_on(thread)

        equipment = Equipment(settings.home, shared_home)

        async def equipped(row: SessionRow) -> Equipped:
            await equipment.fresh()  # skills and watchers are read after this
            chosen = (await bot.preferences.of(row.thread, row.channel, row.guild)).role
            place = RulePlace(row.thread, row.channel, row.guild)
            return await equipment.for_task(place, "" if chosen == AUTO else chosen)

        async def policy_of(row: SessionRow, chosen: str) -> Policy:
            chosen = chosen or (await bot.preferences.of(row.thread, row.channel, row.guild)).model
            return policy if chosen == AUTO else policy_for(chosen=chosen)

        watcher_files = WatcherFiles(settings.home)

        async def place_of(row: SessionRow) -> str:
            return placed(await workshop.place(), await networks.chosen(row.thread))

        recollection = _recollection(workshop, store, lessons, clock, tell, lasts=place.recovers)
        courtesy, leaving, children = Courtesy(), Leaving(), ChildRegistry(store, clock, family_of, score_of)
        begin = Beginning(
            store=store,
            lessons=learning,
            policy=policy,
            receive=workshop.receive,
            tell=tell,
            quotes=Quoting(bot.desk),
            place=place_of,
            surroundings=lambda where: environment(where, clock.now(), settings.sandbox_image),
            repository=workshop.about_repository,
            remarks=workshop.remarks,
            exposure=workshop.exposure,
            skills=skills.for_task,
            instructions=settings.instructions,
            equipped=equipped,
            guides=workshop.guides,
            policy_of=policy_of,
            model_level=settings.task_model,
            calibrator=labels.calibrator,
            untitled=bot.titles.wanted,
            watchers=watching(watcher_files, bot.preferences),
            facts=recollection.count,
        )
        restoring = Restoring(store, clock, workshop, snapshots, BUILD)
        acts = ThreadActs(
            Undoing(store, workshop, restoring, answers),
            Branches(store, clock, workshop, offers, BUILD, labels.came_out),
            Rewinding(store, clock, workshop, restoring, begin, answers, BUILD),
            Cleaning(restoring),
        )
        ground = Ground(
            store=store,
            clock=clock,
            courtesy=courtesy,
            runner=Loop(
                store,
                Courteous(router, courtesy),
                clock,
                (feed, roster, children, events, *((reporting.sink,) if reporting is not None else ()), *sinks),
                BUILD,
                caps_from(settings),
                leaving,
                seconds_since_boot,
                Sight(workshop.shown_file, router.sees),
            ),
            workshop=workshop,
            learning=learning,
            slots=Slots(settings.max_executions),
            owner=this_process(),
            leaving=leaving,
            drain_seconds=settings.drain_seconds,
            begin=begin,
            tell=tell,
            acts=acts,
            forking=Forking(store, clock, workshop, snapshots, this_process(), tell, BUILD),
            spoken=spoken,
            gate=ScheduleGate(workshop.world, bot.schedules, clock, tell),
            allow=heartbeat.allow,
            furnish=workshop.furnish,
            children=children,
            lease_lost=watched.lease_lost,
            missed=missed if roles.talks else None,
            works=roles.works,
            doorbell=_doorbell(stack, roles, store, clock, aws),
        )
        threads = Threads(ground, roster, learning, workshop.receive, bot.discord_clock.heard)

        async def forget(thread: str) -> None:
            await threads.idle(thread)
            await workshop.forget(thread)
            await forget_logs(store, thread, this_process())
            await equipment.forget(thread)
            threads.forget(thread)

        bot.serve(
            threads, partial(workshop.sent_file, cap=FILE_BYTES),
            Backstage(lessons, workshop, policy, snapshots.content, (offers, answers, pulls), forget,
                      purse, place.home if kept == place.home else None,
                      lambda: reflexion.trouble, answers.changed, clock, skills=skills, held_up=watchdog.longest,
                      equipment=equipment, voices=_voices(settings, router, store, purse), watchers=watcher_files,
                      roles=roles),
        )  # fmt: skip
        app = cls(settings, models, store, sandboxes, workshop, threads, router, bot, guild, watchdog)
        app.roles = roles
        app._among_others(stack, ground, clock)
        app.watch, app.events = watch, events
        app.folders = LocalFolders(workshop.workspaces.threads, store, forget) if aws is not None else None
        app.webhooks = _webhooks(stack, settings, watch, place)
        app.shared_home = shared_home if place.recovers else None
        app._reporting, app._watched = reporting, watched
        return app

    async def _be_watched(self, stack: AsyncExitStack, place: AppHome) -> None:
        """Say how it is, and what it does, to those who watch it; until everything has ended, so as to tell of that too."""
        if self.settings.health_address is not None and place.recovers:
            address = self.settings.health_address
            server = HealthServer(address, self.roles.name, self._checks(), self.watchdog.longest)
            await server.open()
            stack.push_async_callback(server.close)
        if self._reporting is not None and self._watched is not None:
            self._reporting.begin()
            stack.push_async_callback(self._reporting.close)
            self.beside("process state", self._watched.run())

    def _checks(self) -> tuple[HealthCheck, ...]:
        """The parts of this process that say how they are."""
        roles = self.roles
        tour = self.models.source == "tour"
        models = models_check(lambda: self.library, tour=tour)
        working = (sandbox_check(self.workshop.tried), models) if roles.works else ()
        talking = (discord_check(self.bot),) if roles.talks else ()
        return draining_check(lambda: self.closing), store_check(self.store), *talking, *working

    def begin_console(self) -> None:
        """Start the console beside the bot, or learn where another process has it; once this one is online."""
        if self.settings.console_address is None:
            return
        here = self.guild is not None or self.settings.discord_api != DISCORD  # whoever chats is on this machine
        self.bot.feed.links.posted = here or bool(self.settings.console_url)
        if self.roles.talks and self.bot.shard.first:
            assert self._watched is not None
            answers = ConsoleAnswers(
                self.bot, self._checks(), self._watched, self.watchdog.longest, lambda: self.sandboxes.held
            )
            sign_in: dict[str, str] = {}
            if self.guild is not None:  # people sign in with the Discord that there is
                sign_in = {
                    "THREADWRIGHT_DISCORD_API": self.guild.rest_base,
                    "DISCORD_CLIENT_ID": str(self.guild.bot_user_id),
                    "DISCORD_CLIENT_SECRET": self.guild.client_secret,
                }
            self.console = ConsoleHost(self.settings, self.bot.feed.links, answers.answer, self._found_console, sign_in)
            self.beside("console", self.console.run())
        else:
            self.beside("where the console is", self._follow_console())

    async def _found_console(self, url: str) -> None:
        """Tell other processes where the console is; later where the store does not take it now."""
        self._console_at = url
        if self.roles.alone:
            return
        try:
            await self.store.set_fact(CONSOLE, url)
        except StoreError as error:
            log.warning("where the console is cannot be stored now: %s", error)
            self.beside("where the console is, again", self._found_later(url))

    async def _found_later(self, url: str) -> None:
        await asyncio.sleep(CONSOLE_SECONDS)
        if url == self._console_at:
            await self._found_console(url)

    async def _follow_console(self) -> None:
        """Know where another process has the console, for the links in what this one posts."""
        while True:
            with suppress(StoreError):
                self.bot.feed.links.url = self.settings.console_url or await self.store.fact(CONSOLE) or ""
            await asyncio.sleep(CONSOLE_SECONDS)

    def _among_others(self, stack: AsyncExitStack, ground: Ground, clock: Clock) -> None:
        """Make what brings work from processes that talk to those that work, where they are not one."""
        bell = ground.doorbell
        if bell is None:
            return
        stack.push_async_callback(bell.close)
        if self.roles.works:
            room = self.settings.max_executions if bell.keeps_line else LINED_UP
            self.take_up = TakeUp(self.threads, self.store, bell, clock, room, self.bot.used)

    async def online(self, stopped: asyncio.Event | None = None) -> bool:
        """Wait until the bot hears what is said, or may begin with work; False where it is ``stopped`` before.

        Raises ``CannotConnect``.
        """
        connection = self._connection
        assert connection is not None
        ready = asyncio.create_task(self._ready(), name="ready")
        ends = asyncio.create_task((stopped or asyncio.Event()).wait(), name="stop signal")
        try:
            await asyncio.wait((ready, connection, ends), return_when=asyncio.FIRST_COMPLETED)
            if ends.done() and not ready.done():
                return False
        finally:
            ready.cancel()
            ends.cancel()
        if connection.done():
            raise_why(connection)
        if self.take_up is not None:
            self.beside("what others store", self.take_up.run())
        if self.roles.works:
            self.beside("warm-up", self._warm_up())
            self.beside("eviction", self._evict())
        if self.roles.works and self.workshop.repositories is not None:
            self.beside("copies of repositories", self.workshop.repositories.run(self.settings.retention_days))
        if self.folders is not None:
            self.beside("folders of deleted threads", self.folders.run())
        if self.shared_home is not None:
            self.beside("shared home", self.shared_home.run())
        if self.watch is not None and self.roles.talks and self.bot.shard.first:
            self.beside("pull requests", self.watch.run())
        if self.webhooks is not None and self.bot.shard.first:
            try:
                await self.webhooks.open()
            except CannotListen as why:
                log.warning("%s", why)
                self.deaf = why
        return True

    async def _ready(self) -> None:
        await self._begun.wait()  # before it begins, a client cannot be waited for
        if self.roles.talks:
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
            await attach_over_http(elsewhere, token)
        if self.roles.alone:
            self._begun.set()
            await self.bot.start(token)
            return
        await self.bot.login(token)
        if self.roles.talks:
            await self._talk()
        else:
            self._begun.set()
            await self._left.wait()

    async def _talk(self) -> None:
        """Hear one shard for as long as nobody else may."""
        clock, store = SystemClock(), self.store

        async def starts() -> StartLimit:
            return (await self.bot.start_limit())[1]

        recommended, _ = await self.bot.start_limit()
        shard, lease = await ShardLeases(store, clock, this_process()).take(recommended)
        try:
            self.bot.budget = IdentifyBudget(store, clock, starts)
            self.bot.sit(shard)
            self._begun.set()
            await while_held(store, clock, lease, self.bot.connect())
        finally:
            await give_back(store, lease)

    async def _warm_up(self) -> None:
        """Import the libraries of the models in a thread, then try the sandbox."""
        try:
            await self._router.warm_up(self.models.models)
        except ModelLibraryBroken as error:
            log.error("%s", error)
            self.library = str(error)
        finally:
            self.warmed.set()
        try:
            await self.workshop.choice()
        except (AgenticError, OSError) as error:
            log.warning("the sandbox could not be tried: %s", error)
        if self.workshop.mcp is not None:
            await self.workshop.mcp.ready()

    async def _evict(self) -> None:
        while True:
            await asyncio.sleep(EVICT_EVERY)
            try:
                self.workshop.tidy()
                if self.workshop.mcp is not None:
                    await self.workshop.mcp.evict_idle()
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
        self.closing = True
        background = tuple(self._background)
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await self.workshop.close()
        await self.threads.close()
        if self.shared_home is not None:
            await self.shared_home.close()
        await self.bot.close()
        self._left.set()
        if self._connection is not None:
            if not self._begun.is_set():  # it stands by
                self._connection.cancel()
            await asyncio.gather(self._connection, return_exceptions=True)


async def _recovered(app: App, caps: DailyCaps, roles: Roles) -> None:
    """Take up what earlier processes left; where others work, that is looked for by ``TakeUp``."""

    async def learned_from(execution: str) -> bool:
        return bool(await app.store.holder(turn_of(execution)))

    await settle_leftovers(app.store, caps, None if roles.alone else learned_from)
    if roles.alone:
        await app.threads.recover()
    else:
        app.threads.learn_on()


def _doorbell(stack: AsyncExitStack, roles: Roles, store: Store, clock: Clock, aws: AwsPlace | None) -> Doorbell | None:
    """What tells the processes that work what the others stored; None for a process that is alone."""
    if roles.alone:
        return None
    if aws is None or not aws.queue:
        return SharedInbox(store, clock)
    from agentic.doorbells.queue_doorbell import QueueDoorbell  # with the SDK

    bell = QueueDoorbell(aws)
    stack.push_async_callback(bell.close)
    return bell


def _kept_in(stack: AsyncExitStack, settings: Settings, place: AppHome) -> Path:
    """The folder of the database, lessons and accounts: the home, or one that goes at the end."""
    if settings.store != "memory":
        return place.home
    return Path(stack.enter_context(passing_folder()))


def _shared_copies(stack: AsyncExitStack, aws: AwsPlace | None, root: Path) -> SharedCopies | None:
    """Snapshots in the bucket, where other machines may go on with a thread."""
    if aws is None:
        return None
    objects = open_objects(aws)
    stack.push_async_callback(objects.close)
    return SharedCopies(objects, root)


def _reporting(settings: Settings, store: Store, watched: ProcessState, mask: Callable[[str], str]) -> Reporting | None:
    """What sends traces and metrics, where somebody wants them."""
    signals = wanted(os.environ)
    if not signals:
        return None
    sink = TraceSink(store.read, mask if settings.trace_content else None)
    return Reporting(sink, signals, BUILD, watched.observed())


def _voices(settings: Settings, router: ModelRouter, store: Store, purse: BudgetLedger) -> VoiceReader | None:
    model = settings.transcription
    if not model:
        return None
    heard = Transcription(partial(router.transcribe, model), partial(router.price_of_a_second, model))
    return VoiceReader(heard, download, store, purse)


def _webhooks(stack: AsyncExitStack, settings: Settings, watch: PullWatch, place: AppHome) -> WebhookServer | None:
    """What receives webhooks, where they are wanted and something lasts that they could be about."""
    if settings.webhook_address is None or not place.recovers or not place.roles.talks:
        return None
    secret = settings.webhook_secret.get_secret_value() if settings.webhook_secret else ""
    server = WebhookServer(settings.webhook_address, secret, watch.rung)
    stack.push_async_callback(server.close)
    return server


def _recollection(
    workshop: Workshop, store: Store, lessons: LessonStore, clock: Clock, tell: Callable[[OutboxItem], Awaitable[None]], *,
    lasts: bool,
) -> Recollection:  # fmt: skip
    """What agents remember beyond their threads; they may where it ``lasts``."""

    async def waits(fact: Fact) -> None:
        await tell(fact_text.waiting(fact))

    recollection = Recollection(store, lessons, clock, waits, workshop.workplace)
    workshop.memory = recollection.of if lasts else None
    return recollection


def _reflexion(
    settings: Settings,
    policy: Policy,
    store: Store,
    lessons: LessonStore,
    router: ModelRouter,
    purse: BudgetLedger,
    meaning: Embedder | None,
    *,
    lasts: bool,
) -> Reflexion:
    """What scores executions and learns from them; ``lasts``: there are later executions, and people, to learn for."""
    clock = SystemClock()
    judges = judges_from(settings, policy.tiers, lasting=lasts)
    return Reflexion(
        store, lessons, router, clock, policy=policy, build=BUILD, asks=lasts, caps=caps_from(settings),
        judge=Judge(router, purse, clock, lessons, judges, mode=settings.judge),
        readers=judges if settings.judge != "off" else (), embedder=meaning,
    )  # fmt: skip
