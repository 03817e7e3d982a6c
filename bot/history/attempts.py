"""The attempts at one task: the first, the retries after it, the money left for more, and what answers say of them."""

from __future__ import annotations

from dataclasses import dataclass

from agentic.core.events.execution_events import Started
from agentic.core.fold.fold import fold
from agentic.ports.runtime import Store
from agentic.runtime.budget_ledger import costs_in
from reflexion.evaluation.trajectory import Trajectory, read_trajectory
from reflexion.reflection.retry_policy import worth_offering

OFFERED = "{attempt} of {most}"
"""Which attempt is offered, as its button says."""
TOOK = "-# That took {attempt} attempts."
WAS = "-# That was attempt {attempt} of {most}."


@dataclass(frozen=True, slots=True)
class Attempts:
    """``first`` is the first execution, ``most`` the highest number of an attempt so far.

    ``left_usd``: what all of them together, including judging and reflecting, left of the first one's cap.
    """

    first: str
    most: int
    left_usd: float


async def attempts_at(store: Store, thread: str, execution: str) -> Attempts:
    """Return the attempts at the task of an execution. Raises ``StoreError``."""
    logs = {row.execution: fold([e async for e in store.read(row.execution)]) for row in await store.executions(thread)}
    own = logs[execution].started
    first = (own.trial_of if own is not None else "") or execution
    members = {
        name: one for name, one in logs.items() if one.started and (name == first or one.started.trial_of == first)
    }
    family = members.values()
    budget = logs[first].policy.max_usd + logs[first].caps.usd if first in logs else 0.0
    numbers = [one.started.attempt for one in family if one.started]
    spent = sum(one.spent.usd for one in family) + sum([await _learning_usd(store, name) for name in members])
    return Attempts(first, max(numbers, default=1), budget - spent)


async def _learning_usd(store: Store, execution: str) -> float:
    """Return the cost of judging an execution and reflecting on it, as its caps count it."""
    return sum(costs_in(each.event for each in await store.read_outcome(execution)).values())


@dataclass(frozen=True, slots=True)
class Tried:
    """What an answer says of attempts, and whether it offers another one."""

    lines: tuple[str, ...] = ()
    offered: str = ""
    """Which attempt that is, '' for no offer."""


async def tried_in(store: Store, execution: str) -> Tried:
    """Return what the answer of an execution says of attempts at its task. Raises ``StoreError``."""
    log = [envelope async for envelope in store.read(execution)]
    started = log[0].event if log else None
    if not isinstance(started, Started) or started.side:
        return Tried()
    return tried(started, read_trajectory(log))


def tried(started: Started, trajectory: Trajectory) -> Tried:
    """The same for values that were read already."""
    numbers = {"attempt": started.attempt, "most": max(started.policy.trials_most, started.attempt)}
    lines: list[str] = []
    offer = OFFERED.format(attempt=started.attempt + 1, most=numbers["most"])
    offered = offer if worth_offering(trajectory, started.policy) else ""
    if started.attempt > 1:
        well = trajectory.reason == "done" and trajectory.verifier != "fail"
        lines.append((TOOK if well else WAS).format(**numbers))
    return Tried(tuple(lines), offered)
