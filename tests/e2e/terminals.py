"""A command, else `threadwright setup`, at a terminal of its own, and a person who reads and types there."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import signal
import sys
import termios
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

SECONDS = 60.0


def program(*flags: str) -> tuple[str, ...]:

    return (sys.executable, "-m", "bot.cli.main", "setup", *flags)


@dataclass
class Terminal:
    """A person at a terminal of their own."""

    process: asyncio.subprocess.Process
    master: int
    shown: str = ""
    read: int = 0
    reading: asyncio.Future[bytes] | None = None

    async def sees(self, words: str, seconds: float = SECONDS) -> None:
        """Read on until the words stand on the screen."""
        async with asyncio.timeout(seconds):
            while (at := self.shown.find(words, self.read)) < 0:
                self.reading = self.reading or asyncio.ensure_future(asyncio.to_thread(os.read, self.master, 4096))
                read = await asyncio.shield(self.reading)
                self.reading = None
                self.shown += read.decode(errors="replace")
        self.read = at + len(words)

    async def interrupts(self, until: str) -> None:
        """Ctrl-C, again where it came just before the program began to wait: then no system call is interrupted."""
        for _ in range(10):
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(TimeoutError):
                await self.sees(until, 6.0)
                return
        pytest.fail(f"Ctrl-C did not lead to {until!r}; on the screen: {self.shown!r}")

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())


@asynccontextmanager
async def terminal(
    home: Path, env: dict[str, str], *command: str, size: tuple[int, int] = (24, 80)
) -> AsyncGenerator[Terminal]:
    """Start a command, else setup, at a terminal of so many rows and columns."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, size)
    process = await asyncio.create_subprocess_exec(
        *(command or program()), env={**env, "PYTHONPATH": str(Path(__file__).parents[2])}, cwd=home,
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
    )  # fmt: skip
    try:
        yield Terminal(process, master)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(slave)
        os.close(master)
