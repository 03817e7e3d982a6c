"""The part of the fold that people cause: what they say, what they are asked, what they decide."""

from __future__ import annotations

from agentic.core.counting import change_call
from agentic.core.events import Asked, Decided, Envelope, InputReceived, PolicyChanged
from agentic.core.execution import Execution, Told
from agentic.core.frozen import changed
from agentic.core.telling import guidance


def input_received(execution: Execution, event: InputReceived, envelope: Envelope) -> Execution:
    """A stop, an answer, a correction or guidance of a person."""
    if event.sort == "stop":
        return changed(execution, stopping=execution.stopping or event)
    if event.sort == "answer" and event.target and not _asks(execution, event.target):
        return execution
    if execution.question is not None and execution.answer is None and event.sort in ("answer", "guidance"):
        return changed(execution, answer=event)
    if event.sort == "correction":
        judged = changed(execution.judged, corrections=execution.judged.corrections + 1)
        execution = changed(execution, judged=judged)
    text = guidance(event)
    if not text:
        return execution
    told = execution.told
    return changed(execution, told=Told(texts=(*told.texts, text), unseen=told.unseen + 1))


def _asks(execution: Execution, question: str) -> bool:
    return execution.question is not None and execution.question.question == question


def policy_changed(execution: Execution, event: PolicyChanged, envelope: Envelope) -> Execution:
    """What people added to the caps."""
    caps = execution.caps
    caps = changed(
        caps,
        turns=caps.turns + event.add_turns,
        tokens=caps.tokens + event.add_tokens,
        usd=caps.usd + event.add_usd,
        minutes=caps.minutes + event.add_minutes,
    )
    spent = changed(execution.spent, minutes_passed=False) if event.add_minutes else execution.spent
    return changed(execution, caps=caps, spent=spent, decided=None)


def asked(execution: Execution, event: Asked, envelope: Envelope) -> Execution:
    """A question is open."""
    if event.call:
        execution = change_call(execution, event.call, asked=event.question)
    return changed(execution, question=event, asked_at=envelope.at, answer=None, decided=None)


def decided(execution: Execution, event: Decided, envelope: Envelope) -> Execution:
    """The question is closed; what the rules count begins anew."""
    waited = (envelope.at - execution.asked_at).total_seconds() if execution.asked_at else 0.0
    spent = changed(execution.spent, waiting=execution.spent.waiting + max(waited, 0.0))
    judged = changed(execution.judged, errors_since=(), stuck_since=False, empty_answers=0)
    return changed(
        execution,
        question=None,
        asked_at=None,
        answer=None,
        decided=event,
        decided_on=execution.question,
        spent=spent,
        judged=judged,
    )
