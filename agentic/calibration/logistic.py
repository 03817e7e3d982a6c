"""Logistic regression with a normal prior on each weight, by Newton's method, with the sums done by column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import add, mul

STEPS = 25
CURVED = 2
"""Steps for which the curvature is taken anew; after them it has all but settled, and it is most of the work."""
ENOUGH = 2e-3

Column = list[float]


@dataclass(frozen=True, slots=True)
class Prior:
    """A weight's mean before anything was seen, and how strongly it is held (one over the variance)."""

    mean: float
    precision: float


def sigmoid(odds: float) -> float:
    """Log odds as a probability."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


@dataclass(frozen=True, slots=True)
class Fit:
    """The most probable weights, and the curvature there (as its Cholesky triangle)."""

    weights: list[float]
    lower: list[list[float]]


def fit(
    columns: Sequence[Column],
    labels: Sequence[float],
    masses: Sequence[float],
    priors: Sequence[Prior],
    near: Fit | None = None,
    curved: int = CURVED,
) -> Fit:
    """The most probable weights; ``masses`` says how much each row counts.

    ``near`` is where to begin; with ``curved`` 0 its curvature will do, being one of nearly the same rows.
    """
    weights = near.weights if near is not None else [prior.mean for prior in priors]
    lower = near.lower if near is not None else []
    for step in range(STEPS):
        said = said_by(columns, weights)
        if step < curved:
            lower = _cholesky(_curvature(columns, said, masses, priors))
        missed = [mass * (label - value) for mass, label, value in zip(masses, labels, said, strict=True)]
        slope = [
            sum(map(mul, missed, column)) - prior.precision * (weight - prior.mean)
            for column, weight, prior in zip(columns, weights, priors, strict=True)
        ]
        change = _solved(lower, slope)
        weights = [weight + by for weight, by in zip(weights, change, strict=True)]
        if max(map(abs, change)) < ENOUGH:
            break
    return Fit(weights, lower)


def said_by(columns: Sequence[Column], weights: Sequence[float]) -> Column:
    """The probability of each row."""
    return [sigmoid(value) for value in _odds(columns, weights)]


def _odds(columns: Sequence[Column], weights: Sequence[float]) -> Column:
    odds = [0.0] * len(columns[0])
    for column, weight in zip(columns, weights, strict=True):
        odds = list(map(add, odds, map(mul, repeat(weight), column)))
    return odds


def _curvature(
    columns: Sequence[Column], said: Column, masses: Sequence[float], priors: Sequence[Prior]
) -> list[list[float]]:
    spread = [max(mass * value * (1 - value), 1e-9) for mass, value in zip(masses, said, strict=True)]
    rows: list[list[float]] = []
    for index, column in enumerate(columns):
        weighed = list(map(mul, spread, column))
        row = [sum(map(mul, weighed, other)) for other in columns[: index + 1]]
        row[index] += priors[index].precision
        rows.append(row)
    return rows


def _cholesky(rows: list[list[float]]) -> list[list[float]]:
    """The lower triangle L with L·Lᵀ = the symmetric matrix whose lower rows these are."""
    lower: list[list[float]] = []
    for index, row in enumerate(rows):
        made: list[float] = []
        for other in range(index):
            above = lower[other]
            made.append((row[other] - sum(map(mul, made, above[:other]))) / above[other])
        made.append(math.sqrt(max(row[index] - sum(map(mul, made, made)), 1e-12)))
        lower.append(made)
    return lower


def _solved(lower: list[list[float]], right: Sequence[float]) -> list[float]:
    """x with L·Lᵀ·x = right."""
    half: list[float] = []
    for row, value in zip(lower, right, strict=True):
        half.append((value - sum(map(mul, row, half))) / row[-1])
    size = len(half)
    solved = [0.0] * size
    for index in range(size - 1, -1, -1):
        rest = sum(lower[below][index] * solved[below] for below in range(index + 1, size))
        solved[index] = (half[index] - rest) / lower[index][index]
    return solved
