"""The console in a process of its own: ``python -m bench.console_process HOME``; its address is the first line it prints."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from pathlib import Path

from bot.config.settings import Settings
from bot.console.process import console

HOST = "127.0.0.1"


async def main() -> None:
    """Serve until told to end; SIGUSR1 has it let go of what nobody needs any more."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, gc.collect)
    async with console(Settings(home=Path(sys.argv[1]))) as server:
        await server.prepare()
        await server.open(HOST, 0)
        print("http://{}:{}".format(*server.address), flush=True)
        await stopped.wait()


if __name__ == "__main__":
    asyncio.run(main())
