"""`threadwright calibration`: how reliable the shown confidence was, per role and model, from stored labels.

With --rebuild each label is derived again from the logs, so that a home from before there were labels gets them too.
With --points the points of each reliability diagram are printed below the table; the console draws them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentic.calibration.fitting import LEAST_LABELS, fitted
from agentic.calibration.labelling import examples
from agentic.calibration.report import CalibrationGroup, report
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import LabelRow, Store
from agentic.stores.factory import open_store
from bot.after_run.calibration_labels import NEWEST, label
from bot.cli.console import fail, note, say
from bot.config.home import DATABASE
from bot.config.settings import Settings


async def calibration(settings: Settings, *, rebuild: bool, points: bool) -> int:
    """Print the table, and the points of its diagrams; 1 where there are no labels."""
    if settings.aws_place is None and not (settings.home / DATABASE).exists():
        return fail(f"There is nothing in {settings.home} yet: no task, no outcome.")
    store = open_store(settings.aws_place or settings.home / DATABASE)
    try:
        if rebuild:
            await _rebuild(store)
        rows = await store.labels()
    finally:
        await store.close()
    groups = report(rows)
    if not groups:
        return fail(_nothing(rows, rebuilt=rebuild))
    for line in (*_table(groups), "", *(_points(groups) if points else ()), _shown_by(rows)):
        say(line)
    return 0


async def _rebuild(store: Store) -> None:
    kept = left = 0
    async for row in store.all_executions():
        try:
            made = await label(store, row.execution)
        except AgenticError as error:
            note(f"{row.execution} was skipped: {error}")
            left += 1
            continue
        if made is not None:
            await store.put_label(made)
            kept += 1
    say(f"{kept} outcomes were worked out again{f', {left} tasks could not be read' if left else ''}.")


def _nothing(rows: Sequence[LabelRow], *, rebuilt: bool) -> str:
    if rows or rebuilt:
        return "No task has a known outcome: no check ran and nobody voted. 👍 and 👎 count."
    return "There is no known outcome yet. `threadwright calibration --rebuild` works them out from tasks that ended."


def _table(groups: Sequence[CalibrationGroup]) -> list[str]:
    lines = [
        f"{'role · model':<40} {'labels':>6} {'right':>6}   Brier score of",
        f"{'':<40} {'':>6} {'':>6} {'shown':>7} {'heuristic':>9} {'self':>6} {'rate':>6} {'ECE':>6}",
    ]
    return lines + [
        f"{each.name[:40]:<40} {each.labels:>6} {each.base_rate:>6.0%} {each.shown:>7.3f} {each.heuristic:>9.3f}"
        f" {each.self_report:>6.3f} {each.constant:>6.3f} {each.ece:>6.3f}"
        for each in groups
    ]


def _points(groups: Sequence[CalibrationGroup]) -> Iterator[str]:
    """Print of each group what was shown beside what turned out right, with the 95% interval of that."""
    for group in groups:
        yield f"{group.name[:40]:<40} {'shown':>6} {'right':>6} {'interval':>9} {'outcomes':>8}"
        for point in group.points:
            interval = f"{100 * point.low:.0f}-{100 * point.high:.0f}%"
            yield f"{'':<40} {point.said:>6.0%} {point.came:>6.0%} {interval:>9} {point.count:>8}"
        yield ""


def _shown_by(rows: Sequence[LabelRow]) -> str:
    """Say what new executions will show."""
    calibrator = fitted(examples(rows[-NEWEST:]))
    known = sum(row.known and not row.talk for row in rows)
    if calibrator is not None:
        kind = {"base_rate": "the base rate of role and model", "isotonic": "a logistic fit, put right by steps"}
        how = kind.get(calibrator.kind, "a logistic fit")
        return f"New tasks show {how}: calibrator {calibrator.id}, fitted on {calibrator.labels} outcomes."
    if known < LEAST_LABELS:
        return f"New tasks show the heuristic: {LEAST_LABELS} known outcomes are needed, there are {known}."
    return "New tasks show the heuristic: nothing fitted to these outcomes is better."
