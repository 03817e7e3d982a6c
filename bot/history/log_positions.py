"""The positions of a log at which log and workspace agree, so that an execution can continue from there; pure.

A checkpoint is logged after it was saved, and nothing that changes the workspace begins while it is being saved. So at
the position of ``CheckpointSaved`` the log up to there and the manifest describe the same moment, also in the middle
of a turn: a checkpoint before the first change lies between an answer and the calls that it asked for, one before a
question between two calls. Continuing there makes the calls that had not begun; none of those before it is made again.

A turn can be repeated from where its first request was about to be made: after everything that was said and decided by
then, before the workspace was looked at (that is done anew). There is seldom a checkpoint at that position. Two
positions have the same workspace if between them no call that may change it began or ended, no file of a person came
in, and nothing was found changed by an owner that had crashed. So such a position can use any checkpoint with the same
workspace, before or after it; where there is none, an earlier turn is taken.

The checkpoint at the end is in the outcome and belongs to the position of ``Finished``: to the log with its end (for a
fork that only knows what was done), and to the log without its end, which can continue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentic.core.claims.call_counts import may_change
from agentic.core.events.execution_events import (
    CheckpointSaved,
    Envelope,
    Finished,
    InputReceived,
    ModelRequested,
    Moment,
    Perceived,
    Started,
    ToolFinished,
    ToolStarted,
    WorkspaceFound,
    WorkspaceRestored,
)
from agentic.core.events.ids import digest
from agentic.core.fold.fold import fold
from agentic.core.state.execution import Execution


@dataclass(frozen=True, slots=True)
class Cut:
    """The log up to ``through``, with the workspace of ``manifest``; ``turn`` is the last that had ended or begun.

    Without a manifest the execution had changed nothing by then, nor does it later: the files stay as they are.
    """

    through: int
    manifest: str
    turn: int
    why: Moment = "turns"
    not_kept: tuple[str, ...] = ()


def of_checkpoint(seq: int, saved: CheckpointSaved) -> Cut:
    """Return the position of a checkpoint in the log."""
    return Cut(seq, saved.manifest, saved.turn, saved.why, saved.not_kept)


def at_end(log: Sequence[Envelope], saved: CheckpointSaved, *, with_end: bool) -> Cut:
    """Return the position of the checkpoint that was saved after the end."""
    last = len(log) if with_end else len(log) - isinstance(log[-1].event, Finished)
    why: Moment = "restore" if saved.why == "restore" else "end"
    return Cut(last, saved.manifest, last_turn(log), why, saved.not_kept or fold(log).beside)


def last_turn(log: Sequence[Envelope]) -> int:
    """Return the number of the last turn."""
    return max((turn_of(envelope) for envelope in log), default=0)


def before_turn(
    log: Sequence[Envelope], wanted: int, usable: Callable[[str], bool], end: CheckpointSaved | None = None
) -> Cut | None:
    """Return the position from which turn ``wanted`` can be repeated, or the nearest earlier turn; None for none.

    ``usable`` says which manifests are still kept; ``end`` is the checkpoint after the end. The turn that is repeated
    is the one after ``turn`` of the result.
    """
    kept = [(e.seq, e.event) for e in log if isinstance(e.event, CheckpointSaved)]
    kept += [(len(log), end)] if end is not None else []
    marks = [(seq, saved) for seq, saved in kept if saved.manifest and usable(saved.manifest)]
    for turn, through in sorted(_beginnings(log).items(), reverse=True):
        if turn > wanted:
            continue
        for seq, saved in reversed(marks):
            if agree(log, through, seq):
                return Cut(through, saved.manifest, turn - 1, "turns", saved.not_kept)
        if agree(log, 1, len(log)):
            return Cut(through, "", turn - 1)
    return None


def agree(log: Sequence[Envelope], one: int, other: int) -> bool:
    """Whether the workspace was the same at two positions, by all that the log knows."""
    started = log[0].event
    known = Execution(started=started) if isinstance(started, Started) else Execution()
    calls = {e.event.call: e.event.tool for e in log if isinstance(e.event, ToolStarted)}
    between = log[min(one, other) : max(one, other)]
    return not any(_touches(known, calls, envelope) for envelope in between)


def copied(log: Sequence[Envelope], cut: Cut, started: Started, execution: str, fence: int) -> list[Envelope]:
    """Copy the log up to the cut as the beginning of another one, with another ``Started`` and nothing else changed."""
    first = log[0].model_copy(update={"event": started})
    update = {"execution": execution, "fence": fence}
    return [envelope.model_copy(update=update) for envelope in (first, *log[1 : cut.through])]


def id_in_log(execution: str, seq: int) -> str:
    """Return the short name of a checkpoint in the log."""
    return digest("checkpoint", execution, seq, length=6)


def id_in_outcome(execution: str, saved: CheckpointSaved) -> str:
    """Return the short name of a checkpoint in the outcome."""
    return digest("checkpoint", execution, saved.why, saved.manifest, length=6)


def _beginnings(log: Sequence[Envelope]) -> dict[int, int]:
    """Map each turn to the position just before its first request and its look at the workspace."""
    found: dict[int, int] = {}
    for envelope in log:
        turn = turn_of(envelope)
        if turn and turn not in found:
            through = envelope.seq - 1
            while isinstance(log[through - 1].event, Perceived):
                through -= 1
            found[turn] = through
    return found


def turn_of(envelope: Envelope) -> int:
    """Return the turn that a request begins, 0 for every other event."""
    event = envelope.event
    return event.turn if isinstance(event, ModelRequested) and event.purpose == "turn" else 0


def _touches(known: Execution, calls: dict[str, str], envelope: Envelope) -> bool:
    event = envelope.event
    if isinstance(event, ToolStarted):
        return may_change(known, event.tool)
    if isinstance(event, ToolFinished):
        return event.call in calls and may_change(known, calls[event.call])
    if isinstance(event, InputReceived):
        return any(file.path and not file.skipped for file in event.files)
    return isinstance(event, WorkspaceRestored) or (isinstance(event, WorkspaceFound) and bool(event.changes))
