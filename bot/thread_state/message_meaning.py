"""What people's messages and reactions mean in each phase of a thread, as one table; pure.

A plain message means what the phase of its thread says: a task where the agent is idle, guidance where it works, the
answer where it asked. The table is read when a message is seen and again when it is stored. The thread may have
changed in between, so the second reading counts; two readings in the same phase agree. Permissions are a separate
question (``bot/access/permissions.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agentic.core.events.execution_events import InboxItem, Sort
from agentic.core.fold.people import MACHINE
from bot.access.denials import IN_THE_THREAD, NOT_YOURS, NOTHING_RUNS
from bot.access.permissions import may_steer
from bot.ports.conversation import ThreadState
from bot.thread_state.session_state import Phase, SessionState

Input = (
    Sort
    | Literal[
        "message", "message of another", "files", "task of another", "late answer", "old press", "late pause", "late resume"
    ]
)  # fmt: skip
"""What a person did: a kind of inbox item, or one of these

message, message of another   text from somebody who may, or may not, steer the running execution
files                         a message that has files and no text
task of another               text that began nothing in time, from somebody who may not steer the running execution
late answer, old press        an answer to a question that is closed, as text or by its button
late pause, late resume       ⏸ or ▶ that no longer applies, including the bot's own pause where it may not write
"""


@dataclass(frozen=True, slots=True)
class Deliver:
    """Put the input into the thread's inbox as an item of this kind."""

    kind: Sort


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do nothing; ``text`` says why, and what to do instead."""

    text: str


Meaning = Deliver | Refuse
Row = tuple[Meaning, Meaning, Meaning, Meaning, Meaning, Meaning]
"""The meanings of one input in a thread that is unknown, idle, busy, asking, paused by a person, suspended by the bot.
"""

ANSWER, GUIDANCE, PAUSE, QUEUE = Deliver("answer"), Deliver("guidance"), Deliver("pause"), Deliver("queue")
RESUME, RETRY, SIDE, STOP, TASK = Deliver("resume"), Deliver("retry"), Deliver("side"), Deliver("stop"), Deliver("task")
ASK, ESCALATE, EXTEND, REVOKE = Deliver("ask"), Deliver("escalate"), Deliver("extend"), Deliver("revoke")

CLOSED = Refuse("That question is closed. Write what I should do.")
ELSEWHERE = Refuse(IN_THE_THREAD)
FILES_ONLY = Refuse(
    "I got {names}, but not what to do with it. Reply to that message with what I should do; I'll use its files."
)
IDLE = Refuse(NOTHING_RUNS)
OF_ANOTHER = Refuse(NOT_YOURS)
RUNNING = Refuse("Something is running here. Stop it with 🛑 or wait until it's done, then try again.")
PAUSED = Refuse("Already paused. Press ▶ to resume.")
WAITS = Refuse("I'm already waiting for your answer; nothing continues without it.")
NOT_PAUSED = Refuse("Nothing is paused here. Write what I should do.")
NOT_PAUSED_BUSY = Refuse("Nothing is paused here; I'm working. ⏸ pauses me.")
NOT_PAUSED_ASKING = Refuse("I'm waiting for your answer to the question above; then I continue.")
ON_IT = Refuse("I'm on it. 🛑 stops it, ⏸ pauses it.")
RETRY_BUSY = Refuse("I'm working on it. Stop it with 🛑, then 🔄 starts it over.")
RETRY_ASKING = Refuse(
    "I'm waiting for your answer to the question above. Stop the task with 🛑, then 🔄 starts it over."
)
RETRY_PAUSED = Refuse("It's paused. ▶ resumes it. Or stop it with 🛑, then 🔄 starts it over.")
NO_HANDOVER = Refuse("Nothing is running here, so there is nothing to hand over. Write what I should do.")
NO_ASKING = Refuse("Nothing is running here. Write what I should do; I'll ask about anything unclear first.")
ASKED_ALREADY = Refuse("I've already asked: please answer the question above.")


def _everywhere(kind: Sort) -> Row:
    it = Deliver(kind)
    return it, it, it, it, it, it


def _of_a_session(kind: Sort) -> Row:
    return (ELSEWHERE, *_everywhere(kind)[1:])


def _between_executions(kind: Sort) -> Row:
    return ELSEWHERE, Deliver(kind), RUNNING, RUNNING, RUNNING, RUNNING


MEANINGS: Mapping[Input, Row] = {
    # unknown, idle, busy, asking, paused, suspended
    "message": (TASK, TASK, GUIDANCE, ANSWER, GUIDANCE, GUIDANCE),
    "message of another": (TASK, TASK, OF_ANOTHER, OF_ANOTHER, OF_ANOTHER, OF_ANOTHER),
    "files": (FILES_ONLY, FILES_ONLY, GUIDANCE, ANSWER, GUIDANCE, GUIDANCE),
    "task": (TASK, TASK, GUIDANCE, GUIDANCE, GUIDANCE, GUIDANCE),
    "task of another": (TASK, TASK, QUEUE, QUEUE, QUEUE, QUEUE),
    "queue": (TASK, TASK, QUEUE, QUEUE, QUEUE, QUEUE),
    "side": (TASK, TASK, SIDE, SIDE, SIDE, SIDE),
    "guidance": _everywhere("guidance"),
    "answer": (CLOSED, CLOSED, CLOSED, ANSWER, ANSWER, ANSWER),
    "late answer": (CLOSED, CLOSED, GUIDANCE, CLOSED, GUIDANCE, GUIDANCE),
    "old press": (CLOSED, CLOSED, CLOSED, CLOSED, CLOSED, CLOSED),
    "stop": _of_a_session("stop"),
    "pause": (ELSEWHERE, IDLE, PAUSE, WAITS, PAUSED, PAUSE),
    "resume": (ELSEWHERE, NOT_PAUSED, NOT_PAUSED_BUSY, NOT_PAUSED_ASKING, RESUME, RESUME),
    "late pause": (IDLE, IDLE, PAUSE, PAUSE, PAUSE, PAUSE),
    "late resume": (IDLE, IDLE, RESUME, RESUME, RESUME, RESUME),
    "continue": (ELSEWHERE, TASK, ON_IT, ANSWER, RESUME, RESUME),
    "escalate": (ELSEWHERE, NO_HANDOVER, ESCALATE, ESCALATE, ESCALATE, ESCALATE),
    "ask": (ELSEWHERE, NO_ASKING, ASK, ASKED_ALREADY, ASK, ASK),
    "extend": (ELSEWHERE, IDLE, EXTEND, EXTEND, EXTEND, EXTEND),
    "revoke": (ELSEWHERE, IDLE, REVOKE, REVOKE, REVOKE, REVOKE),
    "feedback": _of_a_session("feedback"),
    "correction": _of_a_session("correction"),
    "fork": _of_a_session("fork"),
    "edited": _everywhere("edited"),
    "deleted": _everywhere("deleted"),
    "retry": (ELSEWHERE, RETRY, RETRY_BUSY, RETRY_ASKING, RETRY_PAUSED, RETRY_PAUSED),
    "trial": _between_executions("trial"),
    "rewind": _between_executions("rewind"),
    "undo": _between_executions("undo"),
    "redo": _between_executions("redo"),
    "clean": _between_executions("clean"),
    "merge": _between_executions("merge"),
    "reject": _between_executions("reject"),
}

_COLUMNS: Mapping[Phase, int] = {
    Phase.UNKNOWN: 0,
    Phase.IDLE: 1,
    Phase.STARTING: 2,
    Phase.WORKING: 2,
    Phase.ACTING: 2,
    Phase.ENDING: 2,
    Phase.ASKING: 3,
    Phase.PAUSED: 4,
    Phase.INTERRUPTED: 4,
    Phase.QUARANTINED: 4,
    Phase.SUSPENDED: 5,
}

_AS_SEEN: Mapping[ThreadState, Phase] = {
    "unknown": Phase.UNKNOWN,
    "idle": Phase.IDLE,
    "busy": Phase.WORKING,
    "asking": Phase.ASKING,
    "paused": Phase.PAUSED,
}

STARTS: frozenset[Sort] = frozenset(("task", "queue", "guidance", "answer", "side"))
"""Kinds of items that begin an execution where none is open; guidance that came a moment too late is a task of its own.
"""
ACTS: frozenset[Sort] = frozenset(("undo", "redo", "retry", "rewind", "trial", "merge", "reject", "clean"))
"""Kinds of items that act on a finished execution, such as undo."""


def starts(item: InboxItem) -> bool:
    """Whether the item begins an execution where none is open; an answer to a question does not."""
    return item.sort in STARTS and not (item.sort == "answer" and item.target)


def meaning_of(done: Input, phase: Phase) -> Meaning:
    """Return what an input means in a thread in this phase."""
    return MEANINGS[done][_COLUMNS[phase]]


def phase_as_seen(state: ThreadState, paused_by: str) -> Phase:
    """Return the phase of a thread of which only its visible state is known."""
    if state == "paused" and paused_by == MACHINE.id:
        return Phase.SUSPENDED
    return _AS_SEEN[state]


def input_of(item: InboxItem, state: SessionState) -> Input:
    """Classify a stored inbox item: who sent it, and whether its question is still open."""
    author = item.author
    if item.sort == "task":
        own = not state.requester or may_steer(author.level, author.id, state.requester)
        return "task" if own else "task of another"
    if item.sort in ("pause", "resume"):
        return "late pause" if item.sort == "pause" else "late resume"
    if item.sort != "answer":
        return item.sort
    asked = item.target.partition("#")[0]
    if not asked:
        return "message"
    if asked == state.question:
        return "answer"
    return "late answer" if item.message == item.id else "old press"
