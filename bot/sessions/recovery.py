"""Recovery after a crash: what is resumed, what is left alone, and logs that are damaged.

An execution that crashes its process each time it is resumed would do so for ever: after three crashes since a person
last wrote, the rules leave it alone (``agentic/core/fold/ownership.py``), and no process resumes it by itself.

An execution whose log is damaged is set aside visibly: never resumed, never silently begun anew. Nothing in the log is
changed, so a backup can be compared with it. The thread is told, and goes on with new tasks.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from typing import cast

from agentic.core.events.execution_events import Envelope
from agentic.core.fold.fold import fold
from agentic.ports.errors import StoreCorrupt, StoreError
from agentic.ports.runtime import ExecutionRow, Facts, Store
from agentic.runtime.budget_ledger import BudgetLedger, DailyCaps
from bot.messages.error_text import Attempted, error_text
from bot.sessions.session import Session
from bot.thread_state.session_state import NothingOpen, Recalled


async def recall(session: Session, execution: str) -> None:
    """Restore what outlives a process: the requester, an open question, a pause, a quarantine. Raises ``StoreError``."""
    folded = fold([envelope async for envelope in session.ground.store.read(execution)])
    session.apply(Recalled(execution, folded))


async def settle_leftovers(store: Store, caps: DailyCaps, busy: Callable[[str], Awaitable[bool]] | None = None) -> None:
    """Settle money that ended executions and their judging had set aside, from their logs.

    An open execution's money is settled by its next owner; ``busy`` are those that another process judges just now.
    Raises ``StoreError``.
    """
    purse = BudgetLedger(store, caps)
    left = {key.rpartition("/")[0] for key in await store.unsettled_usd("")} - {""}
    opened = {row.execution for row in await store.open_executions()}
    for of in sorted(left - opened):
        execution, _, outcome = of.partition(".")
        row = await store.execution(execution)
        if row is not None and row.finished and not (busy is not None and await busy(execution)):
            await purse.clear_up(of, _outcome(store, execution) if outcome else store.read(execution))


async def _outcome(store: Store, execution: str) -> AsyncIterator[Envelope]:
    for envelope in await store.read_outcome(execution):
        yield envelope


def broken_off_fact(thread: str) -> str:
    """The name of the fact that says at which event a fault of the place interrupted a thread's execution.

    It waits for a person then, and who looks for work that nobody does leaves it alone. Whoever goes on with it writes a
    further event, and the fact says nothing any more.
    """
    return f"broken off: {thread}"


async def note_broken_off(session: Session, execution: str, seen: Collection[str]) -> None:
    """Keep that it waits for a person, and what lay in the inbox by then. Raises ``StoreError``."""
    store = session.ground.store
    if (row := await store.execution(execution)) is not None:
        await store.set_fact(broken_off_fact(session.thread), json.dumps([execution, row.head, sorted(seen)]))


async def waits_for_a_person(store: Facts, row: ExecutionRow) -> frozenset[str] | None:
    """Return what lay in the inbox when a fault interrupted an open execution; None where none did. Raises ``StoreError``."""
    known = await store.fact(broken_off_fact(row.thread))
    execution, head, seen = cast("tuple[str, int, list[str]]", json.loads(known) if known else ("", 0, []))
    return frozenset(seen) if (execution, head) == (row.execution, row.head) else None


DAMAGED = "damaged"
"""The outcome stored for an execution whose log is damaged."""

log = logging.getLogger(__name__)


async def set_aside(session: Session, trouble: Exception) -> str:
    """Set aside the execution whose log is damaged; returns what to tell the thread, '' where none is damaged."""
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
    """Close an interrupted execution whose log has its end after all; return its id, or '' where there is none.

    A store may report a write as failed although it kept it.
    """
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
