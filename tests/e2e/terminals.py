"""A command, else `threadwright setup`, at a terminal of its own, and a person who reads and types there."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import signal
import sys
import termios
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web

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

    async def answer(self, words: str, text: str = "") -> None:
        """Read on until the words ask, and type an answer, or Enter alone."""
        await self.sees(words)
        os.write(self.master, f"{text}\n".encode())


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


@asynccontextmanager
async def model_server(listed: Sequence[str], key: str = "", local: Sequence[str] = ()) -> AsyncGenerator[str]:
    """A server that lists models, for one key if there is one, as Anthropic and OpenAI do, and as an Ollama."""

    async def models(request: web.Request) -> web.Response:
        given = request.headers.get("x-api-key") or request.headers.get("Authorization", "").removeprefix("Bearer ")
        return web.json_response(
            {"data": [{"id": name} for name in listed]}, status=200 if given == key or not key else 401
        )

    async def tags(_: web.Request) -> web.Response:
        return web.json_response({"models": [{"name": name} for name in local]})

    app = web.Application()
    app.router.add_get("/v1/models", models)
    app.router.add_get("/api/tags", tags)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()
