"""What an execution says of the lessons that fitted it.  Pure.

Only something outside of the agent says how an execution went: a check that ran, or a person.  A lesson's showing also
says how it was expected to go without it, from similar tasks: the latest executions of the same server to which no
lesson was shown.  The most *similar* are those that this very lesson fitted (it was held back, and nothing stood in its
place), then those by the same model in the same role, then by the same model, then others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from agentic.core.events.execution_events import Evaluated, Judged
from reflexion.evaluation.score import was_right, went_well
from reflexion.evaluation.trajectory import Trajectory
from reflexion.lessons.lesson import Verdict
from reflexion.lessons.lifecycle import (
    Arm,
    Baseline,
    Life,
    Showing,
    expected,
)

SIMILAR = 60
"""So many similar tasks are enough to say what is to be expected."""
UNAIDED = 200
"""So many of the latest executions without lessons are looked through for similar ones."""


def known_outcome(trajectory: Trajectory) -> bool | None:
    """Whether it went well, as lessons are measured by; neither a stop nor an outage says so, unless a person does.

    What was told no lessons is no task (talk has another prompt), or nobody read it: it says nothing, not even how tasks
    go without lessons.  Nor does what goes on from the middle of another execution, with a copy of what was said there:
    the one that began it keeps the showing.  Its lessons were drawn for it, and it was not begun because of how it ended;
    people go on from what went wrong, so counting the second instead, or both, would flatter or blame lessons by what
    people choose to repeat.
    """
    if not trajectory.told:
        return None
    stopped = trajectory.reason in ("stopped", "cancelled")
    if not trajectory.votes and (stopped or (trajectory.provider_failed and trajectory.reason == "failed")):
        return None
    return went_well(trajectory)


def arms_of(trajectory: Trajectory) -> dict[str, Arm]:
    """The lessons that fitted it, each shown or left out and how; those that were shown first, in their order.

    None where no request with them was answered, or one in another execution, of which this has a copy.
    """
    if not trajectory.told:
        return {}
    shown: dict[str, Arm] = {each.id: "shown" for each in trajectory.lessons if each.kind != "reflection"}
    withheld: dict[str, Arm] = {each.id: each.arm for each in trajectory.withheld if each.id not in shown}
    return shown | withheld


def verdict_of(
    trajectory: Trajectory, evaluated: Evaluated, judged: Judged | None, guild: str, at: datetime
) -> Verdict:
    """How it went, for the store."""
    return Verdict(
        execution=trajectory.execution, guild=guild, thread=trajectory.thread, model=trajectory.chosen_for,
        role=trajectory.role, ok=known_outcome(trajectory), score=evaluated.score, verifier=evaluated.verifier,
        judge=judged.share if judged is not None else None, judge_model=judged.model if judged is not None else "",
        right=was_right(trajectory), lessons_shown=list(arms_of(trajectory).values()).count("shown"), at=at,
    )  # fmt: skip


def similar(verdict: Verdict, showings: Iterable[Showing], unaided: Sequence[Verdict]) -> Baseline:
    """How tasks like this one go without the lesson that had these ``showings``; ``unaided`` newest first."""
    fitted = {each.execution for each in showings if each.arm != "shown"}
    place = (verdict.guild, "" if verdict.guild else verdict.thread)
    others = [
        each
        for each in unaided
        if (each.guild, "" if each.guild else each.thread) == place and each.execution != verdict.execution
    ]
    others.sort(key=lambda each: (each.execution not in fitted, each.model != verdict.model, each.role != verdict.role))
    known = [each.ok for each in others if each.ok is not None][:SIMILAR]
    return Baseline(tries=len(known), ok=sum(known))


def showing_of(verdict: Verdict, lesson: str, arm: Arm, baseline: Baseline, before: Sequence[Life]) -> Showing:
    """What an execution says of a lesson that stood, or would have stood, after those ``before``: nothing where its
    outcome is not known, but that it was told."""
    return Showing(
        lesson=lesson, execution=verdict.execution, guild=verdict.guild, model=verdict.model, arm=arm, ok=bool(verdict.ok),
        says=verdict.ok is not None, expected=expected(baseline, before),
        unaided=expected(baseline) if before else None, place=len(before),
        at=verdict.at,
    )  # fmt: skip
