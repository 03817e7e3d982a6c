"""Buttons and form of the question what was wrong with a result; they work as long as their message stands.

Nothing in a ``custom_id`` is believed: the bot itself posted that message in this very thread, and who presses may rate
the execution now.  A form has to be the first answer to a press, so rights are looked at before it, and again when it
comes back, perhaps to another process.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import discord
from discord import ui
from discord.ext import commands

from agentic.core.events.execution_events import InboxItem, OutboxItem
from agentic.ports.errors import AgenticError
from bot.access.denials import NOT_OF_HERE
from bot.access.permissions import Speaker
from bot.cogs.private_replies import quietly, tell
from bot.inbound.intake import not_kept
from bot.inbound.interpret_reaction import refusal
from bot.inbound.parse import scene_about
from bot.rendering.custom_ids import Press
from bot.rendering.discord_text import storable
from reflexion.reflection.feedback_question import reason_of

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

FILLED = re.compile(r"tw:regret:(?P<key>[\w.-]{1,40})")
MOST = 400
"""Characters of what somebody says."""
TAKEN = "Thanks, noted for next time."
EMPTY = "The form was empty, so I noted nothing."


class FeedbackRefused(Exception):
    """It is not taken in; the message says why."""


class Regrets(commands.Cog):
    """Takes presses and forms in."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.Cog.listener()
    async def on_regret_pressed(self, interaction: discord.Interaction, press: Press) -> None:
        """Take a reason in; for words of their own, show the form.  Whoever may not is told privately."""
        if press.reason.isdecimal():
            await quietly(interaction.response.defer())
            await self._answer(interaction, press.key, reason_of(int(press.reason)))
            return
        try:
            await self._open(interaction, press.key)
            await quietly(_shown(interaction, FeedbackForm(press.key)))
        except FeedbackRefused as why:
            await tell(interaction, str(why))
        except AgenticError as error:
            await tell(interaction, not_kept(str(interaction.id), error))

    @commands.Cog.listener()
    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """A form that came back."""
        data = cast("dict[str, object]", interaction.data or {})
        filled = FILLED.fullmatch(str(data.get("custom_id", "")))
        if interaction.type is not discord.InteractionType.modal_submit or filled is None:
            return
        await quietly(interaction.response.defer())
        await self._answer(
            interaction, filled["key"], storable(written_in(data.get("components"), "why")).strip()[:MOST]
        )

    async def _answer(self, interaction: discord.Interaction, key: str, why: str) -> None:
        try:
            item, speaker = await self._open(interaction, key)
            words = await self._take(interaction, item, speaker, why) if why else EMPTY
        except FeedbackRefused as refused:
            words = str(refused)
        except AgenticError as error:
            words = not_kept(str(interaction.id), error)
        await tell(interaction, self.bot.desk.discreet_text(words))

    async def _open(self, interaction: discord.Interaction, key: str) -> tuple[OutboxItem, Speaker]:
        """The question, and who answers it.  Raises ``FeedbackRefused``."""
        row, message, user = await self.bot.store.outbox_row(key), interaction.message, self.bot.user
        own = message is not None and user is not None and message.author.id == user.id
        if row is None:
            about = key.partition(".")[0]
            raise FeedbackRefused(await self.bot.expiry.of_execution(about, str(interaction.channel_id)) or NOT_OF_HERE)
        if not own or (row.item.sort, row.item.thread) != ("regret", str(interaction.channel_id)):
            raise FeedbackRefused(NOT_OF_HERE)
        session = await self.bot.store.session(row.item.thread)
        if session is None or session.guild != str(interaction.guild_id or ""):
            raise FeedbackRefused(NOT_OF_HERE)
        speaker, target = await self.bot.reader.presser(interaction), f"{row.item.execution}/result"
        scene = await scene_about(self.bot.conversation, self.bot.store, row.item.thread, target)
        if why := refusal("correction", scene, speaker):
            raise FeedbackRefused(why)
        return row.item, speaker

    async def _take(self, interaction: discord.Interaction, item: OutboxItem, speaker: Speaker, why: str) -> str:
        said = InboxItem(
            id=str(interaction.id), thread=item.thread, sort="correction", author=speaker.person(),
            at=interaction.created_at, text=why, message=str(interaction.message.id) if interaction.message else "",
            target=f"{item.execution}/result",
        )  # fmt: skip
        receipt = await self.bot.intake.deliver(said, str(interaction.guild_id or ""))
        return receipt.text or TAKEN


class FeedbackForm(ui.Modal):
    """One field; what it is about stands in its id, so it may come back to another process."""

    def __init__(self, key: str) -> None:
        super().__init__(title="What was wrong?", custom_id=f"tw:regret:{key}", timeout=None)
        field: ui.TextInput[FeedbackForm] = ui.TextInput(
            custom_id="why", style=discord.TextStyle.paragraph, max_length=MOST,
            placeholder="The last day of the month is missing.",
        )  # fmt: skip
        self.add_item(ui.Label(text="In your own words", component=field))


async def _shown(interaction: discord.Interaction, form: FeedbackForm) -> None:
    await interaction.response.send_modal(form)
    form.stop()


def written_in(components: object, field_id: str) -> str:
    """The text of a field of a form that came back; it stands in a label, or in a row of its own."""
    for part in cast("list[dict[str, object]]", components or []):
        inner = [part["component"]] if "component" in part else part.get("components", [])
        for field in cast("list[dict[str, object]]", inner):
            if field.get("custom_id") == field_id:
                return str(field.get("value", ""))
    return ""


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(Regrets(bot))
