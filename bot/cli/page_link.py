"""`threadwright page`: a fresh link to the page of the bot that runs on this home.

The key is written into the guild's folder (0700), which only the home's owner can do; the running bot reads it there
when somebody opens the link. No port gives out keys, and no other program is involved.
"""

from __future__ import annotations

import fcntl
from pathlib import Path

from bot.cli.console import fail, say
from bot.config.home import own
from bot.config.settings import Settings
from bot.local_discord.model.clock import Clock
from bot.local_discord.model.store import FolderStore, UnusableFolder
from bot.local_discord.web.page_access import Access, link

NOT_RUNNING = "No bot is running on {home}. Start it with `threadwright run`; it prints a link too."
NO_PAGE = "The bot running on {home} is on Discord; only a local server has a page."


async def page(settings: Settings) -> int:
    """Print a link that works once; 1 where there is no page to open."""
    own(settings.home)
    port = running_port(settings.home)
    if port is None:
        return fail(NOT_RUNNING.format(home=settings.home))
    if not port:
        return fail(NO_PAGE.format(home=settings.home))
    try:
        store = FolderStore(settings.home / "guild")
    except UnusableFolder as unusable:
        return fail(str(unusable))
    try:
        say(link(f"http://127.0.0.1:{port}", Access(store, Clock(), port).key()))
    finally:
        store.close()
    return 0


def running_port(home: Path) -> int | None:
    """Return the port of the bot that holds this home, 0 for one without a page; None where none runs."""
    try:
        file = (home / "run.lock").open("r", encoding="ascii", errors="replace")
    except FileNotFoundError:
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            port = file.read(100).partition("\n")[2].strip()
            return int(port) if port.isdecimal() and len(port) <= 5 else 0
    return None
