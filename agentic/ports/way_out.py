"""The way out of a sandbox, as its owner sees it: a door for each thread's, what it refused, what a task may reach besides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agentic.core.events.execution_events import Exposure


@dataclass(frozen=True, slots=True)
class RefusedHost:
    """A host that was not reached, and why in words."""

    host: str
    why: str
    listed: bool = True
    """It is on the list, so asking for it changes nothing."""


class Doors(Protocol):
    """A Unix socket for each thread's sandbox; whoever connects to it speaks to a proxy."""

    async def open(self, thread: str, owner: tuple[int, int]) -> Path:
        """A door that this user (and group) can go through.  Raises ``OSError``."""
        ...

    async def close(self, thread: str) -> None:
        """Shut it, and end what goes through it."""
        ...

    def lend(self, thread: str, hosts: Iterable[str]) -> None:
        """What the thread may reach beside what is chosen for it, until this is called again."""
        ...

    async def exposure(self, thread: str) -> Exposure:
        """The hosts that were reached since this was asked last, and what may be reached now as it is chosen."""
        ...

    def told(self, thread: str) -> tuple[RefusedHost, ...]:
        """What was refused since this was asked last, each host once."""
        ...
