"""Commands on a thread's workspace: list, get, clean."""

from __future__ import annotations

import time
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import discord
from discord import app_commands
from discord.ext import commands

from agentic.core.events.execution_events import InboxItem
from agentic.ports.errors import AgenticError
from agentic.workspace.file_names import safe_name
from agentic.workspace.workspace import RealWorld
from bot.access.thread_access import OutOfReach, Stand, require
from bot.actions.clean import WITHOUT_COPY
from bot.cogs.commands.command_errors import UnknownSubcommand, UsedCommand, command_error_text
from bot.cogs.commands.replies import (
    answer,
    answer_at_length,
    begin,
    proposed,
    reads_much,
)
from bot.cogs.personal_view import PersonalView
from bot.history.checkpoint_list import last_saved
from bot.messages import report_text
from bot.outbound.compose import FILE_BYTES
from bot.rendering.discord_text import Attached, fenced, inline
from bot.workspace import browse

if TYPE_CHECKING:
    from agentic.ports.runtime import SessionRow
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction

NO_WORKSPACES = "This bot keeps no workspaces."
RUNNING = "A task is running here. Stop it first (🛑), then clean."
EMPTY = "The workspace is already empty."
CONFIRM = "Delete everything in this thread's workspace ({what})? {copy}{kept}"
COPY = "I'll save a copy as a checkpoint, so you can restore it; only caches and installed packages are gone for good."
NO_COPY = "No copy is kept, so this can't be undone."
KEPT = "\n-# `.aiignore` and what it hides stay."
BEGUN = "On it. I'll say in the thread how it went."
NOT_NOW = "Nothing was deleted."
NOT_YOU = "Only the person who opened this can confirm it. Use `/workspace clean` yourself."
CONFIRM_SECONDS = 120.0
FRESH_SECONDS = 5.0
"""So long a list of paths is proposed again while somebody types."""
LARGEST = 10 * 1024 * 1024
"""What an app may upload to a direct message."""
SHORT = 100
DESCRIPTION = "The files of this thread's workspace"


