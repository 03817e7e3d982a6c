"""The part of the fold that models cause: requests, their answers, their failures."""

from __future__ import annotations

from agentic.core.claims import confidence
from agentic.core.claims.call_counts import take_report
from agentic.core.events.execution_events import (
    CallBlock,
    Envelope,
    FailureClass,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    ReasoningBlock,
    TextBlock,
)
from agentic.core.events.ids import call_id
from agentic.core.fold.prompt_size import answered, characters, requested
from agentic.core.prompt.user_messages import pending_message
from agentic.core.state.conversation import Message, ToolCall
from agentic.core.state.counters import Consulted
from agentic.core.state.execution import (
    Call,
    Execution,
    Failure,
    Request,
    Told,
    Turn,
)
from agentic.core.state.replace import changed
from agentic.core.text.announced_intent import promises
from agentic.core.text.offered_title import without_title
from agentic.prompts.identity import TITLE_TURNS

UNPRICED: frozenset[FailureClass] = frozenset(("lost", "cancelled", "timed_out"))
"""Failures after which nobody knows what a request cost: its reservation is spent."""
UNCOUNTED: frozenset[FailureClass] = frozenset(("lost", "cancelled", "context_overflow", "model_unknown"))
"""Failures after which the same model is asked again, since they say nothing against it, or after which it never is."""
OURS: frozenset[FailureClass] = frozenset(("lost", "cancelled"))
"""Failures by which a request ended from our side: the process died, or it was stopped."""
_NO_FAILURE, _NOTHING_TOLD = Failure(), Told()


def cost_of_failure(event: ModelFailed, reserved_usd: float) -> float:
    """US dollars that a request without an answer counts as: what is known of it, else what was reserved, if it was begun.

    A request that the provider refused costs nothing.
    """
    if event.usd is not None:
        return event.usd
    return reserved_usd if event.begun or event.failure in UNPRICED else 0.0


def model_requested(execution: Execution, event: ModelRequested, envelope: Envelope) -> Execution:
    """A request carries what was told; it is in flight until it has an answer or a failure."""
    if event.purpose != "turn":
        return changed(execution, request=_request(event, envelope), consulted=None)
    pending = pending_message(execution)
    history, length = execution.history, execution.extent.history
    if pending is not None:
        history, length = history + (pending,), length + characters((pending,))  # noqa: RUF005 - quicker
    request = _request(event, envelope)
    turn = execution.turn if event.turn == execution.turn.number else Turn(number=event.turn, ended=False)
    extent = requested(execution.extent, event, length)
    return changed(
        execution, request=request, history=history, extent=extent, told=_NOTHING_TOLD, turn=turn, decided=None
    )


def model_answered(execution: Execution, event: ModelAnswered, envelope: Envelope) -> Execution:
    """An answer is the turn, with its calls; what it cost is spent."""
    if execution.request is not None and execution.request.purpose != "turn":
        return _consulted(execution, event)
    title, text = titled(execution, event)
    blocks = [block for block in event.blocks if isinstance(block, CallBlock)]
    calls = tuple([Call(id=call_id(event.request, index), block=block.meant) for index, block in enumerate(blocks)])
    reasoning = [
        (block.provider, block.text, block.opaque) for block in event.blocks if isinstance(block, ReasoningBlock)
    ]
    said: tuple[Message, ...] = ()
    if text or calls:  # the model reads a title that it offered, and so does not offer it again
        made = tuple([ToolCall(block.provider_id, block.tool, block.arguments) for block in blocks])
        said = (Message("assistant", text=_text(event), calls=made, reasoning=tuple(reasoning)),)
    judged = execution.judged
    judged = changed(
        judged,
        empty_answers=0 if text or calls else judged.empty_answers + 1,
        textual_answers=0 if calls else judged.textual_answers + _is_textual(execution, event, text),
        truncated_answers=judged.truncated_answers + 1 if event.stop == "length" else 0,
        reported_this_turn=False,
    )
    spent = execution.spent
    spent = changed(spent, tokens=spent.tokens + event.usage.total, usd=spent.usd + event.usd)
    execution = changed(
        execution,
        request=None,
        failure=_NO_FAILURE,
        mind=changed(execution.mind, perceived=None) if execution.mind.perceived is not None else execution.mind,
        history=execution.history + said,
        extent=answered(execution.extent, event.usage, characters(said)),
        spent=spent,
        judged=judged,
        watches=changed(execution.watches, notes=()) if execution.watches.notes else execution.watches,
        title=execution.title or title,
        turn=Turn(number=execution.turn.number, text=text, stop=event.stop, calls=calls, ended=False, answered=True),
    )
    stated = confidence.stated_in(text)
    return execution if stated is None else take_report(execution, stated)


