# pyright: reportUnknownMemberType=false
# (matplotlib's own types are partly unknown)
"""A reliability diagram as a file; drawn in the command's own process, for matplotlib is slow to load and large."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from agentic.calibration.report import Group

COLUMNS = 3


def draw(groups: Sequence[Group], table: str, file: Path) -> None:
    """PNG, SVG or PDF by the file's ending, or a page that holds the picture and the table."""
    mpl.rcdefaults()  # it has read settings of the folder we are in, which can make it start programs
    figure = _figure(groups)
    if file.suffix != ".html":
        figure.savefig(file)
        return
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    picture = base64.b64encode(drawn.getvalue()).decode()
    file.write_text(
        "<!doctype html><meta charset=utf-8><title>Calibration</title><h1>How far the confidence can be believed</h1>"
        f'<img alt="Reliability diagrams of {len(groups)} groups" src="data:image/png;base64,{picture}">'
        f"<pre>{html.escape(table)}</pre>",
        encoding="utf-8",
    )


def _figure(groups: Sequence[Group]) -> Figure:
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
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="shown", ylabel="came out right")
        axes.set_title(f"{group.name}\n{group.labels} labels, Brier {group.shown:.3f}, ECE {group.ece:.3f}", fontsize=9)
    return figure
