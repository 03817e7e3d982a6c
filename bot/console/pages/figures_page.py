"""The tabs Metrics and Timeline of a task: its figures and its time, turn by turn and in all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from aiohttp import web

from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route
from bot.console.logs.task_log import TaskLog
from bot.console.pages.list_parts import part_of
from bot.console.pages.task import TASK, tab
from bot.console.views.chart import POINTS
from bot.console.views.task_figures import NAMES, TurnFigures, charts
from bot.console.views.time_split import KINDS, TimeKind, TimeReading, TimeSpan, TimeSplit, TurnTime

ROWS_AT_ONCE = 100
"""Turns in the table of a page."""
TURNS_AT_ONCE = 40
"""Turns in the waterfall of a page."""
STEPS_AT_ONCE = 60
"""Steps of one turn in the waterfall."""
WIDTH = 1_000.0
"""Of the field that bars are drawn in."""
ASKED = {
    "question": "an answer", "approval": "an approval", "extension": "more turns, time or money", "plan": "a word on its plan",
    "approaches": "a choice between approaches",
}  # fmt: skip
"""What is waited for, by the sort of the question."""
STYLES: dict[TimeKind, int] = {kind: style for style, kind in enumerate(KINDS, 1)}


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a bar, from 0 to ``WIDTH``."""

    x: float
    width: float
    style: int


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step of a turn with its bar, in the time of its turn."""

    span: TimeSpan
    name: str
    bar: Bar


@dataclass(frozen=True, slots=True)
class TurnRows:
    """A turn in the waterfall: its time in parts, and its steps."""

    time: TurnTime
    seq: int
    parts: tuple[tuple[str, float, Bar], ...]
    steps: tuple[StepRow, ...]
    more: int = 0
    """Steps that are not shown."""


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A turn's figures with its time."""

    figures: TurnFigures
    time: TurnTime | None


@dataclass(frozen=True, slots=True)
class TimeLane:
    """One sort of time over the whole task, as a path."""

    name: str
    style: int
    seconds: float
    share: float
    path: str


