"""The sink of events for Discord: keeps a read model of each running execution.

It only records; ``bot/outbound/live/progress_messages.py`` edits progress messages and the outbox delivers, each at its own
pace.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from agentic.core.events.execution_events import (
    Asked,
    CommitCreated,
    Decided,
    Envelope,
    Escalated,
    Finished,
    InputReceived,
    ModelAnswered,
    ModelRequested,
    OwnerChanged,
    Quarantined,
    Started,
    ToolFinished,
    Triaged,
    WorkspaceFound,
)
from agentic.core.events.ids import is_child
from agentic.ports.runtime import EventLog
from bot.progress.model import Progress, update_of
from bot.rendering.console_links import ConsoleLinks
from bot.rendering.secrets import Discretion

TAIL_KEPT, TAIL_CUT, TAIL_SHOWN = 9_000, 6_000, 600
"""Characters of a stream's end that are kept; of its beginning, where a secret may be cut, that are not shown then; shown."""
_VISIBLE = (
    Triaged | CommitCreated | InputReceived | Asked | Escalated | OwnerChanged | Quarantined | WorkspaceFound | Finished
)
"""Events that become outbox items."""


@dataclass(frozen=True, slots=True)
class QuestionChange:
    """A question changed, '' for whichever is open; ``asked`` is its outbox key where it was just asked.

    ``taken_over`` by this process: any of the execution's questions may have changed without its knowing of them.
    """

    execution: str
    question: str = ""
    asked: str = ""
    taken_over: bool = False


class Feed:
    """A ``Sink`` that says which executions changed and that the outbox has new items."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self.outbox = asyncio.Event()
        self.questions: asyncio.Queue[QuestionChange] = asyncio.Queue()
        """What happened to questions."""
        self.discretion = Discretion()
        """What takes secrets out; the bot knows which there are."""
        self.links = ConsoleLinks()
        """Where the console shows more."""
        self._progress: dict[str, Progress] = {}
        self._tails: dict[str, str] = {}
        self._dirty: dict[str, None] = {}

    def saw(self, envelope: Envelope) -> None:
        """Update the read model of a running execution; of a child people see what its parent says of it."""
        event, execution = envelope.event, envelope.execution
        unclear = isinstance(event, ToolFinished) and event.outcome == "unknown"
        if is_child(execution):
            self._outbox_grew(unclear)
            return
        known = self._progress.get(execution)
        if known is None and isinstance(event, Started):
            known = self._progress[execution] = Progress(execution, self.discretion.text)
        if isinstance(event, Asked):
            self.questions.put_nowait(QuestionChange(execution, event.question, f"{execution}.{envelope.seq}.0"))
        elif isinstance(event, Decided):
            self.questions.put_nowait(QuestionChange(execution, event.question))
        elif isinstance(event, Finished) or (isinstance(event, InputReceived) and event.sort == "answer"):
            self.questions.put_nowait(QuestionChange(execution))
        elif isinstance(event, OwnerChanged):
            self.questions.put_nowait(QuestionChange(execution, taken_over=True))
        if known is not None and envelope.seq > known.seq + 1:
            del self._progress[execution]  # something was missed while it was loaded: it is loaded again
        elif known is not None:
            known.take(envelope)
        if isinstance(event, ModelRequested | ModelAnswered | ToolFinished):
            self._tails.pop(execution, None)
        self._outbox_grew(unclear or isinstance(event, _VISIBLE))
        if update_of(event) is not None:
            self._mark(execution)

    def _outbox_grew(self, grew: bool) -> None:
        if grew:
            self.outbox.set()

    def streamed(self, execution: str, text: str) -> None:
        """Keep the end of the streamed text."""
        if is_child(execution):
            return
        self._tails[execution] = (self._tails.get(execution, "") + text)[-TAIL_KEPT:]
        self._mark(execution)

    def progress(self, execution: str) -> Progress | None:
        """Return the read model, None where the execution began before this process and was not loaded yet."""
        return self._progress.get(execution)

    def tail(self, execution: str, characters: int = TAIL_SHOWN) -> str:
        """Return the end of the text that is being streamed: a model's answer, or what a command writes."""
        tail = self._tails.get(execution, "")
        shown = self.discretion.growing(tail) if tail else ""  # cut last: half a secret has no form
        return shown[TAIL_CUT if len(tail) == TAIL_KEPT else 0 :][-characters:]

    def load(self, progress: Progress) -> None:
        """Add the read model of an execution that began before this process."""
        known = self._progress.get(progress.execution)
        if known is None or known.seq < progress.seq:
            self._progress[progress.execution] = progress

    def take_dirty(self) -> list[str]:
        """Return the executions that changed since the last call."""
        self.changed.clear()
        dirty = list(self._dirty)
        self._dirty.clear()
        return dirty

    def forget(self, execution: str) -> None:
        """Drop an execution that has ended and was shown."""
        self._progress.pop(execution, None)
        self._tails.pop(execution, None)
        self._dirty.pop(execution, None)

    def _mark(self, execution: str) -> None:
        self._dirty[execution] = None
        self.changed.set()


async def folded(store: EventLog, execution: str, discretion: Discretion | None = None) -> Progress:
    """Build the read model of an execution from its log."""
    progress = Progress(execution, (discretion or Discretion()).text)
    async for envelope in store.read(execution):
        progress.take(envelope)
    return progress
