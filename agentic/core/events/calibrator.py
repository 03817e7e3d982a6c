"""The calibrator: what turns features of a trajectory into the confidence that people are shown.

A value, recorded whole in ``Started``: an execution shows by the calibrator it began with, so replay needs no labels
and gives the same numbers for ever.  It is fitted elsewhere (agentic/calibration); here it is only applied.

One value serves all roles and models, with an offset for each: the role is known only after triage, and the model
changes where a stronger one takes over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Literal

from pydantic import Field

from agentic.core.events.values import Frozen

__all__ = ["Calibrator", "probability"]

Kind = Literal["none", "base_rate", "logistic", "isotonic"]
"""none: it says nothing; base_rate: how many succeed, by role and model; logistic: the trajectory too; isotonic: what
the logistic part says, put right by what came of it."""

LEAST, MOST = 0.01, 0.99
"""Nothing is ever certain."""


class Calibrator(Frozen):
    """Fitted on stored outcomes; ``id`` is a hash of all the rest."""

    id: str
    labels: int = 0
    """Executions it was fitted on."""
    kind: Kind = "none"
    intercept: float = 0.0
    """Log odds of an execution like the mean of all."""
    roles: dict[str, float] = Field(default_factory=dict)
    models: dict[str, float] = Field(default_factory=dict)
    """Offsets, drawn towards 0 where there are few labels; one that is not named has none."""
    features: tuple[str, ...] = ()
    means: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    knots: tuple[tuple[float, float], ...] = ()
    """(what the logistic part says, what came of it), both growing; between two of them it is a straight line."""


def probability(calibrator: Calibrator, role: str, model: str, features: Mapping[str, float]) -> float | None:
    """The probability of success; None where the calibrator says nothing."""
    if calibrator.kind == "none":
        return None
    odds = calibrator.intercept + calibrator.roles.get(role, 0.0) + calibrator.models.get(model, 0.0)
    for name, mean, weight in zip(calibrator.features, calibrator.means, calibrator.weights, strict=True):
        odds += weight * (features.get(name, mean) - mean)
    value = 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))
    return max(LEAST, min(MOST, interpolated(calibrator.knots, value)))


def interpolated(knots: tuple[tuple[float, float], ...], value: float) -> float:
    """Along the line through the knots, level beyond its ends; the value itself where there are none."""
    if not knots:
        return value
    if value <= knots[0][0]:
        return knots[0][1]
    for (low, low_is), (high, high_is) in pairwise(knots):
        if value <= high:
            return low_is + (high_is - low_is) * (value - low) / (high - low)
    return knots[-1][1]
