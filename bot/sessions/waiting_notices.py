"""A task that has to wait, for a free place or for what is being learned, is told so; a short wait is not worth a word."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from agentic.ports.errors import AgenticError
from bot.sessions.session import Session

AFTER = 5.0
"""Seconds of waiting before a word is said."""
WAITING = (
    "⏳ Waiting for a free place: {before} before this one. People take turns, so this can change. I begin by myself; "
    "🛑 calls it off."
)
LEARNING = (
    "⏳ I am still working out what to learn from what was before. This begins with that, in two minutes at the latest; "
    "🛑 calls it off."
)

log = logging.getLogger(__name__)


def word_of_waiting(session: Session, execution: str) -> AbstractAsyncContextManager[None]:
    """To be held while the thread waits for its slot."""
    return _word(session, f"{execution}.waiting", lambda: _place(session, execution))


def word_of_learning(session: Session, item: str) -> AbstractAsyncContextManager[None]:
    """To be held while what an item begins waits for what it is to know."""
    return _word(session, f"{item}.learning", lambda: LEARNING)


@asynccontextmanager
async def _word(session: Session, key: str, text: Callable[[], str]) -> AsyncGenerator[None]:
    word = asyncio.create_task(_say(session, key, text), name=f"word of waiting in {session.thread}")
    try:
        yield
    finally:
        word.cancel()


async def _say(session: Session, key: str, text: Callable[[], str]) -> None:
    await asyncio.sleep(AFTER)
    if session.halt.is_set() or not (said := text()):
        return
    try:
        await session.tell(key, "", said)
    except AgenticError as error:
        log.info("thread %s is not told that it waits: %s", session.thread, error)


def _place(session: Session, execution: str) -> str:
    place = session.ground.slots.position(execution)
    if not place:
        return ""
    running = "the tasks that run now are" if place == 1 else f"the running tasks and {place - 1} more are"
    return WAITING.format(before=running)
