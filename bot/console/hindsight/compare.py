"""Two tasks compared, and the page where they are chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from agentic.core.events.execution_events import Envelope, ModelRequested, Started
from agentic.core.text.foreign_text import mark_of
from agentic.ports.runtime import ExecutionRow
from agentic.runtime.request_refs import NotStored, as_sent
from bot.console.access.viewer import Viewer
from bot.console.console_context import LIST_SECONDS, NO_TASK, Console, Route, task_path
from bot.console.hindsight.relatives import started_of
from bot.console.hindsight.task_comparison import (
    Parting,
    Row,
    aligned,
    beginnings,
    cost_split,
    lesson_rows,
    parting,
    prompt_difference,
    side_names,
    steps_of,
)
from bot.console.logs.task_log import TaskLog
from bot.console.views.decision_trace import NEAR, Trace, trace_of
from bot.console.views.task_status import status_of
from bot.console.views.time_split import TimeReading, TimeSplit
from bot.history.run_history import newest_task
from bot.history.task_names import names_in

LOOKED_AT = 40
"""So many of the newest tasks, and of those of a thread, are looked at for attempts at the same one."""
ROWS, ROWS_BEFORE = 160, 10
"""Rows that are shown at once, and those of them before the parting."""
LESSONS = 60
PROMPT_WITHIN = 2_000
"""The first request of a turn is looked for in so many events."""
NAMES = 4
"""So many ids of a link are tried."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tasks that are ready to be compared."""

    first: ExecutionRow
    second: ExecutionRow
    words: str
    """How they are related."""
    task: str


@dataclass(frozen=True, slots=True)
class Side:
    """A task of the two."""

    log: TaskLog
    task: str
    split: TimeSplit
    costs: dict[str, float]
    tiers: str
    trace: Trace | None


async def choose(console: Console, request: web.Request, viewer: Viewer) -> web.StreamResponse:
    """Choose two tasks by an id, a thread or a link: ``?a=…&b=…``; with one of them, what it can be compared with."""
    given = [request.query.get(name, "").strip()[:400] for name in ("a", "b")]
    found = [await _named(console, viewer, name) if name else None for name in given]
    if found[0] is not None and found[1] is not None:
        raise web.HTTPFound(f"/compare/{found[0].execution}/{found[1].execution}")
    wrong = any(name and one is None for name, one in zip(given, found, strict=True))
    first = found[0] or found[1]
    pairs = [] if wrong else await _pairs(console, viewer, first)
    page = console.page(
        "compare_choice.html",
        viewer,
        given=given,
        first=first,
        title=_task(console, first) if first else "",
        pairs=pairs,
        words=NO_TASK if wrong else "",
    )
    page.set_status(404 if wrong else 200)
    return page


