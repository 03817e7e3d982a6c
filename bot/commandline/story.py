"""A log as a person would tell it: one line an event, nothing for events of no interest here; pure."""

from __future__ import annotations

from agentic.core.events import (
    Asked,
    CallBlock,
    Decided,
    Envelope,
    Escalated,
    Evaluated,
    FeedbackGiven,
    Finished,
    InputReceived,
    Intervened,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OwnerChanged,
    Reflected,
    Started,
    TextBlock,
    ToolFinished,
    ToolStarted,
    TurnEnded,
)

WIDTH = 160


def line_of(envelope: Envelope) -> str:
    """One event as a person would tell it, '' for what is of no interest here."""
    match envelope.event:
        case Started() as event:
            return f"{event.requester.name} asked: {_short(event.task)}"
        case InputReceived() as event:
            return f"{event.author.name} ({event.sort}): {_short(event.text)}"
        case ModelRequested() as event:
            return f"asked {event.model} (tier {event.tier}, {event.purpose}, attempt {event.attempt})"
        case ModelAnswered() as event:
            return _answered(event)
        case ModelFailed() as event:
            return f"the model failed: {event.failure} {_short(event.message)}"
        case ToolStarted() as event:
            return f"began {event.tool} {_short(str(event.arguments))}"
        case ToolFinished() as event:
            code = "" if event.exit_code is None else f" (exit {event.exit_code})"
            return f"  {event.outcome}{code}: {_short(event.preview)}"
        case _:
            return _judged(envelope)


def _judged(envelope: Envelope) -> str:
    match envelope.event:
        case TurnEnded() as event:
            return f"turn {event.turn} ended, confidence {event.confidence.shown}"
        case Asked() as event:
            return f"asked the person: {_short(event.text)}"
        case Decided() as event:
            return f"{event.by.name} chose: {_short(event.choice or event.text)}"
        case Intervened() as event:
            return f"rule {event.rule}: {_short(event.text)}"
        case Escalated() as event:
            return f"moved from tier {event.from_tier} to {event.to_tier}: {event.trigger}"
        case OwnerChanged() as event:
            return f"another process went on with it: {event.reason}"
        case Finished() as event:
            return f"{event.reason}: {_short(event.answer)}"
        case Evaluated() as event:
            return f"scored {event.score} of 100, verifier {event.verifier}"
        case FeedbackGiven() as event:
            return f"{event.by.name} voted {event.vote}"
        case Reflected() as event:
            return f"reflection {event.reflection or event.problem}"
        case _:
            return ""


def _answered(event: ModelAnswered) -> str:
    texts = " ".join(block.text for block in event.blocks if isinstance(block, TextBlock))
    calls = ", ".join(block.tool for block in event.blocks if isinstance(block, CallBlock))
    return f"it answered: {_short(texts)}" + (f" -> {calls}" if calls else "")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= WIDTH else flat[: WIDTH - 1] + "…"
