"""`threadwright run` with a scripted endpoint behind it, and a person at its page."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agentic.models.scripted.endpoint import ScriptedEndpoint
from tests.e2e.person import Person, person
from tests.e2e.processes import Running, environment, started

ADDRESS = r"Open (http://127\.0\.0\.1:\d+/#key=[\w-]+)"


@dataclass
class Living:
    """A running bot and who talks to it."""

    running: Running
    person: Person
    home: Path

    def workspace(self, thread: str) -> Path:
        """The folder of a thread on this machine."""
        return self.home / "workspaces" / thread


@asynccontextmanager
async def living(home: Path, endpoint: ScriptedEndpoint, **settings: str) -> AsyncGenerator[Living]:
    """Start it, open its page; killed at the end if the test has not ended it."""
    defaults = {"THREADWRIGHT_TIER_2": "anthropic/claude-haiku-4-5", "THREADWRIGHT_SANDBOX": "bubblewrap"} | {
        "THREADWRIGHT_DRAIN_SECONDS": "0.2",
        "THREADWRIGHT_LESSONS_HELD_BACK": "0",
        "THREADWRIGHT_EMBEDDINGS": "off",
    }
    env = environment(home, endpoint.environment(), **{**defaults, **settings})
    home.mkdir(parents=True, exist_ok=True)
    async with started("run", env=env, cwd=home) as running:
        url = (await running.until_said(ADDRESS))[1]
        async with person(url) as somebody:
            yield Living(running, somebody, home)
