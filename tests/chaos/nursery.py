"""Processes of the product that are started quickly and killed for real."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from tests.chaos.cradle import Birth

ROOT = Path(__file__).parent.parent.parent
SECONDS = 180.0
"""The longest that a birth may take: on a busy machine the imports of the first one alone take a minute."""
_FAILPOINT = re.compile(r"^failpoint (\S+)$", re.MULTILINE)


class Life:
    """A process that the cradle gave birth to; how it ended comes by a pipe."""

    def __init__(self, pid: int, ending: int) -> None:
        self.pid = pid
        self.status: int | None = None
        """As ``os.wait`` gives it; None while it runs."""
        self.ended = asyncio.Event()
        self._ending, self._loop = ending, asyncio.get_running_loop()
        self._loop.add_reader(ending, self._over)

    @property
    def returncode(self) -> int | None:
        """As ``subprocess`` gives it."""
        return None if self.status is None else os.waitstatus_to_exitcode(self.status)

    def send_signal(self, number: int) -> None:
        """Where it still runs."""
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def wait(self) -> int:
        """Its exit code, once it is gone."""
        await self.ended.wait()
        assert self.returncode is not None
        return self.returncode

    def _over(self) -> None:
        self._loop.remove_reader(self._ending)
        self.status = int(os.read(self._ending, 16) or b"9")  # where the cradle is gone, its children were killed
        os.close(self._ending)
        self.ended.set()


class Cradle:
    """The process that gives birth; it ends with this one."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.settimeout(SECONDS)
        self._turn, self._ready = threading.Lock(), False
        troubles, named = tempfile.mkstemp(prefix="cradle-")
        self._troubles = Path(named)
        """What it says; in a file with a name, for a sandbox that is counted here counts those without one."""
        with theirs, os.fdopen(troubles, "wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "tests.chaos.cradle", str(theirs.fileno())],
                cwd=ROOT, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, pass_fds=(theirs.fileno(),),
            )  # fmt: skip

    async def start(self, birth: Birth, streams: Sequence[int]) -> Life:
        """A new process with standard streams that are closed here; it has only just begun when this returns."""
        ending, ended = os.pipe()
        try:
            pid = await asyncio.to_thread(self._ask, json.dumps(birth).encode(), [*streams, ended])
        except BaseException:
            os.close(ending)
            raise
        finally:
            for descriptor in (*streams, ended):
                os.close(descriptor)
        return Life(pid, ending)

    def close(self) -> None:
        """Every child that still runs is killed."""
        self._line.close()
        self._process.wait(SECONDS)
        self._troubles.unlink()

    def _ask(self, birth: bytes, descriptors: list[int]) -> int:
        with self._turn:
            if not self._ready:
                assert self._line.recv(16) == b"ready", self._troubles.read_text()
                self._ready = True
            socket.send_fds(self._line, [birth], descriptors)
            return int(self._line.recv(16))


@cache
def cradle() -> Cradle:
    """That of this process: the tests of one worker share it."""
    made = Cradle()
    atexit.register(made.close)
    return made


class Child:
    """One `threadwright`, which writes into a log."""

    def __init__(self, log: Path, life: Life) -> None:
        self.log, self._life = log, life
        self.pid, self.ended = life.pid, life.ended

    @property
    def status(self) -> int | None:
        """As ``os.wait`` gives it; None while it runs."""
        return self._life.status

    @property
    def said(self) -> str:
        """Everything it wrote to its standard output and error."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    @property
    def killed_at(self) -> str:
        """The failpoint at which it killed itself, '' where it did not."""
        found = _FAILPOINT.findall(self.said)
        return found[-1] if found else ""

    @property
    def was_killed(self) -> bool:
        """It ended by SIGKILL, not by itself."""
        return self.status is not None and os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL

    async def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """As if the machine had lost power: no handler runs.  Returns when it is gone."""
        self._life.send_signal(number)
        async with asyncio.timeout(60):
            await self.ended.wait()

    def strike(self) -> None:
        """Kill it, and do not wait for its end."""
        self._life.send_signal(signal.SIGKILL)

    def freeze(self) -> None:
        """It does nothing more until it is thawed, and knows nothing of the time between."""
        self._life.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on with what it believed."""
        self._life.send_signal(signal.SIGCONT)

    async def end(self) -> int:
        """As an operator ends it; its exit code."""
        await self.kill(signal.SIGTERM)
        return await self._life.wait()


class Nursery:
    """Has children, of which none outlives it."""

    def __init__(self, sabotage: str, children: list[Child]) -> None:
        self._sabotage, self._children = sabotage, children

    @classmethod
    @asynccontextmanager
    async def open(cls, sabotage: str = "") -> AsyncGenerator[Nursery]:
        """One without children; at the end every child that still runs is killed."""
        nursery = cls(sabotage, [])
        try:
            yield nursery
        finally:
            for child in nursery._children:
                await child.kill()

    def careless(self, sabotage: str) -> Nursery:
        """The same for children without a safeguard; those of the others keep theirs."""
        return Nursery(sabotage, self._children)

    async def start(
        self, env: Mapping[str, str], cwd: Path, log: Path, command: str = "run", machine: str = ""
    ) -> Child:
        """A new process, of a ``machine`` of its own where one is named; it has only just begun when this returns."""
        birth: Birth = {
            "arguments": [command], "env": dict(env), "cwd": str(cwd), "sabotage": self._sabotage, "machine": machine,
        }  # fmt: skip
        nothing = os.open(os.devnull, os.O_RDONLY)
        written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        child = Child(log, await cradle().start(birth, (nothing, written, os.dup(written))))
        self._children[:] = [*(each for each in self._children if each.status is None), child]
        return child
