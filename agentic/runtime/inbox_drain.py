"""Which items of a thread's inbox a running execution takes in, and what the log keeps of them; pure."""

from __future__ import annotations

from agentic.core.events.execution_events import InboxItem, InputReceived, Sort
from agentic.core.events.ids import side_target
from agentic.core.fold.exposure import typed
from agentic.core.state.execution import Execution

TAKEN: frozenset[Sort] = frozenset(
    (
        "guidance",
        "answer",
        "stop",
        "pause",
        "resume",
        "ask",
        "escalate",
        "feedback",
        "correction",
        "edited",
        "deleted",
        "revoke",
    )
)
"""Sorts of inbox items that concern the running execution; others begin a new one and stay where they are."""


def taken_from(execution: Execution, pending: list[InboxItem]) -> list[InboxItem]:
    """What concerns this execution, and the queue that a stop drops; the rest stays where it is.

    A side question and a child take nothing but what is meant for just them: the inbox belongs to the execution that they
    run beside.
    """
    if execution.side or execution.child:
        return [item for item in pending if item.target == side_target(execution.id)]
    own = [item for item in pending if not item.target.startswith(side_target(""))]
    stop = next((place for place, item in enumerate(own) if item.sort == "stop"), None)
    if stop is None:
        return [item for item in own if execution.stopping is None and _takes_in(execution, item)]
    before = [item for item in own[:stop] if item.sort in ("task", "queue") or _takes_in(execution, item)]
    return [*before, *(item for item in own[stop:] if item.sort == "stop")]


def received(item: InboxItem) -> InputReceived:
    """An inbox item as the log keeps it; a task that is taken in was queued and is dropped."""
    return InputReceived(
        inbox=item.id,
        sort="queue" if item.sort == "task" else item.sort,
        author=item.author,
        message=item.message,
        text=item.text,
        files=item.files,
        target=item.target,
        quoted=item.quoted,
        exposure=typed(item.text),
    )


def _takes_in(execution: Execution, item: InboxItem) -> bool:
    if item.sort in ("feedback", "correction"):
        return item.target.partition("/")[0] in ("", execution.id)
    if item.sort == "edited" and execution.started is not None:
        return item.message in ("", execution.started.inbox)
    return item.sort in TAKEN
