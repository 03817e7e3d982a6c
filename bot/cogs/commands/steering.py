"""What is said by a command goes the same way as a sign or a word in the thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agentic.core.events import InboxItem, Sort
from bot.cogs.commands.answering import answer, begin
from bot.gestures import commanded
from bot.inputs import Told
from bot.reach import OutOfReach, require
from bot.reading import scene_of

if TYPE_CHECKING:
    from agentic.ports import SessionRow
    from bot.cogs.commands.answering import Context

THREAD = "A task's thread; without it, this one"
RECEIPTS: dict[Sort, str] = {
    "stop": "🛑 Stopping.",
    "pause": "⏸ Pausing after the current step.",
    "resume": "▶ Going on.",
    "retry": "🔄 I see to it; what comes of it is told in the thread.",
    "rewind": "▶ I see to it; what comes of it is told in the thread.",
    "fork": "I see to it; when the new thread is there, it is told in this one.",
}
NOTED = "Noted."

Complete = Callable[[InboxItem, "SessionRow"], Awaitable[InboxItem]]
"""What the item says beyond its sort, once the thread is known; raises ``OutOfReach``."""


async def steer(ctx: Context, sort: Sort, named: str, complete: Complete | None = None) -> None:
    """Deliver it to the thread that is named, or answer why not."""
    bot = ctx.bot
    await begin(ctx)
    stand = await bot.reach.stand(ctx.interaction or ctx.message, ctx.command.qualified_name if ctx.command else sort)
    require(stand, "stop" if sort == "stop" else "steer")
    row = await bot.reach.thread(stand, named)
    speaker = await bot.reach.speaker(stand, row)
    scene = await scene_of(bot.conversation, row.thread, wholly=True)
    scene = replace(scene, bot_writes=await bot.reach.bot_writes(stand, row))
    id = str(ctx.interaction.id if ctx.interaction else ctx.message.id)
    item = InboxItem(
        id=id, thread=row.thread, sort=sort, author=speaker.person(), at=ctx.message.created_at,
        message="" if ctx.interaction else id,
    )  # fmt: skip
    outcome = commanded((sort, ""), scene, speaker, item)
    if isinstance(outcome, InboxItem):
        if complete is not None:
            outcome = await complete(outcome, row)
        receipt = await bot.intake.deliver(outcome, stand.guild_id)
        await answer(ctx, receipt.text or RECEIPTS.get(sort, NOTED))
    elif isinstance(outcome, Told):
        await answer(ctx, outcome.text)
    else:
        raise OutOfReach("That cannot be done here.")
