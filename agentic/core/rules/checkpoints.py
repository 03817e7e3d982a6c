"""When the workspace is saved: before the first change, every few turns of change, and before a person is asked.

A checkpoint is a position in the log together with the workspace as it was there, so it is taken only where no effect
runs.  What nothing has touched since the last one is not saved again.  At the end it is taken after ``Finished``, so that
no answer waits for it; it then stands in the outcome stream.
"""

from __future__ import annotations

from agentic.core.claims.call_counts import may_change
from agentic.core.events.execution_events import Moment
from agentic.core.rules import approvals, escalation, task_end
from agentic.core.state.execution import Call, Execution
from agentic.core.state.tiers import next_tier


def due(execution: Execution) -> Moment | None:
    """Why a checkpoint is due now; None where none is.  Asked where nothing is in flight."""
    call = next(iter(execution.open_calls), None)
    if call is not None:
        return _before_call(execution, call)
    turn = execution.turn
    if not execution.touched or not turn.ended or _ends(execution):
        return None
    if _asks_next(execution):
        return "question"
    last = execution.saved.turn if execution.saved is not None else 0
    return "turns" if turn.number - last >= every(execution) else None


def every(execution: Execution) -> int:
    """After how many turns the next one is due."""
    simple = execution.triage is not None and execution.triage.complexity == "simple"
    return execution.policy.checkpoint_turns_simple if simple else execution.policy.checkpoint_turns


def _before_call(execution: Execution, call: Call) -> Moment | None:
    if call.held_back:
        return "question" if execution.touched and approvals.denial(execution, call) is None else None
    if task_end.refused(execution, call) is not None:
        return None
    if execution.checkpoint is None and may_change(execution, call.block.tool):
        return "first_change"
    tools = execution.started.tools if execution.started else ()
    asks = any(tool.asks for tool in tools if tool.name == call.block.tool)
    return "question" if asks and execution.touched and call.intent is None else None


def _ends(execution: Execution) -> bool:
    told = execution.told
    return not told.unseen and not told.put_back and task_end.completed(execution) is not None


def _asks_next(execution: Execution) -> bool:
    """At the limit, and where no stronger model is left, the next step is a question."""
    if not execution.attended:
        return False
    if execution.turn.number >= execution.turn_limit:
        return True
    return escalation.trigger(execution) is not None and next_tier(execution) is None
