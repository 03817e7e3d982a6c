"""`threadwright` as a process of its own, as a person would start it, but for its imports, which are shared."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentic.core.events.execution_events import Envelope, Event
from tests.chaos.cradle import Birth
from tests.chaos.nursery import Life, cradle

MODEL = "anthropic/claude-haiku-4-5"
ANEW = ("env", f"PYTHONPATH={Path(__file__).parents[2]}", sys.executable, "-m", "bot.cli.main")


def environment(home: Path, models: Mapping[str, str], **settings: str) -> dict[str, str]:
    """Everything the process is told; nothing of the person who runs the tests but where programs are.

    No console unless ``settings`` say so: it is one more process beside each bot.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "DOCKER_HOST", "TMPDIR") if name in os.environ}
    ours = {"THREADWRIGHT_HOME": str(home), "THREADWRIGHT_CONSOLE": "off", "PYTHONUNBUFFERED": "1"}
    return {**kept, **ours, **models, **settings}


@dataclass
class Running:
    """A started process; ``said`` is its standard output so far."""

    process: Life | asyncio.subprocess.Process
    said: list[str] = field(default_factory=list[str])
    troubles: list[str] = field(default_factory=list[str])
    _heard: asyncio.Event = field(default_factory=asyncio.Event)
    _readers: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    @property
    def output(self) -> str:
        """Standard output and error, for a failure's message."""
        return "".join((*self.said, "\n--- standard error ---\n", *self.troubles))

    async def until_said(self, pattern: str, seconds: float = 60.0) -> re.Match[str]:
        """The first match in standard output."""
        return await self._until(pattern, self.said, seconds)

    async def until_noted(self, pattern: str, seconds: float = 60.0) -> re.Match[str]:
        """The first match in standard error."""
        return await self._until(pattern, self.troubles, seconds)

    async def _until(self, pattern: str, lines: Sequence[str], seconds: float) -> re.Match[str]:
        try:
            async with asyncio.timeout(seconds):
                while True:
                    self._heard.clear()
                    if found := re.search(pattern, "".join(lines)):
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
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                if isinstance(self.process, Life):
                    self.process.send_signal(signal.SIGKILL)
                else:
                    os.killpg(self.process.pid, signal.SIGKILL)  # with what it started
        await self.process.wait()

    async def _read(self, stream: asyncio.StreamReader, into: list[str]) -> None:
        while line := await stream.readline():
            into.append(line.decode(errors="replace"))
            self._heard.set()

    def listen(self, output: asyncio.StreamReader, errors: asyncio.StreamReader) -> None:
        self._readers += [
            asyncio.create_task(self._read(output, self.said)),
            asyncio.create_task(self._read(errors, self.troubles)),
            asyncio.create_task(self._wait()),
        ]

    async def _wait(self) -> None:
        await self.process.wait()
        self._heard.set()


@asynccontextmanager
async def started(
    *arguments: str, env: Mapping[str, str], cwd: Path, typed: bytes | None = None, program: Sequence[str] = ()
) -> AsyncGenerator[Running]:
    """A running `threadwright …`, with what is typed into it; killed at the end if it is still there.

    ``program``: what to start instead, with an interpreter and imports of its own: ``ANEW``, or one that was installed.
    """
    birth: Birth = {"arguments": list(arguments), "env": dict(env), "cwd": str(cwd), "sabotage": "", "machine": ""}
    (output, said), (errors, told) = os.pipe(), os.pipe()
    async with _read(output) as heard, _read(errors) as troubles:
        streams = (_typed(typed), said, told)
        running = Running(await (_begun(program, birth, streams) if program else cradle().start(birth, streams)))
        running.listen(heard, troubles)
        try:
            yield running
        finally:
            await running.kill()


async def _begun(program: Sequence[str], birth: Birth, streams: tuple[int, int, int]) -> asyncio.subprocess.Process:
    stdin, stdout, stderr = streams
    try:
        return await asyncio.create_subprocess_exec(
            *program, *birth["arguments"], env=birth["env"], cwd=birth["cwd"],
            stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True,
        )  # fmt: skip
    finally:
        for stream in streams:
            os.close(stream)


@asynccontextmanager
async def _read(pipe: int) -> AsyncGenerator[asyncio.StreamReader]:
    reader = asyncio.StreamReader(limit=16 * 1024 * 1024)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", 0)
    )
    try:
        yield reader
    finally:
        transport.close()


def _typed(typed: bytes | None) -> int:
    """A standard input that holds these bytes, which are fewer than a pipe takes."""
    if typed is None:
        return os.open(os.devnull, os.O_RDONLY)
    reading, writing = os.pipe()
    os.write(writing, typed)
    os.close(writing)
    return reading


async def task(text: str, *options: str, env: Mapping[str, str], cwd: Path) -> tuple[int, list[Event], Running]:
    """`threadwright task TEXT --json`: its exit code and its events; standard output must hold nothing else."""
    async with started("task", text, "--json", *options, env=env, cwd=cwd) as running:
        code = await running.ended(120)
        return code, [Envelope.model_validate_json(line).event for line in running.said], running
