"""Waiting on a provider with two clocks: the whole request, and the silence between two pieces of a stream."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Final, Self

from agentic.models.providers import provider_errors

IDLE_SECONDS: Final = 60.0


class Patience:
    """A context in which a request is made; raises ``ModelTimedOut`` when either clock runs out.

    ``heard`` is called for each piece that comes, and starts the second clock: before the first one a model may think,
    and a prompt be read, for as long as the whole request may take.
    """

    def __init__(self, model: str, seconds: float, idle: float) -> None:
        self._model = model
        self._seconds = seconds
        self._idle = idle
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()
        self._first: float | None = None
        self._end = self._begun + seconds
        self._clock = asyncio.timeout_at(self._end)
        self._silent = False

    def heard(self) -> None:
        """Something came."""
        now = self._loop.time()
        self._first = self._first or now
        silence = now + self._idle
        self._silent = silence < self._end
        if not self._clock.expired():
            self._clock.reschedule(min(silence, self._end))

    @property
    def until_heard(self) -> float:
        """Seconds until the first piece came, or until now."""
        return (self._first or self._loop.time()) - self._begun

    async def __aenter__(self) -> Self:
        await self._clock.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._clock.__aexit__(kind, error, trace)
        except TimeoutError:
            if self._silent:
                raise provider_errors.stalled(self._model, self._idle) from None
            raise provider_errors.timed_out(self._model, self._seconds) from None