class WorkspaceCommands(commands.Cog):
    """The files of the thread it is used in."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot
        self._listed: dict[str, tuple[float, browse.Shelf]] = {}

    @commands.hybrid_group(description=DESCRIPTION)
    async def workspace(self, ctx: Context, *, rest: str = "") -> None:
        """The files of this thread's workspace."""
        if rest:
            raise UnknownSubcommand(rest.split()[0], self.workspace.all_commands)
        await self._list(ctx, ".")

    @workspace.command(name="list", description=DESCRIPTION)
    @reads_much()
    @app_commands.describe(path="A folder of the workspace. Default: all of it")
    async def list_(self, ctx: Context, *, path: str = ".") -> None:
        """The files of this thread's workspace."""
        await self._list(ctx, path)

    @workspace.command(description="Send a file of the workspace here")
    @reads_much()
    @app_commands.describe(path="The file, as workspace list shows it")
    async def get(self, ctx: Context, *, path: str) -> None:
        """Send a file of the workspace here."""
        stand, row = await self._row(ctx)
        require(stand, "see")
        cap = min(ctx.guild.filesize_limit, shelf_cap()) if ctx.guild else LARGEST
        files = await self._files(row)
        name, content = await browse.fetch(files, path, cap)
        file = Attached(safe_name(name), content, made=False)
        said = (f"{inline(path, SHORT)}, {browse.bytes_of(len(content))}", await self._as_of(row, files))
        await answer(ctx, "\n".join(filter(None, said)), files=[file])

    @workspace.command(description="Delete every file of the workspace, after a confirmation")
    @app_commands.describe(copy="Save a copy as a checkpoint; otherwise the files are gone for good")
    async def clean(self, ctx: Context, *, copy: bool = True) -> None:
        """Delete every file of the workspace, after you confirm it."""
        stand, row = await self._row(ctx)
        await self._check_clean(stand, row)
        files = await self._files(row)
        there = await browse.look(files)
        if not [name for name, _ in there.files if name != browse.IGNORE] and not there.more:
            await answer(ctx, EMPTY)
            return
        view = Confirmation(self, stand, row, copy=copy)
        hides = isinstance(files, RealWorld) and bool(await files.hidden())
        kept = KEPT if hides or any(name == browse.IGNORE for name, _ in there.files) else ""
        more = " and more" if there.more else ""
        words = CONFIRM.format(what=browse.summed(there.files) + more, copy=COPY if copy else NO_COPY, kept=kept)
        view.message = await answer(ctx, words, view=view)

    async def perform(self, interaction: Interaction, row: SessionRow, *, copy: bool) -> str:
        """Have the thread clean, by the rights that who clicked has now; returns what is told."""
        stand = await self.bot.reach.stand(interaction)
        await self._check_clean(stand, row)
        item = InboxItem(
            id=str(interaction.id), thread=row.thread, sort="clean", author=stand.speaker.person(),
            at=interaction.created_at, text="" if copy else WITHOUT_COPY,
        )  # fmt: skip
        self._listed.pop(row.thread, None)
        receipt = await self.bot.intake.deliver(item, row.guild)
        return receipt.text or BEGUN

    async def _check_clean(self, stand: Stand, row: SessionRow) -> None:
        require(stand, "undo", own=await self.bot.reach.owns(stand, row.thread))
        if await self._is_at_work(row):
            raise OutOfReach(RUNNING)

    async def _list(self, ctx: Context, path: str) -> None:
        stand, row = await self._row(ctx)
        require(stand, "see")
        files = await self._files(row)
        found = await browse.look(files, path)
        title = "Files in this thread" if path == "." else f"Workspace, {inline(path, SHORT)}"
        if found.files:
            title += f": {browse.summed(found.files)}"
        text = fenced(browse.told(found)) if found.files else browse.told(found)
        text = f"{text}\n{browse.PASSED_OVER}" if found.files else text
        await answer_at_length(ctx, title, text, "workspace.txt", note=await self._as_of(row, files))

    async def _row(self, ctx: Context) -> tuple[Stand, SessionRow]:
        await begin(ctx)
        stand = await self.bot.reach.stand(
            ctx.interaction or ctx.message, ctx.command.qualified_name if ctx.command else ""
        )
        return stand, await self.bot.reach.thread(stand)

    async def _files(self, row: SessionRow) -> browse.Files:
        if self.bot.backstage.workshop is None:
            raise OutOfReach(NO_WORKSPACES)
        return await self.bot.backstage.workshop.files(row.thread)

    async def _as_of(self, row: SessionRow, files: browse.Files) -> str:
        """Say how old it is what is shown of files that stand on another machine; '' where it is how they are."""
        if isinstance(files, RealWorld):
            return ""
        saved = await last_saved(self.bot.store, row.thread, files.name) if files.name else None
        return report_text.as_of(saved, works=await self._is_at_work(row))

    async def _is_at_work(self, row: SessionRow) -> bool:
        """Whether a task is running in the thread now, wherever that is."""
        await self.bot.conversation.knows(row.thread)
        return self.bot.conversation.state(row.thread) not in ("idle", "unknown")

    @get.autocomplete("path")
    @proposed
    async def _paths(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        files = (await self._there(interaction)).files
        return [(f"{name} ({browse.bytes_of(size)})", name) for name, size in files if len(name) <= SHORT]

    @list_.autocomplete("path")
    @proposed
    async def _folders(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        found = {
            str(folder) for name, _ in (await self._there(interaction)).files for folder in PurePosixPath(name).parents
        }
        return [(name, name) for name in sorted(found) if len(name) <= SHORT]

    async def _there(self, interaction: Interaction) -> browse.Shelf:
        stand = await self.bot.reach.stand(interaction)
        require(stand, "see")
        row = await self.bot.reach.thread(stand)
        at, there = self._listed.get(row.thread, (-FRESH_SECONDS, browse.Shelf(())))
        if time.monotonic() - at >= FRESH_SECONDS:
            there = await browse.look(await self._files(row))
            self._listed = {row.thread: (time.monotonic(), there)}
        return there


def shelf_cap() -> int:
    """The largest file that is sent; what the agent may show has the same bound."""
    return FILE_BYTES


class Confirmation(PersonalView):
    """Two buttons for the one who asked; what they do is checked again when it is done."""

    def __init__(self, cog: WorkspaceCommands, stand: Stand, row: SessionRow, *, copy: bool) -> None:
        super().__init__(stand.speaker.id, CONFIRM_SECONDS, NOT_YOU, NOT_NOW)
        self._cog, self._row, self._copy = cog, row, copy

    @discord.ui.button(label="Delete everything", style=discord.ButtonStyle.danger)
    async def confirm(self, interaction: Interaction, button: discord.ui.Button[Confirmation]) -> None:
        """Do it."""
        self.stop()
        await interaction.response.defer()
        try:
            said = await self._cog.perform(interaction, self._row, copy=self._copy)
        except (OutOfReach, AgenticError) as refused:
            said = command_error_text(refused, UsedCommand("workspace clean", "/workspace clean"))
        said = interaction.client.desk.discreet_text(said)
        await interaction.edit_original_response(content=said, view=None)

    @discord.ui.button(label="Cancel", style=discord.ButtonStyle.secondary)
    async def keep(self, interaction: Interaction, button: discord.ui.Button[Confirmation]) -> None:
        """Leave everything as it is."""
        self.stop()
        await interaction.response.edit_message(content=NOT_NOW, view=None)
