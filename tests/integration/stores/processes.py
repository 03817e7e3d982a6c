"""Starting and killing ``writing_process``."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

ROOT = Path(__file__).parents[3]


@contextlib.asynccontextmanager
async def process(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """One process of ``writing_process``, ended at the latest at the end."""
    made = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.integration.stores.writing_process",
        *arguments,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield made
    finally:
        with contextlib.suppress(ProcessLookupError):
            made.kill()
        await made.wait()


async def acknowledged(writer: asyncio.subprocess.Process, lines: int) -> int:
    """The last event number a writer was told is durable, after so many lines, killed by SIGKILL at once."""
    assert writer.stdout is not None
    for _ in range(lines):
        await writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    rest = (await writer.stdout.read()).decode().split("\n")
    await writer.wait()
    return max([int(line) for line in rest[:-1]], default=1 + 3 * lines)
