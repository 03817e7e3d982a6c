"""Whether an execution is worth a reflection: a pure function over its trajectory and its outcome stream.

A reflection is written after a failure, a 👎 or a correction, once an execution, and where a task that ended well got
round an obstacle (``obstacle.py``); where a person then says that it was wrong, that is reflected on as well. It costs
money, so it keeps to what the execution may still spend, and it never follows a stop: a person who stops wants nothing
more to run. Of a 👎 alone nobody could say what was wrong, so the person is asked first, once; what they say is a
correction (docs/decisions/0027).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agentic.core.events.execution_events import (
    Asked,
    Envelope,
    ModelRequested,
    Reflected,
)
from reflexion.evaluation.score import approval
from reflexion.evaluation.trajectory import Trajectory
from reflexion.reflection.feedback_question import open_question
from reflexion.reflection.obstacle import Obstacle, overcome

OVERCAME = "it got round an obstacle and ended well"
VOTED_DOWN = "a person voted it down"
ATTEMPTS = 2
"""Reflections that could not be used before it is given up."""
REQUESTS = 4
"""Requests to a model for one execution's reflection, counting those a crash cut off."""


@dataclass(frozen=True, slots=True)
class Reflect:
    """A reflection is to be written, and for what."""

    cause: str
    obstacle: Obstacle | None = None
    """What it got round; None where it failed."""


@dataclass(frozen=True, slots=True)
class NoReflection:
    """No reflection, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class AskWhy:
    """A person is to be asked what was wrong."""


def decide_reflection(
    trajectory: Trajectory, outcome: Iterable[Envelope], *, asks: bool = False
) -> Reflect | AskWhy | NoReflection:
    """The first rule that answers wins; ``asks``: somebody can be asked."""
    events = [envelope.event for envelope in outcome]
    requests = [event for event in events if isinstance(event, ModelRequested) and event.purpose == "reflection"]
    cause = failure_of(trajectory)
    obstacle = None if cause else overcome(trajectory)
    # What it said of a success is no answer to what a person says against it.
    reflections = [event for event in events if isinstance(event, Reflected) and not (event.worked and cause)]
    asked = any(isinstance(event, Asked) for event in events)
    answered = trajectory.finished and not trajectory.tour
    if asks and not asked and answered and is_voted_down(trajectory) and not trajectory.corrections:
        return AskWhy()
    rules = (
        (not trajectory.finished, "it has not finished"),
        (trajectory.tour, "no model was configured"),
        (any(event.reflection for event in reflections), "it has a reflection"),
        (cause == VOTED_DOWN and bool(open_question(events)), "a person is asked what was wrong"),
        (len(reflections) >= ATTEMPTS or len(requests) >= REQUESTS, "it was tried often enough"),
        (not cause and obstacle is None, "nothing failed"),
        (trajectory.empty, "there is nothing to learn from"),
        (trajectory.usd >= trajectory.usd_max, "the money of this execution is used up"),
    )
    return next((NoReflection(reason) for holds, reason in rules if holds), Reflect(cause or OVERCAME, obstacle))


def is_voted_down(trajectory: Trajectory) -> bool:
    """Most of the votes are 👎, the requester's weighing more."""
    approved = approval(trajectory)
    return approved is not None and approved < 0.5


def is_called_off(trajectory: Trajectory) -> bool:
    """A person wanted it to end, not to be done better."""
    return trajectory.reason in ("stopped", "cancelled")


def is_outage(trajectory: Trajectory) -> bool:
    """The provider failed, not the attempt: that teaches nothing about the task, and the same provider would be asked."""
    return trajectory.provider_failed and trajectory.reason == "failed"


def failure_of(trajectory: Trajectory) -> str:
    """What was wrong with it, '' where nothing was."""
    if trajectory.corrections:
        return "a person said that it was wrong"
    if is_voted_down(trajectory):
        return VOTED_DOWN
    if is_called_off(trajectory) or is_outage(trajectory) or trajectory.tour:
        return ""
    if trajectory.verifier == "fail":
        return "its last check failed"
    if trajectory.reason != "done":
        return f"it ended as {trajectory.reason}"
    return ""
