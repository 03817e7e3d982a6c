"""Notices for a task that waits for a free slot or for learning to end; a short wait needs none."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from agentic.ports.errors import AgenticError
from bot.sessions.session import Session

AFTER = 5.0
"""Seconds of waiting before a notice is posted."""
WAITING = (
    "⏳ Waiting for a free slot: {before} ahead of this one. People take turns, so this can change. I start by "
    "myself; 🛑 cancels it."
)
LEARNING = "⏳ I'm still working out what to learn from the last task. This starts within two minutes; 🛑 cancels it."

log = logging.getLogger(__name__)


def word_of_waiting(session: Session, execution: str) -> AbstractAsyncContextManager[None]:
    """Post a notice if the thread waits long for its slot while this context is open."""
    return _word(session, f"{execution}.waiting", lambda: _place(session, execution))


def word_of_learning(session: Session, item: str) -> AbstractAsyncContextManager[None]:
    """Post a notice if the item waits long for what is being learned while this context is open."""
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
    running = "the running tasks are" if place == 1 else f"the running tasks and {place - 1} more are"
    return WAITING.format(before=running)
