"""Which visible effects follow from an event: neutral outbox items, rendered and delivered by bot/.

An item's key derives from (execution, seq), so that it is delivered once whatever fails.  Only the answer, a question
and a blocking problem notify.  Work has a progress message, small talk has none: it is asked for when triage says that it is
work, under the key of the start, so that there is one however often that is said.
"""

from __future__ import annotations

from agentic.core.display import tier_change_text
from agentic.core.events.execution_events import (
    Asked,
    CancelRequested,
    CommitCreated,
    Envelope,
    Escalated,
    Event,
    Finished,
    Gated,
    InputReceived,
    Intervened,
    ModelAnswered,
    OutboxItem,
    OutboxSort,
    OwnerChanged,
    PullRequestOpened,
    Quarantined,
    Started,
    ToolFinished,
    Triaged,
    WorkspaceFound,
)
from agentic.core.fold.model_requests import titled
from agentic.core.fold.ownership import (
    found_in,
    gone_with,
    is_crashing,
    owner_changed,
)
from agentic.core.fold.people import DENY, MACHINE, input_received
from agentic.core.rules.approvals import stands, verdict
from agentic.core.rules.questions import STOP, choice_of
from agentic.core.rules.used_up_limits import nearly
from agentic.core.state.execution import Call, Execution
from agentic.core.text.answers import refusal
from agentic.core.text.tool_words import meant, tool_words

_RECEIPTS = {
    "stop": "Stopping.",
    "guidance": "Got it, I'll use that in the next step.",
    "answer": "Thanks, continuing.",
    "edited": "I saw your edit and will use it in the next step.",
    "correction": "Noted: that was wrong. I'll use that in the next step.",
    "ask": "I'll ask my open questions before I continue.",
    "revoke": "OK, I'll ask again from the next step on.",
}
_ENDS = "Thanks, ending here."
_DENIED = "Denied. I won't do that."
_PARTLY = "Noted; "
_PAUSING, _RESUMING = "Pausing after this step. Press ▶ to resume.", "Resuming."
_PLAIN = frozenset(
    (*(_RECEIPTS[sort] for sort in ("stop", "guidance", "answer", "correction")), _ENDS, _DENIED, _PAUSING, _RESUMING)
)
"""Receipts that say no more than that something was taken in."""
_GOES_ON = " Press ▶ to resume."
_KEPT = "Got it. I'll use it when you resume."
_ASIDE = (
    "⚠️ The bot crashed {times} times while working on this, so I've stopped trying. Write anything here, or press ▶, to "
    "try once more; 🛑 ends it."
)
_DELETED = "The task's message was deleted, but I had already started. I'm continuing; 🛑 stops me."

_DROPPED = (
    "Dropped the queued task {tasks}. Send it again if you want it.",
    "Dropped {number} queued tasks: {tasks}. Send them again if you want them.",
)
_NAMED = 5


def visible(before: Execution, envelope: Envelope) -> tuple[OutboxItem, ...]:
    """The visible effects of an event, given the state before it."""
    event = envelope.event
    thread = event.thread if isinstance(event, Started) else before.thread
    item = OutboxItem(
        key=f"{envelope.execution}.{envelope.seq}.0", thread=thread, execution=envelope.execution, sort="notice"
    )

    def made(sort: OutboxSort, text: str = "", **more: object) -> tuple[OutboxItem, ...]:
        return (item.model_copy(update={"sort": sort, "text": text, **more}),)

    started = event if isinstance(event, Started) else before.started
    if started is not None and (started.side or started.child):
        return _beside(before, event, item)
    if isinstance(event, Triaged):
        return () if _has_card(before) else card(before, event)
    if isinstance(event, InputReceived):
        gone = _dropped(before.dropped) if event.sort == "stop" else ""
        dropped = made("notice", gone, key=f"{envelope.execution}.{envelope.seq}.1") if gone else ()
        return (*_heard(before, event, envelope, item), *dropped)
    if isinstance(event, Asked):
        return made(
            "question", event.text, question=event.question, options=event.options, parts=event.parts,
            asked=event.sort, expires=event.expires, attached=event.attached, notify=True,
        )  # fmt: skip
    if isinstance(event, CommitCreated | PullRequestOpened):
        return _on_offer(before, event, item)
    if isinstance(event, Escalated | Intervened | OwnerChanged | Quarantined | WorkspaceFound):
        text = _noticed(before, event, envelope)
        return made("notice", text, notify=isinstance(event, Quarantined)) if text else ()
    if isinstance(event, ModelAnswered):
        title, text = titled(before, event)[0], nearly(before, event.usd)
        named = made("title", title, key=f"{envelope.execution}.{envelope.seq}.1") if title else ()
        return (*named, *(made("notice", text) if text else ()))
    if isinstance(event, CancelRequested | Gated) and before.stopping is not None:
        text = _of_restored(event)
        return made("notice", text) if text else ()
    if isinstance(event, ToolFinished) and event.outcome == "unknown":
        return made("notice", _unknown(before, event))
    if isinstance(event, Finished):
        untitled = _stays_untitled(before)
        none = made("title", key=f"{envelope.execution}.{envelope.seq}.1") if untitled else ()
        return (*none, *made("answer", event.answer, files=event.files, notify=True))
    return ()


