"""Buttons and form under a lesson that waits for an owner; they work as long as their message stands.

Nothing in a ``custom_id`` is believed: the bot itself posted that message in this very thread, about this very lesson,
and who presses is an owner now.  A form has to be the first answer to a press, so rights are looked at before it; they
are looked at again when it comes back, perhaps to another process.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, cast

import discord
from discord import ui
from discord.ext import commands

from agentic.core.events.ids import digest
from agentic.ports.errors import AgenticError
from bot.access.denials import NOT_OF_HERE, refused
from bot.access.permissions import limited, may, needed
from bot.cogs.private_replies import quietly, tell
from bot.lessons.decisions import said_anew
from bot.lessons.lesson_approval_text import already
from bot.messages.error_text import Attempted, error_text
from bot.rendering.custom_ids import Press
from bot.rendering.discord_text import fenced
from reflexion.errors import ReflexionError
from reflexion.lessons.changes import approved, retired
from reflexion.lessons.lesson import Lesson

if TYPE_CHECKING:
    from agentic.core.events.execution_events import OutboxItem
    from bot.access.permissions import Speaker
    from bot.app.client import ThreadwrightBot

MOST = 1_000
"""Characters of each field."""
FILLED = re.compile(r"tw:amend:(?P<lesson>[\w.-]{1,40}):(?P<seen>[0-9a-f]{8}):(?P<key>[\w.-]{1,40})")
NO_MORE = "This lesson no longer exists, so nothing was done."
MEANWHILE = (
    "{id} was changed while you wrote, so I didn't save yours. Press Edit again; this is what you wrote:\n{words}"
)
EMPTY = "A lesson needs both: when it applies and what to do. One was empty, so nothing was changed."

log = logging.getLogger(__name__)


class LessonRefused(Exception):
    """It is not done; the message says why and what to do."""


class LessonButtons(commands.Cog):
    """Takes presses and forms in."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.Cog.listener()
    async def on_lesson_pressed(self, interaction: discord.Interaction, press: Press) -> None:
        """Approve or retire at once; for an edit, show the form.  Whoever may not is told privately."""
        if press.wish != "edit":
            await quietly(interaction.response.defer())
        words = ""
        try:
            lesson, speaker = await self._open(interaction, press)
            if press.wish == "edit":
                await quietly(_shown(interaction, LessonForm(lesson, press.key)))
            else:
                await self._decide(interaction, press, speaker)
        except LessonRefused as why:
            words = str(why)
        except (AgenticError, ReflexionError) as error:
            log.warning("a press on lesson %s: %s", press.lesson, error)
            words = error_text(Attempted.LESSON, error)
        await self._tell(interaction, words)

    @commands.Cog.listener()
    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """A form that came back."""
        data = cast("dict[str, object]", interaction.data or {})
        filled = FILLED.fullmatch(str(data.get("custom_id", "")))
        if interaction.type is not discord.InteractionType.modal_submit or filled is None:
            return
        await quietly(interaction.response.defer())
        words = ""
        try:
            press = Press(filled["key"], lesson=filled["lesson"])
            _, speaker = await self._open(interaction, press, form=True)
            await self._reword(interaction, press, speaker, filled["seen"], _fields(data.get("components")))
        except LessonRefused as why:
            words = str(why)
        except (AgenticError, ReflexionError) as error:
            log.warning("a form about lesson %s: %s", filled["lesson"], error)
            words = error_text(Attempted.LESSON, error)
        await self._tell(interaction, words)

    async def _open(
        self, interaction: discord.Interaction, press: Press, *, form: bool = False
    ) -> tuple[Lesson, Speaker]:
        """The lesson, and who wants something of it.  Raises ``LessonRefused``; what was decided closes only its buttons."""
        row = await self.bot.store.outbox_row(press.key)
        if row is None or not await self._belongs(interaction, press, row.item, row.delivered):
            raise LessonRefused(NOT_OF_HERE)
        speaker = await self.bot.reader.presser(interaction)
        if not may(limited(speaker.level, writes=speaker.writes), "lessons"):
            raise LessonRefused(refused("lessons", needed("lessons")))
        lessons = self.bot.backstage.lessons
        lesson = await lessons.lesson(_guild(interaction), press.lesson) if lessons is not None else None
        if lesson is None or (lesson.status != "quarantined" and not form):
            self.bot.approving.messages.changed(press.lesson)
            raise LessonRefused(already(lesson) if lesson is not None else NO_MORE)
        return lesson, speaker

    async def _belongs(
        self, interaction: discord.Interaction, press: Press, item: OutboxItem, delivered: tuple[str, ...]
    ) -> bool:
        """The bot posted it, in this thread of this guild, about this lesson."""
        message, user = interaction.message, self.bot.user
        if message is None or user is None or message.author.id != user.id:
            return False
        if (item.sort, item.question, item.thread) != ("lesson", press.lesson, str(interaction.channel_id)):
            return False
        session = await self.bot.store.session(item.thread)
        here = not delivered or str(message.id) in delivered
        return here and session is not None and session.guild == _guild(interaction)

    async def _decide(self, interaction: discord.Interaction, press: Press, speaker: Speaker) -> None:
        at = interaction.created_at
        decide = approved if press.wish == "approve" else retired

        def decided(known: Lesson) -> Lesson:
            return decide(known, by=speaker.name, at=at) if known.status == "quarantined" else known

        if await self.bot.approving.change(_guild(interaction), press.lesson, decided) is None:
            raise LessonRefused(NO_MORE)

    async def _reword(
        self, interaction: discord.Interaction, press: Press, speaker: Speaker, seen: str, said: dict[str, str]
    ) -> None:
        trigger, action = (said.get(name, "").strip() for name in ("trigger", "action"))
        if not trigger or not action:
            raise LessonRefused(EMPTY)

        def better(known: Lesson) -> Lesson:
            if _seen(known) != seen:
                words = fenced(f"When: {trigger}\nDo: {action}")
                raise LessonRefused(MEANWHILE.format(id=f"`{known.id}`", words=words))
            return said_anew(known, by=speaker.name, at=interaction.created_at, trigger=trigger, action=action)

        if await self.bot.approving.change(_guild(interaction), press.lesson, better) is None:
            raise LessonRefused(NO_MORE)

    async def _tell(self, interaction: discord.Interaction, words: str) -> None:
        if not words:
            return
        text = self.bot.desk.discreet_text(words)
        await tell(interaction, text)


