"""Isotonic regression: the growing steps that fit best, as knots of a growing line."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

Knots = tuple[tuple[float, float], ...]
Seen = tuple[float, float, float]
"""What was said, what came of it (0 or 1), and how much it counts."""

LEAST_BLOCK = 25
"""Rows that a step must hold, about: fewer are noise."""


def isotonic(rows: Sequence[Seen]) -> Knots:
    """The line through the middles of the steps; empty where there is but one step."""
    steps: list[list[float]] = []  # mass, mass·said, mass·came
    for said, came, mass in _gathered(sorted(rows, key=itemgetter(0))):
        steps.append([mass, mass * said, mass * came])
        while len(steps) > 1 and _level(steps[-2]) >= _level(steps[-1]):
            last = steps.pop()
            steps[-1] = [a + b for a, b in zip(steps[-1], last, strict=True)]
    return tuple((step[1] / step[0], _level(step)) for step in steps) if len(steps) > 1 else ()


def _gathered(rows: Sequence[Seen]) -> list[Seen]:
    """Neighbours as one row."""
    count = max(1, len(rows) // LEAST_BLOCK)
    gathered: list[Seen] = []
    for index in range(count):
        block = rows[index * len(rows) // count : (index + 1) * len(rows) // count]
        mass = sum(row[2] for row in block)
        if mass > 0:
            said = sum(row[0] * row[2] for row in block) / mass
            gathered.append((said, sum(row[1] * row[2] for row in block) / mass, mass))
    return gathered


def _level(step: Sequence[float]) -> float:
    return step[2] / step[0]
