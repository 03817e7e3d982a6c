"""The life of a lesson: how it fares, told only by what became of executions with it and without it.  Pure.

Each execution that a lesson fitted gives one ``Showing``, whether the lesson stood in its prompt or not.  A life is the
fold of a lesson's showings in the order in which they were recorded; from it come its usefulness (the order of
retrieval), and what becomes of it: promoted, retired, expired.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from agentic.core.events import Frozen

LessonStatus = Literal["candidate", "probation", "active", "retired", "quarantined"]
Arm = Literal["shown", "held_back", "crowded"]
"""It stood in the prompt; it was left out at random; it was left out because others fitted better."""


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


def usefulness(life: Life) -> float:
    """How much better executions fare with the lesson than without it, −1 to 1; 0 while nothing is known.

    Both shares are posterior means under a uniform prior, so a few showings move it little.
    """
    with_it = (life.shown_ok + 1) / (life.shown + 2)
    without = (life.held_back_ok + 1) / (life.held_back + 2)
    return with_it - without
