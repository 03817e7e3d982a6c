"""“Ask Threadwright” in the menu of a message: a form, and its words count as a mention that replies to that message.

The form has to be the first answer, so the message is looked up when it comes back, perhaps to another process.
Nothing in a ``custom_id`` is believed: only a message of the very channel is read that whoever sends the form may read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import discord
from discord import app_commands, ui
from discord.ext import commands

from agentic.core.events.execution_events import InboxItem
from agentic.ports.errors import AgenticError
from bot.access.denials import VIEWER
from bot.cogs.feedback_form import written_in
from bot.cogs.messages import possible, prepare_thread
from bot.cogs.private_replies import quietly, tell, think
from bot.inbound.events import MessageEvent, Outcome, Reply, ShowCommand
from bot.inbound.intake import ReplyPlace, not_kept, noted
from bot.inbound.interpret_message import translate_message
from bot.inbound.parse import scene_of
from bot.inbound.unknown_commands import without_commands
from bot.outbound.discord_api import Gone, Held, Unfit
from bot.rendering.discord_text import plain

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

NAME = "Ask Threadwright"
FILLED = re.compile(r"tw:ask:(?P<message>\d{1,20})")
MOST = 1_500
"""Characters of what somebody writes in the form."""
NO_WORDS = "Look at the message that I quote, and do what helps."
EMPTY = "I can read neither text nor files in that message. Write in the form what I should do."
GONE = "I can't read that message any more, so I did nothing. Was it deleted, or a reply that only you can see?"
UNREAD = "I couldn't read that message ({reason}), so I did nothing. Please try again."
NO_HISTORY = "You need the permission “Read Message History” in this channel to ask about a message."
NOT_IN_FORMS = "Use `/{command}` for that, or write it as a message."
ASKED = "{name} asked about [this message]({url}):\n>>> {text}"
BEGINS, PASSED = "On it{where}.", "Got it{where}."


class MessageMenu(commands.Cog):
    """Shows the form and takes it in."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot
        self._menu = app_commands.ContextMenu(name=NAME, callback=self.ask)

    async def cog_load(self) -> None:
        """Add the command to the menu of messages."""
        self.bot.tree.add_command(self._menu)

    async def cog_unload(self) -> None:
        """Take it away."""
        self.bot.tree.remove_command(NAME, type=discord.AppCommandType.message)

    async def ask(self, interaction: discord.Interaction, message: discord.Message) -> None:
        """Show the form, unless this person may not ask anyway."""
        said = await self.bot.reader.asked(interaction, message, "") if interaction.guild_id else None
        if said is not None and said.speaker.level == "viewer":
            await tell(interaction, VIEWER)
            return
        form = AskForm(message.id)
        await quietly(interaction.response.send_modal(form))
        form.stop()

    @commands.Cog.listener()
    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """A form that came back."""
        data = cast("dict[str, object]", interaction.data or {})
        filled = FILLED.fullmatch(str(data.get("custom_id", "")))
        if interaction.type is not discord.InteractionType.modal_submit or filled is None:
            return
        await think(interaction)
        text = written_in(data.get("components"), "what").strip()[:MOST]
        try:
            words = await self._filled(interaction, int(filled["message"]), text)
        except Gone:
            words = GONE
        except (Held, Unfit) as problem:
            words = UNREAD.format(reason=problem)
        except AgenticError as error:
            words = not_kept(str(interaction.id), error)
        await tell(interaction, self.bot.desk.discreet_text(words))

    async def _filled(self, interaction: discord.Interaction, number: int, text: str) -> str:
        """Take the form in; returns what to tell whoever sent it."""
        channel, place = str(interaction.channel_id), interaction.channel
        if isinstance(place, discord.Thread) and place.id == number and isinstance(place.parent, discord.TextChannel):
            channel = str(place.parent_id)  # a thread shows the message that it was begun on, which stands above it
        if interaction.guild_id is not None and not interaction.permissions.read_message_history:
            return NO_HISTORY
        about = await self.bot.desk.look(channel, lambda place: place.fetch_message(number))
        said = await self.bot.reader.asked(interaction, about, text or NO_WORDS)
        if not (text or said.quoted or said.files):
            return EMPTY
        async with self.bot.lanes.lane(said.thread or said.about):
            outcome = await self._outcome(said, interaction)
            if isinstance(outcome, Reply):
                return outcome.text
            if isinstance(outcome, ShowCommand):
                return NOT_IN_FORMS.format(command=outcome.command)
            return await self._taken(outcome, about, interaction) if isinstance(outcome, InboxItem) else VIEWER

    async def _outcome(self, said: MessageEvent, interaction: discord.Interaction) -> Outcome:
        scene = await scene_of(self.bot.conversation, said.thread)
        meant = translate_message(said, scene, self.bot.reader.house(interaction.guild))
        outcome = without_commands(meant, self.bot.options.prefix, frozenset(self.bot.all_commands))
        return possible(outcome, interaction.channel)

    async def _taken(self, item: InboxItem, about: discord.Message, interaction: discord.Interaction) -> str:
        """Keep it, then say openly in its thread what was asked: no message of theirs stands there."""
        guild = str(interaction.guild_id or "")
        receipt = await self.bot.intake.deliver(item, guild)
        if not (receipt.accepted or receipt.again):
            return receipt.text
        asked = ASKED.format(name=plain(item.author.name), url=about.jump_url, text=item.text)
        await prepare_thread(
            self.bot, item, ReplyPlace(guild, item.channel or item.thread, item.channel and str(about.id))
        )
        await self.bot.intake.tell(asked, f"{item.id}.asked", ReplyPlace(guild, item.thread))
        where = f": <#{item.thread}>" if guild and item.thread != str(interaction.channel_id) else ""
        begins = BEGINS if item.sort in ("task", "queue", "side") else PASSED
        return receipt.text or noted(item, over=receipt.state == "idle") or begins.format(where=where)


class AskForm(ui.Modal):
    """One field; the message it is about stands in its id, so it may come back to another process."""

    def __init__(self, message: int) -> None:
        super().__init__(title=NAME, custom_id=f"tw:ask:{message}", timeout=None)
        field: ui.TextInput[AskForm] = ui.TextInput(
            custom_id="what", style=discord.TextStyle.paragraph, max_length=MOST, required=False,
            placeholder="Fix what this message describes.",
        )  # fmt: skip
        self.add_item(ui.Label(text="What should I do with it?", component=field))


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(MessageMenu(bot))
