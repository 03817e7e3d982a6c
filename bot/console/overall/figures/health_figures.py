"""How the bot is, from what it told and from what the store holds; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from bot.console.overall.figures.task_summary import TaskSummary

ROWS, COLUMNS, CELL = 100, 8, 160
"""Most of a table that is shown, and of one field."""
TABLES = ("queues", "lost leases", "sandboxes", "threads")
SLOW_SECONDS = 0.5
"""A stall that people notice."""
TODO = {
    "failed": "Its Thoughts end with the reason; 🔄 under the answer tries it again",
    "stuck": "Say in its thread what would help, or start it with a stronger model",
    "damaged": "`threadwright doctor` names the damage; `threadwright import` brings a backup back",
    "set_aside": "The bot's log says how the process ended; write in its thread to go on",
}
"""What to do about a task in such a state."""


@dataclass(frozen=True, slots=True)
class HealthTable:
    """Something the bot told, as a table."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ToldPart:
    """A component; ``state``: ok, limited or failing."""

    name: str
    state: str
    what: str
    todo: str


@dataclass(frozen=True, slots=True)
class ToldHealth:
    """What only the bot knows. ``stall``: the longest time lately in which its loop served nobody."""

    parts: tuple[ToldPart, ...]
    stall: float | None
    tables: tuple[HealthTable, ...]

    @property
    def slow(self) -> bool:
        """People notice the stall."""
        return self.stall is not None and self.stall >= SLOW_SECONDS


@dataclass(frozen=True, slots=True)
class TaskTrouble:
    """A task that went wrong, and what to do."""

    task: TaskSummary
    todo: str


def told_health(told: Mapping[str, object]) -> ToldHealth:
    """Read what the bot told; what is not as expected is shown as it is."""
    stall = told.get("longest_stall_seconds")
    tables = (_table(name, told[name]) for name in TABLES if told.get(name) is not None)
    return ToldHealth(
        tuple(
            ToldPart(*(_cell(each.get(key, "")) for key in ("name", "state", "what", "todo")))
            for each in _maps(told.get("parts"))
        ),
        float(stall) if isinstance(stall, int | float) else None,
        tuple(tables),
    )


def troubles(tasks: Iterable[TaskSummary]) -> tuple[TaskTrouble, ...]:
    """The tasks among these that went wrong."""
    return tuple(TaskTrouble(task, TODO[task.state]) for task in tasks if task.state in TODO)


def _table(title: str, told: object) -> HealthTable:
    rows = _maps(told)
    if rows:
        columns = tuple(dict.fromkeys(str(key) for row in rows for key in row))[:COLUMNS]
        return HealthTable(title, columns, tuple(tuple(_cell(row.get(key, "")) for key in columns) for row in rows))
    if isinstance(told, dict):
        pairs = list(cast("dict[object, object]", told).items())[:ROWS]
        columns = ("Queue", "Waiting") if title == "queues" else ("Part", "Number")
        return HealthTable(title, columns, tuple(_pair(str(key), value) for key, value in pairs))
    if isinstance(told, list):
        return HealthTable(title, ("Part",), tuple((_cell(each),) for each in cast("list[object]", told)[:ROWS]))
    return HealthTable(title, ("Number",), ((_cell(told),),))


def _pair(name: str, value: object) -> tuple[str, str]:
    """A count or a time with its name, which says “, seconds” of a time."""
    plain = name.removesuffix(", seconds")
    return _cell(plain), f"{_cell(value)} s" if plain != name else _cell(value)


def _maps(told: object) -> list[dict[str, object]]:
    rows = cast("list[object]", told) if isinstance(told, list) else []
    return [cast("dict[str, object]", each) for each in rows[:ROWS] if isinstance(each, dict)]


def _cell(value: object) -> str:
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    return text if len(text) <= CELL else f"{text[:CELL]}…"
