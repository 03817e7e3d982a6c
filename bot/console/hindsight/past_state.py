"""A task as it was at the end of one of its turns: what the agent kept, its files, how sure it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from agentic.core.audit.verification import copied_through
from agentic.core.events.execution_events import (
    CheckpointSaved,
    Envelope,
)
from agentic.core.fold.fold import evolve
from agentic.core.state.execution import Execution
from bot.console.views.changed_files import ChangedFile
from bot.console.views.story import StoryTurn
from bot.history import log_positions
from bot.history.checkpoint_list import moment


@dataclass(frozen=True, slots=True)
class FileThen:
    """A file that had been changed by then; ``turn`` is when it was changed last, ``times`` how often."""

    path: str
    state: str
    """added, modified or deleted."""
    times: int
    turn: int
    sha: str
    """Of its content then; '' where there was none, or nobody knows it."""


@dataclass(frozen=True, slots=True)
class SavedState:
    """A checkpoint that there was by then. ``id`` is its name in the chat, or its manifest's where a log has a copy of it."""

    id: str
    manifest: str
    seq: int
    words: str
    same: bool = False
    """The files did not change between it and the moment that is shown, by all that the log knows."""


@dataclass(frozen=True, slots=True)
class PastState:
    """The moment; ``through`` is its last event, ``turn`` 0 before the first turn."""

    turn: int
    turns: tuple[int, int]
    """The first and the last turn that there is."""
    through: int
    execution: Execution
    saved: tuple[SavedState, ...]
    """Newest first."""


def state_at(
    log: Sequence[Envelope],
    turns: Sequence[StoryTurn],
    wanted: int,
    outcome: Iterable[Envelope] = (),
    near: Callable[[int], Execution] = lambda seq: Execution(),
) -> PastState:
    """The task at the end of a turn, or of the nearest one before.

    ``near`` gives a state at an event or before it, from which the one at that event is folded.
    """
    numbers = [turn.number for turn in turns]
    place = max((place for place, number in enumerate(numbers) if number <= wanted), default=0)
    last = place + 1 == len(numbers)
    through = len(log) if last else turns[place + 1].seq - 1
    then, begin = log[:through], near(through)
    execution = reduce(evolve, then[begin.seq :], begin)
    return PastState(
        numbers[place], (numbers[0], numbers[-1]), through, execution,
        _saved(then, tuple(outcome) if last else ()),
    )  # fmt: skip


def files_then(files: Iterable[ChangedFile], through: int) -> tuple[FileThen, ...]:
    """The files that had been changed by an event, by path."""
    found = [(file.path, [version for version in file.versions if version.seq <= through]) for file in files]
    return tuple(
        FileThen(path, versions[-1].kind, len(versions), versions[-1].turn, versions[-1].after)
        for path, versions in sorted(found)
        if versions
    )


def _saved(log: Sequence[Envelope], outcome: Sequence[Envelope]) -> tuple[SavedState, ...]:
    copied, turn = copied_through(log), 0
    found: list[SavedState] = []
    for envelope in log:
        event = envelope.event
        turn = log_positions.turn_of(envelope) or turn
        if isinstance(event, CheckpointSaved) and event.manifest:
            own = envelope.seq > copied
            name = log_positions.id_in_log(envelope.execution, envelope.seq) if own else event.manifest
            found.append(SavedState(name, event.manifest, envelope.seq, moment(event.why, event.turn or turn)))
    if found and log_positions.agree(log, found[-1].seq, len(log)):
        found[-1] = replace(found[-1], same=True)
    for envelope in outcome:
        event = envelope.event
        if isinstance(event, CheckpointSaved) and event.manifest and event.why != "restore":
            name = log_positions.id_in_outcome(envelope.execution, event)
            found.append(SavedState(name, event.manifest, 0, moment("end", turn), same=True))
    return tuple(found[::-1])
