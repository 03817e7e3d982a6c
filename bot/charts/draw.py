"""Draw a chart: JSON on standard input, a PNG on standard output.

This is a program of its own: it imports nothing of the bot's, so that it can be started from anywhere and its memory
is freed.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# the drawing library is typed in part
from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAPER, INK, FAINT, GRID = "#1e1f22", "#dbdee1", "#949ba4", "#3f4147"
LINE, HEURISTIC, RISE, GOOD, BAD = "#7c9cff", "#949ba4", "#f0b232", "#43b581", "#f04747"
BANDS = ((0, 30, BAD, "critical"), (30, 50, "#f0883e", "low"), (50, 70, "#e3d05a", "moderate"), (70, 100, GOOD, "high"))
WIDTH, HEIGHT, DOTS = 8.0, 3.6, 150
Chart = dict[str, Any]


def main() -> int:
    """Draw the chart on standard input."""
    chart: Chart = json.load(sys.stdin.buffer)
    mpl.rcParams.update({"font.family": ["DejaVu Sans"], "font.size": 9, "text.color": INK})
    figure = {"confidence": confidence, "escalation": escalation}[chart["kind"]](chart)
    figure.savefig(sys.stdout.buffer, format="png", dpi=DOTS, facecolor=PAPER)
    return 0


def confidence(chart: Chart) -> Figure:
    """Draw the confidence turn by turn, over its bands."""
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    axes = _axes(figure.add_subplot(), chart, "confidence")
    axes.set_ylim(0, 100)
    axes.set_yticks((0, 30, 50, 70, 100))
    right = axes.get_xlim()[1]
    for low, high, colour, word in BANDS:
        axes.axhspan(low, high, color=colour, alpha=0.07, lw=0)
        axes.annotate(word, (right, (low + high) / 2), xytext=(4, 0), textcoords="offset points", va="center",
                      fontsize=8, color=colour, annotation_clip=False)  # fmt: skip
    differs = any(point["shown"] != point["heuristic"] for run in chart["runs"] for point in run["points"])
    for number, run in enumerate(chart["runs"]):
        xs = [point["x"] for point in run["points"]]
        if differs:
            axes.plot(xs, [point["heuristic"] for point in run["points"]], color=HEURISTIC, lw=1, ls=":",
                      label="before calibration" if not number else None)  # fmt: skip
        axes.plot(xs, [point["shown"] for point in run["points"]], color=LINE, lw=2, marker="o", ms=4,
                  label="confidence" if not number and differs else None)  # fmt: skip
        last = run["points"][-1]
        above = last["shown"] < 88
        axes.annotate(str(last["shown"]), (last["x"], last["shown"]), xytext=(0, 7 if above else -13), ha="center",
                      textcoords="offset points", fontsize=9, fontweight="bold")  # fmt: skip
    _marks(axes, chart, 4)
    if differs:
        axes.legend(loc="lower left", frameon=False, labelcolor=INK, fontsize=8)
    return figure


def escalation(chart: Chart) -> Figure:
    """Draw which tier answered each turn, and the dollars spent by then."""
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    axes = _axes(figure.add_subplot(), chart, "tier")
    numbers = sorted({number for number, _ in chart["tiers"]} | {p["tier"] for r in chart["runs"] for p in r["points"]})
    names = dict(chart["tiers"])
    axes.set_ylim(numbers[0] - 0.6, numbers[-1] + 0.9)
    axes.set_yticks(numbers, [f"{number}  {_short(names.get(number, ''))}" for number in numbers])
    money = axes.twinx()
    money.set_ylabel("US dollars", color=FAINT)
    money.tick_params(colors=FAINT, length=0)
    money.set_facecolor(PAPER)
    for run in chart["runs"]:
        xs = [x for point in run["points"] for x in (point["x"] - 0.5, point["x"] + 0.5)]
        usd, tiers = ([point[name] for point in run["points"] for _ in (0, 1)] for name in ("usd", "tier"))
        money.fill_between(xs, usd, color=FAINT, alpha=0.18, lw=0)
        axes.plot(xs, tiers, color=LINE, lw=3)
    money.set_ylim(0, max((p["usd"] for r in chart["runs"] for p in r["points"]), default=0.0) * 1.4 or 1.0)
    for number, mark in enumerate((m for m in chart["marks"] if m["sort"] == "escalated"), start=1):
        axes.annotate(str(number), (mark["x"], mark["tier"]), xytext=(0, 9), textcoords="offset points", ha="center",
                      fontsize=9, fontweight="bold", color=RISE)  # fmt: skip
        axes.plot([mark["x"]], [mark["tier"]], marker="^", ms=9, color=RISE)
    for spine in money.spines.values():
        spine.set_visible(False)
    axes.set_zorder(money.get_zorder() + 1)
    axes.patch.set_visible(False)
    return figure


def _axes(axes: Axes, chart: Chart, what: str) -> Axes:
    """Draw the common frame: turns on the x axis, executions side by side."""
    runs = chart["runs"]
    axes.set_facecolor(PAPER)
    axes.set_xlim(runs[0]["begins"] + 0.4, max(runs[-1]["ends"] + 0.6, runs[0]["begins"] + 2))
    axes.set_xlabel("turn", color=FAINT)
    axes.set_ylabel(what, color=FAINT)
    axes.tick_params(colors=FAINT, length=0)
    axes.grid(axis="y", color=GRID, lw=0.6)
    for spine in axes.spines.values():
        spine.set_visible(False)
    ticks = _ticks(runs)
    axes.set_xticks([x for x, _ in ticks], [label for _, label in ticks])
    for before, after in pairwise(runs):
        axes.axvline((before["ends"] + after["begins"]) / 2 + 0.5, color=GRID, lw=1)
    wide = runs[-1]["ends"] - runs[0]["begins"]
    for run in runs:
        room = max(int(76 * (run["ends"] - run["begins"]) / wide), 3)
        title = f"{run['title']} · {run['ended']}" if run["ended"] else run["title"]
        axes.annotate(title if len(title) <= room else title[: room - 1] + "…", (run["begins"] + 0.5, 1.02),
                      xycoords=("data", "axes fraction"), fontsize=8, color=FAINT, parse_math=False)  # fmt: skip
    return axes


def _ticks(runs: Sequence[Chart]) -> list[tuple[float, str]]:
    """Return the ticks; turns count from 1 in each execution."""
    turns = sum(len(run["points"]) for run in runs)
    every = max(int(MaxNLocator(nbins=12, integer=True).tick_values(0, turns)[1]), 1)
    return [
        (point["x"], str(number))
        for run in runs
        for number, point in enumerate(run["points"], start=1)
        if number == 1 or number % every == 0
    ]


def _marks(axes: Axes, chart: Chart, low: float) -> None:
    for mark in chart["marks"]:
        if mark["sort"] == "escalated":
            axes.axvline(mark["x"], color=RISE, lw=1.2, ls="--")
            axes.annotate(f"▲ tier {mark['tier']}", (mark["x"], low), xytext=(3, 0), textcoords="offset points",
                          fontsize=8, color=RISE)  # fmt: skip
        else:
            good = mark["sort"] == "up"
            axes.annotate("▲ good" if good else "▼ bad", (mark["x"], low), xytext=(0, 10), textcoords="offset points",
                          ha="center", fontsize=8, color=GOOD if good else BAD)  # fmt: skip


def _short(name: str) -> str:
    bare = name.rpartition("/")[2]
    return bare if len(bare) <= 22 else bare[:21] + "…"


if __name__ == "__main__":
    sys.exit(main())
