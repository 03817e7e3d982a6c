"""Judgement: how far the confidence, the ladder of models and the judge can be believed."""

from __future__ import annotations

import asyncio

from aiohttp import web

from bot.console.access.viewer import Viewer
from bot.console.console_context import LIST_SECONDS, Console, Route
from bot.console.overall.figures.judge_figures import calibration_of, judges_of, ladder_of
from bot.console.overall.home_lists import WAIT_SECONDS
from bot.history.cost_summary import ASSUMPTIONS
from reflexion.errors import ReflexionError
from reflexion.lessons.lesson import Verdict

LABELS, TASKS = 5_000, 1_000
"""The newest outcomes, and the newest tasks, that are counted."""


async def judgement(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """The figures over the tasks that somebody may see."""
    rows = [row for row in reversed(await console.store.newest_executions(TASKS)) if row.finished]
    labels = await console.store.labels(newest=LABELS)
    verdicts, trouble = await _verdicts(console)
    threads = {each.thread for each in (*rows, *labels, *verdicts)}
    seen, complete = await console.among(viewer, threads, LIST_SECONDS)
    rows = [row for row in rows if row.thread in seen]
    labels = [row for row in labels if row.thread in seen]
    verdicts = [each for each in verdicts if each.thread in seen]
    missing = await console.summaries.read(rows, WAIT_SECONDS)
    tasks = [each for row in rows if (each := console.summaries.latest(row.execution)) is not None]
    calibration, judges = await asyncio.to_thread(lambda: (calibration_of(labels), judges_of(verdicts, labels)))
    return console.page(
        "judgement.html", viewer, calibration=calibration, judges=judges, ladder=ladder_of(tasks, labels), trouble=trouble,
        missing=missing, waits=not complete, ended=len(rows), assumptions=ASSUMPTIONS, tasks=TASKS, labels=LABELS,
    )  # fmt: skip


async def _verdicts(console: Console) -> tuple[list[Verdict], str]:
    """The newest verdicts, or why there are none."""
    if console.lessons is None:
        return [], "Lessons can't be read, so nothing is known of judges."
    try:
        return list(await console.lessons.verdicts(None))[-LABELS:], ""
    except ReflexionError as error:
        return [], f"Lessons can't be read now, so nothing is known of judges: {error}."


ROUTES: tuple[Route, ...] = (("GET", "/judgement", judgement),)
