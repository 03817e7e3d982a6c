"""Events of the guild, sent to everyone who listens (gateway sessions, pages, waiters)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from bot.local_discord.model.json_fields import JsonObject


@dataclass(frozen=True, slots=True)
class Event:
    """A dispatch: its gateway name, its payload, and who may see it."""

    name: str
    data: JsonObject
    channel_id: int | None = None
    only_for: int | None = None


Listener = Callable[[Event], None]


class Feed:
    """Sends events to each listener in order; every change wakes those who wait for one."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._waiters: list[asyncio.Future[None]] = []

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Send all further events to `listener`; call the result to unsubscribe."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def publish(self, event: Event) -> None:
        """Send an event to all listeners."""
        for listener in tuple(self._listeners):
            listener(event)
        self.changed()

    def changed(self) -> None:
        """Wake waiters without an event (a session began or ended)."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def next_change(self) -> asyncio.Future[None]:
        """Return a future that is done at the next change."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        return waiter
