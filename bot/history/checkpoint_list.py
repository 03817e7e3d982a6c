"""The checkpoints of a thread, read from the logs and outcomes of its executions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from agentic.core.events.execution_events import (
    CheckpointSaved,
    Envelope,
    Event,
    Moment,
    Started,
    ToolFinished,
    WorkspaceRestored,
)
from agentic.ports.errors import StoreError
from agentic.ports.runtime import Store
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.history import log_positions
from bot.history.log_positions import Cut

ID = 6
"""Characters of a checkpoint's name."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One checkpoint; ``there``: it can still be restored."""

    id: str
    execution: str
    task: str
    requester: str
    saved: CheckpointSaved
    at: datetime
    seq: int = 0
    """Its position in the log; 0 where it is in the outcome."""
    turn: int = 0
    changed: int = 0
    """Number of files that changed since the previous checkpoint, as far as the log knows."""
    there: bool = True
    finished: str = ""
    """How the execution ended, '' while it is open."""
    way: str = ""
    """Of one saved before files were restored: what they were restored for."""

    @property
    def why(self) -> Moment:
        """Why it was saved."""
        return "end" if not self.seq and self.saved.why != "restore" else self.saved.why

    def cut(self, log: Sequence[Envelope], *, with_end: bool = False) -> Cut:
        """Return its position in its execution's log."""
        if self.seq:
            return log_positions.of_checkpoint(self.seq, self.saved.model_copy(update={"turn": self.turn}))
        return log_positions.at_end(log, self.saved, with_end=with_end)


@dataclass(slots=True)
class _Reading:
    """Collects the checkpoints of one execution."""

    execution: str
    finished: str
    there: frozenset[str]
    found: list[Kept] = field(default_factory=list[Kept])
    started: Started | None = None
    turn: int = 0
    changed: set[str] = field(default_factory=set[str])
    same_thread: bool = False
    """Whether the execution it was copied from is in this thread too."""

    def take(self, envelope: Envelope, *, ended: bool) -> None:
        """Read an event of the log, or of the outcome (``ended``)."""
        event: Event = envelope.event
        self.turn = log_positions.turn_of(envelope) or self.turn
        if isinstance(event, Started):
            self.started = event
        elif isinstance(event, ToolFinished):
            self.changed |= {change.path for change in event.changes}
        elif isinstance(event, CheckpointSaved) and self.started is not None:
            if ended or not self._copied(envelope):
                self.found.append(self._kept(envelope, event, self.started, ended=ended))
            self.changed.clear()
        elif isinstance(event, WorkspaceRestored) and event.kept:
            self.found = [
                replace(one, way=event.way) if one.saved.manifest == event.kept else one for one in self.found
            ]

    def _copied(self, envelope: Envelope) -> bool:
        """Whether it is listed with the execution it was copied from."""
        fork = self.started.forked_from if self.started is not None else None
        return fork is not None and self.same_thread and envelope.seq <= fork[1]

    def _kept(self, envelope: Envelope, saved: CheckpointSaved, started: Started, *, ended: bool) -> Kept:
        seq = 0 if ended else envelope.seq
        name = (
            log_positions.id_in_log(self.execution, seq) if seq else log_positions.id_in_outcome(self.execution, saved)
        )
        return Kept(
            name, self.execution, started.task, started.requester.id, saved, envelope.at, seq,
            saved.turn or self.turn, len(self.changed), saved.manifest in self.there, self.finished,
        )  # fmt: skip


async def checkpoints_of(store: Store, snapshots: Snapshots | None, thread: str) -> list[Kept]:
    """Return all checkpoints of a thread, newest first; an execution whose log is damaged is left out."""
    there = frozenset(await snapshots.listed(thread)) if snapshots is not None else frozenset[str]()
    rows = await store.executions(thread)
    own = {row.execution for row in rows}
    found: list[Kept] = []
    for row in rows:
        reading = _Reading(row.execution, row.finished, there)
        try:
            async for envelope in store.read(row.execution):
                if isinstance(envelope.event, Started) and envelope.event.forked_from is not None:
                    reading.same_thread = envelope.event.forked_from[0] in own
                reading.take(envelope, ended=False)
            for envelope in await store.read_outcome(row.execution):
                reading.take(envelope, ended=True)
        except StoreError:
            continue
        found += reading.found
    return sorted(found, key=lambda kept: kept.at, reverse=True)


@dataclass(frozen=True, slots=True)
class LastSaved:
    """When files stood as in a snapshot; ``after_all``: nothing is known to have changed them since."""

    at: datetime
    words: str
    after_all: bool = False


async def last_saved(store: Store, thread: str, manifest: str) -> LastSaved | None:
    """When a thread's files were last seen to be as in a snapshot; None where no log says so (any more)."""
    for row in reversed(await store.executions(thread)):
        known, turn = None, 0
        try:
            async for envelope in store.read(row.execution):
                turn = log_positions.turn_of(envelope) or turn
                if isinstance(envelope.event, CheckpointSaved) and envelope.event.manifest == manifest:
                    known = LastSaved(envelope.at, moment(envelope.event.why, envelope.event.turn or turn))
            for envelope in await store.read_outcome(row.execution):
                if isinstance(envelope.event, WorkspaceRestored):
                    known = replace(known, after_all=False) if known is not None else None
                    if envelope.event.after == manifest:
                        known = LastSaved(envelope.at, "after files were restored", after_all=True)
                elif isinstance(envelope.event, CheckpointSaved) and envelope.event.manifest == manifest:
                    known = LastSaved(envelope.at, "at the end of the last task", after_all=True)
        except StoreError:
            continue
        if known is not None:
            return known
    return None


def found(kept: Sequence[Kept], named: str) -> Kept | None:
    """Find a checkpoint by its name or its manifest's; without a name, the newest that can be restored."""
    wanted = named.strip().strip("`").lower()
    if not wanted:
        return next((one for one in kept if one.there), None)
    return next((one for one in kept if wanted in (one.id, one.saved.manifest)), None)


MOMENTS: dict[Moment, str] = {
    "first_change": "in turn {turn}, before the first change",
    "turns": "after turn {turn}",
    "question": "in turn {turn}, before a question",
    "end": "at the end, after turn {turn}",
    "restore": "before files were restored",
}
"""When a checkpoint was saved, in words."""
BEFORE = {"undo": "before undo", "redo": "before redo", "clean": "before the files were deleted"}
"""The same, of files that were restored, by what for."""


def moment(why: Moment, turn: int, way: str = "") -> str:
    """Say when a checkpoint was saved."""
    if why == "restore" and way in BEFORE:
        return BEFORE[way]
    return MOMENTS[why].format(turn=turn)
