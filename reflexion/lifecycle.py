"""The life of a lesson: how it fares, told only by what became of executions with it and without it.  Pure.

Each execution that a lesson fitted gives one ``Showing``, whether the lesson stood in its prompt or not.  A life is the
fold of a lesson's showings in the order in which they were recorded; from it come its usefulness (the order of
retrieval), and what becomes of it: promoted, retired, expired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from pydantic import Field

from agentic.core.events import Frozen

LessonStatus = Literal["candidate", "probation", "active", "retired", "quarantined"]
Arm = Literal["shown", "held_back", "crowded"]
"""It stood in the prompt; it was left out at random; it was left out because others fitted better."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """All numbers of the policy; measured by ``python -m bench lessons``."""

    least_usefulness: float = -0.15
    """Retrieval withholds what lies under it."""
    least_shown: int = 5
    expire_days: int = 90


PARAMETERS = Parameters()


class Showing(Frozen):
    """One execution that a lesson fitted, and how it went."""

    lesson: str
    execution: str
    guild: str
    model: str = ""
    arm: Arm = "shown"
    ok: bool
    expected: float = Field(default=0.5, ge=0.0, le=1.0)
    """The chance that it would have gone well without this lesson, as far as was known then."""
    at: datetime


class Life(Frozen):
    """What is known of a lesson's effect."""

    shown: int = Field(default=0, ge=0)
    shown_ok: int = Field(default=0, ge=0)
    held_back: int = Field(default=0, ge=0)
    held_back_ok: int = Field(default=0, ge=0)
    crowded: int = Field(default=0, ge=0)
    crowded_ok: int = Field(default=0, ge=0)
    evidence: float = 0.0
    """Gain over what was expected, summed over its showings with what keeps it bounded."""
    last_shown: datetime | None = None


class Baseline(Frozen):
    """Similar tasks to which no lesson was shown: how many, and how many of them went well."""

    tries: int = 0
    ok: int = 0


def lived(life: Life, showing: Showing) -> Life:
    """A life after one more showing."""
    ok = int(showing.ok)
    if showing.arm == "held_back":
        return life.model_copy(update={"held_back": life.held_back + 1, "held_back_ok": life.held_back_ok + ok})
    if showing.arm == "crowded":
        return life.model_copy(update={"crowded": life.crowded + 1, "crowded_ok": life.crowded_ok + ok})
    return life.model_copy(
        update={
            "shown": life.shown + 1,
            "shown_ok": life.shown_ok + ok,
            "evidence": life.evidence + ok - showing.expected,
            "last_shown": showing.at,
        }
    )


def expected(baseline: Baseline, companions: Sequence[Life] = ()) -> float:
    """The chance that an execution goes well without the lesson in question, with the ``companions`` it is shown with."""
    chance = (baseline.ok + 1) / (baseline.tries + 2)
    return min(max(chance + sum(usefulness(life) for life in companions), 0.02), 0.98)


def usefulness(life: Life, model_life: Life | None = None) -> float:
    """How much better executions fare with the lesson than without it, −1 to 1; 0 while nothing is known.

    Retrieval orders by it, and withholds what lies under ``PARAMETERS.least_usefulness``.  ``model_life`` is the life
    with the model that is to work with it; what is known of that weighs more.
    """
    whole = _gain(life)
    return whole if model_life is None or not model_life.shown else (whole + _gain(model_life)) / 2


def together(lives: Sequence[Life]) -> int:
    """How many of these lessons, in the order of usefulness, are best shown at once."""
    return len(lives)


def standing(
    status: LessonStatus,
    life: Life,
    by_model: Sequence[Life] = (),
    *,
    created: datetime,
    now: datetime,
    trust: Literal["model", "person", "operator"] = "model",
) -> tuple[LessonStatus, str]:
    """What becomes of a lesson with this life, and why in plain words ('' where nothing changes).

    A quarantined lesson and a retired one stay what they are: only a person changes that.  ``by_model`` are the lives
    with single models.  What a person wrote does not expire, and takes more evidence to be retired.
    """
    if status in ("quarantined", "retired"):
        return status, ""
    if trust == "model" and now - max(life.last_shown or created, created) > timedelta(days=PARAMETERS.expire_days):
        return "retired", f"Not shown for {PARAMETERS.expire_days} days."
    if life.shown >= PARAMETERS.least_shown and usefulness(life) < PARAMETERS.least_usefulness:
        return "retired", f"Tasks went well {life.shown_ok} of {life.shown} times with it: worse than without it."
    if status == "probation" and life.shown >= PARAMETERS.least_shown and usefulness(life) > 0:
        return "active", f"Tasks went well {life.shown_ok} of {life.shown} times with it: better than without it."
    return status, ""


def _gain(life: Life) -> float:
    if life.evidence:
        return life.evidence / (life.shown + 2)
    return (life.shown_ok + 1) / (life.shown + 2) - (life.held_back_ok + 1) / (life.held_back + 2)
