"""The life of a lesson: how it fares, told only by what became of executions with it and without it.  Pure.

Each execution that a lesson fitted gives one ``Showing``, whether the lesson stood in its prompt or not.  A life is the
fold of a lesson's showings in the order in which they were recorded; from it come its usefulness (the order of
retrieval), and what becomes of it: promoted, retired, expired.

A lesson either helps (by one of a few gains), changes nothing, or harms.  Each showing says how likely its outcome was
under each of these, beside what was expected then without the lesson; a life keeps the sums of the logarithms, so a
lesson is never blamed for a task that was hard anyway, nor praised for an easy one.  One unproven lesson is shown at a
time, beside proven ones at most: so it is known whose doing an outcome was.  What is held back at random has no part in
any decision; it measures (``uplift``).  All numbers stand in ``Parameters``; ``docs/lessons.md`` says why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from pydantic import Field

from agentic.core.events.execution_events import Frozen

LessonStatus = Literal["candidate", "probation", "active", "retired", "quarantined"]
Arm = Literal["shown", "held_back", "crowded"]
"""It stood in the prompt; it was left out at random; it was left out because others fitted better."""
Author = Literal["model", "person", "operator"]


@dataclass(frozen=True, slots=True)
class Parameters:
    """All numbers of the policy; measured by ``python -m bench lessons``."""

    helps: float = 0.5
    harms: float = 0.2
    """Shares of new lessons that are taken to help and to harm before anything is seen; the rest changes nothing."""
    helps_of_people: float = 0.7
    harms_of_people: float = 0.05
    """The same of those that a person wrote or approved."""
    gains: tuple[float, ...] = (0.2, 0.45)
    """A lesson that helps brings the chance of success up by one of these."""
    loss: float = 0.5
    """A lesson that harms takes this share of the chance away."""
    typical: float = 0.3
    """The chance by which a loss is reckoned where no task is at hand."""
    burden: float = 0.05
    """What a lesson costs that changes nothing: attention."""
    elsewhere: float = 0.15
    """So often a lesson is told for a task with which it has nothing to do, so that its outcome says nothing of it."""
    beside: float = 0.5
    """Weight of a showing in which others stood before it."""
    most_evidence: float = 8.0
    """The logarithms of a life go no further than this before the next showing is told."""
    proven: float = 0.75
    harmless: float = 0.04
    """Surely enough that it helps, and that it does not harm, to be active and to be shown beside others."""
    doubtful: float = 0.4
    """An active lesson that is less likely to help than this is on probation again."""
    hopeless: float = 0.3
    """Less likely to help than this: retired."""
    least_to_retire: int = 3
    """Showings before anything is retired, however bad it looks."""
    reviewed: int = 25
    """So often a lesson that no person wrote or approved is told, whatever became of the tasks.  Then it stays only if"""
    rather_helps: float = 20.0
    """it is so many times likelier to help than to harm: nothing of which nothing is known is told for ever."""
    shown_unproven: int = 20
    still_unproven: float = 0.6
    """After so many showings it is retired unless it is at least this likely to help: the bound on a wrong lesson."""
    least_usefulness: float = -0.05
    """Retrieval withholds what lies under it."""
    least_shown: int = 5
    """Showings with one model before that model alone goes without it, and before an active one is in doubt."""
    expire_days: int = 90


PARAMETERS = Parameters()
FEW = 5
"""With fewer showings what was expected is told with a decimal: "about 1 of 1" would say nothing."""


class Showing(Frozen):
    """One execution that a lesson fitted, and how it went."""

    lesson: str
    execution: str
    guild: str
    model: str = ""
    arm: Arm = "shown"
    ok: bool
    says: bool = True
    """Whether its outcome says something of the lesson: it is known, and the lesson was chosen for that task."""
    expected: float = Field(default=0.5, ge=0.0, le=1.0)
    """The chance that it would have gone well without this lesson, as far as was known then."""
    unaided: float | None = Field(default=None, ge=0.0, le=1.0)
    """The same without any lesson; None where that is no other."""
    place: int = Field(default=0, ge=0)
    """How many lessons stood before it in the prompt."""
    at: datetime


class Life(Frozen):
    """What is known of a lesson's effect."""

    told: int = Field(default=0, ge=0)
    """How often it stood in a prompt, also where nothing is known of the outcome."""
    shown: int = Field(default=0, ge=0)
    shown_ok: int = Field(default=0, ge=0)
    held_back: int = Field(default=0, ge=0)
    held_back_ok: int = Field(default=0, ge=0)
    crowded: int = Field(default=0, ge=0)
    crowded_ok: int = Field(default=0, ge=0)
    evidence: float = 0.0
    """Gain over what was expected, summed over its showings."""
    helps: tuple[float, ...] = ()
    """For each gain: the logarithm of how much likelier its showings are with that gain than without any effect."""
    harms: float = 0.0
    """The same for a harm."""
    last_shown: datetime | None = None

    @property
    def expected_ok(self) -> float:
        """How many of its showings would have gone well without it, as far as was known."""
        return min(max(self.shown_ok - self.evidence, 0.0), float(self.shown))


