"""The Discord client: minimal intents, no pings, its cogs, and the two asyncio tasks that show and deliver."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import aiohttp
import discord
from discord.ext import commands

from agentic.core.events.execution_events import OutboxItem, Person
from agentic.ports.runtime import Store
from agentic.stores.process_identity import this_process
from bot.access.permissions import may, role_warnings
from bot.access.thread_access import Reach
from bot.app.command_sync import Registration
from bot.app.discord_connection import PromptReady
from bot.app.identify_budget import IdentifyBudget, StartLimit
from bot.app.services import Backstage
from bot.app.shards import Shard
from bot.catch_up.access_monitor import Tending
from bot.catch_up.catch_up import CatchingUp
from bot.catch_up.deleted_threads import Sweeping
from bot.catch_up.discord_clock import DiscordClock
from bot.catch_up.sequence_gap import Continuity
from bot.catch_up.watermarks import Lanes, Watermarks
from bot.config.preferences import Preferences
from bot.history.log_reader import Records
from bot.history.run_history import past_of
from bot.history.thread_search import ThreadSearch
from bot.inbound.intake import Intake
from bot.inbound.parse import Options, Reader
from bot.lessons.approvals import LessonApprovals
from bot.outbound.compose import Composer, FetchFile
from bot.outbound.discord_api import DiscordApi
from bot.outbound.discord_places import guild_of
from bot.outbound.live.progress_messages import ProgressMessages
from bot.outbound.live.question_messages import QuestionMessages
from bot.outbound.live.thread_titles import ThreadTitles
from bot.outbound.outbox import Outbox
from bot.outbound.request_queue import Sender
from bot.outbound.shared_delivery import SharedDelivery
from bot.ports.conversation import Conversation
from bot.progress.feed import Feed
from bot.rendering.custom_ids import CONTROLS
from bot.rendering.secrets import Discretion
from bot.retention.expiry import Expiry, Retention
from bot.retention.personal_data import PersonalData
from bot.schedules.book import ScheduleBook
from bot.schedules.claim_delivery import ClaimDelivery
from bot.schedules.maker_standing import MakerStanding
from bot.schedules.schedule import ScheduledTask
from bot.schedules.ticker import Ticker
from bot.schedules.wakes import WakeUps
from bot.threads.in_flight import Coming

if TYPE_CHECKING:
    from bot.rendering.discord_text import Rendered
    from reflexion.ports import LessonStore

COGS = (
    "bot.cogs.messages", "bot.cogs.reactions", "bot.cogs.question_buttons", "bot.cogs.feedback_form",
    "bot.cogs.edits", "bot.cogs.channels", "bot.cogs.lesson_buttons", "bot.cogs.schedule_commands", "bot.cogs.commands",
    "bot.cogs.repositories.repository_commands", "bot.cogs.mcp_commands", "bot.cogs.equipment",
    "bot.cogs.memory.memory_commands", "bot.cogs.message_menu",
)  # fmt: skip
TIMED = ("message", "interaction")
"""Events whose ids say when they were made: just now."""
HELLO = (
    "Hi, I'm {me}. Mention me with something to do, such as “{me} why does this test fail?” with the file attached. "
    "I open a thread, work in a sandbox, show my steps in one message, and say how I know it's done.\n🛑 stops me at "
    "once, and my changes can be undone. `/help` tells more."
)
"""The message in a new server."""
_TO_GREET = discord.Permissions(view_channel=True, send_messages=True)
COUNT_SECONDS = 30.0
"""How often a process that does not hear of all servers asks whether there are several."""
HEARD_OUT_SECONDS, CLOSE_SECONDS = 1.0, 5.0
"""How long what is being heard may go on when the bot leaves; and how long all that is ended then may take."""
SEVERAL = 2
"""So many are counted: what is allowed in one server alone is not allowed in more."""
COMMANDS_KNOWN = 1_000
"""Messages of this many commands are known by their ids."""

log = logging.getLogger(__name__)


def intents() -> discord.Intents:
    """Guilds, their messages with content, direct messages, and reactions: nothing else."""
    return discord.Intents(guilds=True, messages=True, message_content=True, reactions=True)


class ThreadwrightBot(commands.Bot):
    """Threadwright in Discord; every part is an attribute that cogs use."""

    def __init__(self, options: Options, store: Store, feed: Feed, lessons: LessonStore | None = None) -> None:
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # it never speaks
        self.sender = Sender(wire_seconds=options.wire_seconds)
        super().__init__(
            command_prefix=options.prefix, help_command=None, intents=intents(), max_messages=None,
            allowed_mentions=discord.AllowedMentions.none(), chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(), http_trace=self.sender.trace(),
        )  # fmt: skip
        self.options, self.store, self.feed = options, store, feed
        self.preferences = Preferences(store)
        self.schedules = ScheduleBook(store)
        self.reader = Reader(self, options)
        self.discord_clock = DiscordClock()
        feed.discretion = Discretion(options.secrets)
        self.desk = DiscordApi(self, self.sender, feed.discretion)
        self.titles = ThreadTitles(store, self.desk)
        self.approving = LessonApprovals(store, lessons, feed.outbox.set)
        self._continuity = Continuity()
        self.shard = Shard()
        """The part of the events that come here."""
        self.seated = asyncio.Event()
        """It is known which part that is."""
        self.budget: IdentifyBudget | None = None
        """Where other gateways identify as well."""
        self._running: list[asyncio.Task[None]] = []
        self._hearing: set[asyncio.Task[None]] = set()
        """What is being done about events."""
        self._leaving = False
        self._counted = SEVERAL  # until it is known: what one server alone may use, no second one gets by mistake
        self._commanded: OrderedDict[int, None] = OrderedDict()

    def _get_state(self, **options: Any) -> PromptReady:
        return PromptReady(
            dispatch=self.dispatch, handlers=self._handlers, hooks=self._hooks, http=self.http, **options
        )

    def serve(self, conversation: Conversation, fetch_file: FetchFile, backstage: Backstage) -> None:
        """Build what takes part in this conversation; before the login."""
        options, store, feed = self.options, self.store, self.feed
        self.conversation = conversation
        self.intake = Intake(conversation, self.desk, store, feed)
        self.board = ProgressMessages(store, self.desk, feed, self.preferences, discord_now=self.discord_clock.now)
        self.outbox = Outbox(
            store,
            self.desk,
            feed,
            self.board,
            Composer(store, feed, fetch_file, backstage.fetch_before, self.board.chosen, self._lesson),
            self.titles,
            None if backstage.roles.alone else SharedDelivery(store, this_process(), works=backstage.roles.works),
        )
        self.reach, self.records = Reach(self, self.reader, store), Records(store)
        self.backstage = backstage
        self.voices = backstage.voices
        self.registration = Registration(self.tree, store, options.command_guilds)
        self.lanes, self.coming, self.watermarks = Lanes(), Coming(), Watermarks(store)
        workshop = backstage.workshop
        self.retention = Retention(
            store, options.retention_days, workshop.snapshots if workshop else None, backstage.home, self.present
        )
        self.expiry = Expiry(store, options.retention_days)
        self.searching = ThreadSearch(store)
        repositories = workshop.repositories if workshop else None
        self.privacy = PersonalData(store, backstage.lessons, self.retention, repositories)
        self.sweeping = Sweeping(self, store, self.desk, self.board, self.retention, backstage.forget)
        self.tending = Tending(
            self, store, self.desk, self.board, self.outbox, conversation, self.intake, self.discord_clock,
            self.sweeping.gone,
        )  # fmt: skip
        self.catching = CatchingUp(
            self,
            store,
            self.desk,
            conversation,
            self.outbox,
            self.discord_clock,
            self.watermarks,
            self.lanes,
            self.tending,
        )
        self.tending.hears = self.catching.hears = self._hears
        self.delivery = ClaimDelivery(
            store, backstage.clock, MakerStanding(self, self.reader, self.desk), conversation.deliver, self._tell
        )
        self.wakes = WakeUps(store, self.schedules, backstage.clock, self._tell, self._unwoken)
        self.ticker = Ticker(store, self.schedules, backstage.clock, self.delivery, self._hears)
        self.questions = QuestionMessages(store, self.desk, feed, self.catching.caught_up.wait)
        self.intake.resumed = self.tending.resumed
        roles = backstage.roles
        self.preferences.shared = not roles.alone
        if roles.alone:
            self.seated.set()
        self.desk.connected, self.reader.asks = roles.talks, not roles.talks

    async def setup_hook(self) -> None:
        """Load the cogs and begin to deliver; runs once, after the login."""
        roles = self.backstage.roles
        if not roles.alone:
            await self._count()
        if roles.talks:
            for cog in COGS:  # not as extensions: discord.py would run them anew for each bot
                await import_module(cog).setup(self)
            self.add_dynamic_items(*CONTROLS)
        else:
            self.catching.caught_up.set()  # who talks catches up
        self._begin("outbox", self.outbox.run())
        self._begin("lessons", self.approving.run(self.desk))
        for each in self.backstage.live:
            self._begin(type(each).__name__, each.run(self.desk))
        if roles.works:
            self._begin("board", self.board.run())
            self._begin("titles", self.titles.run())
            self._begin("questions", self.questions.run())
        if roles.talks:
            self._begin("watermarks", self.watermarks.run())
            self._begin("commands", self._as_first(self.registration.run))
            self._begin("sweeping", self.sweeping.run())
            self._begin("retention", self._as_first(self.retention.run))
            self._begin("search", self._as_first(self.searching.run))
            self._begin("schedules", self._scheduled())
        if not roles.alone:
            self._begin("servers", self._count_servers())

    def sit(self, shard: Shard) -> None:
        """Hear this part of the events from the next connection on."""
        self.shard = shard
        if shard.count > 1:
            self.shard_id, self.shard_count = shard.number, shard.count
            self._connection.shard_count = shard.count
        self.seated.set()

    def _hears(self, guild: str) -> bool:
        """Whether the events of a server come to this process; '' for direct messages."""
        return self.shard.has(guild)

    async def _as_first(self, run: Callable[[], Awaitable[None]]) -> None:
        """Do what one of several gateways does for all."""
        await self.seated.wait()
        if self.shard.first:
            await run()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Wait for this gateway's turn."""
        if self.budget is None:
            await super().before_identify_hook(shard_id, initial=initial)
        else:
            await self.budget.wait(shard_id or 0)

    async def start_limit(self) -> tuple[int, StartLimit]:
        """Into how many shards Discord would divide, and which starts are left. Raises what discord.py raises."""
        shards, _, told = await self.http.get_bot_gateway()
        seconds = told["reset_after"] / 1000
        return shards, StartLimit(told["total"], told["remaining"], seconds, max(1, told["max_concurrency"]))

    @property
    def servers(self) -> int:
        """In how many servers the bot is; a process without all of the gateway's events counts to ``SEVERAL``."""
        return len(self.guilds) if self.backstage.roles.alone else max(len(self.guilds), self._counted)

    async def _count(self) -> None:
        """Keep ``servers`` true; what cannot be asked stays as it was."""
        try:
            self._counted = len([guild async for guild in self.fetch_guilds(limit=SEVERAL, with_counts=False)])
        except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
            log.info("in how many servers the bot is cannot be asked now: %s", error)

    async def _count_servers(self) -> None:
        while True:
            await asyncio.sleep(COUNT_SECONDS)
            await self._count()

    def used(self, thread: str) -> None:
        """Somebody wrote in a thread, as another process was told: it is archived no more, and may be written in."""
        self.outbox.retry_in(thread)
        for each in (self.questions, self.approving.messages, *self.backstage.live):
            each.live.awoken(thread)

    def present(self) -> datetime:
        """The earlier of the machine's clock and Discord's: one that is set ahead by mistake deletes nothing."""
        return min(datetime.now(UTC), self.discord_clock.now())

    async def _scheduled(self) -> None:
        """Notice times once everything was read that was said while nobody listened: a stop, or that somebody left."""
        await self.catching.caught_up.wait()
        await self.ticker.run()

    async def _unwoken(self, wake: ScheduledTask) -> None:
        """A wake-up is no more: the answer that told of it loses its button."""
        row = await self.store.execution(wake.execution)
        if self.backstage.unwoken is not None and row is not None and row.finished:
            await self.backstage.unwoken((await past_of(self.store, row)).answer)

    async def _tell(self, item: OutboxItem) -> None:
        await self.store.put_outbox([item])
        self.outbox.poke()

    async def present_person(self, person: str, guild: str) -> Person | None:
        """A member with the right they have now; None where they have left, or cannot be asked for."""
        try:
            server = await self.present_server(int(guild)) if guild else None
        except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
            log.info("server %s cannot be asked for now: %s", guild, error)
            return None
        if guild and server is None:
            return None
        speaker = await self.reader.speaker_by_id(int(person), server) if person.isdecimal() else None
        return speaker.person() if speaker is not None else None

    async def present_server(self, guild: int) -> discord.Guild | None:
        """A server; None where the bot is not in it any more. Raises what discord.py raises."""
        told = self.backstage.roles.talks and self.shard.has(str(guild))
        return self.get_guild(guild) if told else await guild_of(self, guild)

    async def may_still_approve(self, thread: str, person: Person) -> bool:
        """Whether somebody who allowed something in a thread may approve there now."""
        session = await self.store.session(thread)
        now = await self.present_person(person.id, session.guild if session is not None else "")
        return now is not None and may(now.level, "approve")

    async def _lesson(self, item: OutboxItem) -> Rendered:
        return await self.approving.messages.rendered(item)

    def dispatch(self, event: str, /, *args: object, **kwargs: object) -> None:
        """What never came is noticed before anything hears of what came after it; who leaves hears nothing more."""
        if self._leaving:
            return
        if self.ws is not None and self._continuity.broken(self.ws.sequence):  # pyright: ignore[reportUnnecessaryComparison]
            self.catching.skipped()
        if event in TIMED and isinstance(args[0], discord.Message | discord.Interaction):
            self.discord_clock.saw(args[0].id)
        super().dispatch(event, *args, **kwargs)

    def _schedule_event(
        self, coro: Callable[..., Coroutine[None, None, None]], event_name: str, *args: object, **kwargs: object
    ) -> asyncio.Task[None]:
        begin = cast("Callable[..., asyncio.Task[None]]", super()._schedule_event)  # pyright: ignore[reportUnknownMemberType]
        task = begin(coro, event_name, *args, **kwargs)
        self._hearing.add(task)
        task.add_done_callback(self._hearing.discard)
        return task

    async def on_message(self, message: discord.Message) -> None:
        """Commands by prefix, each once: one that comes while a gap is being closed is also read with the gap."""
        if message.id in self._commanded:
            return
        self._commanded[message.id] = None
        if len(self._commanded) > COMMANDS_KNOWN:
            self._commanded.popitem(last=False)
        await self.process_commands(message)

    async def on_guild_available(self, guild: discord.Guild) -> None:
        """Roles that are set by name are warned of."""
        self._warn_of_names(guild)

    async def on_guild_join(self, guild: discord.Guild) -> None:
        """The same in a new server, which is greeted once."""
        self._warn_of_names(guild)
        channels = (guild.system_channel, *guild.text_channels)
        place = next((one for one in channels if one and one.permissions_for(guild.me).is_superset(_TO_GREET)), None)
        if place is None:
            log.info("server %s: there is no channel to say hello in", guild.id)
            return
        text = HELLO.format(me=guild.me.mention)
        await self.store.put_outbox(
            [OutboxItem(key=f"hello.{guild.id}", thread=str(place.id), execution="", sort="notice", text=text)]
        )
        self.outbox.poke()

    def _warn_of_names(self, guild: discord.Guild) -> None:
        for warning in role_warnings(self.options.roles, ((str(r.id), r.name) for r in guild.roles), repr(guild.name)):
            log.warning("%s", warning)

    async def on_guild_channel_update(self, *_: object) -> None:
        """Rights may have changed: what was kept back is tried again."""
        self.outbox.retry_now()

    async def on_guild_role_update(self, *_: object) -> None:
        """The same for the rights of a role."""
        self.outbox.retry_now()

    async def on_thread_update(self, _: discord.Thread, thread: discord.Thread) -> None:
        """The same for an archived or locked thread."""
        self.outbox.retry_now()
        await self.on_thread_join(thread)

    async def on_thread_join(self, thread: discord.Thread) -> None:
        """A thread that is used again, perhaps."""
        if not thread.archived:
            self.outbox.retry_now()
            for each in (self.questions, self.approving.messages, *self.backstage.live):
                each.live.awoken(str(thread.id))

    async def close(self) -> None:
        """Hear and deliver no more, and then let go of the connection, which all of that needs.

        What waits stays in the outbox; what was not taken in yet is read after the next start.
        """
        self._leaving = True
        if hearing := self._hearing - {asyncio.current_task()}:  # nobody reads votes and edits again
            await asyncio.wait(hearing, timeout=HEARD_OUT_SECONDS)
        going = {*self._running, *self._hearing, *self.catching.stop()} - {asyncio.current_task()}
        for task in going:
            task.cancel()
        if going:
            _, late = await asyncio.wait(going, timeout=CLOSE_SECONDS)
            for task in late:
                log.warning("%s did not end in time while leaving Discord", task.get_name())
        await super().close()

    def _begin(self, name: str, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(_said_if_it_broke)
        self._running.append(task)


def _said_if_it_broke(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.critical("%s broke; restart the bot", task.get_name(), exc_info=task.exception())


def create_bot(
    conversation: Conversation, store: Store, feed: Feed, fetch_file: FetchFile, options: Options | None = None,
    backstage: Backstage | None = None,
) -> ThreadwrightBot:  # fmt: skip
    """A bot that is ready to log in; ``feed`` must be among the sinks of what runs."""
    behind = backstage or Backstage()
    bot = ThreadwrightBot(options or Options(), store, feed, behind.lessons)
    bot.serve(conversation, fetch_file, behind)
    return bot
