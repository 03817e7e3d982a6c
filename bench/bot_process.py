"""A bot in a process of its own, at a local guild that another process serves: ``python -m bench.bot_process WHO FOLDER``.

``ours`` is the product as ``bot/app/app.py`` composes it; ``plain`` is the smallest bot that can acknowledge a mention.
The guild's addresses come from the environment (``GUILD_REST``, ``GUILD_GATEWAY``, ``GUILD_URL``), and so does the token.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import discord

from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.local_discord import LocalGuild
from bot.local_discord.redirect import attach

MODEL = "anthropic/claude-haiku-4-5"
ONLINE_SECONDS = 60.0
LAGS = "lags"
"""A file in the home, at the end: when the event loop was asked (monotonic), and how long it let that wait, in pairs."""
LONGEST = "longest"
"""A file in the home, at the end: seconds of the event loop's longest stall, opening included."""
HERE = Path(__file__).parent.parent
CONSOLE = "console"
"""A file in the home, once the console listens: its address."""
BUSIEST = "busiest"
"""A file in the home, at the end: the most requests that our own sender counted in one second."""


def main() -> None:
    """Connect, and stay until told to end."""
    who, folder = sys.argv[1:]
    attach(os.environ["GUILD_REST"], os.environ["GUILD_GATEWAY"], os.environ["GUILD_URL"])
    asyncio.run(ours(Path(folder)) if who == "ours" else plain())


async def plain() -> None:
    """Ten lines of discord.py that put 👀 under a mention."""
    client = discord.Client(intents=discord.Intents(guilds=True, guild_messages=True, message_content=True))

    @client.event
    async def on_message(message: discord.Message) -> None:
        if client.user in message.mentions:
            await message.add_reaction("👀")

    await client.start(os.environ["DISCORD_TOKEN"])


async def ours(home: Path) -> None:
    """The product, with every setting from the environment."""
    from bot.app.app import App, AppHome
    from bot.config.settings import read_settings

    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with App.open(read_settings(), AppHome(home)) as app:
        app.watchdog.lags, app.watchdog.report_every = [], 0.0
        logging.basicConfig(format="%(message)s")
        logging.getLogger("agentic.runtime.loop_watchdog").setLevel(logging.INFO)  # short stalls too
        await app.online()
        app.begin_console()
        if app.console is not None:
            await app.console.settled.wait()
            (home / CONSOLE).write_text(app.bot.feed.links.url, encoding="utf-8")
        await app.until(stopped)
        (home / LAGS).write_text(json.dumps(app.watchdog.lags), encoding="utf-8")
        (home / LONGEST).write_text(str(app.watchdog.longest()), encoding="utf-8")
        (home / BUSIEST).write_text(str(app.bot.sender.traffic.busiest), encoding="utf-8")


@asynccontextmanager
async def connected(
    who: str, guild: LocalGuild, endpoint: ScriptedEndpoint, home: str, root: Path = HERE, **settings: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The process, online in the guild; ended in order at the end.  ``root`` is the checkout whose bot it is."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "GUILD_REST": guild.rest_base,
        "GUILD_GATEWAY": guild.gateway_url,
        "GUILD_URL": guild.url,
        "DISCORD_TOKEN": guild.bot_token,
        "THREADWRIGHT_HOME": home,
        "THREADWRIGHT_CONSOLE": "off",
        "THREADWRIGHT_TIER_2": MODEL,
        **endpoint.environment(),
        **settings,
    }
    log = (Path(home) / f"{who}.log").open("ab")
    arguments = ("-m", "bench.bot_process", who, home)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, env=environment, stdout=log, stderr=log, cwd=root
    )
    try:
        await _until(guild, online=True)
        yield process
    finally:
        log.close()
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(20):
                await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()
        await _until(guild, online=False)


async def _until(guild: LocalGuild, *, online: bool) -> None:
    async with asyncio.timeout(ONLINE_SECONDS):
        while guild.online is not online:
            await asyncio.sleep(0.02)


if __name__ == "__main__":
    main()
