"""Whether a task that failed is tried again: a pure function over how the attempt went and what is around it.

A further attempt by itself costs money that nobody said yes to, so it takes a check that failed and can say whether the
next one worked, something that was learned, and nobody who wanted it otherwise.  Everything else that failed is offered: a
person decides.  What a person ended is left.  All attempts at a task begin from the files as they were before the first
(``bot/actions/rerun.py``), and together they spend no more than one execution may.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentic.core.events.execution_events import Evaluated, Policy
from reflexion.evaluation.trajectory import Trajectory
from reflexion.reflection.trigger import (
    failure_of,
    is_called_off,
    is_outage,
    is_voted_down,
)

BY_ITSELF = ("done", "failed")
"""Ends that no person was asked about; whoever did not want to extend a limit does not want another attempt."""


@dataclass(frozen=True, slots=True)
class Around:
    """What is known besides the attempt itself.

    ``learned``: it left a reflection; ``left_usd``: what the attempts at the task left of what one may cost; ``room``: the
    caps that executions share let it begin; ``newer``: somebody said something in the thread since.
    """

    learned: bool = False
    left_usd: float = 0.0
    room: bool = True
    newer: bool = False


@dataclass(frozen=True, slots=True)
class Again:
    """The task is tried again by itself; ``attempt`` is the number of that attempt."""

    attempt: int
    why: str


@dataclass(frozen=True, slots=True)
class Offer:
    """🔄 is offered; ``why`` it is not done by itself."""

    attempt: int
    why: str


@dataclass(frozen=True, slots=True)
class NoRetry:
    """It is not tried again, and why."""

    why: str


def decide_trial(
    trajectory: Trajectory, evaluated: Evaluated, policy: Policy, around: Around
) -> Again | Offer | NoRetry:
    """The first rule that answers wins: what is left, then what is only offered."""
    left = next((why for holds, why in _left(trajectory, policy) if holds), "")
    if left:
        return NoRetry(left)
    following = trajectory.attempt + 1
    offered = next((why for holds, why in _offered(trajectory, evaluated, policy, around) if holds), "")
    if offered:
        return Offer(following, offered)
    return Again(following, f"`{evaluated.check}` fails" if evaluated.check else "its check fails")


def worth_offering(trajectory: Trajectory, policy: Policy) -> bool:
    """Whether its answer offers 🔄, as far as can be known when it is given."""
    return not any(holds for holds, _ in _left(trajectory, policy))


def _left(trajectory: Trajectory, policy: Policy) -> tuple[tuple[bool, str], ...]:
    return (
        (not trajectory.finished, "it has not finished"),
        (trajectory.talk, "it was talk"),
        (trajectory.tour, "no model was configured"),
        (policy.trials == "never", "nothing is tried again here"),
        (is_called_off(trajectory), "a person ended it"),
        (trajectory.withdrawn, "a person took it back"),
        (not failure_of(trajectory) and not is_outage(trajectory), "nothing failed"),
        (trajectory.attempt >= policy.trials_most, f"it was attempt {trajectory.attempt} of {policy.trials_most}"),
    )


def _offered(
    trajectory: Trajectory, evaluated: Evaluated, policy: Policy, around: Around
) -> tuple[tuple[bool, str], ...]:
    return (
        (is_outage(trajectory), "the provider failed, not the attempt"),
        (policy.trials == "offer", "a person decides on further attempts here"),
        (evaluated.verifier != "fail", "nothing could say whether a further attempt worked"),
        (is_voted_down(trajectory), "a person voted it down"),
        (trajectory.reason not in BY_ITSELF, f"it ended as {trajectory.reason}, which a person decided"),
        (not around.learned, "nothing was learned from it"),
        (around.left_usd <= 0.0, "what one task may cost is spent"),
        (not around.room, "the budget of the day is used up"),
        (around.newer, "somebody wrote something new"),
    )
