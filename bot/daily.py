"""How far the caps of the day are used up, in words; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agentic.core.amounts import dollars
from agentic.core.events import Whose
from agentic.purse import Day

_OF: Mapping[Whose, str] = {"person": "your tasks", "guild": "this server", "bot": "this bot"}


def of_today(days: Iterable[Day]) -> str:
    """A line; '' where nothing is capped by the day."""
    parts = [
        f"{_OF[day.whose]} {dollars(day.spent_usd)} of {dollars(day.cap_usd + day.raised_usd)}{_raised(day)}"
        for day in days
    ]
    return f"-# Today (UTC), with what is set aside: {' · '.join(parts)}" if parts else ""


def _raised(day: Day) -> str:
    return f" (raised by {dollars(day.raised_usd)})" if day.raised_usd else ""
