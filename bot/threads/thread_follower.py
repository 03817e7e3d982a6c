"""What a thread is doing, read from the store: for a process that talks with Discord while others work.

Of the log of an open execution only what was written since the last look is read, so a look costs the same in a long task
as in a short one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from agentic.core.events.execution_events import Started
from agentic.core.events.ids import is_child
from agentic.ports.runtime import ExecutionRow, Store
from bot.sessions.recovery import waits_for_a_person
from bot.sessions.session import Session
from bot.thread_state.message_meaning import ACTS, starts
from bot.thread_state.session_state import ExecutionState, Followed, Stage, told_by


@dataclass(frozen=True, slots=True)
class _SoFar:
    """An open execution, as far as its log was read."""

    state: ExecutionState
    seq: int = 0
    requester: str = ""


class ThreadFollower:
    """Follows the logs of open executions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open: dict[str, dict[str, _SoFar]] = {}
        """By thread and execution; nothing of a thread in which nothing is open."""
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def follow(self, session: Session) -> None:
        """Bring a session up to date. Raises ``StoreError``."""
        turn = self._turns.setdefault(session.thread, asyncio.Lock())
        async with turn:  # what was read earlier must not be shown later
            await self._follow(session)

    async def _follow(self, session: Session) -> None:
        store, thread = self._store, session.thread
        known = self._open.pop(thread, {})
        rows = [row for row in await store.open_executions(thread) if not is_child(row.execution)]
        opened = {row.execution: await self._read(row, known.get(row.execution)) for row in rows}
        opened = {execution: one for execution, one in opened.items() if not one.state.finished}
        pending = await store.pending(thread)
        if opened:
            self._open[thread] = opened
        main = next((name for name, one in opened.items() if not one.state.side), next(iter(opened), ""))
        begins = [item for item in pending if starts(item) or item.sort in ACTS]
        requester = opened[main].requester if main else begins[0].author.id if begins else ""
        states = tuple(one.state for one in opened.values())
        session.apply(Followed(states, main, frozenset(item.id for item in begins), requester))
        session.crowd.found([item for item in pending if item.sort != "fork"])

    async def _read(self, row: ExecutionRow, known: _SoFar | None) -> _SoFar:
        one = known or _SoFar(ExecutionState(row.execution))
        if row.head > one.seq:
            async for envelope in self._store.read(row.execution, one.seq):
                state = told_by(one.state, envelope.event)
                one = replace(one, seq=envelope.seq, state=state)
                if isinstance(envelope.event, Started):
                    side = envelope.event.side
                    one = replace(one, state=replace(state, side=side), requester=envelope.event.requester.id)
        broken_off = await waits_for_a_person(self._store, row) is not None
        return replace(one, state=replace(one.state, stage=Stage.INTERRUPTED if broken_off else Stage.RUNNING))
