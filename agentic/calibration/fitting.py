"""From labelled executions to a calibrator.

A logistic regression over the features of a trajectory, with an offset for each role and model.  With 50 labels nothing
of that could be learnt from scratch, so each weight has a prior: its sign and rough size are what the heuristic holds
true as well (a failed test run speaks against success), and its spread says how far labels may move it.  Offsets are
drawn towards 0, so that a role with few labels is judged like all others, and one with many by its own.

Nothing is believed unseen: how far the trajectories are to be trusted, between not at all (the base rate of the role and
model) and wholly, is what would have been best on executions that were not fitted on.  Where even a constant, or the
heuristic, is better there, that is taken.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

from agentic.calibration.isotonic import Knots, Seen, isotonic
from agentic.calibration.logistic import CURVED, Column, Fit, Prior, fit, said_by, sigmoid
from agentic.calibration.scoring import brier
from agentic.core.claims.features import FEATURES
from agentic.core.events.calibrator import (
    LEAST,
    MOST,
    Calibrator,
    Kind,
    interpolated,
)

LEAST_LABELS = 20
"""With fewer, people are shown the heuristic."""
FOLDS = 5
_NEVER = -1
"""The fold of examples that nothing is judged on."""
JUDGED_ON = 300
"""So many of the newest executions are enough to choose between candidates."""
STEPS_FROM = 300
"""Executions from which steps on top are tried."""
TRUSTS = tuple(step / 10 for step in range(11))
"""How far the trajectories may be trusted."""
DOUBT = 0.3
"""What it takes to doubt that trajectories tell something, as a Brier score summed over executions: a few unlucky ones
among 50 are no reason (as a normal prior on the trust has it, with mean 1 and deviation 0.8, against an error of 0.2)."""
CLEARLY = 0.85
"""The heuristic stays where its Brier score is below so much of what was fitted: by luck alone it hardly is."""
GAIN = 0.99
"""Steps are kept where they bring the Brier score below so much of what it was."""

_BELIEVED = {
    "failed_lately": -0.3, "same_error": -0.3, "tests_share": 0.5, "tests_all": 0.3, "turns": -0.3, "unchanged": -0.3,
    "changed": 0.2, "corrections": -0.8, "self_report": 0.1, "done": 0.3, "proven": 0.3, "stuck": -1.0,
}  # fmt: skip
"""Log odds that one unit of a feature is worth, before anything was seen; 0 for the rest."""
_FEATURE_SPREAD, _OFFSET_SPREAD, _INTERCEPT_SPREAD = 0.25, 0.4, 1.4


@dataclass(frozen=True, slots=True)
class Example:
    """One look at an execution whose outcome is known; probabilities within 0-1."""

    execution: str
    features: Mapping[str, float]
    label: bool
    mass: float = 1.0
    """How far the label is to be trusted, and how much of its execution this look stands for."""
    role: str = ""
    model: str = ""
    heuristic: float = 0.5
    end: bool = True
    """It is the last look at its execution: what candidates are judged on."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which columns there are."""

    roles: tuple[str, ...]
    models: tuple[str, ...]
    features: tuple[str, ...]
    means: tuple[float, ...]
    priors: tuple[Prior, ...]

    def columns(self, examples: Sequence[Example]) -> list[Column]:
        """The values of the examples."""
        columns: list[Column] = [[1.0] * len(examples)]
        columns += [[float(each.role == role) for each in examples] for role in self.roles]
        columns += [[float(each.model == model) for each in examples] for model in self.models]
        for name, mean in zip(self.features, self.means, strict=True):
            columns.append([each.features.get(name, mean) - mean for each in examples])
        return columns


def fitted(examples: Sequence[Example]) -> Calibrator | None:
    """The calibrator that these examples teach, None where they are too few or the heuristic is better.

    Deterministic: the same examples in the same order give the same value.
    """
    names = list(dict.fromkeys(each.execution for each in examples))
    if len(names) < LEAST_LABELS or sum(each.mass for each in examples) <= 0:
        return None
    judged = {name: number % FOLDS for number, name in enumerate(names[-JUDGED_ON:])}
    folds = [judged.get(each.execution, _NEVER) for each in examples]
    plain, whole = _Fitted(examples, (), folds), _Fitted(examples, FEATURES, folds)
    judging = _judging(examples, folds, plain, whole)
    scores = {trust: brier(judging.rows(trust)) for trust in TRUSTS}
    trust = min(TRUSTS, key=lambda each: scores[each] + DOUBT / len(judging.constant) * (1 - each) ** 2)
    constant = brier(judging.constant)
    if brier(judging.heuristic) < CLEARLY * min(constant, scores[trust]):
        return None
    if constant < scores[trust]:
        return _calibrator("base_rate", len(names), _NOTHING, [_log_odds(_share(examples))])
    if not trust:
        return _calibrator("base_rate", len(names), plain.layout, plain.fit.weights)
    weights = _blended(plain.fit.weights, whole.fit.weights, trust)
    steps = _steps(judging.rows(trust)) if len(judging.constant) >= STEPS_FROM else ()
    return _calibrator("isotonic" if steps else "logistic", len(names), whole.layout, weights, steps)


