"""Files of a home that processes on several machines share: skills, roles, rules, watchers, MCP servers, linked accounts.

Who reads them reads the disk, as where one machine is alone.  Who changes them for a person does it through ``changed``.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

T = TypeVar("T")


class NotShared(OSError):
    """A change was not made, because it could not be shared with the other machines; the text says why and what to do."""

    def __init__(self, why: str) -> None:
        super().__init__(errno.EIO, why)

    def __str__(self) -> str:
        return str(self.strerror)


class SharedHome(Protocol):
    """Keeps the files of this machine's home in step with those that all machines share."""

    async def fresh(self, within: float = 5.0) -> None:
        """Bring what others changed, and share what was changed here by hand.  Never fails, and waits ``within`` so many
        seconds: what stands here goes on being used then.
        """
        ...

    async def change(self, part: str, work: Callable[[], T]) -> T:
        """Change files of a part of the home (``roles``, ``skills.json``) here and for all machines, or nowhere.

        ``work`` begins with what is shared now, and is done again where somebody else was quicker.  What it raises leaves
        the shared files as they are.  Raises ``NotShared``.
        """
        ...

    def alone(self, what: str) -> AbstractAsyncContextManager[None]:
        """Nobody else does ``what`` meanwhile, on no machine; what others did before is here, and what is done is shared.

        Raises ``NotShared``.
        """
        ...

    async def run(self) -> None:
        """Be ``fresh`` every few seconds, until cancelled."""
        ...

    async def close(self) -> None:
        """Wait for what is under way."""
        ...


async def changed(shared: SharedHome | None, part: str, work: Callable[[], T]) -> T:
    """Change files of a part of the home, beside the event loop; everywhere where it is shared."""
    return await (asyncio.to_thread(work) if shared is None else shared.change(part, work))
