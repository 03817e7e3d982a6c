"""Processes of the product that are started quickly and killed for real; what they say goes into their logs."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_FAILPOINT = re.compile(r"^failpoint (\S+)$", re.MULTILINE)


@dataclass
class Child:
    """One `threadwright run`."""

    log: Path
    pid: int = 0
    status: int | None = None
    """As ``os.wait`` gives it; None while it runs."""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

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
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
        async with asyncio.timeout(30):
            await self.ended.wait()

    async def end(self) -> int:
        """As an operator ends it; its exit code."""
        await self.kill(signal.SIGTERM)
        assert self.status is not None
        return os.waitstatus_to_exitcode(self.status)


class Nursery:
    """Starts children through one cradle."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        sabotage: str,
        children: dict[int, Child] | None = None,
        numbers: Iterator[int] | None = None,
    ) -> None:
        self._process, self._sabotage = process, sabotage
        self._children: dict[int, Child] = {} if children is None else children
        self._numbers = itertools.count(1) if numbers is None else numbers

    @classmethod
    @asynccontextmanager
    async def open(cls, sabotage: str = "") -> AsyncGenerator[Nursery]:
        """A cradle that is ready; at the end every child that still runs is killed."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-W", "ignore", "-m", "tests.chaos.cradle", cwd=ROOT,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        nursery = cls(process, sabotage)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(60):
                assert json.loads(await process.stdout.readline()) == {"ready": True}
            listening = asyncio.create_task(nursery._listen(process.stdout), name="cradle")
            yield nursery
            for child in list(nursery._children.values()):
                await child.kill()
            process.stdin.close()
            await listening
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

    def careless(self, sabotage: str) -> Nursery:
        """The same cradle for children without a safeguard; those of the others keep theirs."""
        return Nursery(self._process, sabotage, self._children, self._numbers)

    async def start(self, env: Mapping[str, str], cwd: Path, log: Path) -> Child:
        """A new process; it has only just begun when this returns."""
        assert self._process.stdin is not None
        number, child = next(self._numbers), Child(log)
        self._children[number] = child
        birth = {"id": number, "env": dict(env), "cwd": str(cwd), "log": str(log), "sabotage": self._sabotage}
        self._process.stdin.write(json.dumps(birth).encode() + b"\n")
        async with asyncio.timeout(30):
            await child.begun.wait()
        return child

    async def _listen(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            told: dict[str, int] = json.loads(line)
            child = self._children[told["id"]]
            if "pid" in told:
                child.pid = told["pid"]
                child.begun.set()
            else:
                child.status = told["ended"]
                child.ended.set()
                del self._children[told["id"]]
