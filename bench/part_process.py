"""``threadwright gateway`` or ``worker`` as a process of its own, at a guild that another process serves."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from bench.startup import cpu_seconds
from bot.local_discord import LocalGuild

ONLINE = {"gateway": "is online", "worker": "Working on what the gateway hears"}
SECONDS = 60.0
RESTED_WITHIN = 300.0
RESTS = 0.15
"""A process rests that takes less of a processor than this."""
MODEL = "anthropic/claude-haiku-4-5"


@asynccontextmanager
async def part(
    command: Literal["gateway", "worker"], home: Path, guild: LocalGuild, settings: Mapping[str, str]
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """The process, once it is online; ended in order at the end.  What it says stands in the home."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(home), "PYTHONUNBUFFERED": "1", "THREADWRIGHT_HOME": str(home),
        "DISCORD_TOKEN": guild.bot_token, "THREADWRIGHT_DISCORD_API": guild.rest_base, "THREADWRIGHT_TIER_2": MODEL,
        "ANTHROPIC_API_KEY": "nobody-asks",
        "THREADWRIGHT_EMBEDDINGS": "off", "THREADWRIGHT_DRAIN_SECONDS": "0.2", **settings,
    }  # fmt: skip
    said = home / f"{command}.log"
    main = f"import sys; from bot.cli.main import main; sys.exit(main(['{command}']))"
    with said.open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", main, env=environment, cwd=home, stdout=log, stderr=log
        )
    try:
        async with asyncio.timeout(SECONDS):
            while ONLINE[command] not in said.read_text():
                assert process.returncode is None, said.read_text()
                await asyncio.sleep(0.02)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(20):
                await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()


async def rested(process: asyncio.subprocess.Process, seconds: float = 1.0) -> None:
    """Wait until what a start leaves for later is done: until the process hardly works for so long."""
    async with asyncio.timeout(RESTED_WITHIN):
        while True:
            before = cpu_seconds(process.pid)
            await asyncio.sleep(seconds)
            if cpu_seconds(process.pid) - before <= RESTS * seconds:
                return


def resident_mb(process: asyncio.subprocess.Process) -> float:
    """Its memory."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0
