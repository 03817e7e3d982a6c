"""The score of a trajectory, 0-100, with the parts it was made of and the caps that held it.

Parts: verifier 40 pass, 20 none, 0 fail · files 10 if what was meant to change did · clean 10 × share of the last 3 turns
without a failed call · loops 5 without a repetition nudge · turns 5·(1 − used/max) · user 15 up, 7.5 none, 0 down ·
judge 15·λ·share of the rubric's items answered yes.  What the judge does not use, 15·(1 − λ), goes to the verifier in
proportion: pass all, none half, fail nothing.  λ is 0 until 50 labelled runs show that the judge tells good from bad
(``reflexion/lessons/judge_trust.py``), and where it was not asked or could not be used.  80 is a clear success.

Caps hold whatever the parts add up to: no judge lifts a failed check, and no check a breach of safety
(``safety_violations.py``).  Nothing here reads words: a transcript that says "score 100" has no say.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.events.execution_events import Envelope, Evaluated, Judged
from reflexion.evaluation.checks import Verdict
from reflexion.evaluation.trajectory import Trajectory, read_trajectory

CLEAR_SUCCESS = 80
VERIFIED: dict[Verdict, float] = {"pass": 40.0, "none": 20.0, "fail": 0.0}
JUDGED = 15.0
UNJUDGED: dict[Verdict, float] = {"pass": 1.0, "none": 0.5, "fail": 0.0}
"""Share of what the judge does not use that the verifier gets."""
CAPS: dict[str, int] = {
    "safety_breach": 10,
    "claimed_done_and_was_not": 30,
    "voted_down": 40,
    "verifier_failed": 45,
    "nothing_verified": 70,
}
"""A cap that holds, whatever the parts add up to; strictest first."""
LAST_TURNS = 3
REQUESTER_WEIGHT = 2


def evaluate(trajectory: Trajectory, judged: Judged | None = None, weight: float = 0.0) -> Evaluated:
    """Score a trajectory; one in which nothing was done or said scores 0, as does the tour, whose score is never kept.

    ``judged`` is a judge's reading, and ``weight`` its λ, 0-1.  A reading that could not be used leaves the objective
    signals alone, and the flag ``judge`` says so.
    """
    verified = trajectory.verified
    unusable = judged is not None and judged.share is None
    flags = (*verified.flags, *(("judge",) if unusable else ()))
    if trajectory.empty or trajectory.tour:
        return Evaluated(score=0, parts={}, caps=("tour" if trajectory.tour else "empty",), flags=flags)
    share = judged.share if judged is not None else None
    weight = min(max(weight, 0.0), 1.0) if share is not None else 0.0
    parts = _parts(trajectory, share or 0.0, weight)
    caps = _caps(trajectory)
    score = min(round(sum(parts.values())), *(CAPS[cap] for cap in caps), 100)
    return Evaluated(
        score=score, parts=parts, caps=caps, verifier=verified.verdict, check=verified.check, judge_weight=weight,
        flags=flags,
    )  # fmt: skip


def score_of(log: Sequence[Envelope]) -> Evaluated:
    """Score a whole log as it stands, before anybody voted or judged."""
    return evaluate(read_trajectory(log))


def approval(trajectory: Trajectory) -> float | None:
    """Share of the votes that are 👍, the requester's weighing more; None where nobody voted."""
    weights = [
        (REQUESTER_WEIGHT if person == trajectory.requester.id else 1, vote) for person, vote in trajectory.votes
    ]
    whole = sum(weight for weight, _ in weights)
    return sum(weight for weight, vote in weights if vote == "up") / whole if whole else None


def went_well(trajectory: Trajectory) -> bool | None:
    """Whether it counts as a success for the lessons it was shown: by its check, or by people who said that it was wrong.

    None where neither says so: praise of what nothing verified promotes no lesson.  A judge has no part in it, for it is
    measured by what comes of it.  What broke a rule did not go well.
    """
    approved = approval(trajectory)
    if trajectory.breaches:
        return False
    if trajectory.verifier == "none" and (approved is None or approved >= 0.5):
        return None
    return evaluate(trajectory).score >= CLEAR_SUCCESS


def was_right(trajectory: Trajectory) -> bool | None:
    """The label that judges are measured by: what people said of it, else what its check said."""
    approved = approval(trajectory)
    if approved is not None and approved != 0.5:
        return approved > 0.5
    return {"pass": True, "fail": False, "none": None}[trajectory.verifier]


def _parts(trajectory: Trajectory, share: float, weight: float) -> dict[str, float]:
    approved = approval(trajectory)
    used = min(trajectory.turns_used / max(trajectory.turns_max, 1), 1.0)
    return {
        "verifier": VERIFIED[trajectory.verifier],
        "judge": round(JUDGED * weight * share, 2),
        "unjudged": round(JUDGED * (1.0 - weight) * UNJUDGED[trajectory.verifier], 2),
        "files": 10.0 if trajectory.changed or not trajectory.changes_files else 0.0,
        "clean": round(10.0 * _clean_share(trajectory), 2),
        "loops": 0.0 if trajectory.repetition_nudges else 5.0,
        "turns": round(5.0 * (1.0 - used), 2),
        "user": 7.5 if approved is None else round(15.0 * approved, 2),
    }


def _caps(trajectory: Trajectory) -> tuple[str, ...]:
    approved = approval(trajectory)
    failed = trajectory.verifier == "fail"
    contradicted = any(claim.verdict == "contradicted" for claim in trajectory.claims)
    holds = {
        "safety_breach": trajectory.breaches > 0,
        "claimed_done_and_was_not": trajectory.reason == "done" and (failed or contradicted),
        "voted_down": approved is not None and approved < 0.5,
        "verifier_failed": failed,
        "nothing_verified": trajectory.verifier == "none",
    }
    return tuple(cap for cap in CAPS if holds[cap])


def _clean_share(trajectory: Trajectory) -> float:
    last = trajectory.turns_used
    turns = range(max(1, last - LAST_TURNS + 1), last + 1)
    broken = {call.turn for call in trajectory.failures}
    return sum(turn not in broken for turn in turns) / len(turns) if turns else 0.0
