"""The one scheduler of everything the process sends to Discord.

Discord takes 50 requests a second from a bot.  Receipts, final answers and questions go before new messages, those
before edits.  What discord.py does not try again is tried again here (503, connection resets, requests that hang),
always with the same nonce, so that a post that had landed stays one message.  The limits of single routes are
discord.py's business; a request is never cancelled while discord.py sleeps for a limit, since it would keep its
global lock for ever: only the time on the wire is bounded.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import random
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from enum import IntEnum
from typing import TypeVar

import aiohttp
import discord

T = TypeVar("T")

PER_SECOND = 45.0
"""Requests a second, a little under Discord's 50: interactions and the library's own calls share them."""
BURST = 20.0
EDITS_PER_SECOND = 20.0
EDIT_SECONDS = 1.2
WIRE_SECONDS = 20.0
"""How long one HTTP request may take before it is sent again."""
ATTEMPTS = 6

log = logging.getLogger(__name__)


class Urgency(IntEnum):
    """Who goes first."""

    RESULT = 0
    """Receipts, final answers, questions."""
    MESSAGE = 1
    EDIT = 2


class Sender:
    """Sends in order of urgency, at a bounded rate, and again where that is safe."""

    def __init__(
        self, *, per_second: float = PER_SECOND, wire_seconds: float = WIRE_SECONDS, first_pause: float = 0.5
    ) -> None:
        self._per_second = per_second
        self._first_pause = first_pause
        self._tokens = BURST
        self._filled = 0.0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._wire = WireTimer(wire_seconds)

    def trace(self) -> aiohttp.TraceConfig:
        """What the client's HTTP session must carry so that requests on the wire are timed."""
        return self._wire.trace()

    @staticmethod
    def edit_interval(busy: int) -> float:
        """Seconds between two edits of one message while ``busy`` messages are being edited."""
        return max(EDIT_SECONDS, busy / EDITS_PER_SECOND)

    async def send(self, urgency: Urgency, act: Callable[[], Awaitable[T]]) -> T:
        """Run ``act`` in its turn; it must be safe to repeat (a nonce, an edit, a PUT).

        Raises what Discord refused, or the last failure once ``ATTEMPTS`` are used up.
        """
        for attempt in itertools.count(1):
            await self._turn(urgency)
            try:
                async with self._wire.bounded():
                    return await act()
            except (discord.HTTPException, discord.RateLimited, aiohttp.ClientError, OSError) as error:
                pause = self._pause(error, attempt)
                if pause is None or attempt >= ATTEMPTS:
                    raise
                log.info("Discord: %s; trying again in %.1f s", error or type(error).__name__, pause)
                await asyncio.sleep(pause)
        raise AssertionError("unreachable: the loop above only ends by return or raise")

    def _pause(self, error: Exception, attempt: int) -> float | None:
        """Seconds until the next attempt, None where another would be in vain."""
        pause = self._first_pause * 2 ** (attempt - 1) * random.uniform(1.0, 1.25)
        if isinstance(error, discord.RateLimited):
            return error.retry_after
        if isinstance(error, discord.HTTPException):
            if error.status == 429:
                return max(pause, float(error.response.headers.get("Retry-After", pause)))
            return pause if error.status >= 500 else None
        return pause

    async def _turn(self, urgency: Urgency) -> None:
        self._fill()
        if not self._waiting and self._tokens >= 1:
            self._tokens -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (urgency, next(self._order), turn))
        self._schedule()
        await turn

    def _fill(self) -> None:
        now = asyncio.get_running_loop().time()
        self._tokens = min(BURST, self._tokens + (now - self._filled) * self._per_second)
        self._filled = now

    def _schedule(self) -> None:
        if self._waiting and self._timer is None:
            delay = max(0.0, (1 - self._tokens) / self._per_second)
            self._timer = asyncio.get_running_loop().call_later(delay, self._grant)

    def _grant(self) -> None:
        self._timer = None
        self._fill()
        while self._waiting and self._tokens >= 1:
            *_, turn = heapq.heappop(self._waiting)
            if not turn.done():
                self._tokens -= 1
                turn.set_result(None)
        self._schedule()


class WireTimer:
    """Bounds the time a request is on the wire, through aiohttp's tracing."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._current: ContextVar[asyncio.Timeout | None] = ContextVar("wire time", default=None)

    def bounded(self) -> asyncio.Timeout:
        """A time-out that runs only while a request of this asyncio task is on the wire."""
        timeout = asyncio.timeout(None)
        self._current.set(timeout)
        return timeout

    def trace(self) -> aiohttp.TraceConfig:
        """Starts and ends the clock with each request."""
        config = aiohttp.TraceConfig()
        config.on_request_start.append(self._start)
        config.on_request_end.append(self._end)
        config.on_request_exception.append(self._end)
        return config

    async def _start(self, *_: object) -> None:
        self._reschedule(asyncio.get_running_loop().time() + self._seconds)

    async def _end(self, *_: object) -> None:
        self._reschedule(None)

    def _reschedule(self, when: float | None) -> None:
        timeout = self._current.get()
        if timeout is not None and not timeout.expired():
            try:
                timeout.reschedule(when)
            except RuntimeError:
                self._current.set(None)  # the bounded block is over: a later request of the same asyncio task
