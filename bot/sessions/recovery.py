"""Recovery of what an earlier process left: what goes on, what is left alone, and logs that are damaged.

An execution that ends its process each time it is taken up would do so for ever: after three crashes since a person last
said something the rules leave it alone (``agentic/core/fold/ownership.py``), and no process takes it up by itself.

An execution whose log is damaged is put aside where people see it: never gone on with, never begun anew in silence.
Nothing of
the log is changed, so a backup can be held against it.  The thread is told, and works on with new tasks.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

from agentic.core.events.execution_events import Envelope
from agentic.core.fold.fold import fold
from agentic.ports.errors import StoreCorrupt, StoreError
from agentic.ports.runtime import Store
from agentic.runtime.budget_ledger import BudgetLedger, DailyCaps
from bot.messages.error_text import Attempted, error_text
from bot.sessions.session import Session
from bot.thread_state.session_state import NothingOpen, Recalled


async def recall(session: Session, execution: str) -> None:
    """What outlives a process: whose it is, a question, a pause, that it is left alone.  Raises ``StoreError``."""
    folded = fold([envelope async for envelope in session.ground.store.read(execution)])
    session.apply(Recalled(execution, folded))


async def settle_leftovers(store: Store, caps: DailyCaps) -> None:
    """Money that ended executions, and the judging of them, had set aside and did not come to settle, by their logs.

    An open execution's is settled by whoever takes it up.  Raises ``StoreError``.
    """
    purse = BudgetLedger(store, caps)
    left = {key.rpartition("/")[0] for key in await store.unsettled_usd("")} - {""}
    opened = {row.execution for row in await store.open_executions()}
    for of in sorted(left - opened):
        execution, _, outcome = of.partition(".")
        row = await store.execution(execution)
        if row is not None and row.finished:
            await purse.clear_up(of, _outcome(store, execution) if outcome else store.read(execution))


async def _outcome(store: Store, execution: str) -> AsyncIterator[Envelope]:
    for envelope in await store.read_outcome(execution):
        yield envelope


DAMAGED = "damaged"
"""Stands in the place of how it ended."""

log = logging.getLogger(__name__)


async def set_aside(session: Session, trouble: Exception) -> str:
    """What the thread is told, where the log of what ran in it is damaged and was put aside; '' otherwise."""
    one, store = session.state.current, session.ground.store
    if not isinstance(trouble, StoreCorrupt) or one is None:
        return ""
    try:
        async for _ in store.read(one.id):
            pass
    except StoreCorrupt as damaged:
        return await _put_aside(session, one.id, damaged)
    except StoreError as error:
        log.error("thread %s: %s", session.thread, error)
    return ""


async def ended_after_all(session: Session) -> str:
    """What was left open, where its log has its end: a store may say that it did not keep what it kept.  '' otherwise."""
    execution = session.interrupted
    try:
        row = await session.ground.store.execution(execution) if execution else None
    except StoreError as error:
        log.error("thread %s: whether %s has ended cannot be read: %s", session.thread, execution, error)
        return ""
    if row is None or not row.finished or session.interrupted != execution:
        return ""
    session.apply(NothingOpen())
    return execution


async def _put_aside(session: Session, execution: str, damaged: StoreCorrupt) -> str:
    try:
        await session.ground.store.set_aside(execution, DAMAGED)
    except StoreError as error:
        log.error("execution %s is damaged and could not be put aside: %s", execution, error)
        return ""
    log.error("execution %s is put aside: %s", execution, damaged)
    return error_text(Attempted.LOG, damaged)
