"""Commands on the repository of a thread or a channel: show it, attach one, take it away, fetch it anew; and on whose
account pull requests are opened with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import discord
from discord import app_commands
from discord.ext import commands

from agentic.ports.errors import RemoteError
from agentic.ports.forge import ForgeHost, Hosted
from bot.access.thread_access import ELSEWHERE, OutOfReach, Stand, require
from bot.cogs.commands.command_errors import UnknownSubcommand
from bot.cogs.commands.replies import answer, begin
from bot.cogs.repositories.account_link import TRIES, TRIES_SECONDS, AccountLink, state_of, told
from bot.rendering.discord_text import inline, plain
from bot.workspace.repositories import Repositories

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context

Where = Literal["thread", "channel"]
DESCRIPTION = "The repository of this thread or channel"
NONE = "No repository is attached here. `/repo attach owner/name` attaches one; new threads then begin with its files."
NO_REPOSITORIES = "Repositories cannot be attached here."
NOT_A_THREAD = "This is no thread. Choose `channel`, or use it in the thread that is meant."
NO_CHANNEL = "A direct message has no channel. Choose `thread`, which is this conversation."
PEOPLE_KNOWN = 1_000
"""People whose tries are counted."""
WHERE = "For this thread, or for all new threads of this channel"


class RepositoryCommands(commands.Cog):
    """Which repository is worked on."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot
        self._tries: dict[str, app_commands.Cooldown] = {}
        """How many tokens each person has tried lately."""

    @commands.hybrid_group(description=DESCRIPTION)
    async def repo(self, ctx: Context, *, rest: str = "") -> None:
        """The repository of this thread or channel."""
        if rest:
            raise UnknownSubcommand(rest.split()[0], self.repo.all_commands)
        await self._show(ctx)

    @repo.command(name="show", description=DESCRIPTION)
    async def show_(self, ctx: Context) -> None:
        """The repository of this thread or channel."""
        await self._show(ctx)

    @repo.command(description="Attach a repository: new tasks begin with its files, and can open pull requests")
    @app_commands.describe(
        repository="owner/name, or its address", branch="The branch to work for, if not the default one", scope=WHERE
    )
    async def attach(self, ctx: Context, repository: str, branch: str = "", scope: Where = "channel") -> None:
        """Attach a repository: new tasks begin with its files, and can open pull requests."""
        place, id = await self._place(ctx, scope)
        held = self._held()
        try:
            hosted = await held.attach(_server(ctx), place, id, held.publisher.forges.read(repository), branch)
        except RemoteError as error:
            raise OutOfReach(plain(str(error), 800)) from error
        await answer(ctx, _attached(hosted, branch, scope))

    @repo.command(description="Take the repository away; files that are here already stay")
    @app_commands.describe(scope=WHERE)
    async def detach(self, ctx: Context, scope: Where = "channel") -> None:
        """Take the repository away; files that are here already stay."""
        place, id = await self._place(ctx, scope)
        await self._held().detach(place, id)
        await answer(ctx, f"No repository is attached to this {scope} any more. Files that are here already stay.")

    @repo.command(description="Fetch the newest state of the repository now")
    async def refresh(self, ctx: Context) -> None:
        """Fetch the newest state of the repository now."""
        await begin(ctx)
        require(await self.bot.reach.stand(ctx.interaction or ctx.message, "repo"), "start")
        origin = await self._held().of(*_ids(ctx))
        if origin is None:
            await answer(ctx, NONE)
            return
        try:
            hosted = await self._held().fetch(_server(ctx), origin.remote)
        except RemoteError as error:
            raise OutOfReach(plain(str(error), 800)) from error
        await answer(ctx, f"Fetched {inline(str(hosted.remote))}. `git fetch origin` in the thread brings it in.")

    @repo.command(description="Have pull requests you ask for opened as you: link your account, or unlink it")
    @app_commands.describe(host="Such as github.com, if not the host of the repository here")
    async def account(self, ctx: Context, host: str = "") -> None:
        """Have pull requests you ask for opened as you: link your account, or unlink it."""
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "repo")
        require(stand, "start")
        if stand.openly:
            raise OutOfReach(ELSEWHERE.format(command="repo account"))
        held = self._held()
        origin = await held.of(*_ids(ctx))
        chosen = _host(held, host or (origin.remote.host if origin else ""))
        remote = origin.remote if origin is not None and origin.remote.host == chosen.name else None
        state = await state_of(held, stand.speaker.id, chosen, remote)
        text = told(state, chosen, on_aws=held.accounts.on_aws)
        view = AccountLink(held, stand.speaker.id, chosen, remote, self._tries_of(stand.speaker.id))
        view.message = await answer(ctx, text, view=view)

    async def _show(self, ctx: Context) -> None:
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "repo")
        require(stand, "see")
        held = self._held()
        thread, channel = _ids(ctx)
        origin = await held.of(thread, channel)
        if origin is None:
            await answer(ctx, NONE)
            return
        branch = f", branch {inline(origin.branch)}" if origin.branch else ""
        lines = [f"📦 {inline(str(origin.remote))} at {inline(origin.remote.host)}{branch}"]
        lines += [f"🔀 Pull request {row.number}: <{row.url}>" for row in await held.rows.of_thread(thread)]
        if (linked := held.accounts.of(stand.speaker.id, origin.remote.host)) is not None:
            lines.append(f"👤 Pull requests you ask for are opened as {inline(linked.login)}.")
        await answer(ctx, "\n".join(lines))

    def _tries_of(self, person: str) -> app_commands.Cooldown:
        if person not in self._tries and len(self._tries) >= PEOPLE_KNOWN:
            del self._tries[next(iter(self._tries))]
        return self._tries.setdefault(person, app_commands.Cooldown(TRIES, TRIES_SECONDS))

    def _held(self) -> Repositories:
        workshop = self.bot.backstage.workshop
        if workshop is None or workshop.repositories is None:
            raise OutOfReach(NO_REPOSITORIES)
        return workshop.repositories

    async def _place(self, ctx: Context, scope: Where) -> tuple[Where, str]:
        """Where it is chosen for.  Raises ``OutOfReach`` without the right to, or where there is no such place."""
        await begin(ctx)
        stand: Stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "repo")
        thread, channel = _ids(ctx)
        require(stand, "settings" if scope == "channel" else "merge")
        if scope == "thread" and not thread:
            raise OutOfReach(NOT_A_THREAD)
        if scope == "channel" and not channel:
            raise OutOfReach(NO_CHANNEL)
        return scope, thread if scope == "thread" else channel