async def metrics(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """Figures of each turn and of all. ``?turn=7`` answers what that turn cost, ``?page=1`` shows earlier turns."""
    log = await console.task(request, viewer)
    numbers = [turn.number for turn in log.story.figures.turns]
    part = part_of(request, numbers, ROWS_AT_ONCE)
    rows = rows_of(log, numbers[part.first : part.end])
    return await tab(
        console, viewer, log, "metrics", "metrics.html", part=part, rows=rows,
        sought=next((row for row in rows if row.figures.number == part.wanted), None),
        live="metrics" if part.newest else "status", **figures_of(log),
    )  # fmt: skip


async def timeline(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """A waterfall of the time. ``?turn=7`` shows the page with that turn, ``?page=1`` earlier turns."""
    log = await console.task(request, viewer)
    numbers = [turn.number for turn in _split(log).turns]
    part = part_of(request, numbers, TURNS_AT_ONCE)
    return await tab(
        console, viewer, log, "timeline", "timeline.html", part=part, turns=turn_times_of(log, numbers[part.first : part.end]),
        live="timeline" if part.newest else "status", **times_of(log),
    )  # fmt: skip


def figures_of(log: TaskLog) -> dict[str, object]:
    """What the summary of the metrics shows."""
    figures, tables = log.story.figures, log.story.figures.tables_with(log.outcome)
    totals = (
        ("By model", "Model", sorted(tables.by_model.items(), key=lambda pair: -pair[1].usd)),
        ("By tier", "Tier", sorted(tables.by_tier.items())),
        ("By purpose", "For", sorted(tables.by_purpose.items(), key=lambda pair: -pair[1].usd)),
    )
    return {"figures": figures, "charts": charts(figures, _split(log).turns), "totals": totals}


def rows_of(log: TaskLog, numbers: Collection[int]) -> list[FigureRow]:
    """The figures of these turns."""
    times = {time.number: time for time in _split(log).turns} if numbers else {}
    return [FigureRow(turn, times.get(turn.number)) for turn in log.story.figures.turns if turn.number in numbers]


def times_of(log: TaskLog) -> dict[str, object]:
    """What the summary of the timeline shows."""
    split = _split(log)
    whole = split.total or 1.0
    lanes = [
        TimeLane(NAMES[kind], STYLES[kind], split.seconds[kind], split.seconds[kind] / whole, _path(split, kind))
        for kind in KINDS
    ]
    return {"split": split, "lanes": lanes}


def turn_times_of(log: TaskLog, numbers: Collection[int]) -> list[TurnRows]:
    """The waterfall of these turns."""
    split = _split(log)
    seqs = {turn.number: turn.seq for turn in log.story.figures.turns}
    steps: dict[int, list[TimeSpan]] = {number: [] for number in numbers}
    for span in split.spans:
        if span.turn in steps:
            steps[span.turn].append(span)
    return [
        _rows(turn, seqs.get(turn.number, 0), sorted(steps[turn.number], key=lambda span: (span.begun, span.seq)))
        for turn in split.turns
        if turn.number in steps
    ]


def _split(log: TaskLog) -> TimeSplit:
    return log.reading(TimeReading).split(None if log.ended else datetime.now(UTC))


def _rows(turn: TurnTime, seq: int, spans: Sequence[TimeSpan]) -> TurnRows:
    whole = max(turn.total, max((span.ended - turn.begun for span in spans), default=0.0)) or 1.0
    parts: list[tuple[str, float, Bar]] = []
    at = 0.0
    for kind in KINDS:
        if turn.seconds[kind] > 0:
            parts.append((NAMES[kind], turn.seconds[kind], _bar(at, turn.seconds[kind], whole, kind)))
            at += turn.seconds[kind]
    rows = tuple(
        StepRow(
            span, f"{NAMES['person']}: {ASKED.get(span.what, span.what)}" if span.kind == "person" else span.what,
            _bar(span.begun - turn.begun, span.seconds, whole, span.kind),
        )
        for span in spans[:STEPS_AT_ONCE]
    )  # fmt: skip
    return TurnRows(turn, seq, tuple(parts), rows, max(len(spans) - STEPS_AT_ONCE, 0))


def _bar(begun: float, seconds: float, whole: float, kind: TimeKind) -> Bar:
    x = min(max(begun / whole, 0.0), 1.0) * WIDTH
    return Bar(round(x, 1), round(min(max(seconds / whole * WIDTH, 2.0), WIDTH - x), 1), STYLES[kind])


def _path(split: TimeSplit, kind: TimeKind) -> str:
    """When something of a kind was, over the whole time.

    Of many moments, how much of each of ``POINTS`` equal parts, as a bar's height.
    """
    if len(split.moments) <= POINTS:
        scale = WIDTH / (split.total or 1.0)
        spans = [(begun * scale, ended * scale) for each, begun, ended in split.moments if each == kind]
        return "".join(f"M{begun:.1f} 10V0H{max(ended, begun + 1):.1f}V10z" for begun, ended in spans)
    width = split.total / POINTS or 1.0
    shares = [0.0] * POINTS
    for each, begun, ended in split.moments:
        if each != kind:
            continue
        first, last = int(begun / width), min(int(ended / width), POINTS - 1)
        for at in range(first, last + 1):
            shares[at] += max(min(ended, (at + 1) * width) - max(begun, at * width), 0.0) / width
    return "".join(
        f"M{at * WIDTH / POINTS:.1f} 10V{10 - 10 * min(share, 1.0):.1f}h{WIDTH / POINTS:.1f}V10z"
        for at, share in enumerate(shares)
        if share > 0.005
    )


ROUTES: tuple[Route, ...] = (("GET", TASK + "/metrics", metrics), ("GET", TASK + "/timeline", timeline))
