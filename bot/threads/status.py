"""The status of a thread's newest execution, in a person's terms."""

from __future__ import annotations

from datetime import datetime

from agentic.core.claims.confidence import is_fitted, told
from agentic.core.events.execution_events import Envelope, ModelRequested
from agentic.core.fold.fold import fold
from agentic.core.state.execution import Execution
from agentic.ports.runtime import ExecutionRow, Store
from bot.history.summaries import away, stopped_in
from bot.ports.conversation import StatusView
from bot.sessions.session import Session
from bot.thread_state.session_state import Phase


async def status_of(session: Session, store: Store, now: datetime) -> StatusView:
    """Describe what the thread's main execution is doing, or what the last one did; side questions are left out."""
    pending = await store.pending(session.thread)
    queued = sum(item.sort in ("task", "queue") for item in pending)
    rows = await store.executions(session.thread)
    one = session.state.current
    current = one.id if one is not None else ""
    for row in sorted(rows, key=lambda row: row.execution == current)[::-1]:
        envelopes = [envelope async for envelope in store.read(row.execution)]
        execution = fold(envelopes)
        if execution.started is not None and not execution.started.side:
            return _view(session, row, envelopes, execution, queued, now)
    return StatusView(session.state.phase.activity, requester=session.state.requester, queued=queued)


def _view(
    session: Session, row: ExecutionRow, log: list[Envelope], execution: Execution, queued: int, now: datetime
) -> StatusView:
    models = [e.event.model for e in log if isinstance(e.event, ModelRequested) and not execution.policy.tour]
    until = log[-1].at if row.finished else now
    began = execution.started.requester.id if execution.started else ""
    state, one = session.state, session.state.current
    return StatusView(
        state.phase.activity,
        execution=row.execution,
        task=row.task,
        requester=(state.phase is not Phase.IDLE and state.requester) or began,
        question=state.question,
        asked=execution.question,
        paused=one.paused_by if one is not None else "",
        crashes=execution.crashes if execution.quarantined is not None else 0,
        stopped_in=stopped_in(log),
        step=", ".join(call.block.tool for call in execution.calls_in_flight),
        turn=execution.turn.number,
        tier=execution.tier,
        model=models[-1] if models else "",
        usd=execution.spent.usd,
        seconds=max((until - log[0].at).total_seconds() - away(log), 0.0),
        confidence=None if execution.talk or execution.policy.tour else told(execution.confidence, execution.finished),
        fitted=is_fitted(execution.confidence),
        queued=queued,
        allowances=execution.allowances if not row.finished else (),
        finished=row.finished,
    )
