"""What commands propose while somebody types: only what that person may see, only what the command then accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.render import one_line

if TYPE_CHECKING:
    from bot.client import ThreadwrightBot
    from bot.cogs.commands.answering import Interaction

_STATES = {"busy": "▶", "asking": "💬", "paused": "⏸"}


async def threads_for(bot: ThreadwrightBot, interaction: Interaction) -> list[tuple[str, str]]:
    """Threads within reach, last used first, with what they are doing."""
    rows = await bot.reach.threads(await bot.reach.stand(interaction))
    return [(f"{_STATES.get(bot.conversation.state(r.thread), '·')} {one_line(r.title, 80)}", r.thread) for r in rows]
