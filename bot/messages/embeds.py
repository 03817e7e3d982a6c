"""Embeds that answer commands, also those written as messages."""

from __future__ import annotations

import discord

from agentic.runtime.loop_watchdog import LATE_SECONDS
from bot.ports.conversation import StatusView
from bot.progress.text import (
    briefly,
    duration,
    estimated,
    money,
)
from bot.rendering.discord_text import cut, plain

_STATES = {
    "unknown": "This is no thread of mine yet. Mention me with a task.",
    "idle": "Nothing is running. Write what I should do next.",
    "busy": "Working.",
    "asking": "Waiting for an answer.",
    "paused": "Paused. ▶ or `resume` lets it go on.",
}
_ALONE = (
    "Left alone: the bot ended {times} times in the middle of it. Write anything here, or use ▶ or `resume`, to try once "
    "more; `stop` ends it."
)
_HELD_UP = "at most {seconds} in the last hour"
_LATE = ". Whoever runs me finds in my log what held me up."
_HELP = (
    ("Start", "Mention me in a channel with a task: I open a thread. In that thread every message reaches me."),
    (
        "While I work",
        "A message guides me, `. text` is a task for afterwards, `. btw text` a question beside the work.\n"
        "🛑 stop · ⏸ pause · ▶ go on · 💬 ask me first",
    ),
    ("When I ask", "Choose a button or write the answer. ✅ takes what I recommend."),
    (
        "Afterwards",
        "👍 👎 how it was · ❌ that was wrong · 🔄 once more · **Undo** under an answer puts files back. "
        "The next message is a new task.",
    ),
    ("Commands: a task", "`status` `stop` `pause` `resume`"),
    (
        "Commands: going back",
        "`checkpoints` lists what was kept · `retry` the task or from a turn · `resume` from a checkpoint · `fork` in a new "
        "thread",
    ),
    (
        "Commands: what happened",
        "`sessions` `logs` `cost` `confidence` `escalation` `memory` `role` `rules`",
    ),
    ("Commands: files", "`workspace list` `workspace get` `workspace clean`"),
    (
        "Commands: what I learned",
        "`lessons list` `lessons show` `lessons approve` `lessons edit` `lessons retire` `lessons export`",
    ),
    ("Commands: repository", "`repo show` `repo attach` `repo detach` `repo refresh`"),
    ("Commands: settings", "`settings show` `settings set` `settings reset` `privacy`"),
)
"""Commands in groups, briefly; a test checks that every command is listed."""


def status_embed(view: StatusView, held_up: float = 0.0) -> discord.Embed:
    """Show what a thread is doing, its cost so far, and the longest stall of the process in the last hour.

    ``held_up`` is that stall in seconds.
    """
    state = _ALONE.format(times=view.crashes) if view.crashes else _STATES[view.state]
    embed = discord.Embed(title="Status", description=state)
    if view.task:
        embed.add_field(name="Task", value=cut(plain(view.task, 300), 1_000), inline=False)
    if view.step:
        embed.add_field(name="Now", value=plain(view.step))
    if view.execution:
        within = f" in {briefly(view.stopped_in)}" if view.stopped_in is not None else ""
        ended = f" · {view.finished}{within}" if view.finished else ""
        embed.add_field(name="Turn", value=f"{view.turn}{ended}")
        if view.finished == "tour":
            embed.add_field(name="Time", value=duration(view.seconds))
        else:
            embed.add_field(name="Time and cost", value=f"{duration(view.seconds)} · {money(view.usd)}")
        embed.set_footer(text=f"Execution {view.execution}")
    if view.model:
        embed.add_field(name="Model", value=f"tier {view.tier} · {plain(view.model, 80)}")
    if view.confidence is not None:
        embed.add_field(name="Confidence", value=estimated(view.confidence, fitted=view.fitted))
    if view.queued:
        embed.add_field(name="Queued", value=str(view.queued))
    told = _HELD_UP.format(seconds=briefly(held_up)) + _LATE * (held_up > LATE_SECONDS)
    embed.add_field(name="My own delay", value=told, inline=False)
    return embed


def help_embed(prefix: str) -> discord.Embed:
    """Show how to use the bot."""
    embed = discord.Embed(title="Threadwright", description="I do a task in a thread, with tools, in a sandbox.")
    for name, value in _HELP:
        embed.add_field(name=name, value=value, inline=False)
    embed.set_footer(text=f"With / (only you see the answer) or with {prefix}. “help NAME” tells more of one command.")
    return embed
