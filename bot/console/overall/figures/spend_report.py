"""What tasks cost today and this week (UTC), by server, person, role and model; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from bot.console.overall.figures.task_summary import TaskSummary

SHOWN = 8
"""Lines of a table; the others are one line together."""
OTHERS = "all others"
DIRECT = "direct messages"


@dataclass(frozen=True, slots=True)
class SpendLine:
    """US dollars of one server, person, role or model."""

    name: str
    today: float
    week: float
    server: str = ""
    """The id of a server, whose name is not known here."""


@dataclass(frozen=True, slots=True)
class SpendTable:
    """Lines by what their names are, the highest first."""

    title: str
    lines: tuple[SpendLine, ...]


@dataclass(frozen=True, slots=True)
class SpendingReport:
    """All of it. ``monday`` is when the week began."""

    monday: date
    today: float
    week: float
    tables: tuple[SpendTable, ...]


def monday_of(day: date) -> date:
    """The first day of its week."""
    return day - timedelta(days=day.weekday())


def spending_of(tasks: Iterable[TaskSummary], today: date) -> SpendingReport:
    """The sums over these tasks."""
    monday = monday_of(today)
    sums: dict[str, dict[str, list[float]]] = {"Server": {}, "Person": {}, "Role": {}, "Model": {}}
    whole = [0.0, 0.0]
    names: dict[str, str] = {}
    for task in tasks:
        person = task.requester.id or "nobody"
        names[person] = task.requester.name or person
        for cost in task.costs:
            if not monday <= cost.day <= today:
                continue
            keys = (task.guild, person, task.role or "general", cost.model)
            for line in (whole, *(s.setdefault(key, [0.0, 0.0]) for s, key in zip(sums.values(), keys, strict=True))):
                line[0] += cost.usd if cost.day == today else 0.0
                line[1] += cost.usd
    called = {"Person": names, "Server": {"": DIRECT}}
    tables = [
        SpendTable(title, _lines(each, called.get(title, {}), servers=title == "Server"))
        for title, each in sums.items()
    ]
    return SpendingReport(monday, whole[0], whole[1], tuple(tables))


def _lines(sums: dict[str, list[float]], names: dict[str, str], *, servers: bool) -> tuple[SpendLine, ...]:
    ordered = sorted(sums.items(), key=lambda each: (-each[1][1], each[0]))
    lines = [
        SpendLine(names.get(name, name), today, week, name if servers else "")
        for name, (today, week) in ordered[:SHOWN]
    ]
    if rest := [each[1] for each in ordered[SHOWN:]]:
        lines.append(SpendLine(OTHERS, sum(each[0] for each in rest), sum(each[1] for each in rest)))
    return tuple(lines)
