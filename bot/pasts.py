"""What a finished execution did to its workspace, and what people did about it afterwards: read from its log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from agentic.core.events import (
    BranchMerged,
    BranchRejected,
    CheckpointSaved,
    CommitCreated,
    Event,
    Finished,
    Person,
    Started,
    ToolFinished,
    WorkspaceRestored,
)
from agentic.ports import ExecutionRow, Store

Verdict = BranchMerged | BranchRejected


@dataclass(slots=True)
class Past:
    """One execution, as far as its files and branches go."""

    execution: str
    task: str = ""
    requester: Person | None = None
    finished: bool = False
    before: str = ""
    """The checkpoint of the state before its first change, '' where there is none; ``problem`` says why."""
    problem: str = ""
    after: str = ""
    """The checkpoint of the state it left."""
    changes: dict[str, str] = field(default_factory=dict[str, str])
    """Files its log saw change, with the hash it left each with ('' = deleted)."""
    offers: dict[str, tuple[CommitCreated, str]] = field(default_factory=dict[str, tuple[CommitCreated, str]])
    """Branches it offered, by the offer's id, with the outbox key of the message."""
    verdicts: dict[str, Verdict] = field(default_factory=dict[str, Verdict])
    """What was decided about them."""
    restored: WorkspaceRestored | None = None
    """It was undone."""

    def take(self, event: Event, seq: int) -> None:
        """An event of its log or of its outcome."""
        match event:
            case Started():
                self.task, self.requester = event.task, event.requester
            case CheckpointSaved() if self.finished:
                self.after = event.manifest
            case CheckpointSaved() if event.why == "first_change" and not self.before:
                self.before, self.problem = event.manifest, event.problem
            case ToolFinished():
                self.changes |= {change.path: change.sha_after for change in event.changes}
            case CommitCreated():
                self.offers[event.offer] = (event, f"{self.execution}.{seq}.0")
            case BranchMerged() | BranchRejected():
                self.verdicts[event.offer] = event
            case WorkspaceRestored():
                self.restored = event
            case Finished():
                self.finished = True
            case _:
                pass


async def past_of(store: Store, row: ExecutionRow) -> Past:
    """The past of one execution."""
    past = Past(row.execution, row.task)
    async for envelope in store.read(row.execution):
        past.take(envelope.event, envelope.seq)
    for envelope in await store.read_outcome(row.execution):
        past.take(envelope.event, envelope.seq)
    return past


async def pasts_after(store: Store, thread: str, execution: str) -> AsyncIterator[Past]:
    """An execution of the thread, then those that came later, in order; nothing where it is not of the thread."""
    begun = False
    for row in await store.executions(thread):
        begun = begun or row.execution == execution
        if begun and row.finished:
            yield await past_of(store, row)


async def offered(store: Store, thread: str, offer: str) -> Past | None:
    """The execution of the thread that made an offer, newest first."""
    for row in reversed(await store.executions(thread)):
        past = await past_of(store, row)
        if offer in past.offers:
            return past
    return None


def told_later(past: Past) -> tuple[str, ...]:
    """What people did about it, in words for the agent's next execution."""
    told: list[str] = []
    if past.restored is not None:
        who = past.restored.by.name if past.restored.by else "a person"
        lost = f" Left as they are: {past.restored.lost}." if past.restored.lost else ""
        told.append(f"{who} undid it: its files are as they were before it.{lost}")
    for offer, (created, _) in past.offers.items():
        verdict = past.verdicts.get(offer)
        if isinstance(verdict, BranchMerged):
            told.append(f"{verdict.by.name} merged its branch {created.branch} into {created.base}.")
        elif verdict is not None:
            told.append(f"{verdict.by.name} turned its branch {created.branch} down; it was deleted.")
        else:
            told.append(f"Its branch {created.branch} is offered and not decided on.")
    return tuple(told)
