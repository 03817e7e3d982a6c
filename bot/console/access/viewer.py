"""Who looks at the console."""

from __future__ import annotations

from dataclasses import dataclass

from agentic.core.events.execution_events import Person


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody at a browser.

    ``everything``: they run the bot (by the token, or as its own user on this machine), so no thread is hidden from
    them; others see what they see in Discord. ``form_key`` is what their forms carry, so that no other page can send one.
    """

    person: Person
    everything: bool
    form_key: str
    session: str = ""
    """The session of this browser, which can be ended; '' for the user of this machine."""
