"""Caps that end the work or are put to a person: turns, tokens, money, minutes.

Where somebody can answer, a cap that is reached is asked about and nothing new begins before the answer; where nobody can,
it ends the execution.  Either is decided before a request is made, so no cap is exceeded by more than one.
"""

from __future__ import annotations

from agentic.core.events.execution_events import ToolFinished
from agentic.core.rules import questions
from agentic.core.rules.model_failures import standing_timers
from agentic.core.rules.task_end import close, ended_running, unknown
from agentic.core.rules.used_up_limits import ended, question, reached
from agentic.core.state.actions import (
    Action,
    Ask,
    Checkpoint,
    Finish,
    Record,
)
from agentic.core.state.execution import Call, Execution

_TIME = "the time is used up"


def out_of_time(execution: Execution) -> Action | None:
    """The wall-time cap ends what runs, also in the middle of an effect; then it is asked about, or is the end."""
    if not execution.spent.minutes_passed:
        return None
    if not execution.attended:
        return close(execution, ended(execution, "minutes"), _TIME)
    ending = ended_running(execution, _TIME)
    if ending is not None:
        return ending
    lost = tuple(_given_up(call) for call in execution.open_calls if call.intent is not None and not call.asked)
    return Record(lost) if lost else None


def budget(execution: Execution) -> Action | None:
    """Time, tokens or money are used up: ask for more and wait, or end visibly."""
    what = reached(execution)
    if what is None:
        return None
    if not execution.attended:
        return close(execution, ended(execution, what), "the budget is used up")
    if execution.question is not None:
        return questions.waiting(execution) if execution.question.sort == "extension" else None
    decision = questions.decided(execution)
    if decision is not None:
        return decision
    if execution.touched:
        return Checkpoint(standing_timers(execution), "question")
    return Ask(question(execution, what))


def limit(execution: Execution) -> Action | None:
    """At the turn limit the person is asked to extend it; it is never extended by itself."""
    if execution.turn.number < execution.turn_limit or not execution.turn.ended:
        return None
    if execution.attended:
        return Ask(question(execution, "turns"))
    return Finish(ended(execution, "turns"))


def _given_up(call: Call) -> ToolFinished:
    """The result of what an earlier owner had begun, where there is no time to begin it again."""
    assert call.intent is not None
    if call.intent.effect == "unkeyed":
        return unknown(call)
    return ToolFinished(call=call.id, outcome="cancelled", preview=f"Cancelled: {_TIME}.")
