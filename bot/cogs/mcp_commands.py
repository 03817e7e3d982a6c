"""Commands on MCP servers: what they offer here, and agreeing to a tool that is new or has changed.

The servers are those of the machine, whatever Discord server uses them: so an owner of a Discord server agrees only where the
bot is in no other; else whoever runs the bot does, with `threadwright mcp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discord import app_commands
from discord.ext import commands

from bot.access.thread_access import OutOfReach, require
from bot.cogs.commands.command_errors import UnknownSubcommand
from bot.cogs.commands.replies import answer, answer_at_length, begin
from bot.rendering.discord_text import inline, one_line, plain
from bot.rendering.unicode_safety import boxed

if TYPE_CHECKING:
    from agentic.mcp_client.agreed_tools import Waiting
    from agentic.mcp_client.servers import McpServers
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context

DESCRIPTION = "MCP servers: their tools, and which changed"
NONE = "There are no MCP servers. Whoever runs the bot can name some in `mcp.json`; the guide shows how."
SEVERAL = (
    "The bot is in several servers, which share its MCP servers. Whoever runs the bot agrees to a tool, with "
    "`threadwright mcp --agree SERVER/TOOL`."
)
SHOWN, NAMED = 700, 40


class McpCommands(commands.Cog):
    """What other people's servers offer."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_group(description=DESCRIPTION)
    async def mcp(self, ctx: Context, *, rest: str = "") -> None:
        """MCP servers: their tools, and which changed."""
        if rest:
            raise UnknownSubcommand(rest.split()[0], self.mcp.all_commands)
        await self._show(ctx)

    @mcp.command(name="show", description=DESCRIPTION)
    async def show_(self, ctx: Context) -> None:
        """MCP servers: their tools, and which changed."""
        await self._show(ctx)

    @mcp.command(description="Let a tool that is new or has changed be used as it is now")
    @app_commands.describe(tool="As server/tool")
    async def agree(self, ctx: Context, tool: str) -> None:
        """Let a tool that is new or has changed be used as it is now."""
        await begin(ctx)
        require(await self.bot.reach.stand(ctx.interaction or ctx.message, "mcp"), "settings")
        servers = self._held()
        if len(self.bot.guilds) > 1:
            raise OutOfReach(SEVERAL)
        one = next((each for each in _waiting(servers) if _name(each) == tool.strip()), None)
        if one is None:
            raise OutOfReach(f"{inline(one_line(tool, 100))} doesn't wait for a yes. `/mcp` shows what does.")
        if not servers.catalogue.agree(one.server, one.now.name, one.now.sha):
            raise OutOfReach("It changed again just now. Look at it with `/mcp`, and agree once more.")
        await answer(ctx, f"✅ {inline(_name(one))} can be used as it is now, from the next task on.")

    async def _show(self, ctx: Context) -> None:
        await begin(ctx)
        require(await self.bot.reach.stand(ctx.interaction or ctx.message, "mcp"), "see")
        servers = self._held()
        lines: list[str] = []
        for server in servers.servers:
            names = [tool.name for one, tool in servers.offered() if one.name == server.name]
            known = ", ".join(inline(one_line(name, 60)) for name in names[:NAMED]) or "no tools known yet"
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            lines.append(f"**{server.name}** ({'sandbox' if server.in_sandbox else 'HTTP'}): {known}{more}")
        lines += [f"⚠️ {plain(problem, 300)}" for problem in servers.problems]
        lines += [_changed(each) for each in _waiting(servers)[:NAMED]]
        await answer_at_length(ctx, "MCP servers", "\n".join(lines), "mcp.txt")

    def _held(self) -> McpServers:
        workshop = self.bot.backstage.workshop
        if workshop is None or workshop.mcp is None:
            raise OutOfReach(NONE)
        return workshop.mcp


def _waiting(servers: McpServers) -> tuple[Waiting, ...]:
    return servers.catalogue.waiting(server.name for server in servers.servers)


def _name(one: Waiting) -> str:
    return f"{one.server}/{one.now.name}"


def _changed(one: Waiting) -> str:
    what = "is new" if one.before is None else "changed"
    before = "" if one.before is None else f"before: {one.before.description[:SHOWN]}\n"
    return (
        f"⚠️ {inline(one_line(_name(one), 120))} {what}, and isn't used until an owner agrees (`/mcp agree`).\n"
        + boxed(f"{before}now: {one.now.description[:SHOWN]}")
    )


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(McpCommands(bot))
