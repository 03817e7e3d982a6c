"""The console's side of its private channel to the bot that started it.

The bot starts the console with one end of a pair of connected sockets, which no other process can reach. A line of
JSON asks, a line answers: ``{"id": 7, "ask": "act", …}`` and ``{"id": 7, …}``. Without a bot the console only shows.
"""

from __future__ import annotations

from agentic.core.events.execution_events import Level, Person

NOBODY = Person(id="console", name="Console", level="owner")


class BotChannel:
    """Asks the bot."""

    async def sees(self, person: Person, thread: str) -> bool:
        """Whether somebody may see a thread, as in the chat."""
        return False

    async def level(self, person: Person, guild: str) -> Level | None:
        """What somebody may do in a server, as in the chat; None where they are not in it."""
        return None

    async def health(self) -> dict[str, object] | None:
        """How the bot is, as it alone knows; None where no bot is connected.

        ``parts`` [{name, state, what, todo}], ``longest_stall_seconds``, ``queues``, ``sandboxes``, ``threads``.
        """
        return None

    async def owner(self) -> Person:
        """As whom somebody acts who runs the bot."""
        return NOBODY

    async def close(self) -> None:
        """Let go of the connection."""
