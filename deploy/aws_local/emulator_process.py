"""MiniStack or microburst, until standard input closes: so neither outlives whoever started it, however that ended.

Run by the Python of ``.venv-aws``, which has nothing of the product:
    emulator_process.py ministack FD          FD: a socket that is bound and handed over
    emulator_process.py microburst OPTIONS…
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading


def main(program: str, *options: str) -> None:
    """Run the program; it ends with standard input."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    if program == "microburst":
        from microburst.cli import main as proxy

        logging.getLogger("aiohttp.access").disabled = True  # a line a request says nothing
        sys.argv = ["microburst", *options]
        proxy()
        return
    from hypercorn.asyncio import serve
    from hypercorn.config import Config
    from ministack.app import app

    config = Config()
    config.bind = [f"fd://{options[0]}"]
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"
    asyncio.run(serve(app, config, shutdown_trigger=asyncio.Event().wait))


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)  # everything is in memory: there is nothing to close


if __name__ == "__main__":
    main(*sys.argv[1:])
