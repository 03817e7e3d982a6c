"""Logs whose requests hold what a bot records of them: references to the system prompt, the tools, the history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentic.core.events.execution_events import BlobRef, Envelope, Event, ModelRequested, Started
from agentic.core.fold.fold import evolve
from agentic.core.state.conversation import ToolSpec
from agentic.core.state.execution import Execution
from agentic.ports.runtime import ExecutionRow
from agentic.runtime.request_refs import SegmentKeeper
from bot.console.logs.sent_requests import SentRequests
from bot.console.logs.task_log import TaskLog
from bot.console.views.sent_request import SentRequest, requests_of
from bot.rendering.secrets import Discretion
from tests.integration.console.logs import THREAD, enveloped, written
from tests.stores import fresh_store

SHELL = ToolSpec(
    "shell", "Runs a command.", {"type": "object", "properties": {"command": {"type": "string"}}}, "unkeyed", "execute"
)
NOTE = ToolSpec("note", "Keeps a fact.", {"type": "object", "properties": {}}, "read", "read", cognitive=True)
SPECS = (SHELL, NOTE)
Blobs = dict[str, tuple[BlobRef, bytes]]


def sent(log: Iterable[Event], specs: tuple[ToolSpec, ...] = SPECS) -> tuple[list[Event], Blobs]:
    """The log with its requests as a bot records them, and the blobs that they name, by hash."""
    keeper, state, made = SegmentKeeper(), Execution(), list[Event]()
    blobs: Blobs = {}
    for seq, given in enumerate(log, 1):
        event = given
        if isinstance(event, Started) and not event.tools:
            event = event.model_copy(update={"tools": tuple(spec.ref for spec in specs)})
        if isinstance(event, ModelRequested):
            segments, fresh = keeper.of(state, specs, event.purpose)
            blobs.update({reference.sha: (reference, content) for reference, content in fresh})
            event = event.model_copy(update={"segments": segments})
        made.append(event)
        state = evolve(state, enveloped("x", [event], seq - 1)[0])
    return made, blobs


def state_at(log: Iterable[Envelope], seq: int) -> Execution:
    """The state after an event."""
    state = Execution()
    for envelope in log:
        if envelope.seq <= seq:
            state = evolve(state, envelope)
    return state


async def rebuilt(log: Iterable[Event]) -> tuple[list[Envelope], list[SentRequest]]:
    """The log's events, as they are shown, and all its requests, as a console rebuilds them."""
    return await from_store(*sent(log))


async def from_store(log: Sequence[Event], blobs: Blobs) -> tuple[list[Envelope], list[SentRequest]]:
    """The same for a log that is written as it is."""
    store = fresh_store()
    await written(store, "x", log, blobs=tuple(blobs.values()))
    task = TaskLog(ExecutionRow("x", THREAD, "", len(log)), None)
    task.take(enveloped("x", log), Discretion())
    places = [envelope.seq for envelope, _ in requests_of(task.events)]
    return task.events, [(await SentRequests(store).of(task, [place]))[0] for place in places]
