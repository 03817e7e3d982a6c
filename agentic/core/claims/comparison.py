"""Which of several approaches is best, and why: evidence first, then the score of the trajectory, then the cost; pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agentic.core.events.execution_events import Frozen, Reason


class TriedApproach(Frozen):
    """One of several approaches to a task, as it was shown to a person."""

    way: str
    """What was to be done differently."""
    child: str
    """Its execution."""
    place: str = ""
    """The workspace of its own, by which its snapshots are kept."""
    end: str = ""
    """The snapshot of what it came to; '' where there is none, and it cannot be taken."""
    result: Reason = "failed"
    said: str = ""
    """Its answer, the beginning."""
    verdict: Literal["pass", "fail", "none"] = "none"
    """What the last run of its check said."""
    check: str = ""
    score: int = 0
    """Of its trajectory, 0-100."""
    confidence: int = 0
    files: int = 0
    added: int = 0
    removed: int = 0
    """Lines."""
    usd: float = 0.0
    seconds: float = 0.0


class ComparedApproaches(Frozen):
    """Approaches that began at one checkpoint, beside each other; it goes along with the question that is asked of them."""

    base: str
    """The snapshot that all of them began with."""
    tried: tuple[TriedApproach, ...]


def is_proven(approach: TriedApproach) -> bool:
    """Whether it is done and its check passed: what may be taken where nobody can be asked."""
    return approach.result == "done" and approach.verdict == "pass" and bool(approach.end)


def best(tried: Sequence[TriedApproach]) -> int:
    """Return the number of the best, from 1; 0 where none is done, or what is done is contradicted by its check."""
    able = [number for number, each in enumerate(tried, 1) if _is_able(each)]
    return min(able, key=lambda number: _order(tried[number - 1], number), default=0)


def reason(tried: Sequence[TriedApproach], number: int) -> str:
    """Return why the best one is, as the end of a sentence about it."""
    chosen = tried[number - 1]
    others = [each for at, each in enumerate(tried, 1) if at != number and _is_able(each)]
    if is_proven(chosen) and not any(map(is_proven, others)):
        return "its check passed"
    proof = "its check passed, as others' did, and" if is_proven(chosen) else "none is proven by a check;"
    if not others:
        return "it is the only one that is done"
    rivals = [each for each in others if is_proven(each) == is_proven(chosen)]
    if all(each.score < chosen.score for each in rivals):
        return f"{proof} it has the highest score"
    if all(each.score < chosen.score or each.usd > chosen.usd for each in rivals):
        return f"{proof} it cost least of those with the highest score"
    return f"{proof} no other is better"


def _is_able(approach: TriedApproach) -> bool:
    return approach.result == "done" and approach.verdict != "fail" and bool(approach.end)


def _order(approach: TriedApproach, number: int) -> tuple[bool, int, float, int]:
    return not is_proven(approach), -approach.score, approach.usd, number
