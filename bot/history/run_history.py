"""What a finished execution did to its workspace, and what people did about it afterwards: read from its log."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from agentic.core.events.execution_events import (
    BranchMerged,
    BranchRejected,
    CheckpointSaved,
    CommitCreated,
    Envelope,
    FeedbackGiven,
    Finished,
    Person,
    PullRequestOpened,
    Started,
    ToolFinished,
    WorkspaceRestored,
)
from agentic.ports.errors import StoreError
from agentic.ports.runtime import ExecutionRow, Store

LOOKED_THROUGH = 50
"""So many executions of a thread are looked at for one that is no side question."""

log = logging.getLogger(__name__)

Verdict = BranchMerged | BranchRejected


@dataclass(slots=True)
class Past:
    """The files and branches of one execution."""

    execution: str
    task: str = ""
    requester: Person | None = None
    side: bool = False
    """Whether it answered a side question."""
    origin: str = ""
    """The execution that it retries or continues, '' for none."""
    finished: bool = False
    answer: str = ""
    """The outbox key of its answer, '' before it has ended."""
    before: str = ""
    """The checkpoint of the state before its first change, '' where there is none; ``problem`` says why."""
    problem: str = ""
    after: str = ""
    """The checkpoint of the state in which the workspace was left, by it or by a later restore."""
    end: CheckpointSaved | None = None
    """The checkpoint of the state it left itself."""
    kept: dict[str, str] = field(default_factory=dict[str, str])
    """Checkpoints of the states before people had files restored, by their action."""
    changes: dict[str, str] = field(default_factory=dict[str, str])
    """Files that changed according to its log, with the hash each was left with ('' = deleted)."""
    offers: dict[str, tuple[CommitCreated, str]] = field(default_factory=dict[str, tuple[CommitCreated, str]])
    """Branches it offered, by the offer's id, with the outbox key of the message."""
    pulls: dict[str, tuple[PullRequestOpened, int]] = field(default_factory=dict[str, tuple[PullRequestOpened, int]])
    """Pull requests it published to, by key, each with the place of the last time in its log."""
    verdicts: dict[str, Verdict] = field(default_factory=dict[str, Verdict])
    """The decisions about its branches."""
    restored: WorkspaceRestored | None = None
    """The last restore of its files."""
    reasons: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """What people said was wrong with it: name and words, by person."""
    acts: dict[str, WorkspaceRestored] = field(default_factory=dict[str, WorkspaceRestored])
    """All restores, by the inbox item that asked for each."""

    @property
    def undone(self) -> bool:
        """Whether its changes are undone now; after a redo they are not."""
        return self.restored is not None and self.restored.way == "undo"

    def take(self, envelope: Envelope) -> None:
        """Add an event of its log or of its outcome."""
        match event := envelope.event:
            case Started():
                self.task, self.requester, self.side = event.task, event.requester, event.side
                self.origin = event.forked_from[0] if event.forked_from is not None else event.trial_of
            case CheckpointSaved() if self.finished:
                self._saved_later(event, envelope.cause)
            case CheckpointSaved() if event.why == "first_change" and not self.before:
                self.before, self.problem = event.manifest, event.problem
            case ToolFinished():
                self.changes |= {change.path: change.sha_after for change in event.changes}
            case CommitCreated():
                self.offers[event.offer] = (event, f"{self.execution}.{envelope.seq}.0")
            case PullRequestOpened():
                self.pulls[event.key] = event, envelope.seq
            case BranchMerged() | BranchRejected():
                self.verdicts[event.offer] = event
            case WorkspaceRestored() if self.finished:
                self.restored = self.acts[envelope.cause] = event
                self.after = event.after
            case FeedbackGiven() if event.why or event.vote != "down":
                self.reasons |= {event.by.id: (event.by.name, event.why)}
            case Finished():
                self.finished, self.answer = True, f"{self.execution}.{envelope.seq}.0"
            case _:
                pass

    def _saved_later(self, event: CheckpointSaved, cause: str) -> None:
        if event.why == "restore":
            self.kept[cause] = event.manifest
        else:
            self.after, self.end = event.manifest, event


