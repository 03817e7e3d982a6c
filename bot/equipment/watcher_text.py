"""How people read of watchers: which there are, and what one said while a task ran."""

from __future__ import annotations

from agentic.core.events.execution_events import Watched, Watcher
from bot.rendering.discord_text import inline, plain

TOOLS_SHOWN = 6


def shown(watcher: Watcher, *, on: bool, own: bool) -> str:
    """Return a line of the list: when it looks on, and what follows."""
    tools = ", ".join(inline(tool) for tool in watcher.tools[:TOOLS_SHOWN])
    more = f" and {len(watcher.tools) - TOOLS_SHOWN} more" if len(watcher.tools) > TOOLS_SHOWN else ""
    turns = "turn" if watcher.every == 1 else f"{watcher.every} turns"
    when = f"every {turns}" if watcher.when == "before model" else f"before calls of {tools}{more}"
    some = " that hold certain words" if watcher.matching else ""
    then = "has a person asked where it objects" if watcher.may == "veto" else "notes what is off to me"
    failing = "; asks too where it gives no answer" if watcher.if_it_fails == "ask" else ""
    first = plain(next((line for line in watcher.instruction.splitlines() if line.strip()), ""), 120)
    state = "✅ on here" if on else "off here"
    return (
        f"**{watcher.name}** ({state}{', own file' if own else ''}): looks on {when}{some}, {then}{failing} (tier "
        f"{watcher.tier}).\n-# {first}"
    )


def said(event: Watched) -> str:
    """Return what people read of a look, '' where it found nothing."""
    name = f"{event.watcher[:1].upper()}{event.watcher[1:]} watcher"
    if event.problem:
        asks = "; a person is asked instead" if event.held else "; continuing without it"
        return f"{name}: no answer ({event.problem}){asks}"
    return f"{name}: {event.text}" if event.text else ""