def _of_restored(event: CancelRequested | Gated) -> str:
    """What a stopped command destroyed, while it is restored and then; '' for what is seen anyway."""
    if isinstance(event, Gated):
        return f"The stopped command {event.reason}. {stands(event)}"
    if event.restoring is None:
        return ""
    files = f"restoring {event.restoring:,} files" if event.restoring else "looking for files"
    return f"Stopped: the command has ended. I'm still {files} that it destroyed; the next task waits for that."


def _dropped(tasks: tuple[str, ...]) -> str:
    """What is said of queued tasks that a stop drops, once for all of them."""
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    named = f"{', '.join(tasks[:_NAMED])}{more}"
    return _DROPPED[len(tasks) > 1].format(number=len(tasks), tasks=named) if tasks else ""


def card(execution: Execution, triaged: Triaged | None) -> tuple[OutboxItem, ...]:
    """The progress message of an execution that is taken for this; none of small talk, and none before that is known."""
    if execution.started is None or triaged is None or triaged.talk:
        return ()
    key, inbox = f"{execution.id}.1.0", execution.started.inbox
    return (OutboxItem(key=key, thread=execution.thread, execution=execution.id, sort="progress", target=inbox),)


def _heard(before: Execution, event: InputReceived, envelope: Envelope, item: OutboxItem) -> tuple[OutboxItem, ...]:
    """The receipt of what somebody did, unless it is seen anyway."""
    text = receipt(before, event, envelope)
    if not text or _is_seen(before, event, text):
        return ()
    sign = _is_plain(text) and _is_written(event)
    update = {"sort": "receipt", "text": text, "target": event.message or event.inbox, "sign": sign}
    return (item.model_copy(update=update),)


def _stays_untitled(execution: Execution) -> bool:
    """Whether its answers could have given the thread a title, and did not: no later task is asked for one."""
    started, turn = execution.started, execution.turn
    asked = started is not None and started.untitled and not execution.talk
    return asked and not execution.title and (turn.answered or turn.number > 1)


def _is_plain(text: str) -> bool:
    """Whether a receipt is one of these, or says how many answers are missing."""
    return text in _PLAIN or text.startswith(_PARTLY)


def _is_written(event: InputReceived) -> bool:
    """Whether somebody wrote a message, rather than pressed a button or set a sign on another one."""
    return event.message != "" and event.inbox.partition(".")[0] == event.message


def _is_seen(before: Execution, event: InputReceived, text: str) -> bool:
    """Whether what a press or a sign brought about is seen anyway: on the card, or on the question that it answers."""
    if _is_written(event) or not _is_plain(text):
        return False
    return event.sort == "answer" or (event.sort in ("stop", "pause", "resume") and _has_card(before))


def _has_card(execution: Execution) -> bool:
    """Whether its progress is shown: it is work."""
    return execution.triage is not None and not execution.triage.talk


def receipt(before: Execution, event: InputReceived, envelope: Envelope) -> str:
    """What a person is told of something they did, '' where nothing needs to be said."""
    after = input_received(before, event, envelope)
    if event.sort == "pause":
        return _of_pause(before, event)
    if event.sort == "resume":
        return _of_resume(before, after, event)
    if event.sort == "escalate":
        return tier_change_text.of_rocket(before)
    if event.sort == "deleted":
        return _DELETED if after.told != before.told else ""
    if (event.sort in ("answer", "guidance") and before.question is not None) or event.target:
        return _of_answer(before, after, event)
    if before.paused is not None and event.sort == "guidance":
        return _KEPT
    if event.sort == "revoke" and not before.allowances:
        return ""
    return _RECEIPTS.get(event.sort, "")


