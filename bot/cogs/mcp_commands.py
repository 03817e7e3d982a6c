"""Commands on MCP servers: what they offer here, agreeing to a tool that is new or has changed, and signing in.

The servers are those of the machine, whatever Discord server uses them: so an owner of a Discord server decides only where the
bot is in no other; else whoever runs the bot does, with `threadwright mcp`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import discord
from discord import app_commands, ui
from discord.ext import commands

from bot.access.thread_access import ELSEWHERE, OutOfReach, require
from bot.cogs.commands.command_errors import UnknownSubcommand
from bot.cogs.commands.replies import answer, answer_at_length, begin
from bot.cogs.personal_view import PersonalView
from bot.cogs.private_replies import quietly, tell
from bot.rendering.discord_text import inline, one_line, plain
from bot.rendering.unicode_safety import boxed

if TYPE_CHECKING:
    from agentic.mcp_client.agreed_tools import Waiting
    from agentic.mcp_client.oauth.sign_in import SignIn
    from agentic.mcp_client.servers import McpServers
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context

    Interaction = discord.Interaction[ThreadwrightBot]

DESCRIPTION = "MCP servers: their tools, and which changed"
NONE = "There are no MCP servers. Whoever runs the bot can name some in `mcp.json`; the guide shows how."
SEVERAL = (
    "The bot is in several servers, which share its MCP servers. Whoever runs the bot agrees to a tool, with "
    "`threadwright mcp --agree SERVER/TOOL`."
)
SEVERAL_SIGN_IN = (
    "The bot is in several servers, which share its MCP servers. Whoever runs the bot signs in, with `threadwright mcp login "
    "{name}`."
)
SHOWN, NAMED = 700, 40
SECONDS = 600.0
"""So long the buttons work; a sign-in is waited for as long."""
NOT_YOU = "Only the person who opened this can use it."
OPEN = (
    "🔑 **Sign in to {name} at {host}:** [open the page](<{address}>)\n"
    "What I do there counts as done by the account you sign in with, for every task here. Its token stays on the computer "
    "that runs the bot; no model, log, export or backup gets it.\n"
    "-# If your browser ends at a page that doesn't open, press **Paste the address** and give me the address it shows. You "
    "have {minutes:.0f} minutes."
)
TOO_LONG = (
    "The address to sign in at is too long for Discord. Whoever runs the bot signs in: `threadwright mcp login {name}`."
)
LONGEST = 1_200
"""Characters of an address."""
IN = "✅ Signed in to {name}. {tools}"
NOT_IN = "⚠️ Not signed in to {name}: {why}."
CHANGED = "⚠️ {why}."
STRANGE = "That address isn't from this sign-in. Copy the whole address that your browser shows at the end."


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
        if self.bot.servers > 1:
            raise OutOfReach(SEVERAL)
        one = next((each for each in _waiting(servers) if _name(each) == tool.strip()), None)
        if one is None:
            raise OutOfReach(f"{inline(one_line(tool, 100))} doesn't wait for a yes. `/mcp` shows what does.")
        try:
            agreed = await servers.agree(one)
        except OSError as error:
            raise OutOfReach(f"I didn't agree to it: {plain(str(error), 600)}.") from error
        if not agreed:
            raise OutOfReach("It changed again just now. Look at it with `/mcp`, and agree once more.")
        await answer(ctx, f"✅ {inline(_name(one))} can be used as it is now, from the next task on.")

    @mcp.command(description="Sign in to an MCP server that asks for it")
    @app_commands.describe(server="Its name, as /mcp shows it")
    async def login(self, ctx: Context, server: str) -> None:
        """Sign in to an MCP server that asks for it."""
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "mcp")
        require(stand, "settings")
        servers = self._held()
        if stand.openly:
            raise OutOfReach(ELSEWHERE.format(command="mcp login"))
        if self.bot.servers > 1:
            raise OutOfReach(SEVERAL_SIGN_IN.format(name=one_line(server, 60)))
        view = SignInButtons(servers, stand.speaker.id, server)
        view.message = await answer(ctx, await view.begin(), view=view)

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
            if why := servers.signed_out(server.name):
                lines.append(
                    f"🔑 {plain(why[:1].upper() + why[1:], 200)}. An owner signs in: `/mcp login server:{server.name}`"
                )
        lines += [f"⚠️ {plain(problem, 300)}" for problem in servers.problems]
        lines += [_changed(each) for each in _waiting(servers)[:NAMED]]
        await answer_at_length(ctx, "MCP servers", "\n".join(lines), "mcp.txt")

    def _held(self) -> McpServers:
        workshop = self.bot.backstage.workshop
        if workshop is None or workshop.mcp is None:
            raise OutOfReach(NONE)
        return workshop.mcp


class SignInButtons(PersonalView):
    """A sign-in of one person: an address to open, and what came of it; nothing is offered that is not possible now."""

    def __init__(self, servers: McpServers, person: str, name: str) -> None:
        super().__init__(person, SECONDS, NOT_YOU)
        self._servers = servers
        self._name = name
        self._begun: SignIn | None = None
        self._issuer = ""
        """Another one than before, which somebody would have to agree to."""
        self._waiting: asyncio.Task[None] | None = None

    async def begin(self) -> str:
        """Begin, and return what stands above the buttons.  Raises ``OutOfReach``."""
        from agentic.mcp_client.oauth.kept_tokens import TokenTrouble  # with the SDK, which only they need
        from agentic.mcp_client.oauth.sign_in import OtherIssuer

        self.clear_items()
        try:
            self._begun = begun = await self._servers.sign_in(self._name, self._issuer)
        except OtherIssuer as other:
            self._issuer = other.now
            self.add_item(self.agree)
            return CHANGED.format(why=plain(str(other), 600))
        except TokenTrouble as trouble:
            raise OutOfReach(_not_in(self._name, trouble)) from None
        if len(begun.address) > LONGEST:
            await begun.close()
            raise OutOfReach(TOO_LONG.format(name=self._name))
        self.add_item(self.paste)
        self._waiting = asyncio.create_task(self._wait(begun), name=f"sign-in to {self._name}")
        minutes = SECONDS / 60
        return OPEN.format(name=inline(self._name), host=inline(begun.host), address=begun.address, minutes=minutes)

    @ui.button(label="Paste the address")
    async def paste(self, interaction: Interaction, _: ui.Button[SignInButtons]) -> None:
        """Ask for the address at which the browser ended."""
        await interaction.response.send_modal(AddressForm(self))

    @ui.button(label="Sign in there instead", style=discord.ButtonStyle.danger)
    async def agree(self, interaction: Interaction, _: ui.Button[SignInButtons]) -> None:
        """Agree to another issuer than before."""
        await interaction.response.defer()
        try:
            require(await interaction.client.reach.stand(interaction, "mcp"), "settings")
            said = await self.begin()
        except OutOfReach as refused:
            said = str(refused)
        said = interaction.client.desk.discreet_text(said)
        await interaction.edit_original_response(content=said, view=self if self.children else None)

    async def take(self, interaction: Interaction, address: str) -> None:
        """Go on with a pasted address."""
        if self._begun is not None and self._begun.take(address):
            await interaction.response.defer()
        else:
            await tell(interaction, STRANGE)

    async def _wait(self, begun: SignIn) -> None:
        from agentic.mcp_client.oauth.kept_tokens import TokenTrouble

        try:
            await begun.finished()
            (seen,) = await self._servers.look([self._name])
            said = IN.format(name=inline(self._name), tools=_seen(seen.tools, seen.problem))
        except TokenTrouble as trouble:
            said = _not_in(self._name, trouble)
        self.stop()
        if self.message is not None:
            await quietly(self.message.edit(content=said, view=None))

    async def on_timeout(self) -> None:
        """The sign-in says itself that its time is over."""


class AddressForm(ui.Modal):
    """Takes the address at which a browser ended."""

    def __init__(self, buttons: SignInButtons) -> None:
        super().__init__(title="Sign in", timeout=SECONDS)
        self._buttons = buttons
        self._address: ui.TextInput[AddressForm] = ui.TextInput(custom_id="address", min_length=8, max_length=4_000)
        self.add_item(ui.Label(text="The address your browser shows", component=self._address))

    async def on_submit(self, interaction: discord.Interaction) -> None:
        """Go on with it."""
        await self._buttons.take(cast("Interaction", interaction), self._address.value)


def _not_in(name: str, why: Exception) -> str:
    return NOT_IN.format(name=inline(one_line(name, 60)), why=plain(str(why), 600))


def _seen(tools: int, problem: str) -> str:
    if problem:
        return f"But it can't be used yet: {plain(problem, 300)}."
    return f"{'Its tool' if tools == 1 else f'Its {tools} tools'} can be used from the next task on."


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
