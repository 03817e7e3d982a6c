"""`threadwright calibration`: how far the confidence that was shown can be believed, per role and model, from stored labels.

With --rebuild each label is derived again from the logs, so that a home from before there were labels gets them too.  With
--diagram FILE a reliability diagram is drawn: PNG, SVG or PDF by the file's ending, or a page that holds it (.html).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentic.calibration.fitting import LEAST_LABELS, fitted
from agentic.calibration.labelling import examples
from agentic.calibration.report import Group, report
from agentic.errors import AgenticError
from agentic.ports import LabelRow, Store
from bot.calibrating import NEWEST, label
from bot.commandline.output import fail, note, say
from bot.settings import Settings
from bot.state import DATABASE, open_store

DRAWN = 9
"""Groups in a diagram."""
KINDS = (".png", ".svg", ".pdf", ".html")


async def calibration(settings: Settings, *, rebuild: bool, diagram: Path | None) -> int:
    """Print the table, and draw; 1 where there is nothing to tell."""
    refused = _refused(settings, diagram)
    if refused:
        return fail(refused)
    store = open_store(settings.home / DATABASE)
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
        from bot.commandline.diagram import draw

        draw(groups[:DRAWN], "\n".join(_table(groups)), diagram)
        say(f"The diagram is in {diagram}.")
    return 0


def _refused(settings: Settings, diagram: Path | None) -> str:
    if diagram is not None and (diagram.suffix not in KINDS or diagram.exists()):
        return f"{diagram}: name a new file that ends in {', '.join(KINDS)}."
    if not (settings.home / DATABASE).exists():
        return f"There is nothing in {settings.home} yet: no execution, no label."
    return ""


async def _rebuild(store: Store) -> None:
    kept = left = 0
    for row in await store.executions():
        try:
            made = await label(store, row.execution)
        except AgenticError as error:
            note(f"{row.execution} is left out: {error}")
            left += 1
            continue
        if made is not None:
            await store.put_label(made)
            kept += 1
    say(f"{kept} labels were derived again{f', {left} executions could not be read' if left else ''}.")


def _nothing(rows: Sequence[LabelRow], *, rebuilt: bool) -> str:
    if rows or rebuilt:
        return "Of no execution it is known how it came out: no check ran, nobody voted. 👍 and 👎 count."
    return "There is no label yet. `threadwright calibration --rebuild` derives them from executions that ended."


def _table(groups: Sequence[Group]) -> list[str]:
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
    """What new executions will show."""
    calibrator = fitted(examples(rows[-NEWEST:]))
    known = sum(row.known and not row.talk for row in rows)
    if calibrator is not None:
        kind = {"base_rate": "the base rate of role and model", "isotonic": "a logistic fit, put right by steps"}
        how = kind.get(calibrator.kind, "a logistic fit")
        return f"New executions show {how}: calibrator {calibrator.id}, fitted on {calibrator.labels} labels."
    if known < LEAST_LABELS:
        return f"New executions show the heuristic: {LEAST_LABELS} labels are needed, there are {known}."
    return "New executions show the heuristic: on these labels nothing fitted is better."
