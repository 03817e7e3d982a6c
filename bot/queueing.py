"""A task that has to wait for a free place is told so, and how many are before it; a short wait is not worth a word."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agentic.errors import AgenticError
from bot.session import Session

AFTER = 5.0
"""Seconds of waiting before a word is said."""
WAITING = "⏳ Waiting for a free place: {before} before this one. I begin by myself; 🛑 calls it off."

log = logging.getLogger(__name__)


@asynccontextmanager
async def word_of_waiting(session: Session, execution: str) -> AsyncGenerator[None]:
    """To be held while the thread waits for its slot."""
    word = asyncio.create_task(_say(session, execution), name=f"word of waiting in {session.thread}")
    try:
        yield
    finally:
        word.cancel()


async def _say(session: Session, execution: str) -> None:
    await asyncio.sleep(AFTER)
    place = session.ground.slots.position(session.thread)
    if not place or session.halt.is_set():
        return
    running = "the tasks that run now are" if place == 1 else f"the running tasks and {place - 1} more are"
    try:
        await session.tell(f"{execution}.waiting", "", WAITING.format(before=running))
    except AgenticError as error:
        log.info("thread %s is not told that it waits: %s", session.thread, error)
