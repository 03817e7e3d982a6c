"""A supervisor as a child process of ours: its stdin and stdout are the transport.  Used by bubblewrap and the host rung."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from pathlib import Path

from agentic.ports.errors import SandboxUnavailable
from agentic.sandbox.backends.cgroups import ControlGroup
from agentic.sandbox.protocol.frame_writer import FrameOutput

LAST_WORDS = 4096
END_SECONDS = 0.1
"""So long a supervisor may take to end everything; then the kernel does."""
KILL_SECONDS = 1.0


def children(parent: int) -> list[int]:
    """The processes that a process has begun and that have not ended."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_bytes().rpartition(b")")[2].split()
            if int(fields[1]) == parent and fields[0] not in b"ZX":
                found.append(int(stat.parent.name))
    return found


class ProcessTransport:
    """The pipes of a child process."""

    def __init__(self, process: Process, outlet: FrameOutput, group: ControlGroup | None = None) -> None:
        self._process = process
        self._group = group
        self.outlet = outlet
        self._words = bytearray()
        self._listener = asyncio.create_task(self._listen(), name="sandbox-stderr")

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        descriptors: Sequence[int] = (),
        folder: Path | None = None,
        group: ControlGroup | None = None,
    ) -> ProcessTransport:
        """Start ``argv`` with an empty environment, in ``group``, which ends with it."""
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                *(group.joined_by(argv) if group is not None else argv),
                stdin=theirs.fileno(),
                stdout=PIPE,
                stderr=PIPE,
                env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
                cwd=folder or "/",
                pass_fds=tuple(descriptors),
                start_new_session=True,
                umask=0o022,  # what is made in a workspace is as anybody else's files are
            )
        except BaseException as error:
            ours.close()
            if group is not None:
                group.remove()
            if isinstance(error, OSError):
                raise SandboxUnavailable(f"{argv[0]} could not be started: {error}") from error
            raise
        finally:
            theirs.close()
        return cls(process, FrameOutput(ours.detach()), group)

    async def read(self, size: int) -> bytes:
        """Bytes of the supervisor's stdout."""
        assert self._process.stdout is not None
        return await self._process.stdout.read(size)

    async def close(self) -> str:
        """Close the pipe, on which the supervisor ends everything; kill what does not go."""
        process = self._process
        self.outlet.close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        except TimeoutError:
            await self._kill()
        if self._group is not None:
            await self._group.end()
        self._listener.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._listener
        return self.last_words

    async def _kill(self) -> None:
        """End it from outside: the first process of a namespace, which the kernel lets go once no other is left in it."""
        if self._group is not None:
            self._group.kill()
        first = await asyncio.to_thread(children, self._process.pid)
        for pid in first:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(KILL_SECONDS if first else 0):
                await self._process.wait()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    @property
    def last_words(self) -> str:
        """What it wrote to stderr."""
        return self._words.decode("utf-8", "replace").strip()

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(4096):
            self._words += piece[: max(0, LAST_WORDS - len(self._words))]
