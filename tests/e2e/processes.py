"""`threadwright` as a process of its own, as a person would start it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentic.core.events.execution_events import Envelope, Event

MODEL = "anthropic/claude-haiku-4-5"


def environment(home: Path, models: Mapping[str, str], **settings: str) -> dict[str, str]:
    """Everything the process is told; nothing of the person who runs the tests but where programs are."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "DOCKER_HOST", "TMPDIR") if name in os.environ}
    return {**kept, "THREADWRIGHT_HOME": str(home), "PYTHONUNBUFFERED": "1", **models, **settings}


@dataclass
class Running:
    """A started process; ``said`` is its standard output so far."""

    process: asyncio.subprocess.Process
    said: list[str] = field(default_factory=list[str])
    troubles: list[str] = field(default_factory=list[str])
    _heard: asyncio.Event = field(default_factory=asyncio.Event)
    _readers: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    @property
    def output(self) -> str:
        """Standard output and error, for a failure's message."""
        return "".join((*self.said, "\n--- standard error ---\n", *self.troubles))

    async def until_said(self, pattern: str, seconds: float = 30.0) -> re.Match[str]:
        """The first match in standard output."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    self._heard.clear()
                    if found := re.search(pattern, "".join(self.said)):
                        return found
                    if self.process.returncode is not None:
                        pytest.fail(
                            f"it ended with {self.process.returncode} before it said {pattern!r}\n{self.output}"
                        )
                    await self._heard.wait()
        except TimeoutError:
            pytest.fail(f"it did not say {pattern!r}\n{self.output}")

    async def ended(self, seconds: float = 60.0) -> int:
        """Its exit code."""
        try:
            async with asyncio.timeout(seconds):
                code = await self.process.wait()
                await asyncio.gather(*self._readers)
                return code
        except TimeoutError:
            pytest.fail(f"it did not end\n{self.output}")

    async def end(self) -> int:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return await self.ended()

    async def kill(self) -> None:
        """As if the machine had lost power: no handler runs."""
        self.process.kill()
        await self.process.wait()

    async def _read(self, stream: asyncio.StreamReader, into: list[str]) -> None:
        while line := await stream.readline():
            into.append(line.decode(errors="replace"))
            self._heard.set()

    def listen(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._readers += [
            asyncio.create_task(self._read(self.process.stdout, self.said)),
            asyncio.create_task(self._read(self.process.stderr, self.troubles)),
            asyncio.create_task(self._wait()),
        ]

    async def _wait(self) -> None:
        await self.process.wait()
        self._heard.set()


@asynccontextmanager
async def started(
    *arguments: str, env: Mapping[str, str], cwd: Path, typed: bytes | None = None
) -> AsyncGenerator[Running]:
    """A running `threadwright …`, with what is typed into it; killed at the end if it is still there."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot.cli.main", *arguments,
        env={**env, "PYTHONPATH": str(Path(__file__).parents[2])}, cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL if typed is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, limit=16 * 1024 * 1024,
    )  # fmt: skip
    running = Running(process)
    running.listen()
    if process.stdin is not None and typed is not None:
        process.stdin.write(typed)
        process.stdin.close()
    try:
        yield running
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def task(text: str, *options: str, env: Mapping[str, str], cwd: Path) -> tuple[int, list[Event], Running]:
    """`threadwright task TEXT --json`: its exit code and its events; standard output must hold nothing else."""
    async with started("task", text, "--json", *options, env=env, cwd=cwd) as running:
        code = await running.ended(120)
        return code, [Envelope.model_validate_json(line).event for line in running.said], running