def _ids(ctx: Context) -> tuple[str, str]:
    """(thread, channel) of where it is used; of a direct message only the first."""
    here = str(ctx.channel.id)
    if ctx.guild is None:
        return here, ""
    if isinstance(ctx.channel, discord.Thread):
        return here, str(ctx.channel.parent_id)
    return "", here


def _host(held: Repositories, name: str) -> ForgeHost:
    """A host by its name, the first one for ''.  Raises ``OutOfReach``."""
    hosts = held.publisher.forges.hosts
    found = next((host for host in hosts if name.lower() in ("", host.name)), None)
    if found is None:
        raise OutOfReach(f"I don't know the host {inline(name)}. It can be: {', '.join(host.name for host in hosts)}.")
    return found


def _server(ctx: Context) -> str:
    return str(ctx.guild.id) if ctx.guild is not None else ""


def _attached(hosted: Hosted, branch: str, scope: Where) -> str:
    """What was attached, and what is possible with it."""
    what = f"📦 {inline(str(hosted.remote))} ({inline(branch or hosted.default_branch)}) is attached to this {scope}."
    after = "The next task here" if scope == "thread" else "Each new thread here"
    lines = [f"{what} {after} begins with its files."]
    if hosted.empty:
        lines.append("⚠️ It has no commit yet: make the first one at the host, then I can open pull requests.")
    if not hosted.may_push:
        lines.append(
            "⚠️ I may only read it. For pull requests, whoever runs the bot sets a token that may write contents and pull "
            "requests: THREADWRIGHT_FORGES."
        )
    return "\n".join(lines)


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(RepositoryCommands(bot))
