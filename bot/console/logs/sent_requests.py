"""Requests to models as they were sent, rebuilt from a task's log beside the event loop; the last few stay in memory."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from agentic.core.events.execution_events import Envelope, ModelRequested, Started, Triaged
from agentic.core.fold.fold import evolve, fold
from agentic.core.state.conversation import Message, ToolSpec
from agentic.core.state.execution import Execution
from agentic.ports.runtime import Store
from agentic.runtime.request_refs import BESIDE, chain_of, messages_of, specs_in
from bot.console.logs.task_log import TaskLog
from bot.console.views.sent_request import SentRequest

KEPT = 8
"""Rebuilt requests that stay in memory."""


class SentRequests:
    """Rebuilds requests, one after the other."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[tuple[str, int], SentRequest] = OrderedDict()
        self._erasure = ""
        """The mark of the logs that these were rebuilt from: none of them stays after an erasure."""
        self._rebuilding = asyncio.Lock()

    async def of(self, log: TaskLog, places: Iterable[int]) -> list[SentRequest]:
        """The requests that the log records at these sequence numbers, in their order."""
        wanted = list(places)
        async with self._rebuilding:
            if log.mark != self._erasure:
                self._kept.clear()
                self._erasure = log.mark
            missing = sorted({seq for seq in wanted if (log.execution, seq) not in self._kept})
            if missing:
                recorded = min(missing[0], log.hidden - 1) if log.hidden else missing[0]
                begin = log.near(recorded)  # a state with nothing hidden in it
                events = await self._events(log, begin.seq, missing[-1])
                states = await asyncio.to_thread(_states, begin, events, frozenset(missing))
                for seq in missing:
                    self._kept[log.execution, seq] = await self._rebuilt(states[seq], log.events[seq - 1])
            found = [self._kept[log.execution, seq] for seq in wanted]
            for seq in wanted:
                self._kept.move_to_end((log.execution, seq))
            while len(self._kept) > max(KEPT, len(wanted)):
                self._kept.popitem(last=False)
        return found

    async def without_messages(self, log: TaskLog, seq: int) -> SentRequest:
        """A request with its system prompt and tools alone, which depend on the task and its role: quick in any log."""
        telling = [each.seq for each in log.events[:seq] if isinstance(each.event, Started | Triaged)]
        events = await self._events(log, 0, telling[-1])
        state = fold(events[place - 1] for place in telling)
        envelope = log.events[seq - 1]
        assert isinstance(envelope.event, ModelRequested)
        system, specs = await self._prefix(envelope.event)
        return SentRequest(envelope.seq, envelope.at, envelope.event, state, system, specs, (), "", None)

    async def _events(self, log: TaskLog, after: int, until: int) -> Sequence[Envelope]:
        """The events as they were recorded: with the secrets in them, whose absence would make other hashes."""
        if not log.hidden or log.hidden > until:
            return log.events[after:until]
        events: list[Envelope] = []
        async for envelope in self._store.read(log.execution, after):
            events.append(envelope)
            if envelope.seq >= until:
                break
        return events

    async def _prefix(self, event: ModelRequested) -> tuple[str | None, tuple[ToolSpec, ...] | None]:
        """System prompt and tools; None for what is not stored."""
        if event.segments is None:
            return None, None
        system = await self._store.get_blob(event.segments.system.sha)
        tools = await self._store.get_blob(event.segments.tools.sha)
        return system.decode() if system is not None else None, specs_in(tools) if tools is not None else None

    async def _rebuilt(self, state: Execution, envelope: Envelope) -> SentRequest:
        event = envelope.event
        assert isinstance(event, ModelRequested)
        system, specs = await self._prefix(event)
        segments = event.segments

        def history() -> tuple[tuple[Message, ...], bool | None]:
            if event.purpose != "turn" and event.purpose not in BESIDE:
                return (), None
            messages = messages_of(state, specs or (), event.purpose)
            return messages, chain_of(messages) == segments.history_sha if segments is not None else None

        messages, exact = await asyncio.to_thread(history)
        tail = segments.tail if segments is not None else ""
        return SentRequest(envelope.seq, envelope.at, event, state, system, specs, messages, tail, exact)


def _states(begin: Execution, events: Sequence[Envelope], seqs: frozenset[int]) -> dict[int, Execution]:
    """The states after these events."""
    states: dict[int, Execution] = {begin.seq: begin}
    state = begin
    for envelope in events:
        state = evolve(state, envelope)
        if envelope.seq in seqs:
            states[envelope.seq] = state
    return states
