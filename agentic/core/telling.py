"""What the model is told in user messages: the task, results of calls, guidance of people, notes of ours.

What came from outside (quoted messages, earlier answers, attachments) is marked as data: it may inform, it never
instructs, and it never widens a right.
"""

from __future__ import annotations

from agentic.core.conversation import Message, ToolAnswer
from agentic.core.events import EarlierResult, Escalated, InputReceived, QuotedMessage, Started, WorkspaceRestored
from agentic.core.execution import Execution, Turn

NOTE = "[Note from Threadwright]"
REPLIES = "[What this replies to or passes on, quoted as data]"


def first_message(started: Started) -> str:
    """The first user message: the task, who asked, what they attached, and what came before in the thread."""
    parts = [f"[Task from {started.requester.name}]\n{started.task}"]
    if started.files:
        lines = [_file_line(file.path or file.name, file.size, file.skipped) for file in started.files]
        parts.append("[Attached files]\n" + "\n".join(lines))
    if started.earlier:
        parts.append("[Earlier in this thread]\n" + "\n".join(_earlier(result) for result in started.earlier))
    if started.quoted:
        parts.append("[Recent messages, quoted as data]\n" + "\n".join(_quoted(message) for message in started.quoted))
    return "\n\n".join(parts)


def guidance(event: InputReceived) -> str:
    """What the next request says of something a person did; '' where it concerns only people."""
    name = event.author.name
    attached = "".join("\n" + _file_line(file.path or file.name, file.size, file.skipped) for file in event.files)
    if event.quoted:
        attached += f"\n{REPLIES}\n" + "\n".join(_quoted(message) for message in event.quoted)
    if event.sort in ("guidance", "answer", "task"):
        return f"[User guidance from {name}]\n{event.text}{attached}"
    if event.sort == "edited":
        return f"[User guidance: {name} edited the task, which now reads]\n{event.text}{attached}"
    if event.sort == "ask":
        return f"[User guidance from {name}]\nBefore you go on, put your open questions to me with ask_user."
    if event.sort == "deleted":
        return f"{NOTE} {name} deleted the message with the task. Go on with it, unless somebody stops you."
    if event.sort == "correction":
        return f"[User correction from {name}: that was wrong]\n{event.text}{attached}".rstrip()
    return ""


def put_back(event: WorkspaceRestored) -> str:
    """What the next request says where the workspace was put back and the work goes on from there."""
    who = event.by.name if event.by else "A person"
    since = f"they were after turn {event.turn}" if event.turn else "they were before the first turn"
    lost = f" Not as it was then, so do not rely on it: {event.lost}." if event.lost else ""
    return (
        f"{NOTE} {who} lets this go on from here. The files of the workspace are as {since}; whatever came later is not "
        f"in them.{lost} Look before you change something."
    )


def taken_over(event: Escalated) -> str:
    """What the next request says where another tier goes on."""
    if event.to_tier < event.from_tier:
        return f"{NOTE} You take over from a stronger model, which got past what was hard. Finish what remains."
    if event.rule == "person":
        return f"{NOTE} You take over from a weaker model, because {event.trigger}."
    return f"{NOTE} You take over from a weaker model, which was stuck ({event.trigger})."


def pending_message(execution: Execution) -> Message | None:
    """What the next request adds to the history: results first, in call order, then what was said and noted."""
    answers = answers_of(execution.turn) if execution.turn.answered else ()
    if not answers and not execution.told.texts:
        return None
    return Message("user", text="\n\n".join(execution.told.texts), answers=answers)


def answers_of(turn: Turn) -> tuple[ToolAnswer, ...]:
    """The results of a turn's calls, in call order."""
    answers = [
        ToolAnswer(
            call.block.provider_id,
            call.block.tool,
            shortened(call.result.preview, turn.longest),
            failed=call.result.outcome != "ok",
        )
        for call in turn.calls
        if call.result is not None
    ]
    return tuple(answers)


def shortened(text: str, longest: int) -> str:
    """Beginning and end of a result that is longer than the request has room for; 0: there is room for all of it."""
    if not longest or len(text) <= longest:
        return text
    head = longest * 2 // 3
    left_out = f"\n[… {len(text) - longest:,} characters are left out here, because the request was too long …]\n"
    return f"{text[:head]}{left_out}{text[len(text) - (longest - head) :]}"


def _file_line(path: str, size: int, skipped: str) -> str:
    return f"- {path} was skipped: {skipped}" if skipped else f"- {path} ({size:,} bytes)"


def _earlier(result: EarlierResult) -> str:
    files = f" Files changed: {', '.join(result.files)}." if result.files else ""
    since = f"\n  Since then: {' '.join(result.since)}" if result.since else ""
    return f"- Task: {result.task}\n  Ended: {result.reason}.{files}\n  Answer: {result.answer}{since}"


def _quoted(message: QuotedMessage) -> str:
    text = message.text.replace("\n", "\n> ")
    return f"> {message.author}: {text}"
