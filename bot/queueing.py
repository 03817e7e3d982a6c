"""A task that has to wait, for a free place or for what is being learned, is told so; a short wait is not worth a word."""

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
LEARNING = (
    "⏳ I am still working out what to learn from what was before. This begins with that, in two minutes at the latest; "
    "🛑 calls it off."
)

log = logging.getLogger(__name__)


@asynccontextmanager
async def word_of_waiting(session: Session, execution: str) -> AsyncGenerator[None]:
    """To be held while the thread waits for its slot."""
    word = asyncio.create_task(_say(session, execution), name=f"word of waiting in {session.thread}")
    try:
        yield
    finally:
        word.cancel()


@asynccontextmanager
async def word_of_learning(session: Session, item: str) -> AsyncGenerator[None]:
    """To be held while what an item begins waits for what it is to know."""
    word = asyncio.create_task(_say_learning(session, item), name=f"word of learning in {session.thread}")
    try:
        yield
    finally:
        word.cancel()


async def _say_learning(session: Session, item: str) -> None:
    await asyncio.sleep(AFTER)
    if not session.halt.is_set():
        await _told(session, f"{item}.learning", LEARNING)


async def _say(session: Session, execution: str) -> None:
    await asyncio.sleep(AFTER)
    place = session.ground.slots.position(session.thread)
    if not place or session.halt.is_set():
        return
    running = "the tasks that run now are" if place == 1 else f"the running tasks and {place - 1} more are"
    await _told(session, f"{execution}.waiting", WAITING.format(before=running))


async def _told(session: Session, key: str, text: str) -> None:
    try:
        await session.tell(key, "", text)
    except AgenticError as error:
        log.info("thread %s is not told that it waits: %s", session.thread, error)
