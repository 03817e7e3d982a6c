"""Whether an execution is worth a reflection: a pure function over its trajectory and its outcome stream.

A reflection is written after a failure, a 👎 or a correction, once an execution.  It costs money, so it keeps to what
the execution may still spend, and it never follows a stop: a person who stops wants nothing more to run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agentic.core.events import Envelope, ModelRequested, Reflected
from reflexion.evaluator import approval
from reflexion.trajectory import Trajectory

ATTEMPTS = 2
"""Reflections that could not be used before it is given up."""
REQUESTS = 4
"""Requests to a model for one execution's reflection, counting those a crash cut off."""


@dataclass(frozen=True, slots=True)
class Reflect:
    """A reflection is to be written, and for what."""

    cause: str


@dataclass(frozen=True, slots=True)
class Leave:
    """No reflection, and why."""

    reason: str


def decide_reflection(trajectory: Trajectory, outcome: Iterable[Envelope]) -> Reflect | Leave:
    """The first rule that answers wins."""
    events = [envelope.event for envelope in outcome]
    reflections = [event for event in events if isinstance(event, Reflected)]
    requests = [event for event in events if isinstance(event, ModelRequested) and event.purpose == "reflection"]
    cause = _cause(trajectory)
    rules = (
        (not trajectory.finished, "it has not finished"),
        (any(event.reflection for event in reflections), "it has a reflection"),
        (len(reflections) >= ATTEMPTS or len(requests) >= REQUESTS, "it was tried often enough"),
        (not cause, "nothing failed"),
        (trajectory.empty, "there is nothing to learn from"),
        (trajectory.usd >= trajectory.usd_max, "the money of this execution is used up"),
    )
    return next((Leave(reason) for holds, reason in rules if holds), Reflect(cause))


def _cause(trajectory: Trajectory) -> str:
    approved = approval(trajectory)
    if trajectory.corrections:
        return "a person said that it was wrong"
    if approved is not None and approved < 0.5:
        return "a person voted it down"
    if trajectory.reason in ("stopped", "cancelled"):
        return ""
    if trajectory.provider_failed and trajectory.reason == "failed":
        return ""  # an outage teaches nothing about the task, and the same provider would be asked
    if trajectory.verifier == "fail":
        return "its last check failed"
    if trajectory.reason != "done":
        return f"it ended as {trajectory.reason}"
    return ""
