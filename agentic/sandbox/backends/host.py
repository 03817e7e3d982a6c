"""The host rung: the supervisor as a plain process of this machine.  No walls at all; only where it was asked for by name.

The same protocol, limits on each process, and the end with the owner's heartbeat; but commands see what the user running
Threadwright sees, and a process that hides its tag and its parent is only found where there is a control group.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agentic.ports.errors import SandboxUnavailable
from agentic.sandbox.backends.bubblewrap import say_hello
from agentic.sandbox.backends.cgroups import ControlGroups
from agentic.sandbox.backends.hidden_mounts import Cover
from agentic.sandbox.backends.process_transport import ProcessTransport
from agentic.sandbox.limits import Limits, Place
from agentic.sandbox.protocol.call_journal import Diary, arguments, descriptors
from agentic.sandbox.protocol.heartbeat import Heartbeat
from agentic.sandbox.protocol.supervisor_bundle import program
from agentic.sandbox.python_command import python_folder
from agentic.sandbox.sandbox import Sandbox
from agentic.sandbox.shown_mirror import CONFIGURATION


class Host:
    """Commands on this machine, as the user who runs Threadwright."""

    name = "host"
    said = name
    covers = False

    def __init__(self, state: Path, heartbeat: Heartbeat | None = None) -> None:
        self._state = state
        self._heartbeat = heartbeat or Heartbeat()
        self._groups = ControlGroups(state)

    @property
    def owner(self) -> tuple[int, int]:
        """The user of the files."""
        return os.geteuid(), os.getegid()

    @property
    def memory(self) -> str:
        """Who holds a sandbox to its limit of memory."""
        return self._groups.memory

    async def start(
        self,
        thread: str,
        workspace: Path,
        home: Path,
        limits: Limits,
        diary: Diary | None = None,
        covered: Sequence[Cover] = (),
        door: Path | None = None,
        mirror: Path | None = None,
        skills: Path | None = None,
    ) -> Sandbox:
        """A supervisor over the workspace; nothing in it can be covered, and it has the machine's network, without a door."""
        argv = [sys.executable, "-I", str(program(self._state)), *arguments(diary)]
        group = self._groups.make(limits)
        transport = await ProcessTransport.start(argv, descriptors=descriptors(diary), folder=workspace, group=group)
        sandbox = Sandbox(
            transport, _place(workspace, home, mirror, python_folder(self._state)), limits, thread, self._heartbeat
        )
        await say_hello(sandbox, _not_started)
        self._groups.note(group)
        return sandbox

    async def reap(self) -> tuple[str, ...]:
        """What is still in control groups; the supervisor itself ends with the pipe."""
        return await self._groups.reap()

    async def close(self) -> None:
        """Nothing is held."""


def _not_started(words: str) -> SandboxUnavailable:
    return SandboxUnavailable(
        f"the supervisor on the host did not start: {words}. Choose another sandbox with THREADWRIGHT_SANDBOX"
    )


def _place(workspace: Path, home: Path, mirror: Path | None, commands: Path) -> Place:
    given = {"GIT_CONFIG_SYSTEM": f"{mirror}/host.{CONFIGURATION}"} if mirror is not None else {}
    return Place(
        Host.name, str(workspace.resolve()), str(home.resolve()), namespaced=False, counts_processes=False,
        environment=given, commands=str(commands.resolve()),
    )  # fmt: skip
