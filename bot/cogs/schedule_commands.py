"""``/schedule``: tasks at set times, made, listed, begun now, paused and deleted, by command and by button."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import discord
from discord import app_commands, ui
from discord.ext import commands

from agentic.ports.errors import AgenticError
from bot.access.denials import refused
from bot.access.permissions import Speaker, limited, may, needed
from bot.access.thread_access import ELSEWHERE, OutOfReach, Stand, require
from bot.cogs.commands.command_errors import UnknownSubcommand, UsedCommand, command_error_text
from bot.cogs.commands.replies import answer, begin, proposed, reads_much
from bot.cogs.private_replies import quietly, tell
from bot.config.time_zones import zone_named
from bot.rendering.custom_ids import OfSchedule, Press, ScheduleOrder
from bot.rendering.discord_text import inline, plain, storable
from bot.schedules import schedule_text
from bot.schedules.schedule import ScheduledTask, by_hand, resumed
from bot.schedules.time_rules import BadTiming, next_firing
from bot.schedules.words import read_timing

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction

PAGE = 5
"""Schedules on one page: Discord has five rows of buttons."""
PER_PERSON, PER_SERVER = 20, 100
TASK, GATE = 2_000, 500
"""Characters of a task, and of a gate command."""
DESCRIPTION = "Tasks at set times: yours, or all of the server for operators"
SCHEDULE = "Which one: its number in `/schedule list`, or choose what I propose"
NO_TASK = "What should I do then? For example: `/schedule add when:every Monday at 9 task:look for failing tests`."
TOO_LONG = "That is too long: a task has at most {task:,} characters, a gate command {gate}."
NO_ZONE = (
    "I know no time zone {zone}. Write one such as `Europe/Berlin` or `America/New_York`, or leave it out: here it is "
    "`{default}` (`/settings set name:timezone` changes that)."
)
NO_PING = "I can ping `me`, `nobody`, a person of this server (@name) or a role (@role), and nobody else."
NO_ROLE = (
    "You may not mention that role, so I don't do it for you. An administrator can make it mentionable for everyone."
)
NO_PLACE = "A schedule needs a text channel or a thread. Use it there."
NO_WRITING = "You may not write here, so no task can begin here for you."
MINE = (
    "I may not open threads and write here. An administrator can grant me “Send Messages”, “Create Public Threads” and “Send "
    "Messages in Threads”."
)
FULL = "There are {count} schedules already; that is the most {whose}. Delete one in `/schedule list` first."
GATE_NEEDS_THREAD = (
    "A gate command looks at the files of a thread, so it needs a schedule that works in one thread. Use the command in "
    "that thread, or leave the gate out."
)
GATE_NOT_YOURS = (
    "A gate command runs in this thread without being asked about, and others gave tasks here. An operator of this server can "
    "make this schedule, or leave the gate out."
)
NO_SUCH = "There is no schedule {named} here that is yours to change. `/schedule list` shows them."
NOT_YOURS = "That is somebody else's schedule. They, or an operator of this server, can change it."
DELETED = (
    "🗑️ Deleted “{title}”. To have it back: `/schedule add when:{said} zone:{zone} task:` and what it was to do:\n{text}"
)
BEGINS = "▶ “{title}” begins now."
BEGINNING = "“{title}” is beginning at this moment."
HELD = "⏸ Paused “{title}”. Nothing happens until you press Resume."
HELD_BEFORE = "“{title}” is paused already."
RESUMED = "▶ Resumed “{title}”. Next: {next}."
RESUMED_BEFORE = "“{title}” is not paused."
PASSED = "The time of “{title}” has passed, so there is nothing to resume. Run it now, or delete it."
_MENTION = re.compile(r"<@(!|&|)(\d{15,20})>")

Page = commands.Range[int, 1, 100]
Order = Literal["run", "pause", "resume", "delete"]

log = logging.getLogger(__name__)


class ScheduleCommands(commands.Cog):
    """Makes and changes schedules."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot
        self._adding = asyncio.Lock()

    @commands.hybrid_group(description=DESCRIPTION)
    async def schedule(self, ctx: Context, *, rest: str = "") -> None:
        """Tasks at set times."""
        if rest:
            raise UnknownSubcommand(rest.split()[0], self.schedule.all_commands)
        await self._list(ctx, 1)

    @schedule.command(name="add", description="Have me work on something at set times, here")
    @app_commands.describe(
        when="every Monday at 9, weekdays at 8:30, every 2 hours, on 3 December at 14:00, or a cron line",
        task="What I should do then",
        zone="The time zone of that time, such as Europe/Berlin; without it, this server's",
        ping="Who is pinged with the answer: me (default), nobody, @somebody or @role",
        gate="A command in this thread's sandbox; only if it exits with 0 does the task begin. Costs no tokens",
    )
    async def add(
        self, ctx: Context, when: str, *, task: str, zone: str = "", ping: str = "me", gate: str = ""
    ) -> None:
        """Have me work on something at set times, here."""
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "schedule add")
        require(stand, "start")
        channel, thread = await self._place(ctx, stand)
        text = storable(task).strip()
        if not text:
            raise OutOfReach(NO_TASK)
        if len(text) > TASK or len(gate) > GATE:
            raise OutOfReach(TOO_LONG.format(task=TASK, gate=GATE))
        if gate.strip():
            await self._check_gate(stand, thread)
        there, now = await self._zone(zone, stand, thread, channel), self.bot.backstage.clock.now()
        try:
            timing = read_timing(when, there, now)
        except BadTiming as bad:
            raise OutOfReach(str(bad)) from None
        made = ScheduledTask(
            id=f"s{secrets.token_hex(5)}", guild=stand.guild_id, channel=channel, thread=thread, person=stand.speaker.id,
            name=stand.speaker.name, text=text, title=schedule_text.title_for(self.bot.desk.discreet_text(text)),
            said=" ".join(when.split()), timing=timing, zone=there, gate=gate.strip(),
            ping=await self._ping(stand, ping), next=next_firing(timing, there, now),
        )  # fmt: skip
        async with self._adding:
            await self._room(stand)
            await self.bot.schedules.add(made)
        await answer(ctx, schedule_text.added(made, alone=not made.guild))

    @schedule.command(name="list", description=DESCRIPTION)
    @reads_much()
    @app_commands.describe(page=f"{PAGE} of them stand on one")
    async def list_(self, ctx: Context, page: Page = 1) -> None:
        """Tasks at set times: yours, or all of the server for operators."""
        await self._list(ctx, page)

    @schedule.command(name="run", description="Begin with a scheduled task now, once")
    @app_commands.describe(schedule=SCHEDULE)
    async def run_now(self, ctx: Context, schedule: str) -> None:
        """Begin with a scheduled task now, once."""
        await self._ordered(ctx, "run", schedule)

    @schedule.command(name="pause", description="Let a schedule rest until it is resumed")
    @app_commands.describe(schedule=SCHEDULE)
    async def rest(self, ctx: Context, schedule: str) -> None:
        """Let a schedule rest until it is resumed."""
        await self._ordered(ctx, "pause", schedule)

    @schedule.command(name="resume", description="Let a paused schedule go on")
    @app_commands.describe(schedule=SCHEDULE)
    async def go_on(self, ctx: Context, schedule: str) -> None:
        """Let a paused schedule go on."""
        await self._ordered(ctx, "resume", schedule)

    @schedule.command(name="delete", description="Delete a schedule; a task that runs goes on")
    @app_commands.describe(schedule=SCHEDULE)
    async def drop(self, ctx: Context, schedule: str) -> None:
        """Delete a schedule; a task that runs goes on."""
        await self._ordered(ctx, "delete", schedule)

    @commands.Cog.listener()
    async def on_schedule_pressed(self, interaction: Interaction, press: Press) -> None:
        """Do what was pressed under a list, and bring the list up to date; whoever may not is told privately."""
        await quietly(interaction.response.defer())
        try:
            speaker = await self.bot.reader.presser(interaction)
            words = await self._done(
                press.order, press.schedule, str(interaction.guild_id or ""), speaker, interaction.id
            )
            shown, view = await self._page(
                str(interaction.guild_id or ""), speaker, int(press.key.removeprefix("page"))
            )
            await quietly(interaction.edit_original_response(content=self.bot.desk.discreet_text(shown), view=view))
        except OutOfReach as why:
            words = str(why)
        except AgenticError as error:
            words = command_error_text(error, UsedCommand("schedule", "/schedule"))
        await tell(interaction, self.bot.desk.discreet_text(words))

    @commands.Cog.listener()
    async def on_wake_pressed(self, interaction: Interaction, press: Press) -> None:
        """Keep the agent from going on by itself; that is said in the thread, and to whoever may not, privately."""
        await quietly(interaction.response.defer())
        speaker = await self.bot.reader.presser(interaction)
        try:
            words = await self._kept_asleep(press.schedule, str(interaction.channel_id), speaker)
        except AgenticError as error:
            words = command_error_text(error, UsedCommand("schedule", "/schedule"))
        if words:
            await tell(interaction, self.bot.desk.discreet_text(words))

    async def _kept_asleep(self, wake: str, thread: str, speaker: Speaker) -> str:
        entry = await self.bot.schedules.entry(wake)
        if entry is None or entry.schedule.kind != "wake" or entry.schedule.thread != thread:
            return schedule_text.OVER
        own = entry.schedule.person == speaker.id
        if not may(limited(speaker.level, writes=speaker.writes), "steer", own=own):
            return refused("steer", needed("steer", own=own))
        return "" if await self.bot.wakes.cancel(wake, speaker.person()) else schedule_text.OVER

    # --- what a command needs ---------------------------------------------------------------------------------

    async def _place(self, ctx: Context, stand: Stand) -> tuple[str, str]:
        """(channel, thread) of where it is made. Raises ``OutOfReach``."""
        here = ctx.channel
        if stand.guild is None:
            return "", str(here.id)
        parent = here.parent if isinstance(here, discord.Thread) else here
        if not isinstance(parent, discord.TextChannel) or not isinstance(stand.user, discord.Member):
            raise OutOfReach(NO_PLACE)
        theirs, mine = parent.permissions_for(stand.user), parent.permissions_for(parent.guild.me)
        if not theirs.send_messages_in_threads:
            raise OutOfReach(NO_WRITING)
        opens = isinstance(here, discord.Thread) or (mine.create_public_threads and mine.send_messages)
        if not (mine.send_messages_in_threads and opens):
            raise OutOfReach(MINE)
        return str(parent.id), str(here.id) if isinstance(here, discord.Thread) else ""

    async def _check_gate(self, stand: Stand, thread: str) -> None:
        """A gate runs without anybody's yes, so it is for those who may say yes there: in threads of their own."""
        if not thread:
            raise OutOfReach(GATE_NEEDS_THREAD)
        if not may(stand.speaker.level, "steer", own=await self.bot.reach.owns(stand, thread)):
            raise OutOfReach(GATE_NOT_YOURS)

    async def _zone(self, named: str, stand: Stand, thread: str, channel: str) -> str:
        default = (await self.bot.preferences.of(thread, channel, stand.guild_id)).timezone
        if not named.strip():
            return default
        found = zone_named(named)
        if found is None:
            raise OutOfReach(NO_ZONE.format(zone=inline(named, 40), default=default))
        return found

    async def _ping(self, stand: Stand, ping: str) -> str:
        said = ping.strip().lower() or "me"
        if said in ("me", "nobody"):
            return said
        found = _MENTION.fullmatch(said)
        if found is None or stand.guild is None or not isinstance(stand.user, discord.Member):
            raise OutOfReach(NO_PING)
        if found[1] != "&":
            if await self.bot.reader.speaker_by_id(int(found[2]), stand.guild) is None:
                raise OutOfReach(NO_PING)
            return f"<@{found[2]}>"
        role = stand.guild.get_role(int(found[2]))
        if role is None or role.is_default():
            raise OutOfReach(NO_PING)
        if not role.mentionable and not stand.user.guild_permissions.mention_everyone:
            raise OutOfReach(NO_ROLE)
        return f"<@&{role.id}>"

    async def _room(self, stand: Stand) -> None:
        there = [one for one in await self.bot.schedules.schedules(person=stand.speaker.id) if one.kind == "task"]
        if len(there) >= PER_PERSON:
            raise OutOfReach(FULL.format(count=len(there), whose="one person may have"))
        if stand.guild is not None:
            there = [one for one in await self.bot.schedules.schedules(guild=stand.guild_id) if one.kind == "task"]
            if len(there) >= PER_SERVER:
                raise OutOfReach(FULL.format(count=len(there), whose="a server may have"))

    # --- listing ----------------------------------------------------------------------------------------------

    async def _list(self, ctx: Context, page: int) -> None:
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "schedule list")
        if stand.openly:
            raise OutOfReach(ELSEWHERE.format(command="schedule list"))
        require(stand, "start")
        text, view = await self._page(stand.guild_id, stand.speaker, page)
        await answer(ctx, text, view=view)

    async def _of(self, guild: str, speaker: Speaker) -> list[ScheduledTask]:
        """The schedules that somebody may change there; from a direct message, all of their own."""
        whose = "" if guild and may(speaker.level, "steer", own=False) else speaker.id
        found = await self.bot.schedules.schedules(guild=guild, person=whose)
        return [one for one in found if one.kind == "task"]

    async def _page(self, guild: str, speaker: Speaker, page: int) -> tuple[str, ui.View]:
        view = ui.View(timeout=None)
        there = await self._of(guild, speaker)
        if not there:
            return schedule_text.NONE, view
        pages = (len(there) + PAGE - 1) // PAGE
        page = min(page, pages)
        first = (page - 1) * PAGE + 1
        shown = there[first - 1 : first - 1 + PAGE]
        text = schedule_text.listed(shown, first, speaker.id)
        if pages > 1:
            text += f"\n-# Page {page} of {pages}: `/schedule list page:{page % pages + 1}` shows more."
        for row, (number, schedule) in enumerate(zip(range(first, first + len(shown)), shown, strict=True)):
            held: Order = "resume" if schedule.paused else "pause"
            for order in ("run", held, "delete"):
                view.add_item(OfSchedule.make(order, schedule.id, number, f"page{page}", row))
        return text, view

    # --- changing ---------------------------------------------------------------------------------------------

    async def _ordered(self, ctx: Context, order: Order, named: str) -> None:
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, f"schedule {order}")
        require(stand, "start")
        there = await self._of(stand.guild_id, stand.speaker)
        found = _named(there, named)
        if found is None:
            raise OutOfReach(NO_SUCH.format(named=inline(named, 40)))
        key = ctx.interaction.id if ctx.interaction else ctx.message.id
        await answer(ctx, await self._done(order, found.id, stand.guild_id, stand.speaker, key))

    async def _done(self, order: ScheduleOrder, id: str, guild: str, speaker: Speaker, key: int) -> str:
        """Do it; what whoever asked reads. Raises ``OutOfReach``."""
        entry = await self.bot.schedules.entry(id)
        schedule = entry.schedule if entry is not None else None
        if schedule is None or schedule.kind != "task" or (guild and schedule.guild != guild):
            raise OutOfReach(NO_SUCH.format(named=inline(id)))
        own = schedule.person == speaker.id
        if not may(speaker.level, "steer", own=own) or not (guild or own):
            raise OutOfReach(NOT_YOURS)
        title = plain(schedule.title, 80)
        match order:
            case "run":
                return await self._run(schedule, title, key)
            case "pause":
                why = f"{plain(speaker.name, 40)} paused it."
                done = await self.bot.schedules.change(id, lambda one: one if one.paused else one.changed(paused=why))
                text = HELD_BEFORE if schedule.paused else HELD
                return text.format(title=title) if done else NO_SUCH.format(named=inline(id))
            case "resume":
                return await self._resume(schedule, title)
            case "delete":
                await self.bot.schedules.delete([id])
                text = plain(schedule.text, 1_000)
                return DELETED.format(title=title, said=schedule.said, zone=schedule.zone, text=text)

    async def _run(self, schedule: ScheduledTask, title: str, key: int) -> str:
        if schedule.run is not None and await self.bot.delivery.is_open(schedule.run):
            raise OutOfReach(schedule_text.STILL_NOW.format(thread=schedule.run.thread))
        now = self.bot.backstage.clock.now()
        begun = await self.bot.schedules.change(
            schedule.id, lambda one: one if one.claim is not None else by_hand(one, now, f"now{key}")
        )
        ours = begun is not None and begun.claim is not None and begun.claim.id.endswith(f".now{key}")
        return (BEGINS if ours else BEGINNING).format(title=title)

    async def _resume(self, schedule: ScheduledTask, title: str) -> str:
        if not schedule.paused:
            return RESUMED_BEFORE.format(title=title)
        now = self.bot.backstage.clock.now()
        if resumed(schedule, now).next is None:
            raise OutOfReach(PASSED.format(title=title))
        done = await self.bot.schedules.change(schedule.id, lambda one: resumed(one, now))
        if done is None or done.next is None:
            raise OutOfReach(NO_SUCH.format(named=inline(schedule.id)))
        return RESUMED.format(title=title, next=schedule_text.full(done.next))

    async def _proposals(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        stand = await self.bot.reach.stand(interaction)
        there = await self._of(stand.guild_id, stand.speaker)
        return [(f"{number}. {one.title} · {one.said}", one.id) for number, one in enumerate(there, 1)]

    for _command in (run_now, rest, go_on, drop):
        _command.autocomplete("schedule")(proposed(_proposals))
    del _command


def _named(there: Sequence[ScheduledTask], named: str) -> ScheduledTask | None:
    """The schedule that is meant: by its number in the list, or by its id."""
    said = named.strip().rstrip(".")
    if said.isdecimal() and 0 < int(said[:6]) <= len(there):
        return there[int(said[:6]) - 1]
    return next((one for one in there if one.id == said), None)


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(ScheduleCommands(bot))
