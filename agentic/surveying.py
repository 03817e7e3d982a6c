"""Work on the workspace that runs beside the loop, one at a time: saving it, looking at what became of it.

So a stop, a pause and the cap on time take hold meanwhile.  What it comes to is noted as soon as it ends, whatever the loop
waits for by then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from agentic.core.events import Event
from agentic.core.execution import Execution
from agentic.recording import Recorder

Surveyed = Callable[[Execution], Event]
"""What it came to, for the execution as it is then."""


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
            self._recorder.note(task.result()(self._recorder.execution))
        self._ended(bug)
