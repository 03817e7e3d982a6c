"""Requests to models as they were sent, rebuilt from a task's log beside the event loop; the last few stay in memory."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from agentic.core.events.execution_events import Envelope, ModelRequested
from agentic.core.fold.fold import evolve
from agentic.core.state.conversation import Message
from agentic.core.state.execution import Execution
from agentic.ports.runtime import Store
from agentic.runtime.request_refs import BESIDE, chain_of, prompt_for, specs_in
from bot.console.logs.task_log import TaskLog
from bot.console.views.sent_request import SentRequest

KEPT = 8
"""Rebuilt requests that stay in memory."""


class SentRequests:
    """Rebuilds requests, one task's at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[tuple[str, int], SentRequest] = OrderedDict()
        self._rebuilding = asyncio.Lock()

    async def of(self, log: TaskLog, places: Iterable[int]) -> list[SentRequest]:
        """The requests that the log records at these sequence numbers, in their order."""
        wanted = list(places)
        async with self._rebuilding:
            missing = [seq for seq in wanted if (log.execution, seq) not in self._kept]
            if missing:
                events = await self._events(log, max(missing))
                states = await asyncio.to_thread(_states, events, frozenset(missing))
                for seq in missing:
                    self._kept[log.execution, seq] = await self._rebuilt(states[seq], events[seq - 1])
            found = [self._kept[log.execution, seq] for seq in wanted]
            for seq in wanted:
                self._kept.move_to_end((log.execution, seq))
            while len(self._kept) > max(KEPT, len(wanted)):
                self._kept.popitem(last=False)
        return found

    async def _events(self, log: TaskLog, until: int) -> Sequence[Envelope]:
        """The events as they were recorded: with the secrets in them, whose absence would make other hashes."""
        if not log.hidden or log.hidden > until:
            return log.events[:until]
        events: list[Envelope] = []
        async for envelope in self._store.read(log.execution):
            events.append(envelope)
            if len(events) == until:
                break
        return events

    async def _rebuilt(self, state: Execution, envelope: Envelope) -> SentRequest:
        event = envelope.event
        assert isinstance(event, ModelRequested)
        segments = event.segments
        system = tools = None
        if segments is not None:
            system = await self._store.get_blob(segments.system.sha)
            tools = await self._store.get_blob(segments.tools.sha)
        specs = specs_in(tools) if tools is not None else None
        sha = segments.history_sha if segments is not None else ""

        def history() -> tuple[tuple[Message, ...], bool | None]:
            if event.purpose != "turn" and event.purpose not in BESIDE:
                return (), None
            messages = prompt_for(state, specs or (), event.purpose).messages
            return messages, chain_of(messages) == sha if segments is not None else None

        messages, exact = await asyncio.to_thread(history)
        return SentRequest(
            envelope.seq, envelope.at, event, state, system.decode() if system is not None else None, specs,
            messages, segments.tail if segments is not None else "", exact,
        )  # fmt: skip


def _states(events: Sequence[Envelope], seqs: frozenset[int]) -> dict[int, Execution]:
    states: dict[int, Execution] = {}
    state = Execution()
    for envelope in events:
        state = evolve(state, envelope)
        if envelope.seq in seqs:
            states[envelope.seq] = state
    return states
