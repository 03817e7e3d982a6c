"""How good probabilities were: Brier score, expected calibration error, points of a reliability diagram.

A row is (what was said, what came of it, how much it counts).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from agentic.calibration.isotonic import Seen

BINS = 10
_Z = 1.96


@dataclass(frozen=True, slots=True)
class ReliabilityPoint:
    """One bin of equal mass: the mean said, the share that succeeded, and its 95% interval by Wilson."""

    said: float
    came: float
    low: float
    high: float
    count: int


def brier(rows: Sequence[Seen]) -> float:
    """The mean squared error; 0.25 for nothing, which is what a coin scores."""
    mass = sum(row[2] for row in rows)
    return sum(mass_ * (said - came) ** 2 for said, came, mass_ in rows) / mass if mass else 0.25


def reliability(rows: Sequence[Seen], bins: int = BINS) -> tuple[ReliabilityPoint, ...]:
    """The points of the diagram, from low to high; as many as give each bin at least five rows, at most ``bins``."""
    ordered = sorted(rows, key=itemgetter(0))
    count = max(1, min(bins, len(ordered) // 5))
    blocks = [ordered[i * len(ordered) // count : (i + 1) * len(ordered) // count] for i in range(count)]
    return tuple(_point(block) for block in blocks if sum(row[2] for row in block) > 0)


def ece(rows: Sequence[Seen], bins: int = BINS) -> float:
    """How far what was said is from what came, on the mean of bins of equal mass."""
    points = reliability(rows, bins)
    whole = sum(point.count for point in points)
    return sum(point.count * abs(point.said - point.came) for point in points) / whole if whole else 0.0


def _point(block: Sequence[Seen]) -> ReliabilityPoint:
    mass = sum(row[2] for row in block)
    said = sum(row[0] * row[2] for row in block) / mass
    came = sum(row[1] * row[2] for row in block) / mass
    low, high = wilson(came, mass)
    return ReliabilityPoint(said, came, low, high, len(block))


def wilson(share: float, count: float) -> tuple[float, float]:
    """The 95% interval of a share of so many."""
    if count <= 0:
        return 0.0, 1.0
    square = _Z * _Z
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = _Z * math.sqrt(max(share * (1 - share), 0.0) / count + square / (4 * count * count)) / (1 + square / count)
    return max(0.0, middle - half), min(1.0, middle + half)
