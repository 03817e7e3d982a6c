"""Every request of the client's HTTP session, seen through aiohttp's tracing.

What the sender lets go passes; what discord.py sends by itself (its own retries, the login, registering commands,
answers of commands by prefix) waits here for a turn like everything else, so that nothing goes around the limit.
Answers to interactions are outside Discord's common limit: they pass, and are counted.  The time on the wire is
bounded from here; time spent waiting for a turn or for a limit is not time on the wire.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Protocol

import aiohttp

from bot.outbound.priorities import Job, Urgency

STALE_SECONDS = 0.25
"""A turn that was not used for so long (discord.py waited for a limit) is taken anew."""
_EXEMPT = re.compile(r"/api/v\d+/(?:interactions/|webhooks/\d+/[^/]{30,})")


@dataclass(slots=True)
class Carried:
    """What is known of the requests of one asyncio task while it has its turn."""

    job: Job
    timeout: asyncio.Timeout
    used: bool = False


class Watch(Protocol):
    """Who is told of requests: the sender."""

    async def passes(self, urgency: Urgency) -> None:
        """Wait for a turn of its own."""
        ...

    async def room(self) -> None:
        """Wait until one more fits into this second, and hold its place: a late event loop may use turns together that
        were given apart, and write later what it began."""
        ...

    def goes(self, *, exempt: bool) -> None:
        """A request is on the wire; what is not exempt gives its place in the second up for that."""
        ...

    def stays(self) -> None:
        """A request that held a place never came to the wire."""
        ...

    def answered(self, job: Job | None, status: int, headers: Mapping[str, str]) -> None:
        """Discord has answered; ``job`` is None for the library's own requests."""
        ...


class Wire:
    """Traces one HTTP session."""

    def __init__(self, seconds: float, watch: Watch) -> None:
        self._seconds, self._watch = seconds, watch
        self._current: ContextVar[Carried | None] = ContextVar("what is on the wire", default=None)

    def carrying(self, job: Job) -> Carried:
        """To be used with ``of``: requests of this asyncio task belong to ``job``."""
        return Carried(job, asyncio.timeout(None))

    async def of(self, carried: Carried, act: Callable[[], Awaitable[None]]) -> None:
        """Run ``act``, whose requests are timed and counted as the job's.  Raises ``TimeoutError``."""
        token: Token[Carried | None] = self._current.set(carried)
        try:
            async with carried.timeout:
                await act()
        finally:
            self._current.reset(token)

    def trace(self) -> aiohttp.TraceConfig:
        """What the session must carry."""
        config = aiohttp.TraceConfig()
        config.on_request_start.append(self._start)
        config.on_request_headers_sent.append(self._sent)
        config.on_request_end.append(self._end)
        config.on_request_exception.append(self._broke)
        return config

    async def _start(self, _: object, request: SimpleNamespace, params: aiohttp.TraceRequestStartParams) -> None:
        exempt = _EXEMPT.match(params.url.path) is not None
        carried = self._current.get()
        request.holds = False
        if exempt:
            self._watch.goes(exempt=True)
        else:
            await self._turn(carried)
            await self._watch.room()
            request.holds = True
        _reschedule(carried, asyncio.get_running_loop().time() + self._seconds)

    async def _turn(self, carried: Carried | None) -> None:
        if carried is None:
            await self._watch.passes(Urgency.RESULT)
            return
        granted = carried.job.granted or 0.0
        fresh = not carried.used and asyncio.get_running_loop().time() - granted < STALE_SECONDS
        carried.used = True
        if not fresh:
            await self._watch.passes(carried.job.urgency)

    async def _end(self, _: object, __: object, params: aiohttp.TraceRequestEndParams) -> None:
        carried = self._current.get()
        _reschedule(carried, None)
        if _EXEMPT.match(params.url.path) is None:
            job = carried.job if carried is not None else None
            self._watch.answered(job, params.response.status, params.response.headers)

    async def _sent(self, _: object, request: SimpleNamespace, __: object) -> None:
        if request.holds:
            request.holds = False
            self._watch.goes(exempt=False)

    async def _broke(self, _: object, request: SimpleNamespace, __: object) -> None:
        if request.holds:
            request.holds = False
            self._watch.stays()
        _reschedule(self._current.get(), None)


def _reschedule(carried: Carried | None, when: float | None) -> None:
    if carried is not None and not carried.timeout.expired():
        carried.timeout.reschedule(when)