async def compare(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """Two tasks side by side, the steps around their parting; ``?from=120`` those from there on."""
    logs = [await _seen(console, viewer, request.match_info[name]) for name in ("a", "b")]
    started = logs[0].events[0].event, logs[1].events[0].event
    if not isinstance(started[0], Started) or not isinstance(started[1], Started):
        raise web.HTTPNotFound(text=NO_TASK)
    names = side_names(started[0], started[1], (logs[0].execution, logs[1].execution))
    rows, parted, traces = await asyncio.to_thread(_compared, logs[0], logs[1], (_said(names[0]), _said(names[1])))
    sides = [
        Side(
            log,
            _task(console, log.row),
            log.reading(TimeReading).split(),
            cost_split(log.events, log.outcome),
            _tiers(log),
            trace,
        )
        for log, trace in zip(logs, traces, strict=True)
    ]
    prompts = await asyncio.gather(*(_prompt(console, log.events) for log in logs))
    problem = next((each for each in prompts if isinstance(each, NotStored)), None)
    difference: list[tuple[str, str]] = []
    cut = False
    if not isinstance(prompts[0], NotStored) and not isinstance(prompts[1], NotStored):
        difference, cut = await asyncio.to_thread(prompt_difference, prompts[0], prompts[1])
    first, last = _window(len(rows), parted, request.query.get("from", ""))
    lessons = lesson_rows(started[0], started[1])
    return console.page(
        "compare.html", viewer, sides=sides, statuses=[status_of(log) for log in logs],
        paths=[task_path(log) for log in logs], here=f"/compare/{logs[0].execution}/{logs[1].execution}",
        rows=list(enumerate(rows))[first:last], before=first, earlier=max(first - ROWS, 0),
        after=len(rows) - last, last=last, parted=parted,
        names=[f"{name[0].upper()}{name[1:]}" for name in names],
        began=beginnings(started[0], started[1]), lessons=lessons[:LESSONS], more_lessons=max(len(lessons) - LESSONS, 0),
        difference=difference, cut=cut, problem=problem,
    )  # fmt: skip


def _compared(
    one: TaskLog, other: TaskLog, names: tuple[str, str]
) -> tuple[list[Row], Parting | None, tuple[Trace | None, Trace | None]]:
    left, right = list(one.events), list(other.events)
    rows = aligned(steps_of(left), steps_of(right))
    parted = parting(rows, left, right, names)
    if parted is None:
        return rows, None, (None, None)
    return rows, parted, (_trace(one, parted.left_seq), _trace(other, parted.right_seq))


def _said(name: str) -> str:
    """The name of a side within a sentence."""
    return (
        name
        if name.startswith(("attempt", "one", "the"))
        else f"the {name}{' one' if name in ('left', 'right') else ''}"
    )


def _trace(log: TaskLog, seq: int) -> Trace:
    return trace_of(log.events[:seq], seq, log.near(seq - NEAR))


def _window(count: int, parted: Parting | None, wanted: str) -> tuple[int, int]:
    place = parted.row - ROWS_BEFORE if parted is not None else 0
    first = min(int(wanted[:7]), count) if wanted.isdecimal() else max(place, 0)
    return first, min(first + ROWS, count)


def _tiers(log: TaskLog) -> str:
    """The tiers that it worked in, in their order."""
    tiers = [turn.tier for turn in log.story.turns if turn.tier]
    steps = [tier for place, tier in enumerate(tiers) if not place or tiers[place - 1] != tier]
    shown = " → ".join(str(tier) for tier in steps[:12])
    return f"{shown} …" if len(steps) > 12 else shown or str(log.folded.tier)


async def _prompt(console: Console, log: Sequence[Envelope]) -> str | NotStored:
    """What the model read before the first turn: the system prompt and the first message."""
    near = log[:PROMPT_WITHIN]
    first = next((e for e in near if isinstance(e.event, ModelRequested) and e.event.purpose == "turn"), None)
    if first is None or not isinstance(first.event, ModelRequested):
        return NotStored("there is no turn in it yet")
    try:
        sent = await as_sent(console.store, near[: first.seq], first.event.request)
    except NotStored as missing:
        return missing
    opening = sent.prompt.messages[0].text if sent.prompt.messages else ""
    text = console.discretion.text(f"{sent.prompt.system}\n\n[first message]\n{opening}")
    mark = mark_of(started) if isinstance(started := log[0].event, Started) else ""
    return text.replace(mark, "#mark") if mark else text  # it is another one in each task


async def _seen(console: Console, viewer: Viewer, execution: str) -> TaskLog:
    """A task that somebody may see. Raises ``HTTPNotFound``."""
    if await console.row(viewer, execution) is None:
        raise web.HTTPNotFound(text=NO_TASK)
    log = await console.logs.task(execution)
    if log is None or not log.events:
        raise web.HTTPNotFound(text=NO_TASK)
    return log


async def _named(console: Console, viewer: Viewer, given: str) -> ExecutionRow | None:
    """The task that an id, a thread's id or a link means, the newest of a thread; None for none that is seen."""
    for name in names_in(given)[:NAMES]:
        execution = await newest_task(console.store, name) if name.isdecimal() else name
        if (row := await console.row(viewer, execution[:120])) is not None:
            return row
    return None


async def _pairs(console: Console, viewer: Viewer, one: ExecutionRow | None) -> list[Pair]:
    """Attempts and forks with what they came from; of one task, or of the newest."""
    rows = {row.execution: row for row in await console.store.newest_executions(LOOKED_AT)}
    if one is not None:
        rows |= {row.execution: row for row in (await console.store.executions(one.thread))[-LOOKED_AT:]}
        rows[one.execution] = one
    pairs: list[Pair] = []
    seen, _ = await console.among(viewer, (row.thread for row in rows.values()), LIST_SECONDS)
    for row in rows.values():
        started = await started_of(console, row.execution) if row.thread in seen else None
        if started is None:
            continue
        for source, words in _relations(started):
            origin = await console.listed(viewer, source)
            if origin is not None and (one is None or one.execution in (source, row.execution)):
                pairs.append(Pair(origin, row, words, _task(console, row)))
    if one is not None:
        related = {execution for pair in pairs for execution in (pair.first.execution, pair.second.execution)}
        others = [
            row for row in rows.values() if row.thread == one.thread and row.execution not in {*related, one.execution}
        ]
        pairs[:0] = [Pair(one, row, "another task of the thread", _task(console, row)) for row in others]
    return pairs[::-1]


def _task(console: Console, row: ExecutionRow) -> str:
    return console.discretion.text(row.task[:1_000])[:120] or "(no words)"


def _relations(started: Started) -> list[tuple[str, str]]:
    """What a task came from: (execution, in words)."""
    found = [(started.trial_of, f"the first attempt and attempt {started.attempt}")] if started.trial_of else []
    if started.forked_from is not None:
        found.append((started.forked_from[0], "a task and what goes on from it"))
    return found


ROUTES: tuple[Route, ...] = (
    ("GET", "/compare", choose),
    ("GET", r"/compare/{a:[\w.:-]{1,120}}/{b:[\w.:-]{1,120}}", compare),
)
