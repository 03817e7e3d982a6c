"""`threadwright console`: the console as a process, which a bot starts beside itself, or a person alone to look at a store."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

from agentic.ports.errors import AgenticError, StoreUnavailable
from bot.cli.console import fail, say
from bot.config.home import own
from bot.config.settings import Settings
from bot.console.access.entrance import NoWayIn
from bot.console.bot_channel import BotChannel
from bot.console.process import serve

IN_MEMORY = "THREADWRIGHT_STORE is 'memory', which no other process can read. Set it to 'sqlite'."
OPEN = (
    "Open {url} in a browser. Tasks are only shown: what people do with them goes through the bot's own console. Ctrl-C "
    "ends it."
)


OOM = Path("/proc/self/oom_score_adj")


class _Told(BotChannel):
    """Nobody but whoever reads the terminal."""

    async def listens(self, url: str, trouble: str = "") -> None:
        """Say where it is."""
        if url:
            say(OPEN.format(url=url))


def _go_first() -> None:
    """Where memory runs out, let the kernel end this process before the bot, which works without it."""
    with contextlib.suppress(OSError):
        OOM.write_text("800", encoding="ascii")


async def console(settings: Settings, descriptor: int | None, port: int) -> int:
    """Serve until it is stopped; ``descriptor`` is the end of the pair that a bot handed over."""
    if settings.store == "memory":
        return fail(IN_MEMORY)
    own(settings.home)
    _go_first()
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    channel = _Told() if descriptor is None else await BotChannel.over(descriptor)
    try:
        await serve(settings, channel, stopped, port)
    except OSError as error:
        return fail(f"The console can't listen at {settings.console}: {os.strerror(error.errno or 0)}.")
    except NoWayIn as error:
        return fail(str(error))
    except StoreUnavailable:  # not for good: whoever started it tries again
        raise
    except AgenticError as error:
        await channel.listens("", f"{error}. `threadwright doctor` checks every part")
        raise
    finally:
        with contextlib.suppress(OSError):
            await channel.close()
    return 0
