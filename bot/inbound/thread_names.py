"""Thread names: given once, from the first task that has words for one, and never over a name that people gave."""

from __future__ import annotations

import logging

import discord

from agentic.ports.runtime import Store
from bot.inbound.interpret_message import title_of
from bot.outbound.discord_api import (
    PLAIN_TITLE,
    DiscordApi,
    Gone,
    Held,
    Unfit,
)

log = logging.getLogger(__name__)


async def name_once(client: discord.Client, desk: DiscordApi, store: Store, thread: str, task: str) -> None:
    """Name a thread that the bot made and that still has the placeholder, if this was never tried before."""
    place = client.get_channel(int(thread))
    if not isinstance(place, discord.Thread) or client.user is None or place.owner_id != client.user.id:
        return
    title = title_of(desk.discreet_text(task))
    if place.name != PLAIN_TITLE or title == PLAIN_TITLE or await store.fact(_fact(thread)):
        return
    await store.set_fact(_fact(thread), title)
    try:
        await desk.look(thread, lambda _: place.edit(name=title))
    except (Held, Gone, Unfit) as problem:
        log.info("thread %s keeps its name: %s", thread, problem or "it is gone")


def _fact(thread: str) -> str:
    return f"titled: {thread}"
