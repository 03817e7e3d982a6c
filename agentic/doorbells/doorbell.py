"""The protocol of the doorbell: one process says that something waits in a thread, another one looks.

A ring carries nothing that is not in the store. So a ring that is lost costs the time until somebody looks by himself, and
one that comes twice finds nothing to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Ring:
    """Something waits in a thread."""

    thread: str
    receipt: str = ""
    """What acknowledges it, '' where nothing has to be."""


class Doorbell(Protocol):
    """Between those who store what people do and those who work on it."""

    async def ring(self, thread: str, guild: str) -> None:
        """Have somebody look at a thread; a guild that rings much makes others wait no longer.

        Raises ``DoorbellSilent`` where nobody hears it.
        """
        ...

    async def heard(self, most: int) -> list[Ring]:
        """Wait for rings, ``most`` at most; () after some seconds without any. Raises ``DoorbellSilent``.

        Until it is acknowledged a ring is heard by nobody else, as long as the process lives that heard it.
        """
        ...

    async def acknowledge(self, ring: Ring) -> None:
        """Done with. Never fails: a ring that comes again finds nothing to do."""
        ...

    async def close(self) -> None:
        """Leave what was heard and not acknowledged to others, at once."""
        ...
