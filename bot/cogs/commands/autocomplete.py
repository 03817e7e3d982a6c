"""What commands propose while somebody types: only what that person may see, only what the command then accepts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bot.rendering.discord_text import one_line

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Interaction

_STATES = {"busy": "▶", "asking": "💬", "paused": "⏸"}
_SIGNS = "".join(("· ", *_STATES.values()))
"""What stands before a title that is proposed, and so in the field once it was chosen."""


async def threads_for(bot: ThreadwrightBot, interaction: Interaction, typed: str) -> list[tuple[str, str]]:
    """Threads within reach that fit to what was typed, last used first, with what they are doing."""
    rows = await bot.reach.threads(await bot.reach.stand(interaction), fitting=typed.lstrip(_SIGNS))
    if not bot.backstage.roles.works:  # what others do there has to be looked up
        await asyncio.gather(*(bot.conversation.knows(row.thread) for row in rows))
    return [(f"{_STATES.get(bot.conversation.state(r.thread), '·')} {one_line(r.title, 80)}", r.thread) for r in rows]
