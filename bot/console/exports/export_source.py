"""What a file of a task is made of: its log as it was at one moment, with the whole outputs that were read for it; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from agentic.core.events.execution_events import Envelope, Started
from bot.console.exports.transcript import (
    ModelReply,
    TaskTotals,
    TranscriptTurn,
    Utterance,
    shown_of,
    totals_of,
    transcript,
)
from bot.console.logs.task_log import TaskLog
from bot.console.views.task_status import TaskStatus, status_of
from bot.messages.log_text import story, told

TEXT = 20_000
"""Characters of one text in a file that is made to be read."""
WHOLE = 8_000_000
"""Characters of all its turns together, about."""
LINES = 3_000
"""Lines of the log in it."""
CUT = f"(Cut after {TEXT:,} characters; the task's JSON lines have all of it.)"


@dataclass(frozen=True)
class ExportSource:
    """A task as it was when a file of it was asked for; no secrets are in it."""

    execution: str
    thread: str
    title: str
    events: tuple[Envelope, ...]
    outcome: tuple[Envelope, ...]
    status: TaskStatus
    finished: bool
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Whole outputs by hash, as far as they were read."""

    @property
    def began(self) -> datetime:
        """When its first event came."""
        return self.events[0].at

    @property
    def seconds(self) -> float:
        """From its first event to its last."""
        return (self.events[-1].at - self.began).total_seconds()

    @property
    def copied_through(self) -> int:
        """The last event that was copied from the task that it was forked from; 0 for none."""
        first = self.events[0].event
        return first.forked_from[1] if isinstance(first, Started) and first.forked_from is not None else 0

    @cached_property
    def totals(self) -> TaskTotals:
        """What it came to."""
        return totals_of(transcript(self.events), self.outcome)

    def turns(self, most: int = WHOLE) -> Iterator[TranscriptTurn | str]:
        """Its turns within so many characters, and where some are left out, words that say so."""
        sizes = [_size(turn, self.outputs) for turn in transcript(self.events)]
        first, last = shown_of(sizes, most)
        for place, turn in enumerate(transcript(self.events)):
            if place == first and first < last:
                yield f"{_turns(last - first)} left out here, to keep this file small. The task's JSON lines have all of them."
            if not first <= place < last:
                yield turn

    @property
    def afterwards(self) -> list[str]:
        """What followed the end, in lines."""
        return [line.strip() for _, line in story(self.outcome)]

    def lines(self, most: int = LINES) -> tuple[int, list[tuple[Envelope, str]]]:
        """How many events are left out, and the newest ones as lines."""
        shown = self.events[-most:]
        lines = [(each, told(each.event).strip() or each.event.kind.replace("_", " ")) for each in shown]
        return len(self.events) - len(shown), lines


def source_of(log: TaskLog, title: str, outputs: Mapping[str, str]) -> ExportSource:
    """The task as it is now."""
    return ExportSource(
        log.execution, log.row.thread, title, tuple(log.events), tuple(log.outcome), status_of(log), log.ended, outputs
    )


def _turns(count: int) -> str:
    return "1 turn is" if count == 1 else f"{count:,} turns are"


def _size(turn: TranscriptTurn, outputs: Mapping[str, str]) -> int:
    return sum(min(len(text), TEXT) for entry in turn.entries for text in _texts(entry, outputs))


def _texts(entry: Utterance | ModelReply, outputs: Mapping[str, str]) -> Iterator[str]:
    yield entry.text
    if isinstance(entry, Utterance):
        return
    yield entry.reasoning
    for call in entry.calls:
        yield call.block.raw
        for value in call.block.arguments.values():
            yield value if isinstance(value, str) else json.dumps(value)
        if call.result is not None:
            yield call.result.preview
            yield outputs.get(call.result.output.sha, "") if call.result.output is not None else ""
