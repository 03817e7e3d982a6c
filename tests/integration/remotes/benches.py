"""A sandbox with a checkout of the forge's repository, and what publishes from it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agentic.forges.hosts import Forges
from agentic.ports.forge import Remote
from agentic.remotes.checkout import Checked, check_out
from agentic.remotes.host_git import HostGit
from agentic.remotes.mirror import Mirror, Mirrors
from agentic.remotes.publication import Hand, NeedsYes, Order, Origin, Published, Publisher
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.pool import Choice, Rung, Sandboxes
from agentic.workspace.workspace import RealWorld

THREAD = "1234567890"


@dataclass(slots=True)
class Checkout:
    """A thread's workspace with a checkout."""

    world: RealWorld
    sandboxes: Sandboxes
    publisher: Publisher
    remote: Remote
    thread: str = THREAD
    hand: Hand | None = None
    """Whose account pull requests are opened with, where it is not the bot's."""

    async def mirrored(self) -> Mirror:
        """Fetch, and let the sandbox see it."""
        hosted = await self.publisher.forges.forge(self.remote).repository(self.remote)
        mirror = await self.publisher.mirrors.fetched(hosted)
        self.sandboxes.mirrors[self.thread] = mirror.folder
        return mirror

    async def check_out(self, branch: str = "") -> Checked:
        """Clone it into the empty workspace."""
        mirror = await self.mirrored()
        web = f"{self.publisher.forges.host(self.remote.host).web}/{self.remote}"
        checked = await check_out(self.world, mirror, web, branch)
        assert checked is not None
        return checked

    async def sh(self, script: str) -> str:
        """Run a command as the agent does."""
        result = await self.world.exec(script, timeout=30)
        assert result.ok, result.text
        return result.text

    async def put(self, path: str, text: str) -> None:
        """Write a file, whatever stands there."""
        await self.world.write(path, text, expected_sha=None, create=True)

    async def fix(self, text: str = "def total(cents):\n    return round(sum(cents))\n") -> None:
        """Change a file and commit."""
        await self.put("shop/price.py", text)
        await self.sh("git add -A && git commit -qm 'Round prices'")

    async def publish(
        self, title: str = "Round prices", branch: str = "", approved: str = "", base: str = "",
        body: str = "Because of a cent.",
    ) -> Published:  # fmt: skip
        """Publish what is checked out; it needs nobody's yes."""
        done = await self.asked(title, branch, approved, base, body)
        assert isinstance(done, Published), done
        return done

    async def asked(
        self, title: str = "Round prices", branch: str = "", approved: str = "", base: str = "",
        body: str = "Because of a cent.",
    ) -> Published | NeedsYes:  # fmt: skip
        """The same, whatever comes of it."""
        order = Order(title, body, branch, footer="For Ada", hand=self.hand)
        return await self.publisher.publish(self.world, ".", self.thread, Origin(self.remote, base), order, approved)


@asynccontextmanager
async def opened(
    folder: Path, forges: Forges, remote: Remote, rung: Rung | None = None, **git: object
) -> AsyncGenerator[Checkout]:
    """A checkout's bench; its sandbox ends with it."""
    folder.chmod(0o755)
    workspace = folder / "workspace"
    workspace.mkdir()

    async def choose() -> Choice:
        return Choice(rung or Bubblewrap(folder / "state"), "for a test")

    sandboxes = Sandboxes(folder / "state", choose)
    made = HostGit(forges, **git)  # pyright: ignore[reportArgumentType]
    publisher = Publisher(Mirrors(folder / "mirrors", made), forges)
    try:
        yield Checkout(RealWorld(sandboxes, THREAD, workspace), sandboxes, publisher, remote)
    finally:
        await sandboxes.close()
