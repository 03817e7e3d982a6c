"""What tables of the page share."""

from __future__ import annotations

from bot.lessons.report.html import Html, tag


def and_more(there: int, shown: int) -> tuple[Html, ...]:
    """A last row that says how many are not shown; nothing where all are."""
    left = there - shown
    return (tag("div", f"and {left} more", class_="row quiet small"),) if left > 0 else ()
