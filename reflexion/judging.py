"""How far a judge is trusted: λ, from executions of which it is known how they came out.

λ = max(0, 2·AUC − 1), where AUC is the chance that the judge puts an execution that was right above one that was wrong.
Fewer than 50 labelled readings, or labels all of one sort, give λ = 0: a judge that was never compared has no say.  A
label is what people said of an execution, else what its last check said; the judge sees neither (``record.py`` leaves the
results of checks out), so that it cannot earn its weight by repeating what the score knows anyway.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reflexion.lessons import Verdict

LABELLED = 50
"""So many labelled readings before a judge has any weight."""


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
    readings = labelled(verdicts, model=model, without=without)
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
