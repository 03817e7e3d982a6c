"""`threadwright calibration`: how reliable the shown confidence was, per role and model, from stored labels.

With --rebuild each label is derived again from the logs, so that a home from before there were labels gets them too.
With --diagram FILE a reliability diagram is drawn: PNG, SVG or PDF by the file's ending, or a page that contains it
(.html). It is drawn in the command's own process, since matplotlib is slow to load and large.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

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

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are partly unknown)


COLUMNS = 3


def draw(groups: Sequence[CalibrationGroup], table: str, file: Path) -> None:
    """Draw a PNG, SVG or PDF by the file's ending, or a page with the picture and the table."""
    mpl.rcdefaults()  # it has read settings of the folder we are in, which can make it start programs
    figure = _figure(groups)
    if file.suffix != ".html":
        figure.savefig(file)
        return
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    picture = base64.b64encode(drawn.getvalue()).decode()
    file.write_text(
        "<!doctype html><meta charset=utf-8><title>Calibration</title><h1>How reliable the confidence is</h1>"
        f'<img alt="Reliability diagrams of {len(groups)} groups" src="data:image/png;base64,{picture}">'
        f"<pre>{html.escape(table)}</pre>",
        encoding="utf-8",
    )


def _figure(groups: Sequence[CalibrationGroup]) -> Figure:
    columns = min(COLUMNS, len(groups))
    down = -(-len(groups) // columns)
    figure = Figure(figsize=(4 * columns, 4 * down), layout="constrained")
    for number, group in enumerate(groups, start=1):
        axes = figure.add_subplot(down, columns, number)
        said, came = [point.said for point in group.points], [point.came for point in group.points]
        below = [point.came - point.low for point in group.points]
        above = [point.high - point.came for point in group.points]
        axes.plot([0, 1], [0, 1], linestyle=":", color="grey")
        axes.errorbar(said, came, yerr=[below, above], marker="o", capsize=3)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="shown", ylabel="turned out right")
        axes.set_title(
            f"{group.name}\n{group.labels} outcomes, Brier {group.shown:.3f}, ECE {group.ece:.3f}", fontsize=9
        )
    return figure


DRAWN = 9
"""Maximum number of groups in a diagram."""
KINDS = (".png", ".svg", ".pdf", ".html")


async def calibration(settings: Settings, *, rebuild: bool, diagram: Path | None) -> int:
    """Print the table, and draw; 1 where there are no labels."""
    refused = _refused(settings, diagram)
    if refused:
        return fail(refused)
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
    for line in (*_table(groups), "", _shown_by(rows)):
        say(line)
    if diagram is not None:
        draw(groups[:DRAWN], "\n".join(_table(groups)), diagram)
        say(f"The diagram is in {diagram}.")
    return 0


def _refused(settings: Settings, diagram: Path | None) -> str:
    if diagram is not None and (diagram.suffix not in KINDS or diagram.exists()):
        return f"{diagram}: name a new file that ends in {', '.join(KINDS)}."
    if settings.aws_place is None and not (settings.home / DATABASE).exists():
        return f"There is nothing in {settings.home} yet: no task, no outcome."
    return ""


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
