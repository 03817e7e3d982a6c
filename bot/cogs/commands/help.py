"""The command help: everything on one card, or one command with its options and an example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from discord import app_commands
from discord.ext import commands

from bot.access.thread_access import OutOfReach
from bot.cogs.commands.command_errors import example_of, nearest
from bot.cogs.commands.replies import answer, begin, proposed
from bot.messages.embeds import FILES, help_embed
from bot.rendering.discord_text import inline

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction

    AnyCommand = commands.Command[Any, ..., Any]

ON_FILES = frozenset({"attach", "attachment", "attachments", "file", "files", "upload", "repo", "repository"})
"""What people ask for help with that is no command."""


class HelpCommands(commands.Cog):
    """How to work with it."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_command(name="help", description="How to work with me")
    @app_commands.describe(command="One command, with its options and an example")
    async def help_(self, ctx: Context, *, command: str = "") -> None:
        """How to work with me."""
        await begin(ctx)
        if not command.strip():
            await answer(ctx, embed=help_embed(self.bot.options.prefix))
            return
        name = " ".join(command.strip().lstrip(f"/{self.bot.options.prefix}").lower().split())
        if name in ON_FILES:
            await answer(ctx, FILES)
            return
        found = self.bot.get_command(name)
        if found is None:
            near = nearest(name, names(self.bot))
            raise OutOfReach(f"There is no command {inline(name)}." + (f" Did you mean `{near}`?" if near else ""))
        await answer(ctx, told(found, self.bot.options.prefix))

    @proposed
    async def _commands(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        return [(name, name) for name in names(self.bot)]

    help_.autocomplete("command")(_commands)


def names(bot: commands.Bot) -> list[str]:
    """Every command's whole name."""
    return sorted({command.qualified_name for command in bot.walk_commands()})


def told(command: AnyCommand, prefix: str) -> str:
    """One command: what it does, what it takes, how it is used."""
    name = command.qualified_name
    lines = [f"**/{name}** {command.description or command.short_doc}"]
    for option in () if isinstance(command, commands.Group) else command.clean_params.values():
        must = "" if not option.required else " (required)"
        lines.append(f"• `{option.displayed_name or option.name}`{must} {_about(command, option.name)}".rstrip())
    if isinstance(command, commands.Group):
        below = sorted({each.name for each in command.commands})
        lines.append("With: " + ", ".join(f"`{name} {each}`" for each in below))
    lines.append(f"-# For example `{example_of(name, '/')}`, or as a message `{example_of(name, prefix)}`")
    return "\n".join(lines)


def _about(command: AnyCommand, option: str) -> str:
    app = cast("object", command.app_command) if isinstance(command, commands.HybridCommand) else None  # pyright: ignore[reportUnknownMemberType]
    found = cast("app_commands.Command[Any, ..., Any]", app).get_parameter(option) if app is not None else None
    return str(found.description) if found is not None else ""
