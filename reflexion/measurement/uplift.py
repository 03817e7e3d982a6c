"""What lessons are worth, measured: tasks that went well with a lesson against those from which it was held back.  Pure.

Only a lesson that was held back by chance says what would have become of the task without it; one that was crowded out
by better ones does not.  One lesson: the difference of the two shares with Newcombe's interval (its hybrid score method,
from two Wilson intervals).  All lessons: Mantel and Haenszel's difference, each lesson a stratum of its own, so that a
lesson for easy tasks is compared with itself only; its interval by Sato's variance, which holds where each lesson was
held back only once or twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentic.calibration.scoring import wilson
from reflexion.lessons.lifecycle import Showing

_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Uplift:
    """How much more often it goes well with than without, −1 to 1, with the 95% interval."""

    difference: float
    low: float
    high: float
    shown: int
    shown_ok: int
    held_back: int
    held_back_ok: int


@dataclass(frozen=True, slots=True)
class _Table:
    """How many with it and without it, and how many of them went well."""

    shown: int
    shown_ok: int
    held: int
    held_ok: int


def points(share: float) -> str:
    """A difference of shares in points, with its sign: '+30', '−5', '±0'."""
    value = round(100 * share)
    return f"{'+' if value > 0 else '−' if value < 0 else '±'}{abs(value)}"


def uplift_of(showings: Sequence[Showing]) -> Uplift | None:
    """Of one lesson; None until it was both shown and held back."""
    table = _table(showings)
    return _newcombe(table) if table.shown and table.held else None


def overall_uplift(showings: Sequence[Showing]) -> Uplift | None:
    """Of all lessons that were both shown and held back; None while there is none.

    Each showing of a lesson counts, so an execution with two lessons counts for both.
    """
    by_lesson: dict[str, list[Showing]] = {}
    for showing in showings:
        by_lesson.setdefault(showing.lesson, []).append(showing)
    tables = [table for each in by_lesson.values() if (table := _table(each)).shown and table.held]
    if not tables:
        return None
    return _newcombe(tables[0]) if len(tables) == 1 else _stratified(tables)


def _table(showings: Iterable[Showing]) -> _Table:
    shown = [each.ok for each in showings if each.says and each.arm == "shown"]
    held = [each.ok for each in showings if each.says and each.arm == "held_back"]
    return _Table(len(shown), sum(shown), len(held), sum(held))


def _newcombe(table: _Table) -> Uplift:
    with_it, without = table.shown_ok / table.shown, table.held_ok / table.held
    (low_with, high_with), (low_without, high_without) = wilson(with_it, table.shown), wilson(without, table.held)
    difference = with_it - without
    return Uplift(
        difference,
        max(difference - math.hypot(with_it - low_with, high_without - without), -1.0),
        min(difference + math.hypot(high_with - with_it, without - low_without), 1.0),
        table.shown, table.shown_ok, table.held, table.held_ok,
    )  # fmt: skip


def _stratified(tables: Sequence[_Table]) -> Uplift:
    weight = sum(each.shown * each.held / (each.shown + each.held) for each in tables)
    gained = sum((each.shown_ok * each.held - each.held_ok * each.shown) / (each.shown + each.held) for each in tables)
    difference = gained / weight
    variance = (difference * sum(map(_sato_p, tables)) + sum(map(_sato_q, tables))) / weight**2
    pooled = _newcombe(
        _Table(
            sum(each.shown for each in tables), sum(each.shown_ok for each in tables),
            sum(each.held for each in tables), sum(each.held_ok for each in tables),
        )
    )  # fmt: skip
    # Where every outcome of a lesson was the same there is no variance to see: that is no certainty.
    below = above = _Z * math.sqrt(max(variance, 0.0))
    if variance <= 0.0:
        below, above = pooled.difference - pooled.low, pooled.high - pooled.difference
    return Uplift(
        difference, max(difference - below, -1.0), min(difference + above, 1.0),
        pooled.shown, pooled.shown_ok, pooled.held_back, pooled.held_back_ok,
    )  # fmt: skip


def _sato_p(each: _Table) -> float:
    size = each.shown + each.held
    turn = each.shown * each.held * (each.held - each.shown) / 2
    return (each.shown**2 * each.held_ok - each.held**2 * each.shown_ok + turn) / size**2


def _sato_q(each: _Table) -> float:
    lost = each.shown_ok * (each.held - each.held_ok) + each.held_ok * (each.shown - each.shown_ok)
    return lost / (2 * (each.shown + each.held))
