"""The sessions of a process, by thread."""

from __future__ import annotations

from agentic.core.events import Envelope, Finished
from bot.session import Session


class Roster:
    """A sink, so that each session knows when a person is being asked."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self._running: dict[str, Session] = {}

    def saw(self, envelope: Envelope) -> None:
        """Tell the session whose execution it is."""
        session = self._running.get(envelope.execution)
        if session is None:
            session = next((s for s in self.sessions.values() if s.execution == envelope.execution), None)
            if session is None:
                return
            self._running[envelope.execution] = session
        session.saw(envelope)
        if isinstance(envelope.event, Finished):
            del self._running[envelope.execution]

    def streamed(self, execution: str, text: str) -> None:
        """Streams say nothing about questions."""
