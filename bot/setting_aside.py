"""An execution whose log is damaged is put aside where people see it: never gone on with, never begun anew in silence.

Nothing of the log is changed, so a backup can be held against it.  The thread is told, and works on with new tasks.
"""

from __future__ import annotations

import logging

from agentic.errors import StoreCorrupt, StoreError
from bot.session import Session

DAMAGED = "damaged"
"""Stands in the place of how it ended."""
ASIDE = (
    "⚠️ What was stored of this task is damaged, so I put it aside and do not go on with it: {trouble}. Everything else is "
    "as it was: its files are in the workspace, and what you write here now is a new task. Whoever runs the bot: "
    "`threadwright doctor` shows all that is damaged, and `threadwright import BACKUP --into FOLDER` brings back a copy "
    "that `threadwright backup` made."
)

log = logging.getLogger(__name__)


async def set_aside(session: Session, trouble: Exception) -> str:
    """What the thread is told, where the log of what ran in it is damaged and was put aside; '' otherwise."""
    execution, store = session.execution or session.left_open, session.ground.store
    if not isinstance(trouble, StoreCorrupt) or not execution:
        return ""
    try:
        async for _ in store.read(execution):
            pass
    except StoreCorrupt as damaged:
        return await _put_aside(session, execution, damaged)
    except StoreError as error:
        log.error("thread %s: %s", session.thread, error)
    return ""


async def ended_after_all(session: Session) -> str:
    """What was left open, where its log has its end: a store may say that it did not keep what it kept.  '' otherwise."""
    execution = session.left_open
    try:
        row = await session.ground.store.execution(execution) if execution else None
    except StoreError as error:
        log.error("thread %s: whether %s has ended cannot be read: %s", session.thread, execution, error)
        return ""
    if row is None or not row.finished or session.left_open != execution:
        return ""
    session.is_over()
    return execution


async def _put_aside(session: Session, execution: str, damaged: StoreCorrupt) -> str:
    try:
        await session.ground.store.set_aside(execution, DAMAGED)
    except StoreError as error:
        log.error("execution %s is damaged and could not be put aside: %s", execution, error)
        return ""
    log.error("execution %s is put aside: %s", execution, damaged)
    return ASIDE.format(trouble=damaged)
