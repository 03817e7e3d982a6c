"""Embeds that answer commands, also those written as messages."""

from __future__ import annotations

from collections.abc import Mapping

import discord

from bot.ports.conversation import StatusView
from bot.progress.step_text import acts_in_words
from bot.progress.text import (
    briefly,
    duration,
    estimated,
    money,
)
from bot.rendering.discord_text import cut, plain

_STATES = {
    "unknown": "No task here. Mention me with one, or see `/sessions`.",
    "idle": "Nothing is running. Write what I should do next.",
    "busy": "Working.",
    "asking": "Waiting for an answer.",
    "paused": "Paused. Press ▶ or use `resume` to continue.",
}
_ALONE = "Set aside: the bot crashed {times} times on this. Write anything here, or press ▶, to try again; 🛑 ends it."
_DELAYED = 2.0
"""Seconds of a stall from which on it is worth telling."""
_HELD_UP = "Up to {seconds} in the last hour. Whoever runs the bot can find the cause in its log."
FIRST: Mapping[str, str] = {
    "help": "this card; with a command's name, how to use it",
    "status": "what a thread is doing, and what it cost",
    "stop": "ends what is running, at once",
    "retry": "tries a task again",
    "search": "finds words in earlier tasks, answers and commands",
    "model": "which model answers here, and choosing another",
    "cost": "what a thread, or each person's tasks, cost",
    "workspace": "a thread's files: list, get, clean",
    "settings": "what applies here, and changing it",
    "privacy": "what I store of you, and erasing it",
}
"""The commands that people look for, in the order in which they are registered and listed, with what each is for."""
FILES = (
    "Attach files to your message with +, and I find them in the workspace; `workspace get` sends one back. I don't clone "
    "repositories: the guide says how to work on one."
)
"""How files come in and out."""
_HELP = (
    (
        "Start",
        "Mention me in a channel with a task, and I open a thread. In the thread, just write; I read every message.\n"
        "About a message: right-click it, **Apps → Ask Threadwright**.",
    ),
    (
        "While I work",
        "Your messages guide me. `. text` queues a task for afterwards, `. btw text` asks a side question.\n🛑 stop · "
        "⏸ pause · ▶ resume · 💬 ask me first",
    ),
    ("When I ask", "Press a button or write the answer. ✅ takes my recommendation."),
    (
        "Afterwards",
        "👍 👎 rate it · ❌ that was wrong · 🔄 try again · **Undo** under an answer restores the files. Your next "
        "message is a new task.",
    ),
    ("Files", FILES),
    ("Commands", "\n".join(f"`{name}` {about}" for name, about in FIRST.items())),
    (
        "More",
        "a task: `pause` `resume` `fork` `checkpoints`\n"
        "what happened: `sessions` `logs` `confidence` `escalation`\n"
        "files: `workspace list` `workspace get` `workspace clean`\n"
        "what I learned: `lessons list` `lessons show` `lessons approve` `lessons edit` `lessons retire` `lessons export`\n"
        "what I remember: `memory list` `memory show` `memory approve` `memory forget`\n"
        "set times: `schedule add` `schedule list` `schedule run` `schedule pause` `schedule resume` `schedule delete`\n"
        "a repository: `repo show` `repo attach` `repo detach` `repo refresh` `repo account`\n"
        "other people's tools: `mcp show` `mcp agree` `mcp login` · small agents that look on: `watchers`\n"
        "skills: `skills list` `skills show` `skills approve` `skills remove`\n"
        "roles: `role show` `role list` `role add` `role edit` `role remove`\n"
        "rules: `rules show` `rules list` `rules add` `rules edit` `rules remove`\n"
        "settings: `settings show` `settings set` `settings reset`",
    ),
)
"""The help in parts; a test checks that every command is listed."""


def status_embed(view: StatusView, held_up: float = 0.0, details: str = "", sandbox: str = "") -> discord.Embed:
    """Show what a thread is doing, its cost so far, and the longest stall of the process in the last hour.

    ``held_up`` is that stall in seconds, ``details`` the address of the task on the console, ``sandbox`` where commands run.
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
        turn = f"[{view.turn}]({details}#turn-{view.turn})" if details and view.turn else str(view.turn)
        embed.add_field(name="Turn", value=f"{turn}{ended}")
        if view.finished == "tour":
            embed.add_field(name="Time", value=duration(view.seconds))
        else:
            embed.add_field(name="Time and cost", value=f"{duration(view.seconds)} · {money(view.usd)}")
    if view.model:
        embed.add_field(name="Model", value=f"tier {view.tier} · {plain(view.model, 80)}")
    if view.confidence is not None:
        embed.add_field(name="Confidence", value=estimated(view.confidence, fitted=view.fitted))
    if view.allowances:
        lines = [f"{plain(each.by.name, 40)}: {acts_in_words(each.acts)}" for each in view.allowances]
        embed.add_field(name="Allowed for this task", value=cut("\n".join(lines), 1_000), inline=False)
    if view.execution and details:
        embed.add_field(name="Details", value=f"[What it thinks, does and costs]({details})", inline=False)
    if view.queued:
        embed.add_field(name="Queued", value=str(view.queued))
    if sandbox:
        embed.add_field(name="Sandbox", value=sandbox)
    if held_up >= _DELAYED:
        embed.add_field(name="Bot delay", value=_HELD_UP.format(seconds=briefly(held_up)), inline=False)
    return embed


def help_embed(prefix: str) -> discord.Embed:
    """Show how to use the bot."""
    embed = discord.Embed(title="Threadwright", description="I work on tasks in threads, with tools, in a sandbox.")
    for name, value in _HELP:
        embed.add_field(name=name, value=value, inline=False)
    embed.set_footer(text=f"Use / (private reply) or {prefix} (public reply). “help NAME” explains one command.")
    return embed