def family(past: Past, later: Sequence[Past]) -> list[Past]:
    """Return later executions that continued this one or retried its task, directly or through each other."""
    names, found = {past.execution, past.origin} - {""}, list[Past]()
    for one in later:
        if one.origin in names:
            names.add(one.execution)
            found.append(one)
    return found


def heard_key(execution: str) -> str:
    """Return the outbox key of the thanks for what somebody said was wrong with an execution."""
    return f"{execution}.heard"


async def past_of(store: Store, row: ExecutionRow) -> Past:
    """Read the past of one execution."""
    past = Past(row.execution, row.task)
    async for envelope in store.read(row.execution):
        past.take(envelope)
    for envelope in await store.read_outcome(row.execution):
        past.take(envelope)
    return past


async def undoable(store: Store, thread: str) -> tuple[str, ...]:
    """Return the checkpoints needed to undo the thread's latest execution that changed something, and to redo it."""
    for row in reversed(await store.executions(thread)):
        try:
            past = await past_of(store, row)
        except StoreError as damaged:
            log.warning("execution %s: nobody knows which checkpoints undo it: %s", row.execution, damaged)
            continue
        if past.before and not past.side:
            return (past.before, past.after, *list(past.kept.values())[-1:])
    return ()


async def pasts_after(store: Store, thread: str, execution: str, *, running: bool = False) -> AsyncIterator[Past]:
    """Yield an execution of the thread, then the later ones in order; nothing where it is not of the thread.

    ``running``: also those that have not finished.
    """
    begun = False
    for row in await store.executions(thread):
        begun = begun or row.execution == execution
        if begun and (running or row.finished):
            yield await past_of(store, row)


async def offered(store: Store, thread: str, offer: str) -> Past | None:
    """Find the execution of the thread that made an offer, newest first."""
    for row in reversed(await store.executions(thread)):
        past = await past_of(store, row)
        if offer in past.offers:
            return past
    return None


def told_later(past: Past) -> tuple[str, ...]:
    """Say what people did about it, for the agent's next execution."""
    told: list[str] = []
    if past.restored is not None and past.restored.way != "redo":
        who = past.restored.by.name if past.restored.by else "a person"
        lost = f" Left as they are: {past.restored.lost}." if past.restored.lost else ""
        did = "undid it: its files are as they were before it"
        if past.restored.way == "clean":
            did = "deleted all files of the workspace afterwards"
        elif past.restored.way == "rewind":
            did = f"had its files put back to where they were after its turn {past.restored.turn}, to go on from there"
        stays = [f" Pull request {pull.number} still holds what it published." for pull, _ in past.pulls.values()]
        told.append(f"{who} {did}.{lost}{''.join(stays)}")
    told += [f"{name} said what was wrong with it: {why}" for name, why in past.reasons.values() if why]
    for offer, (created, _) in past.offers.items():
        verdict = past.verdicts.get(offer)
        if isinstance(verdict, BranchMerged):
            told.append(f"{verdict.by.name} merged its branch {created.branch} into {created.base}.")
        elif verdict is not None:
            told.append(f"{verdict.by.name} turned its branch {created.branch} down; it was deleted.")
        else:
            told.append(f"Its branch {created.branch} is offered and not decided on.")
    return tuple(told)


async def newest_task(store: Store, thread: str) -> str:
    """Return the newest execution of a thread that is no side question, or the newest of all; '' where there is none.

    Raises ``StoreError``.
    """
    rows = await store.executions(thread)
    for row in reversed(rows[-LOOKED_THROUGH:]):
        async for envelope in store.read(row.execution):
            if not (isinstance(envelope.event, Started) and envelope.event.side):
                return row.execution
            break
    return rows[-1].execution if rows else ""