class _Fitted:
    """A fit of some features on all examples, and what such a fit says of those it has not seen.

    The examples to judge on are fitted first: all other fits begin near that one, which makes them quick.
    """

    def __init__(self, examples: Sequence[Example], features: Sequence[str], folds: Sequence[int]) -> None:
        self.layout = _layout(examples, features)
        self._folds = folds
        self._columns = self.layout.columns(examples)
        self._labels = [float(each.label) for each in examples]
        self._masses = [each.mass for each in examples]
        self._near = self._without({_NEVER})
        self.fit = self._without(set(), self._near, curved=1) if _NEVER in folds else self._near

    def out_of_fold(self) -> Column:
        """What is said of each example to judge on, by a fit without those of its fold."""
        said = [0.5] * len(self._folds)
        for number in range(FOLDS):
            outside = [index for index, fold in enumerate(self._folds) if fold == number]
            weights = self._without({_NEVER, number}, self._near, curved=0).weights
            told = said_by([[column[index] for index in outside] for column in self._columns], weights)
            for index, value in zip(outside, told, strict=True):
                said[index] = value
        return said

    def _without(self, left_out: set[int], near: Fit | None = None, curved: int = CURVED) -> Fit:
        inside = [fold not in left_out for fold in self._folds]
        columns = [list(compress(column, inside)) for column in self._columns]
        labels, masses = list(compress(self._labels, inside)), list(compress(self._masses, inside))
        return fit(columns, labels, masses, self.layout.priors, near, curved)


@dataclass(frozen=True, slots=True)
class _Judging:
    """What is said of the ends of executions by fits that saw nothing of them."""

    base_rate: list[Seen]
    trajectory: list[Seen]
    constant: list[Seen]
    heuristic: list[Seen]

    def rows(self, trust: float) -> list[Seen]:
        """What is said where the trajectory is trusted so far."""
        pairs = zip(self.base_rate, self.trajectory, strict=True)
        return [(_mixed(plain, whole, trust), came, mass) for (plain, came, mass), (whole, _, _) in pairs]


def _judging(examples: Sequence[Example], folds: Sequence[int], plain: _Fitted, whole: _Fitted) -> _Judging:
    ends = [index for index, each in enumerate(examples) if each.end and folds[index] != _NEVER]

    def seen(said: Sequence[float]) -> list[Seen]:
        return [(said[at], float(examples[at].label), examples[at].mass) for at in ends]

    right = sum(examples[at].label for at in ends)
    return _Judging(
        base_rate=seen(plain.out_of_fold()),
        trajectory=seen(whole.out_of_fold()),
        constant=seen([(right - each.label + 0.5) / max(len(ends), 1) for each in examples]),
        heuristic=seen([each.heuristic for each in examples]),
    )


def _mixed(plain: float, whole: float, trust: float) -> float:
    return sigmoid((1 - trust) * _log_odds(plain) + trust * _log_odds(whole))


def _blended(plain: Sequence[float], whole: Sequence[float], trust: float) -> list[float]:
    """The same mixture as weights: those of ``plain`` come first in ``whole``, and features are centred."""
    padded = [*plain, *[0.0] * (len(whole) - len(plain))]
    return [(1 - trust) * ours + trust * theirs for ours, theirs in zip(padded, whole, strict=True)]


def _layout(examples: Sequence[Example], features: Sequence[str]) -> _Layout:
    whole = sum(each.mass for each in examples)
    right = sum(each.mass for each in examples if each.label)
    odds = math.log((right + 1) / (whole - right + 1))
    roles = tuple(sorted({each.role for each in examples}))
    models = tuple(sorted({each.model for each in examples}))
    means = tuple(sum(each.mass * each.features.get(name, 0.0) for each in examples) / whole for name in features)
    priors = (
        Prior(odds, _INTERCEPT_SPREAD**-2),
        *(Prior(0.0, _OFFSET_SPREAD**-2) for _ in (*roles, *models)),
        *(Prior(_BELIEVED.get(name, 0.0), _FEATURE_SPREAD**-2) for name in features),
    )
    return _Layout(roles, models, tuple(features), means, priors)


def _share(examples: Sequence[Example]) -> float:
    """The base rate, never quite 0 or 1."""
    ends = [each.label for each in examples if each.end]
    return min(max(sum(ends) / max(len(ends), 1), LEAST), MOST)


def _log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


_NOTHING = _Layout((), (), (), (), ())


def _steps(rows: Sequence[Seen]) -> Knots:
    """Steps over what was said out of fold; none where they do not help one half of the rows fitted on the other."""
    halves = (rows[::2], rows[1::2])
    corrected: list[Seen] = []
    for ours, others in (halves, halves[::-1]):
        knots = isotonic(others)
        corrected += [(interpolated(knots, said), came, mass) for said, came, mass in ours]
    return isotonic(rows) if brier(corrected) < GAIN * brier(rows) else ()


def _calibrator(kind: Kind, labels: int, layout: _Layout, fitted: Sequence[float], knots: Knots = ()) -> Calibrator:
    weights = [round(weight, 9) for weight in fitted]
    roles, models = len(layout.roles), len(layout.models)
    made = Calibrator(
        id="",
        labels=labels,
        kind=kind,
        intercept=weights[0],
        roles=dict(zip(layout.roles, weights[1:], strict=False)),
        models=dict(zip(layout.models, weights[1 + roles :], strict=False)),
        features=layout.features,
        means=tuple(round(mean, 6) for mean in layout.means),
        weights=tuple(weights[1 + roles + models :]),
        knots=tuple((round(said, 6), round(came, 6)) for said, came in knots),
    )
    digest = hashlib.sha256(made.model_dump_json(exclude={"id"}).encode()).hexdigest()
    return made.model_copy(update={"id": digest[:12]})