def titled(execution: Execution, event: ModelAnswered) -> tuple[str, str]:
    """The title that an answer gives the thread, '' for none, and what else the answer says.

    Titles are looked for in the first answers of work whose thread needs one; the first good one is taken, and what is
    offered beside it is not shown either.
    """
    text, started = _text(event), execution.started
    asked = started is not None and started.untitled and not execution.talk
    beside = execution.request is not None and execution.request.purpose != "turn"
    if not asked or beside or execution.turn.number > TITLE_TURNS:
        return "", text
    title, rest = without_title(text)
    return ("" if execution.title else title), rest


def _text(event: ModelAnswered) -> str:
    return "\n".join([block.text for block in event.blocks if isinstance(block, TextBlock)]).strip()


def _is_textual(execution: Execution, event: ModelAnswered, text: str) -> bool:
    """Text that may be an answer; what only announces a call is none, until that has gone on for long."""
    patient = execution.judged.repeats.idle_turns < execution.policy.productivity_turns
    return bool(text) and event.stop != "length" and not (patient and promises(text))


def model_failed(execution: Execution, event: ModelFailed, envelope: Envelope) -> Execution:
    """A request without an answer; where nobody knows what it cost, its reservation is spent."""
    spent = execution.spent
    reserved = execution.request.reserved_usd if execution.request is not None else 0.0
    usd = spent.usd + cost_of_failure(event, reserved)
    spent = changed(spent, usd=usd, tokens=spent.tokens + event.usage.total)
    model = execution.request.model if execution.request is not None else ""
    if event.failure == "model_unknown" and model:
        execution = changed(execution, unknown=execution.unknown | {model})
    if execution.request is not None and execution.request.purpose != "turn":
        asked = execution.request
        failed = event.message or event.failure
        lost = event.failure in OURS
        came = Consulted(purpose=asked.purpose, failed=failed, model=asked.model, tier=asked.tier, lost=lost)
        return changed(execution, request=None, spent=spent, consulted=came)
    before = execution.failure
    count = before.count + (event.failure not in UNCOUNTED)
    failure = Failure(count=count, last=event, at=envelope.at, compacted=before.compacted, model=model)
    return changed(execution, request=None, spent=spent, failure=failure)


def _request(event: ModelRequested, envelope: Envelope) -> Request:
    return Request(
        id=event.request,
        seq=envelope.seq,
        fence=envelope.fence,
        turn=event.turn,
        tier=event.tier,
        model=event.model,
        reserved_usd=event.reserved_usd,
        purpose=event.purpose,
    )


def _consulted(execution: Execution, event: ModelAnswered) -> Execution:
    """What a request beside the turns came to; it cost what it cost."""
    asked, spent = execution.request, execution.spent
    assert asked is not None
    text = _text(event)
    failed = "" if text else "it answered nothing"
    came = Consulted(purpose=asked.purpose, text=text, failed=failed, model=asked.model, tier=asked.tier)
    spent = changed(spent, tokens=spent.tokens + event.usage.total, usd=spent.usd + event.usd)
    return changed(execution, request=None, consulted=came, spent=spent)
