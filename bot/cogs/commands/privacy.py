"""`/privacy`: what is stored of whoever asks, where and for how long; and erasing it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import discord
from discord.ext import commands

from agentic.ports.errors import AgenticError
from bot.access.thread_access import ELSEWHERE, OutOfReach
from bot.cogs.commands.command_errors import UsedCommand, command_error_text
from bot.cogs.commands.replies import answer, begin, reads_much
from bot.cogs.personal_view import PersonalView
from bot.config.models import provider_titles
from reflexion.errors import ReflexionError

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction
    from bot.inbound.parse import Options
    from bot.retention.personal_data import StoredData

NOTHING = "I store nothing about you: no task, no message, no vote."
WHERE = "**Where:** {where}; whoever runs it can read it. What you write to a task also goes to {whom} own rules."
HOW_LONG = {
    True: "**How long:** a task and everything said in it is deleted {days} days after it ended. Lessons, files in a "
    "thread and open tasks stay until somebody deletes them.",
    False: "**How long:** until somebody deletes it; nothing expires here.",
}
CONFIRM = (
    "Erase it for good? Your tasks are deleted with everything said and done in them, so they can't be undone or "
    "tried again. In other people's tasks your words and your name are replaced by “[erased]”.\n**Not erased:**\n"
    "• messages here in Discord, and files in threads\n"
    "• what commands in other people's tasks printed\n"
    "• what other people's answers and lessons took from your words\n"
    "• what your tasks cost today\n"
    "• earlier backups, and what model providers keep"
)
ERASED_ALL = "✅ Erased. I keep nothing about you, except files in threads and what your tasks cost today."
LEFT = "✅ Erased, except tasks that are still open: {threads}. Stop them there with 🛑, then use `/privacy` again."
UNREAD = "{number} damaged log(s) could not be read, so nothing in them was erased. Ask whoever runs the bot to look."
NOT_NOW = "Nothing was erased."
NOT_YOU = "Only the person who opened this can use it. Use `/privacy` yourself."
CONFIRM_SECONDS = 300.0
SHOWN = 5


def told(stored: StoredData, models: tuple[str, ...], options: Options) -> str:
    """What there is of a person, in plain words."""
    counted = (
        (
            stored.tasks,
            "task you asked for, with everything that was said and done in it",
            "tasks you asked for, with everything that was said and done in them",
        ),
        (stored.messages, "message you wrote in a task", "messages you wrote in tasks"),
        (stored.votes, "vote", "votes"),
        (
            stored.reflections,
            "note on what went wrong in a task of yours",
            "notes on what went wrong in tasks of yours",
        ),
        (stored.schedules, "schedule of yours", "schedules of yours"),
        (
            stored.accounts,
            "account that you linked with `/repo account`, with its token",
            "accounts that you linked with `/repo account`, with their tokens",
        ),
        (stored.facts, "fact from your tasks, or approved by you", "facts from your tasks, or approved by you"),
        (stored.lessons, "lesson in your words or with your name", "lessons in your words or with your name"),
    )
    lines = [f"• {number:,} {one if number == 1 else many}" for number, one, many in counted if number]
    if lines:
        since = f", since {stored.since:%Y-%m-%d}" if stored.since else ""
        lines.append("• your Discord name and id with each of these, and what your tasks cost per day")
        lines.insert(0, f"**What I store about you{since}, on all servers:**")
    providers = provider_titles(models)
    has = "has its" if len(providers) == 1 else "have their"
    where = WHERE.format(
        where=options.kept_where,
        whom=f"{' and '.join(providers)}, which {has}" if providers else "the model's provider, which has its",
    )
    return "\n".join(
        [*(lines or [NOTHING]), where, HOW_LONG[bool(options.retention_days)].format(days=options.retention_days)]
    )


def result(left: StoredData) -> str:
    """What became of erasing."""
    threads = ", ".join(f"<#{thread}>" for thread in left.opened[:SHOWN]) + (" …" if len(left.opened) > SHOWN else "")
    said = LEFT.format(threads=threads) if left.opened else ERASED_ALL
    return f"{said}\n{UNREAD.format(number=left.unread)}" if left.unread else said


class PrivacyCommands(commands.Cog):
    """For everybody, of themselves."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot
        self._erasing = asyncio.Lock()

    @commands.hybrid_command(description="What I store about you, where and how long, and how to erase it")
    @reads_much()
    async def privacy(self, ctx: Context) -> None:
        """What I store of you, where and for how long; and erasing it."""
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "privacy")
        if stand.openly:
            raise OutOfReach(ELSEWHERE.format(command="privacy"))
        stored = await self.bot.privacy.of(stand.speaker.id, stand.speaker.name)
        models = tuple(model for tier in self.bot.backstage.policy.tiers for model in tier.models)
        text = told(stored, models, self.bot.options)
        if not stored.any:
            await answer(ctx, text)
            return
        view = Erasing(self, stand.speaker.id)
        view.message = await answer(ctx, text, view=view)

    async def erase(self, interaction: Interaction) -> str:
        """Erase what is theirs who clicked; what they are told."""
        try:
            async with self._erasing:
                return result(await self.bot.privacy.erase(str(interaction.user.id), interaction.user.display_name))
        except (AgenticError, ReflexionError, OSError) as error:
            return command_error_text(error, UsedCommand("privacy", "/privacy"))


class Erasing(PersonalView):
    """A button for the one who asked, then two to confirm it."""

    def __init__(self, cog: PrivacyCommands, person: str) -> None:
        super().__init__(person, CONFIRM_SECONDS, NOT_YOU)
        self._cog = cog
        self.remove_item(self.confirm)
        self.remove_item(self.keep)

    @discord.ui.button(label="Erase my data", style=discord.ButtonStyle.danger)
    async def ask(self, interaction: Interaction, button: discord.ui.Button[Erasing]) -> None:
        """Say what that means first."""
        self.remove_item(button)
        self.add_item(self.confirm)
        self.add_item(self.keep)
        await interaction.response.edit_message(content=CONFIRM, view=self)

    @discord.ui.button(label="Erase for good", style=discord.ButtonStyle.danger)
    async def confirm(self, interaction: Interaction, button: discord.ui.Button[Erasing]) -> None:
        """Do it."""
        self.stop()
        await interaction.response.defer()
        said = interaction.client.desk.discreet_text(await self._cog.erase(interaction))
        await interaction.edit_original_response(content=said, view=None)

    @discord.ui.button(label="Cancel", style=discord.ButtonStyle.secondary)
    async def keep(self, interaction: Interaction, button: discord.ui.Button[Erasing]) -> None:
        """Leave everything as it is."""
        self.stop()
        await interaction.response.edit_message(content=NOT_NOW, view=None)
