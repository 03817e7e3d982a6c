"""What commands answer with."""

from __future__ import annotations

import discord

from bot.conversation import StatusView
from bot.render import cut, plain
from bot.wording import duration, money

_STATES = {
    "unknown": "This is no thread of mine yet. Mention me with a task.",
    "idle": "Nothing is running. Write what I should do next.",
    "busy": "Working.",
    "asking": "Waiting for an answer.",
}
_HELP = (
    ("Start", "Mention me in a channel with a task: I open a thread. In that thread every message reaches me."),
    ("While I work", "A message guides me, `. text` queues a task for afterwards, **stop** alone or 🛑 stops me."),
    ("When I ask", "Choose a button or write the answer."),
    ("Afterwards", "👍 or 👎 on an answer tell me how it was, ❌ that it was wrong. The next message is a new task."),
)


def status_embed(view: StatusView) -> discord.Embed:
    """What a thread is doing, and what it cost so far."""
    embed = discord.Embed(title="Status", description=_STATES[view.state])
    if view.task:
        embed.add_field(name="Task", value=cut(plain(view.task, 300), 1_000), inline=False)
    if view.step:
        embed.add_field(name="Now", value=plain(view.step))
    if view.execution:
        ended = f" · {view.finished}" if view.finished else ""
        embed.add_field(name="Turn", value=f"{view.turn}{ended}")
        embed.add_field(name="Time and cost", value=f"{duration(view.seconds)} · {money(view.usd)}")
        embed.set_footer(text=f"Execution {view.execution}")
    if view.model:
        embed.add_field(name="Model", value=f"tier {view.tier} · {plain(view.model, 80)}")
    if view.confidence is not None:
        embed.add_field(name="Confidence", value=str(view.confidence))
    if view.queued:
        embed.add_field(name="Queued", value=str(view.queued))
    return embed


def help_embed(prefix: str) -> discord.Embed:
    """How to use the bot, on one card."""
    embed = discord.Embed(title="Threadwright", description="I do a task in a thread, with tools, in a sandbox.")
    for name, value in _HELP:
        embed.add_field(name=name, value=value, inline=False)
    commands = " · ".join(f"`/{name}`" for name in ("status", "stop", "help"))
    embed.add_field(name="Commands", value=f"{commands} (or with `{prefix}`)", inline=False)
    return embed
