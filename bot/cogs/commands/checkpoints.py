"""Commands that go back to an earlier position: checkpoints, retry, fork; with what they share with ``resume``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from discord import app_commands
from discord.ext import commands

from agentic.core.events.execution_events import InboxItem
from bot.access.thread_access import ID as THREAD_ID
from bot.access.thread_access import OutOfReach, require
from bot.actions.rerun import GONE, NO_CHECKPOINT
from bot.cogs.commands.autocomplete import threads_for
from bot.cogs.commands.control import THREAD, steer
from bot.cogs.commands.replies import (
    answer_at_length,
    begin,
    proposed,
    reads_much,
)
from bot.history.checkpoint_list import Kept, checkpoints_of, found
from bot.messages import report_text
from bot.rendering.discord_text import inline, one_line

if TYPE_CHECKING:
    from agentic.ports.runtime import SessionRow
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context, Interaction

CHECKPOINT = "A checkpoint, as checkpoints lists it"
LONGEST = 1_500
_NAME = re.compile(r"`?(?:[0-9a-f]{6}|\d{6,}-[0-9a-f]{12})`?", re.IGNORECASE)

_QUOTED = re.compile(r'"([^"]+)"|“([^“”]+)”')

Turn = commands.Range[int, 0, 10_000]


def unquoted(text: str) -> str:
    """Return the text without the quotation marks around all of it, if there are any."""
    found = _QUOTED.fullmatch(text.strip())
    return (found[1] or found[2]) if found else text.strip()


class CheckpointCommands(commands.Cog):
    """What was kept of a thread, and how to go on from it."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_command(description="Saved states of a thread that you can go back to")
    @reads_much()
    @app_commands.describe(thread=THREAD)
    async def checkpoints(self, ctx: Context, thread: str = "") -> None:
        """What was kept of a thread's files and log, and can be gone back to."""
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "checkpoints")
        require(stand, "see")
        row = await self.bot.reach.thread(stand, thread)
        left_out = await self.bot.expiry.of_thread(row.thread)
        kept = await self._of(row)
        text = "\n".join([report_text.checkpoints(kept)] * (bool(kept) or not left_out) + [left_out]).strip()
        await answer_at_length(ctx, "Checkpoints", text, "checkpoints.md")

    @commands.hybrid_command(description="Try a task again, from the start or from one of its turns")
    @app_commands.describe(turn="The turn to redo. Default: the whole task", thread=THREAD)
    async def retry(self, ctx: Context, turn: Turn = 0, thread: str = "") -> None:
        """Try a task again, from its beginning or from one of its turns."""

        async def complete(item: InboxItem, row: SessionRow) -> InboxItem:
            return item.model_copy(update={"text": str(turn) if turn else ""})

        await steer(ctx, "retry", thread, complete)

    @commands.hybrid_command(description="Resume a paused thread, or continue an ended task from a checkpoint")
    @app_commands.describe(checkpoint=CHECKPOINT, thread=THREAD)
    async def resume(self, ctx: Context, checkpoint: str = "", thread: str = "") -> None:
        """Let a paused thread go on, or an ended task from a checkpoint."""
        if THREAD_ID.fullmatch(checkpoint.strip()) and not thread:
            checkpoint, thread = "", checkpoint

        async def complete(item: InboxItem, row: SessionRow) -> InboxItem:
            return item.model_copy(update={"target": (await self._named(row, checkpoint)).id})

        await (steer(ctx, "rewind", thread, complete) if checkpoint else steer(ctx, "resume", thread))

    @commands.hybrid_command(description="Open a new thread that continues from a checkpoint of this one")
    @app_commands.describe(checkpoint=f"{CHECKPOINT}. Default: the newest", text="What to do there", thread=THREAD)
    async def fork(self, ctx: Context, checkpoint: str = "", *, text: str = "", thread: str = "") -> None:
        """Open a new thread that goes on from a checkpoint of this one."""
        if ctx.interaction is None and checkpoint and not _NAME.fullmatch(checkpoint):
            checkpoint, text = "", f"{checkpoint} {text}".strip()
        text = unquoted(text)
        if len(text) > LONGEST:
            raise OutOfReach(f"That's too long (at most {LONGEST:,} characters). Write the rest in the new thread.")

        async def complete(item: InboxItem, row: SessionRow) -> InboxItem:
            named = (await self._named(row, checkpoint)).id if checkpoint else ""
            stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "fork")
            parent = await self.bot.reach.room_for_fork(stand, row)
            return item.model_copy(update={"target": named, "text": text, "channel": parent})

        await steer(ctx, "fork", thread, complete)

    async def _of(self, row: SessionRow) -> list[Kept]:
        workshop = self.bot.backstage.workshop
        return await checkpoints_of(self.bot.store, workshop.snapshots if workshop else None, row.thread)

    async def _named(self, row: SessionRow, named: str) -> Kept:
        kept = found(await self._of(row), named)
        if kept is None:
            raise OutOfReach(NO_CHECKPOINT.format(named=inline(named, 40)))
        if not kept.there:
            raise OutOfReach(GONE.format(named=inline(kept.id)))
        return kept

    async def _threads(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        return await threads_for(self.bot, interaction, current)

    async def _checkpoints(self, interaction: Interaction, current: str) -> list[tuple[str, str]]:
        stand = await self.bot.reach.stand(interaction)
        require(stand, "see")
        row = await self.bot.reach.thread(stand, str(getattr(interaction.namespace, "thread", "") or ""))
        return [
            (one_line(f"{one.id} · {report_text.moment_of(one)} · {one.task}", 100), one.id)
            for one in await self._of(row)
            if one.there
        ]

    for _command in (checkpoints, retry, resume, fork):
        _command.autocomplete("thread")(proposed(_threads))
    for _command in (resume, fork):
        _command.autocomplete("checkpoint")(proposed(_checkpoints))
    del _command
