"""Which visible effects follow from an event: neutral outbox items, rendered and delivered by bot/.

An item's key derives from (execution, seq), so that it is delivered once whatever fails.  Only the answer, a question
and a blocking problem notify.
"""

from __future__ import annotations

from agentic.core.events import (
    Asked,
    Envelope,
    Escalated,
    Finished,
    InputReceived,
    OutboxItem,
    OutboxSort,
    OwnerChanged,
    Started,
    ToolFinished,
)
from agentic.core.execution import Execution

_RECEIPTS = {
    "stop": "Stopping.",
    "guidance": "I will take that into the next step.",
    "answer": "Thank you, going on.",
    "edited": "I saw your edit and will take it into the next step.",
    "correction": "Noted: that was wrong. I will take it into the next step.",
}

_DROPPED = "You stopped this thread, so what was queued was dropped; send it again if you want it:"


def visible(before: Execution, envelope: Envelope) -> tuple[OutboxItem, ...]:
    """The visible effects of an event, given the state before it."""
    event = envelope.event
    thread = event.thread if isinstance(event, Started) else before.thread
    item = OutboxItem(
        key=f"{envelope.execution}.{envelope.seq}.0", thread=thread, execution=envelope.execution, sort="notice"
    )

    def made(sort: OutboxSort, text: str = "", **more: object) -> tuple[OutboxItem, ...]:
        return (item.model_copy(update={"sort": sort, "text": text, **more}),)

    if isinstance(event, Started):
        return made("progress", target=event.inbox)
    if isinstance(event, InputReceived):
        if event.sort == "queue":
            return made("notice", f"{_DROPPED}\n- {event.text[:200]}")
        text = _RECEIPTS.get(event.sort, "")
        return made("receipt", text, target=event.message or event.inbox) if text else ()
    if isinstance(event, Asked):
        return made("question", event.text, question=event.question, options=event.options, notify=True)
    if isinstance(event, Escalated):
        return made("notice", f"Handing over to a stronger model (tier {event.to_tier}), because {event.trigger}.")
    if isinstance(event, OwnerChanged):
        return made("notice", "I was interrupted in the middle of this and go on where I was.")
    if isinstance(event, ToolFinished) and event.outcome == "unknown":
        return made("notice", _unknown(before, event))
    if isinstance(event, Finished):
        return made("answer", event.answer, files=event.files, notify=True)
    return ()


def _unknown(before: Execution, event: ToolFinished) -> str:
    call = next((call for call in before.turn.calls if call.id == event.call), None)
    command = call.block.arguments.get("command", "") if call is not None else ""
    what = f"`{command}`" if command else f"the tool {call.block.tool}" if call is not None else "a step"
    return (
        f"I was interrupted while {what} ran, so its outcome is unknown. I do not repeat it, I look at the state first."
    )
