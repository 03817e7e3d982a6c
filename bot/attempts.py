"""The attempts at one task: the first, the trials that followed it, and what they left of its money."""

from __future__ import annotations

from dataclasses import dataclass

from agentic.core.evolving import fold
from agentic.ports import Store


@dataclass(frozen=True, slots=True)
class Attempts:
    """``first`` is the execution that was the first one, ``most`` the highest number of an attempt so far.

    ``left_usd``: what all of them together left of what the first might cost.
    """

    first: str
    most: int
    left_usd: float


async def attempts_at(store: Store, thread: str, execution: str) -> Attempts:
    """Those at the task of an execution.  Raises ``StoreError``."""
    logs = {row.execution: fold([e async for e in store.read(row.execution)]) for row in await store.executions(thread)}
    own = logs[execution].started
    first = (own.trial_of if own is not None else "") or execution
    family = [one for name, one in logs.items() if one.started and (name == first or one.started.trial_of == first)]
    budget = logs[first].policy.max_usd + logs[first].caps.usd if first in logs else 0.0
    numbers = [one.started.attempt for one in family if one.started]
    return Attempts(first, max(numbers, default=1), budget - sum(one.spent.usd for one in family))
