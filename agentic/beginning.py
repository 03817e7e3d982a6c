"""What a process notes first when it takes an execution up: its start, or that it goes on from here; pure."""

from __future__ import annotations

from agentic.core.decide import RULES_VERSION
from agentic.core.events import Event, OwnerChanged, RulesChanged, Started
from agentic.core.execution import Execution
from agentic.ports import Lease


def taken_up(execution: Execution, started: Started | None, lease: Lease) -> tuple[Event, ...]:
    """The events; by them the log says at each place who worked on it, and by which version of the rules."""
    if execution.started is None:
        if started is None:
            message = f"execution {execution.id} has no log to continue"
            raise ValueError(message)
        return (started.model_copy(update={"rules": RULES_VERSION}),)
    if execution.finished is not None:
        return ()
    owner = (OwnerChanged(worker=lease.owner, lost=execution.beside),) if execution.fence != lease.fence else ()
    rules = (RulesChanged(rules=RULES_VERSION),) if execution.rules != RULES_VERSION else ()
    return (*owner, *rules)
