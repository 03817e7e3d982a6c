"""Work on the workspace that runs beside the loop, one at a time: saving it, looking at what became of it.

So a stop, a pause and the cap on time take hold meanwhile.  What it comes to is noted as soon as it ends, whatever the loop
waits for by then.

An owner that ended without a word leaves calls without a result.  Of each of them its sandbox may have written down what
became of it: then it has its result, or it never began and can begin.  What nobody knows stays unknown.  Files that neither
the log nor such a result speaks of are named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace

from agentic.core.claims.completion import created_files
from agentic.core.events.execution_events import (
    Event,
    FileChange,
    Gated,
    ToolFinished,
    WorkspaceFound,
)
from agentic.core.fold.ownership import base, cut_off
from agentic.core.state.actions import Checkpoint, Inspect
from agentic.core.state.execution import Execution
from agentic.ports.runtime import (
    Found,
    NotBegun,
    Observation,
    Toolbox,
)
from agentic.runtime import effects
from agentic.runtime.event_recorder import Recorder

FOUND = 200
"""So many files are named."""

Surveyed = Callable[[Execution], tuple[Event, ...]]
"""What it came to, for the execution as it is then."""

_Recalled = dict[str, Observation | NotBegun | None]


class Survey:
    """The one that runs; ``ended`` is told of each end, with the fault that broke it."""

    def __init__(self, recorder: Recorder, ended: Callable[[BaseException | None], None]) -> None:
        self._recorder, self._ended = recorder, ended
        self.task: asyncio.Task[Surveyed] | None = None

    def begin(self, work: Callable[[], Coroutine[None, None, Surveyed]]) -> None:
        """Begin it, unless one runs."""
        if self.task is None:
            self.task = asyncio.create_task(work())
            self.task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Surveyed]) -> None:
        self.task = None
        bug = None if task.cancelled() else task.exception()
        if bug is None and not task.cancelled():
            self._recorder.note(*task.result()(self._recorder.execution))
        self._ended(bug)


async def surveyed(action: Checkpoint | Inspect, toolbox: Toolbox, execution: Execution, seconds: float) -> Surveyed:
    """What the workspace is saved as, or is found to be."""
    if isinstance(action, Inspect):
        return await inspected(toolbox, execution, seconds)
    saved = await effects.checkpointed(toolbox, action.moment, seconds)
    return lambda now: (saved(now),)


async def inspected(toolbox: Toolbox, execution: Execution, seconds: float) -> Surveyed:
    """What an earlier owner left without a result that says so."""
    recalled: _Recalled = {}
    try:
        async with asyncio.timeout(seconds):
            created = created_files(execution.deeds)
            for call in cut_off(execution):
                recalled[call.id] = await toolbox.recall(call.intent, created) if call.intent is not None else None
            found = await toolbox.inspect(base(execution), (*execution.unsaved, *_changes(recalled)))
    except TimeoutError:
        found = Found(problem=f"looking at the workspace took longer than {seconds:g} s")
    return lambda now: _events(now, recalled, found)


def _changes(recalled: _Recalled) -> tuple[FileChange, ...]:
    seen = (each for each in recalled.values() if isinstance(each, Observation))
    return tuple(change for observation in seen for change in observation.changes)


def _events(now: Execution, recalled: _Recalled, found: Found) -> tuple[Event, ...]:
    """Results of what is still open, then what was found; whole outputs stay with the sandbox that wrote them."""
    still = {call.id: call.intent.args_sha for call in cut_off(now) if call.intent is not None}
    results: list[Event] = []
    for call, seen in recalled.items():
        if call in still and isinstance(seen, Observation):
            events, _ = effects.observed(call, "", replace(seen, output=None), 0.0, still[call])
            results += [event for event in events if isinstance(event, ToolFinished | Gated)]
    never = tuple(call for call, seen in recalled.items() if call in still and isinstance(seen, NotBegun))
    return *results, WorkspaceFound(changes=found.changes[:FOUND], problem=found.problem, never_begun=never)
