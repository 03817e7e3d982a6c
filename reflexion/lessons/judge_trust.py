"""When a judge is asked, and how far it is trusted: λ, from executions of which it is known how they came out.

λ = max(0, 2·AUC − 1), where AUC is the chance that the judge puts an execution that was right above one that was wrong.
Fewer than 50 labelled readings, or labels all of one sort, give λ = 0: a judge that was never compared has no say.  A
label is what people said of an execution, else what its last check said; the judge sees neither
(``reflexion/judge/judge_input.py`` leaves the
results of checks out), so that it cannot earn its weight by repeating what the score knows anyway.

λ needs labels, and labels need readings that count for nothing yet.  So until 50 are there every fourth execution is read,
and each one that a person voted on; a judge that proved useless is looked at again on every twentieth; one that is worth
something reads them all (docs/decisions/0026).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from agentic.core.events.execution_events import Event, Judged, ModelRequested
from agentic.core.events.ids import digest
from reflexion.evaluation.trajectory import Trajectory
from reflexion.lessons.lesson import Verdict

Mode = Literal["auto", "always", "off"]

LABELLED: Final = 50
"""So many labelled readings before a judge has any weight."""
COMPARED: Final = 1_000
"""So many of its newest labelled readings say how far a judge is trusted: λ is then known to about 0.04 (half of them
wrong; 0.6 of the 15 points it moves), which more rows would hardly better, and a judge's model and prompt change."""
USEFUL: Final = 0.1
"""A weight of 1.5 points: below it three readings of every execution are not worth their price."""
LEARNING_ONE_IN: Final = 4
USELESS_ONE_IN: Final = 20
ATTEMPTS: Final = 2
"""Askings of which nothing could be used before it is given up."""
REQUESTS: Final = 6
"""Requests for one execution, counting those that a crash cut off."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a judge said of an execution, and whether it was right."""

    share: float
    right: bool


@dataclass(frozen=True, slots=True)
class Trust:
    """How many labelled readings there are, and the weight λ that follows."""

    labelled: int = 0
    weight: float = 0.0


def labelled(verdicts: Iterable[Verdict], *, model: str = "", without: str = "") -> tuple[Reading, ...]:
    """The readings with a label: of one judge where ``model`` names it, and not those of the execution ``without``."""
    return tuple(
        Reading(row.judge, row.right)
        for row in verdicts
        if row.judge is not None
        and row.right is not None
        and row.execution != without
        and (not model or row.judge_model == model)
    )


def trust(verdicts: Iterable[Verdict], *, model: str = "", without: str = "") -> Trust:
    """How far these rows let a judge be trusted."""
    return trust_of(labelled(verdicts, model=model, without=without))


def trust_of(readings: Sequence[Reading]) -> Trust:
    """The same of readings that are known to have a label and to be of one judge."""
    found = auc(readings) if len(readings) >= LABELLED else None
    return Trust(len(readings), round(max(0.0, 2 * found - 1), 3) if found is not None else 0.0)


def judge_weight(verdicts: Iterable[Verdict], *, model: str = "", without: str = "") -> float:
    """λ, 0-1."""
    return trust(verdicts, model=model, without=without).weight


def auc(readings: Sequence[Reading]) -> float | None:
    """The chance that one that was right has the higher share than one that was wrong, ties counting half.

    None where all of them were right, or all wrong.
    """
    wrong = sorted(reading.share for reading in readings if not reading.right)
    right = [reading.share for reading in readings if reading.right]
    if not wrong or not right:
        return None
    above = sum((bisect_left(wrong, share) + bisect_right(wrong, share)) / 2 for share in right)
    return above / (len(wrong) * len(right))


def settled(events: Iterable[Event]) -> tuple[Judged | None, bool]:
    """The last reading of an execution, and whether no other is to be asked for."""
    known: Judged | None = None
    askings = requests = 0
    for event in events:
        requests += isinstance(event, ModelRequested) and event.purpose == "judge"
        if isinstance(event, Judged):
            known, askings = event, askings + 1
    read = known is not None and known.share is not None
    return known, read or askings >= ATTEMPTS or requests >= REQUESTS


def worth_asking(trajectory: Trajectory, trusted: Trust, mode: Mode) -> bool:
    """Whether an execution is to be read; the choice among many is made by its id, so it is always the same."""
    outage = trajectory.provider_failed and trajectory.reason == "failed"
    if trajectory.talk or trajectory.empty or not trajectory.finished or outage:
        return False
    if trajectory.reason in ("stopped", "cancelled") or mode == "off":
        return False
    if mode == "always" or trusted.weight >= USEFUL:
        return True
    if trusted.labelled < LABELLED:
        return bool(trajectory.votes) or _drawn(trajectory.execution, LEARNING_ONE_IN)
    return _drawn(trajectory.execution, USELESS_ONE_IN)


def _drawn(execution: str, one_in: int) -> bool:
    return int(digest("judge", execution, length=8), 16) % one_in == 0
