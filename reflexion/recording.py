"""What an execution says of the lessons that fitted it.  Pure.

Only something outside of the agent says how an execution went: a check that ran, or a person.  A lesson's showing also
says how it was expected to go without it, from similar tasks.  *Similar* are first the executions that this very lesson
fitted and that did not get to see it (held back, or crowded out); where those are few, the latest executions of the same
server to which no lesson was shown: those by the same model in the same role first, then by the same model, then others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from agentic.core.events import Evaluated, Judged
from reflexion.evaluator import was_right, went_well
from reflexion.lessons import Verdict
from reflexion.lifecycle import Arm, Baseline, Showing
from reflexion.trajectory import Trajectory

SIMILAR = 20
"""So many similar tasks are enough to say what is to be expected."""
UNAIDED = 200
"""So many of the latest executions without lessons are looked through for similar ones."""


def known_outcome(trajectory: Trajectory) -> bool | None:
    """Whether it went well, as lessons are measured by; neither a stop nor an outage says so, unless a person does."""
    stopped = trajectory.reason in ("stopped", "cancelled")
    if not trajectory.votes and (stopped or (trajectory.provider_failed and trajectory.reason == "failed")):
        return None
    return went_well(trajectory)


def arms_of(trajectory: Trajectory) -> dict[str, Arm]:
    """The lessons that fitted it, each shown or left out and how."""
    shown: dict[str, Arm] = {each.id: "shown" for each in trajectory.lessons if each.kind != "reflection"}
    return {**{each.id: each.arm for each in trajectory.withheld}, **shown}


def verdict_of(
    trajectory: Trajectory, evaluated: Evaluated, judged: Judged | None, guild: str, at: datetime
) -> Verdict:
    """How it went, for the store."""
    return Verdict(
        execution=trajectory.execution, guild=guild, thread=trajectory.thread, model=trajectory.model,
        role=trajectory.role, ok=known_outcome(trajectory), score=evaluated.score, verifier=evaluated.verifier,
        judge=judged.share if judged is not None else None, judge_model=judged.model if judged is not None else "",
        right=was_right(trajectory), lessons_shown=list(arms_of(trajectory).values()).count("shown"), at=at,
    )  # fmt: skip


def similar(verdict: Verdict, showings: Iterable[Showing], unaided: Sequence[Verdict]) -> Baseline:
    """How tasks like this one go without the lesson that had these ``showings``; ``unaided`` newest first."""
    without = {each.execution: each.ok for each in showings if each.arm != "shown"}
    place = (verdict.guild, "" if verdict.guild else verdict.thread)
    others = [each for each in unaided if (each.guild, "" if each.guild else each.thread) == place]
    others.sort(key=lambda each: (each.model != verdict.model, each.role != verdict.role))
    for each in others:
        if len(without) < SIMILAR and each.ok is not None:
            without.setdefault(each.execution, each.ok)
    without.pop(verdict.execution, None)
    return Baseline(tries=len(without), ok=sum(without.values()))