def _on_offer(before: Execution, event: CommitCreated | PullRequestOpened, item: OutboxItem) -> tuple[OutboxItem, ...]:
    """A branch for people to decide on; a pull request once, however often it is published to."""
    if isinstance(event, CommitCreated):
        return (item.model_copy(update={"sort": "offer", "text": event.message, "question": event.offer}),)
    if any(pull.key == event.key for pull in before.mind.pulls):
        return ()
    return (item.model_copy(update={"sort": "pull", "text": event.title, "question": event.key}),)


def _noticed(
    before: Execution, event: Escalated | Intervened | OwnerChanged | Quarantined | WorkspaceFound, envelope: Envelope
) -> str:
    if isinstance(event, Escalated | Intervened):
        return tier_change_text.told(before, event)
    return "" if before.told.put_back else _of_owners(before, event, envelope)


def _of_owners(before: Execution, event: OwnerChanged | Quarantined | WorkspaceFound, envelope: Envelope) -> str:
    """What is said where a process takes it up, or leaves it alone."""
    if isinstance(event, Quarantined):
        return _ASIDE.format(times=before.crashes)
    if isinstance(event, WorkspaceFound):
        return found_in(event) if event.changes else ""
    if before.quarantined is not None or is_crashing(owner_changed(before, event, envelope)):
        return ""
    return f"I was interrupted{_after_a_break(before)}{gone_with(event)}"


def _after_a_break(execution: Execution) -> str:
    """What a new process does with it."""
    if execution.question is not None:
        return ". My question above is still open."
    if execution.paused is not None:
        return " while paused, and I'm still paused." + (_GOES_ON if execution.paused.author.id != MACHINE.id else "")
    turn = execution.turn.number
    return f" and am continuing from turn {turn}." if turn else " and am continuing where I was."


def _of_pause(before: Execution, event: InputReceived) -> str:
    """The machine says itself why it holds a thread, where that can be read."""
    if event.author.id == MACHINE.id:
        return ""
    held = before.paused is not None and before.paused.author.id != MACHINE.id
    return "Already paused. Press ▶ to resume." if held else _PAUSING


def _of_resume(before: Execution, after: Execution, event: InputReceived) -> str:
    if before.quarantined is not None and after.quarantined is None:
        return _RESUMING
    if before.paused is None:
        return "" if event.author.id == MACHINE.id else "I'm not paused."
    return _RESUMING if after.paused is None else ""


def _of_answer(before: Execution, after: Execution, event: InputReceived) -> str:
    if event.sort not in ("answer", "guidance"):
        return _RECEIPTS.get(event.sort, "")
    taken = after.answer is event
    why = "" if taken or after.partial != before.partial else refusal(before, event)
    heard = _RECEIPTS["guidance"] if after.told != before.told else ""
    if why:
        return f"{why} {heard}".rstrip()
    if heard or taken:
        return heard or (_DENIED if _denies(before, event) else _ENDS if _ends(before, event) else _RECEIPTS["answer"])
    open_ = len(after.question.parts) - len(after.partial) if after.question is not None else 0
    return f"{_PARTLY}{open_} more to answer."


def _denies(before: Execution, event: InputReceived) -> bool:
    asked = before.question
    if asked is None or asked.sort != "approval":
        return False
    return verdict(asked.options, event.text, event.author.name)[0] == DENY


def _ends(before: Execution, event: InputReceived) -> bool:
    """The answer chooses to end where the machine asked whether to go on."""
    question = before.question
    if question is None or question.call or question.sort == "approval":
        return False
    return choice_of(question, event)[0] == STOP


def _beside(before: Execution, event: Event, item: OutboxItem) -> tuple[OutboxItem, ...]:
    """Of a side question only the answer is seen, as a reply to who asked.

    Of a child is seen what its parent shows of it, and a call of which nobody knows whether it happened.
    """
    if isinstance(event, ToolFinished) and event.outcome == "unknown":
        return (item.model_copy(update={"text": _unknown(before, event)}),)
    if not isinstance(event, Finished) or before.started is None or before.child:
        return ()
    update = {"sort": "answer", "text": event.answer, "target": before.started.inbox, "notify": True}
    return (item.model_copy(update=update),)


def _tool(call: Call) -> str:
    return tool_words(meant(call.block.tool, call.block.arguments)[0])


def _unknown(before: Execution, event: ToolFinished) -> str:
    call = next((call for call in before.turn.calls if call.id == event.call), None)
    command = call.block.arguments.get("command", "") if call is not None else ""
    what = f"`{command}`" if command else f"The tool {_tool(call)}" if call is not None else "A step"
    return f"{what} was cut off, so its outcome is unknown. I won't repeat it before checking what it did."
