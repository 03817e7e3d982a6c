"""The repository of one thread, as its tools have it: what it is, and how its commits get out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from agentic.core.events.execution_events import PullRequestOpened
from agentic.ports.errors import NotPublished
from agentic.ports.forge import Remote
from agentic.remotes.host_git import Progress
from agentic.remotes.publication import NeedsYes, Order, Origin, Published, Publisher
from agentic.workspace.workspace import RealWorld

Footer = Callable[[], Awaitable[str]]
"""The last line of a pull request's text: for whom, and where to ask."""
Opened = Callable[[PullRequestOpened], Awaitable[None]]
"""Keeps durably that a pull request is to be watched."""


@dataclass(frozen=True, slots=True)
class WayOut:
    """Where a thread may publish."""

    publisher: Publisher
    thread: str
    origin: Origin
    footer: Footer
    opened: Opened
    pulls: Callable[[], Awaitable[Mapping[int, Remote]]]
    """The numbers of this thread's pull requests in its repository, with the name that this has at the host."""

    async def publish(
        self, world: RealWorld, folder: str, order: Order, approved: str, progress: Progress
    ) -> tuple[Published, PullRequestOpened] | NeedsYes:
        """Publish what is checked out; that it is to be watched is durable when this returns."""
        whole = Order(order.title, order.body, order.branch, order.draft, await self.footer())
        done = await self.publisher.publish(world, folder, self.thread, self.origin, whole, approved, progress)
        if isinstance(done, NeedsYes):
            return done
        pull = done.pull
        event = PullRequestOpened(
            host=done.remote.host, repository=str(done.remote), number=pull.number, url=pull.url, title=pull.title,
            branch=pull.head, base=pull.base, commit=done.commit, draft=pull.draft, commits=done.commits,
            files=done.files[:100],
        )  # fmt: skip
        await self.opened(event)
        return done, event

    async def preview(self, world: RealWorld, folder: str, order: Order, progress: Progress) -> NeedsYes:
        """What ``publish`` would bring to the host, whole; nothing leaves."""
        return await self.publisher.preview(world, folder, self.thread, self.origin, order, progress)

    async def comment(self, number: int, text: str, key: str) -> str:
        """Write on one of this thread's pull requests, once for a key."""
        numbers = dict(await self.pulls())
        chosen = number or next(reversed(numbers), 0)
        if chosen not in numbers:
            known = ", ".join(map(str, numbers)) or "none yet"
            raise NotPublished(f"That is no pull request of this thread in its repository. They are: {known}.")
        await self.publisher.comment(numbers[chosen], chosen, text, f"{self.thread}.{key}")
        return f"Commented on pull request {chosen}."
