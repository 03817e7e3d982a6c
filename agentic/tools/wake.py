"""``wake_me``: the agent has itself woken in its thread; a task of its own begins there then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from pydantic import Field

from agentic.core.events.execution_events import WakeRequested
from agentic.ports.runtime import Observation
from agentic.tools.base.observation import refused
from agentic.tools.base.tool import Arguments, CallContext, Tool

SOONEST, LATEST = 1, 24 * 60
"""Minutes."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """A wake-up that is kept; ``left``: so many more may be asked for before a person writes."""

    wake: str
    at: datetime
    left: int


Alarms = Callable[[str, int, str], Awaitable[Alarm | str]]
"""Keeps a wake-up for a call, in so many minutes, with the reason, in the place of the one that waits.

The same for the same call.  A text says why it is not kept."""


class WakeArguments(Arguments):
    """When, and what for."""

    minutes: int = Field(ge=SOONEST, le=LATEST, description=f"From now, {SOONEST} to {LATEST:,}.")
    why: str = Field(min_length=1, max_length=300, description="What is to be looked at or done then, in a sentence.")


def wake_tool(alarms: Alarms) -> Tool[WakeArguments]:
    """Return the tool over what keeps wake-ups."""

    async def act(arguments: WakeArguments, call: CallContext) -> Observation:
        kept = await alarms(call.id, arguments.minutes, arguments.why)
        if isinstance(kept, str):
            return refused(kept)
        told = (
            f"You will be woken at {kept.at:%Y-%m-%d %H:%M} UTC with these words, in a new task in this thread; finish now. "
            f"A new task of the person, or a stop, cancels it. {kept.left} more before a person writes here."
        )
        return Observation("ok", told, events=(WakeRequested(wake=kept.wake, at=kept.at, why=arguments.why),))

    return Tool(
        name="wake_me",
        description=(
            "Have yourself woken in this thread after some minutes, to look again at what takes time. Only where waiting in a"
            " command would be too long, or the person asks for it; then finish. A later call replaces the one before."
        ),
        example=WakeArguments(minutes=30, why="see whether the import has ended, and tell how many rows it has"),
        act=act,
        effect="keyed",
        permission="read",
        cognitive=True,
    )
