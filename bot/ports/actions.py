"""What an action on a finished task answers where it cannot be done."""

from __future__ import annotations

from agentic.ports.errors import AgenticError


class NotDone(AgenticError):
    """Nothing was done; the message is what is told."""
