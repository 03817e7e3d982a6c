"""The summary that stands for earlier turns: what was written down, what people said, what was done, what changed.

Its length is bounded, whatever it is made of: the policy's ``summary_tokens`` for what the agent did and learned, and as
much room again, at most, for the words of people and for notes.  To-do list and newer notes stand in the volatile tail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentic.core.state.conversation import Message
from agentic.core.state.execution import Execution
from agentic.core.state.work_log import (
    Chronicle,
    bounded,
    clipped,
    newest,
    told,
)
from agentic.core.text.foreign_text import mark_of, one_line, unmarked

HEADING = "[Summary by Threadwright of what came before; the turns after it stand in full]"
CHARACTERS_A_TOKEN = 4
REMEMBERED = 0.5
"""The share of the room for what a model wrote down."""
FILES = 0.15
PEOPLE = 0.6
"""Room for people's words, in shares of the room, beside it; as much for notes."""
ONE = 0.3
"""A single one of them, at most."""
UNSEEN = 20
"""Pictures that are named, at most."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The text, and how many of the oldest notes stand in it."""

    text: str
    notes: int


def room_of(execution: Execution) -> int:
    """Characters that a summary may have for what the agent did and learned."""
    times = 2 if execution.policy.history == "seed" else 1
    return times * CHARACTERS_A_TOKEN * execution.policy.summary_tokens


def remembered(text: str, room: int) -> str:
    """What a model wrote down, cut at the end of a line."""
    most = int(REMEMBERED * room)
    if len(text) <= most:
        return text.strip()
    return (text[:most].rpartition("\n")[0] or text[: most - 1] + "…").strip()


def summary_of(execution: Execution, chronicle: Chronicle, kept: Sequence[Message], written: str, room: int) -> Summary:
    """The summary of what ``chronicle`` tells, before the messages that are ``kept``."""
    beside = int(PEOPLE * room)
    notes = _notes(execution, beside)
    files = clipped(_files(execution), int(FILES * room))
    people = newest(_said(execution, kept), beside, int(ONE * room))
    answers = newest(chronicle.answers, beside, int(ONE * room))
    log = told(bounded(chronicle, room - len(written) - len(files)))
    mark = mark_of(execution.started)
    before = [
        HEADING,
        _part("What you wrote down before the history was shortened", [written] if written else []),
        _part("Your notes", [f"- {note}" for note in notes]),
    ]
    after = [
        _part("What you asked, and what was answered", [f"- {answer}" for answer in answers]),
        _part("What you did, oldest first", log),
        _part("Files you changed so far, as they are now", [files] if files else []),
        _tests(execution),
        _part("Pictures you can no longer see", _unseen(execution, kept)),
    ]
    said = _part("What people said meanwhile, in their words", people)
    parts = (*(unmarked(part, mark) for part in before), said, *(unmarked(part, mark) for part in after))
    return Summary("\n\n".join(part for part in parts if part), len(notes))


def _part(title: str, lines: Sequence[str]) -> str:
    return f"{title}:\n" + "\n".join(lines) if lines else ""


def _notes(execution: Execution, room: int) -> tuple[str, ...]:
    """The oldest notes that fit; the others go on standing in the tail."""
    fitting: list[str] = []
    for note in execution.mind.notes:
        room -= len(note)
        if room < 0:
            break
        fitting.append(note)
    return tuple(fitting)


def _said(execution: Execution, kept: Sequence[Message]) -> list[str]:
    """What people said that stands neither in what is kept nor in what the next request brings."""
    waiting = execution.told.texts
    said = [text for text in execution.mind.guided if text not in waiting]
    return [text for text in said if not any(text in message.text for message in kept)]


def _unseen(execution: Execution, kept: Sequence[Message]) -> list[str]:
    """The pictures of what is cut off, the newest first."""
    still = {picture for message in kept for picture in message.pictures}
    gone = [picture for message in reversed(execution.history) for picture in message.pictures if picture not in still]
    return [f"- {one_line(picture.path)}" for picture in dict.fromkeys(gone)][:UNSEEN]


def _files(execution: Execution) -> str:
    """Each changed file once, the newest first."""
    changes = {change.path: change.kind for change in execution.deeds.changes}
    order = dict.fromkeys(change.path for change in reversed(execution.deeds.changes))
    return ", ".join(f"{path} ({changes[path]})" for path in order)


def _tests(execution: Execution) -> str:
    tests = execution.judged.tests
    return f"The last test run: {tests[0]} passed, {tests[1]} failed." if tests is not None else ""
