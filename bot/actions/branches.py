"""Offered branches: merged or deleted once, inside the sandbox, by those who may; the offer's message says the result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agentic.core.events.execution_events import (
    BranchMerged,
    BranchRejected,
    CommitCreated,
    InboxItem,
)
from agentic.ports.failpoints import reach
from agentic.ports.runtime import Clock, Store
from agentic.workspace.git_repository import GitProblem, Repository
from agentic.workspace.workspace import A_PERSON
from bot.history.run_history import Past, Verdict, offered
from bot.outbound.live.branch_offer_messages import BranchOfferMessages
from bot.rendering.discord_text import inline, plain
from bot.workspace.sandboxes import Workshop
from reflexion.evaluation.outcome_stream import OutcomeStream

UNKNOWN = "That branch is not from this thread, so nothing was done."
HASH_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Branches:
    """Merges or deletes the branches that executions offered."""

    store: Store
    clock: Clock
    workshop: Workshop
    offers: BranchOfferMessages
    build: str = ""
    came_out: Callable[[str], Awaitable[None]] | None = None
    """Called with the execution whose branch was decided on, since that says how well it did."""

    async def merge(self, item: InboxItem) -> str:
        """Merge the offered branch; returns the receipt."""
        return await self._decide(item)

    async def reject(self, item: InboxItem) -> str:
        """Delete the offered branch; returns the receipt."""
        return await self._decide(item)

    async def _decide(self, item: InboxItem) -> str:
        past = await offered(self.store, item.thread, item.target)
        if past is None:
            return UNKNOWN
        created, key = past.offers[item.target]
        decided = past.verdicts.get(item.target)
        if decided is not None:
            await self.offers.decided(key)
            return _already(created, decided)
        try:
            verdict = await self._done(item, created)
        except GitProblem as problem:
            return str(problem)
        reach("merge.done")
        await self._record(past, verdict, key)
        return told(created, verdict)

    async def _done(self, item: InboxItem, created: CommitCreated) -> Verdict:
        repository = Repository(self.workshop.world(item.thread), created.repository, by=A_PERSON)
        if item.sort == "merge":
            commit = await repository.merge(created)
            return BranchMerged(offer=created.offer, branch=created.branch, commit=commit, by=item.author)
        await repository.delete(created)
        return BranchRejected(offer=created.offer, branch=created.branch, commit=created.commit, by=item.author)

    async def _record(self, past: Past, verdict: Verdict, key: str) -> None:
        await OutcomeStream(self.store, self.clock, past.execution, self.build).add(verdict)
        await self.offers.decided(key)
        if self.came_out is not None:
            await self.came_out(past.execution)


def told(created: CommitCreated, verdict: Verdict) -> str:
    """Say what became of a branch."""
    branch, commit = inline(created.branch), inline(verdict.commit[:HASH_SHOWN])
    if isinstance(verdict, BranchMerged):
        return f"Merged {branch} into {inline(created.base)} as {commit}."
    back = f"`git branch NAME {verdict.commit[:HASH_SHOWN]}` brings it back while git keeps it"
    return f"Deleted {branch}. It was {commit}; {back}."


def _already(created: CommitCreated, verdict: Verdict) -> str:
    did = "merged" if isinstance(verdict, BranchMerged) else "turned down, and deleted,"
    return f"{inline(created.branch)} was {did} already by {plain(verdict.by.name, 40)}."