class LessonForm(ui.Modal):
    """What a lesson says, to be said better; nothing of it is held here, so it may come back to another process."""

    def __init__(self, lesson: Lesson, key: str) -> None:
        super().__init__(title="Edit lesson", custom_id=f"tw:amend:{lesson.id}:{_seen(lesson)}:{key}", timeout=None)
        fields = (
            ("trigger", "When does it apply?", lesson.trigger),
            ("action", "What should I do then?", lesson.action),
        )
        for name, question, words in fields:
            field: ui.TextInput[LessonForm] = ui.TextInput(
                custom_id=name, style=discord.TextStyle.paragraph, default=words[:MOST], max_length=MOST
            )
            self.add_item(ui.Label(text=question, component=field))


async def _shown(interaction: discord.Interaction, form: LessonForm) -> None:
    await interaction.response.send_modal(form)
    form.stop()


def _fields(components: object) -> dict[str, str]:
    """What was filled in, by field; a field stands in a label, or in a row of its own."""
    found: dict[str, str] = {}
    for part in cast("list[dict[str, object]]", components or []):
        inner = [part["component"]] if "component" in part else part.get("components", [])
        for field in cast("list[dict[str, object]]", inner):
            found[str(field.get("custom_id", ""))] = str(field.get("value", ""))
    return found


def _seen(lesson: Lesson) -> str:
    """What it says, in eight characters: whether a form was made from what stands there now."""
    return digest("lesson words", lesson.trigger, lesson.action, length=8)


def _guild(interaction: discord.Interaction) -> str:
    return str(interaction.guild_id or "")


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(LessonButtons(bot))