class Baseline(Frozen):
    """Similar tasks to which no lesson was shown: how many, and how many of them went well."""

    tries: int = 0
    ok: int = 0


@dataclass(frozen=True, slots=True)
class Belief:
    """How likely it is that a lesson helps (by each gain), changes nothing, harms; together 1."""

    helps: tuple[float, ...]
    nothing: float
    harms: float

    @property
    def useful(self) -> float:
        """That it helps at all."""
        return sum(self.helps)


def lived(life: Life, showing: Showing) -> Life:
    """A life after one more showing."""
    ok = int(showing.ok)
    if showing.arm == "shown":
        life = life.model_copy(update={"told": life.told + 1, "last_shown": showing.at})
    if not showing.says:
        return life
    if showing.arm == "held_back":
        return life.model_copy(update={"held_back": life.held_back + 1, "held_back_ok": life.held_back_ok + ok})
    if showing.arm == "crowded":
        return life.model_copy(update={"crowded": life.crowded + 1, "crowded_ok": life.crowded_ok + ok})
    expected = _within(showing.expected)
    unaided = expected if showing.unaided is None else _within(showing.unaided)
    weight = PARAMETERS.beside if showing.place else 1.0
    with_gain = [
        weight * _surprise(showing.ok, _lifted(expected, unaided, gain), expected) for gain in PARAMETERS.gains
    ]
    with_loss = weight * _surprise(showing.ok, _within(expected * (1 - PARAMETERS.loss)), expected)
    known = _bounded((*_helps(life), life.harms))
    *helps, harms = [old + new for old, new in zip(known, (*with_gain, with_loss), strict=True)]
    return life.model_copy(
        update={
            "shown": life.shown + 1,
            "shown_ok": life.shown_ok + ok,
            "evidence": life.evidence + ok - showing.expected,
            "helps": tuple(helps),
            "harms": harms,
        }
    )


def belief(life: Life, trust: Author = "model") -> Belief:
    """What a life makes likely, beginning from what is usual for lessons of its author."""
    people = trust != "model"
    helps = PARAMETERS.helps_of_people if people else PARAMETERS.helps
    harms = PARAMETERS.harms_of_people if people else PARAMETERS.harms
    share = helps / len(PARAMETERS.gains)
    gains = [share * math.exp(told) for told in _helps(life)]
    nothing, harm = 1 - helps - harms, harms * math.exp(life.harms)
    whole = sum(gains) + nothing + harm
    return Belief(tuple([gain / whole for gain in gains]), nothing / whole, harm / whole)


def expected(baseline: Baseline, companions: Sequence[Life] = ()) -> float:
    """The chance that an execution goes well without the lesson in question, with the ``companions`` before it."""
    unaided = _within((baseline.ok + 1) / (baseline.tries + 2))
    chance = unaided
    for life in companions:
        known = belief(life)
        lifted = sum(p * _lifted(chance, unaided, g) for p, g in zip(known.helps, PARAMETERS.gains, strict=True))
        chance = lifted + known.nothing * chance + known.harms * chance * (1 - PARAMETERS.loss)
    return _within(chance)


def usefulness(life: Life, model_life: Life | None = None) -> float:
    """By how much a lesson is likely to raise the chance of success: the gains less the harm, each by its likelihood.

    Retrieval orders by it, and withholds what lies under ``PARAMETERS.least_usefulness``.  ``model_life`` is the life
    with the model that is to work with it; what other models showed counts half beside it.
    """
    known = belief(life if model_life is None or not model_life.shown else _mostly_with(life, model_life))
    gain = sum(share * gain for share, gain in zip(known.helps, PARAMETERS.gains, strict=True))
    return gain - known.harms * PARAMETERS.loss * PARAMETERS.typical - known.nothing * PARAMETERS.burden


