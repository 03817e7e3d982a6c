"""Several approaches to a task beside each other, as a person reads them before they choose; pure.

The table is as wide as a phone shows without a break, whatever is in it: 42 columns for four approaches.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.claims.comparison import TriedApproach, best, reason
from agentic.core.events.execution_events import Reason
from agentic.core.text.amounts import dollars
from agentic.core.text.foreign_text import one_line

NONE = "Keep none"
WAY_CHARACTERS, SAID_CHARACTERS = 160, 220
_ENDS: dict[Reason, str] = {
    "done": "done", "stopped": "stopped", "failed": "failed", "stuck": "stuck", "limit": "limit", "budget": "budget",
    "cancelled": "stopped", "tour": "none",
}  # fmt: skip
_CHECKS = {"pass": "passed", "fail": "failed", "none": "not run"}
_ROW, _CELL = 10, 8


def take(number: int) -> str:
    """Return the label of the button that takes an approach."""
    return f"Take {number}"


def taken(label: str) -> int:
    """Return the approach that a button's label takes, 0 for none."""
    number = label.removeprefix("Take ")
    return int(number) if label.startswith("Take ") and number.isdecimal() else 0


def labels(tried: Sequence[TriedApproach]) -> tuple[str, ...]:
    """Return the buttons: each approach in its place, so that a number means the same in all words, and none."""
    return (*(take(number) for number in range(1, len(tried) + 1)), NONE)


def told(tried: Sequence[TriedApproach]) -> str:
    """Return what is shown: which one is best and why, all beside each other, what each did and said."""
    number = best(tried)
    head = f"**{number} looks best**: {reason(tried, number)}." if number else "None of them is done and proven right."
    lines = [f"I tried {len(tried)} approaches. {head}", "```", *_table(tried), "```"]
    for at, each in enumerate(tried, 1):
        said = f"\n> {one_line(each.said)[:SAID_CHARACTERS]}" if each.said.strip() else ""
        lines.append(f"**{at}.** {one_line(each.way)[:WAY_CHARACTERS]}{said}")
    return "\n".join(lines)


def _table(tried: Sequence[TriedApproach]) -> list[str]:
    rows = (
        ("", [str(number) for number in range(1, len(tried) + 1)]),
        ("result", [_ENDS[each.result] for each in tried]),
        ("check", [_CHECKS[each.verdict] for each in tried]),
        ("score", [str(each.score) for each in tried]),
        ("confidence", [f"{each.confidence}%" for each in tried]),
        ("files", [str(each.files) for each in tried]),
        ("added", [f"+{each.added}" for each in tried]),
        ("removed", [f"−{each.removed}" for each in tried]),
        ("cost", [dollars(each.usd) for each in tried]),
        ("time", [_time(each.seconds) for each in tried]),
    )
    return [
        f"{name:<{_ROW}}{''.join(f'{cell[: _CELL - 1]:>{_CELL}}' for cell in cells)}".rstrip() for name, cells in rows
    ]


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
