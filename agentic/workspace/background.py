"""What stands or runs in a sandbox beside the workspace, so that it can be said what goes with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from agentic.core.fold.ownership import INTERPRETER, TEMPORARY, in_background
from agentic.ports.errors import SandboxError
from agentic.sandbox.protocol.results import BackgroundState

END = 1 << 62
"""An offset behind every output: only the state is asked for."""


class Polled(Protocol):
    """``Sandbox``."""

    async def poll(self, exec_id: str, offset: int = 0) -> BackgroundState:
        """A background command's state."""
        ...


@dataclass(slots=True)
class Beside:
    """Kept for one sandbox; ``jobs`` are background commands by their ids."""

    interpreter: bool = False
    left: bool = False
    """A command left something running, or was started in the background: it may change files when no call runs."""
    jobs: dict[str, str] = field(default_factory=dict[str, str])

    def began(self, job: str, command: str) -> str:
        """A command was started in the background; returns its id."""
        self.jobs[job], self.left = command, True
        return job

    async def words(self, sandbox: Polled) -> tuple[str, ...]:
        """Each in a few words; commands that have ended are forgotten."""
        running = await self.running(sandbox)
        if running is None:
            return ()
        parts = [INTERPRETER] if self.interpreter else []
        parts += [in_background(command) for command in running]
        return (*parts, TEMPORARY)

    async def running(self, sandbox: Polled) -> list[str] | None:
        """The commands that run in the background; None where the sandbox does not say."""
        try:
            return [command for job, command in list(self.jobs.items()) if await self._runs(sandbox, job)]
        except SandboxError:
            return None

    async def _runs(self, sandbox: Polled, job: str) -> bool:
        if (await sandbox.poll(job, END)).running:
            return True
        self.jobs.pop(job, None)
        return False