def together(lives: Sequence[Life]) -> int:
    """How many of these lessons, in the order of usefulness, are best shown at once: one, and what is proven after it.

    An unproven one beside others would be praised and blamed for what they did, and most tasks want one lesson.
    """
    beside = 0
    while beside + 1 < len(lives) and _is_proven(belief(lives[beside + 1])):
        beside += 1
    return min(len(lives), 1 + beside)


def standing(
    status: LessonStatus,
    life: Life,
    by_model: Sequence[Life] = (),
    *,
    created: datetime,
    now: datetime,
    trust: Author = "model",
) -> tuple[LessonStatus, str]:
    """What becomes of a lesson with this life, and why in plain words ('' where nothing changes).

    A quarantined lesson and a retired one stay what they are: only a person changes that.  ``by_model`` are the lives
    with single models: a lesson that helps one of them is not retired for what it did to others.  What a person wrote
    or approved does not expire, and takes more evidence to be retired.
    """
    if status in ("quarantined", "retired"):
        return status, ""
    if trust == "model" and now - max(life.last_shown or created, created) > timedelta(days=PARAMETERS.expire_days):
        return "retired", f"Not used for {PARAMETERS.expire_days} days."
    known = belief(life, trust)
    helps_one = any(_is_proven(belief(each, trust)) for each in by_model)
    unproven = life.shown >= PARAMETERS.shown_unproven and known.useful < PARAMETERS.still_unproven
    if not helps_one and life.shown >= PARAMETERS.least_to_retire and (known.useful < PARAMETERS.hopeless or unproven):
        worse = known.harms > known.nothing
        return "retired", f"{_record(life)}: it {'does harm' if worse else 'does not help'}."
    in_doubt = known.useful < PARAMETERS.rather_helps * known.harms and not _is_proven(known)
    if trust == "model" and not helps_one and life.told >= PARAMETERS.reviewed and in_doubt:
        return "retired", f"Used {life.told} times, with no sign that it helps rather than harms."
    if status == "probation" and _is_proven(known):
        return "active", f"{_record(life)}: it helps."
    if (
        status == "active"
        and trust == "model"
        and life.shown >= PARAMETERS.least_shown
        and known.useful < PARAMETERS.doubtful
    ):
        return "probation", f"{_record(life)}: it may not help."
    return status, ""


def is_proven(life: Life, trust: Author = "model") -> bool:
    """Whether a life makes it sure enough that a lesson helps, and that it does not harm."""
    return _is_proven(belief(life, trust))


def _is_proven(known: Belief) -> bool:
    return known.useful >= PARAMETERS.proven and known.harms <= PARAMETERS.harmless


def _record(life: Life) -> str:
    few = life.shown < FEW
    return (
        f"Tasks went well {life.shown_ok} of {life.shown} times with it; about {life.expected_ok:.{1 if few else 0}f} "
        "were expected without it"
    )


def _mostly_with(life: Life, model_life: Life) -> Life:
    """What other models showed counts half."""
    helps = tuple((whole + own) / 2 for whole, own in zip(_helps(life), _helps(model_life), strict=True))
    return model_life.model_copy(update={"helps": helps, "harms": (life.harms + model_life.harms) / 2})


def _helps(life: Life) -> tuple[float, ...]:
    return life.helps if len(life.helps) == len(PARAMETERS.gains) else (0.0,) * len(PARAMETERS.gains)


def _lifted(chance: float, unaided: float, gain: float) -> float:
    """The chance with a lesson of this gain: two lessons for the same thing lift no higher than one."""
    return max(chance, _within(unaided + gain))


def _surprise(ok: bool, supposed: float, expected: float) -> float:
    """How much more the outcome speaks for what is supposed than for what was expected."""
    supposed += PARAMETERS.elsewhere * (expected - supposed)
    return math.log(supposed / expected) if ok else math.log((1 - supposed) / (1 - expected))


def _bounded(evidence: Sequence[float]) -> list[float]:
    """Old evidence may not weigh so much that a lesson the world has left behind can never be given up.

    All of it is made smaller alike, whatever comes next: so a success always speaks for a lesson more than a failure.
    """
    most = max(map(abs, evidence))
    return [each * min(1.0, PARAMETERS.most_evidence / most) if most else 0.0 for each in evidence]


def _within(chance: float) -> float:
    return min(max(chance, 0.03), 0.95)
