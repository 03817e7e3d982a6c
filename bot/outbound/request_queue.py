"""The queue of everything the process sends to Discord, with counts of how much was sent and how long it waited.

``bot/outbound/priorities.py`` says who goes when; ``bot/outbound/http_hooks.py`` sees to it that nothing goes around it.  What
discord.py does not try again is tried again here (503, connection resets, requests that hang), always with the same nonce, so
that a post that had landed stays one message.  A request is never cancelled while discord.py sleeps for a limit, since it
would keep its global lock for ever: only the time on the wire is bounded.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from statistics import quantiles
from typing import TypeVar

import aiohttp
import discord

from bot.outbound.http_hooks import Wire
from bot.outbound.priorities import (
    Crowded,
    Job,
    Schedule,
    Urgency,
)
from bot.outbound.rate_limits import Pace

HELD_SECONDS = 0.05
"""It is asked again after so long at the latest: what may go at any moment may also stay."""
KEPT = 512
"""So many of the latest waits are kept of each urgency."""


@dataclass(frozen=True, slots=True)
class Waited:
    """Seconds that requests of one urgency waited for their turn, lately; ``sent`` counts all."""

    sent: int = 0
    median: float = 0.0
    slowest: float = 0.0
    p99: float = 0.0


@dataclass(slots=True)
class Traffic:
    """Counts what goes over the wire."""

    pace: Pace = field(default_factory=Pace)
    waiting: int = 0
    """Requests that wait now."""
    requests: int = 0
    interactions: int = 0
    """Answers to commands and buttons: outside Discord's common limit, but counted."""
    retried: int = 0
    limited: int = 0
    """Answers with status 429."""
    refused: int = 0
    """What could not even wait, since so much waited already."""
    busiest: int = 0
    """The most requests in any second, interactions left out."""
    held: int = 0
    """Requests that may go on the wire at any moment."""
    _sent: dict[Urgency, int] = field(default_factory=lambda: dict.fromkeys(Urgency, 0))
    _waits: dict[Urgency, deque[float]] = field(default_factory=lambda: {u: deque[float](maxlen=KEPT) for u in Urgency})

    def waited(self, urgency: Urgency) -> Waited:
        """What requests of one urgency waited."""
        waits = sorted(self._waits[urgency])
        if not waits:
            return Waited()
        p99 = quantiles(waits, n=100, method="inclusive")[-1] if len(waits) > 1 else waits[0]
        return Waited(self._sent[urgency], waits[len(waits) // 2], waits[-1], p99)

    def had_turn(self, urgency: Urgency, seconds: float) -> None:
        """A request has its turn, after so long."""
        self._sent[urgency] += 1
        self._waits[urgency].append(seconds)

    def went(self, now: float) -> None:
        """A request is on the wire."""
        self.requests += 1
        self.busiest = max(self.busiest, self.pace.went(now))

    def full_for(self, now: float) -> float:
        """Seconds until it is worth asking again; 0 where one more may go."""
        return min(self.pace.free(now, self.held) - now, HELD_SECONDS)


__all__ = ["Crowded", "Sender", "Urgency"]

T = TypeVar("T")

EDITS_PER_SECOND = 20.0
EDIT_SECONDS = 1.2
WIRE_SECONDS = 20.0
"""How long one HTTP request may take before it is sent again."""
ATTEMPTS = 6

log = logging.getLogger(__name__)


class Sender:
    """Sends in order of urgency, at a bounded rate, and again where that is safe."""

    def __init__(
        self, schedule: Schedule | None = None, *, wire_seconds: float = WIRE_SECONDS, first_pause: float = 0.5
    ) -> None:
        self._schedule = schedule or Schedule()
        self.traffic = Traffic(Pace(self._schedule.per_second))
        self._first_pause = first_pause
        self._turns: dict[Job, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._wire = Wire(wire_seconds, self)
        self.seconds: Callable[[], float] = _seconds_awake_or_asleep
        """Seconds that also pass while the machine sleeps."""

    def trace(self) -> aiohttp.TraceConfig:
        """What the client's HTTP session must carry."""
        return self._wire.trace()

    @staticmethod
    def edit_interval(busy: int) -> float:
        """Seconds between two edits of one message while ``busy`` messages are being edited."""
        return max(EDIT_SECONDS, busy / EDITS_PER_SECOND)

    async def send(
        self, urgency: Urgency, act: Callable[[], Awaitable[T]], *, lane: str = "", route: str = "",
        within: float | None = None,
    ) -> T:  # fmt: skip
        """Run ``act`` in its turn; it must be safe to repeat (a nonce, an edit, a PUT), at least ``within`` so many seconds.

        ``lane`` is the channel it concerns, ``route`` what Discord's limits of single routes go by.  Raises what
        Discord refused, the last failure once ``ATTEMPTS`` or the time are used up, or ``Crowded``.
        """
        failure: Exception | None = None
        first = 0.0
        for attempt in itertools.count(1):
            job = await self._turn(urgency, lane, route)
            try:
                first = first or self.seconds()
                if failure is not None and within is not None and self.seconds() - first > within:
                    raise failure
                return await self._carried(job, act)
            except (discord.HTTPException, discord.RateLimited, aiohttp.ClientError, OSError) as error:
                if error is failure:
                    raise
                failure, pause = error, self._pause(error, attempt)
                if pause is None or attempt >= ATTEMPTS:
                    raise
                log.info("Discord: %s; trying again in %.1f s", error or type(error).__name__, pause)
                self.traffic.retried += 1
            finally:
                self._schedule.ended(job)
                self._look()
            await asyncio.sleep(pause)
        raise AssertionError("unreachable: the loop above only ends by return or raise")

    async def passes(self, urgency: Urgency) -> None:
        """A request that nobody scheduled: the library's own, and what it repeats by itself."""
        await self._turn(urgency, "", "")

    async def room(self) -> None:
        """Wait until one more request fits into the last second on the wire, and hold its place."""
        while (seconds := self.traffic.full_for(_now())) > 0:  # noqa: ASYNC110 - time passes by itself
            await asyncio.sleep(seconds)
        self.traffic.held += 1

    def goes(self, *, exempt: bool) -> None:
        """A request is on the wire."""
        if exempt:
            self.traffic.interactions += 1
        else:
            self.traffic.held -= 1
            self.traffic.went(_now())

    def stays(self) -> None:
        """A request that held a place never came to the wire."""
        self.traffic.held -= 1

    def answered(self, job: Job | None, status: int, headers: Mapping[str, str]) -> None:
        """Learn from an answer what the limits are."""
        now = _now()
        if status == 429:
            self.traffic.limited += 1
            seconds = _seconds(headers, 1.0)
            if "X-RateLimit-Global" in headers or "Via" not in headers:  # without it the answer is of the edge, for all
                self._schedule.pause(now, seconds)
            elif job is not None:
                self._schedule.limited(job, now, seconds)
        elif job is not None and job.route:
            self._schedule.buckets.learn(job.route, job.lane, headers, now)
        self._look()

    async def _carried(self, job: Job, act: Callable[[], Awaitable[T]]) -> T:
        results: list[T] = []

        async def keep() -> None:
            results.append(await act())

        await self._wire.of(self._wire.carrying(job), keep)
        return results[0]

    def _pause(self, error: Exception, attempt: int) -> float | None:
        """Seconds until the next attempt, None where another would be in vain."""
        pause = self._first_pause * 2 ** (attempt - 1) * random.uniform(1.0, 1.25)
        if isinstance(error, discord.RateLimited):
            return error.retry_after
        if isinstance(error, discord.HTTPException):
            if error.status == 429:
                return max(pause, _seconds(error.response.headers, pause))
            return pause if error.status >= 500 else None
        return pause

    async def _turn(self, urgency: Urgency, lane: str, route: str) -> Job:
        try:
            job, dropped = self._schedule.add(urgency, lane, route, _now())
        except Crowded:
            self.traffic.refused += 1
            raise
        turn = self._turns[job] = asyncio.get_running_loop().create_future()
        if dropped is not None and not self._turns[dropped].done():  # else whoever waited for it was just cancelled
            self.traffic.refused += 1
            self._turns[dropped].set_exception(Crowded())
        self._look()
        try:
            await turn
        except asyncio.CancelledError:
            self._abandon(job)
            raise
        finally:
            self._turns.pop(job, None)
        return job

    def _abandon(self, job: Job) -> None:
        """Nobody waits for this turn any more; one that was just given is handed on."""
        self._schedule.withdraw(job)
        if job.granted is not None:
            self._schedule.ended(job)
        self._look()

    def _look(self) -> None:
        """Hand out the turns that are due, and look again when the next one is."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = _now()
        for job in self._schedule.grant(now):
            turn = self._turns.get(job)
            if turn is not None and not turn.done():
                self.traffic.had_turn(job.urgency, now - job.asked)
                turn.set_result(None)
        self.traffic.waiting = self._schedule.waiting
        again = self._schedule.look_again(now)
        if again is not None:
            self._timer = asyncio.get_running_loop().call_at(again + 0.001, self._look)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _seconds_awake_or_asleep() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _seconds(headers: Mapping[str, str], otherwise: float) -> float:
    for name in ("Retry-After", "X-RateLimit-Reset-After"):
        try:
            return float(headers[name])
        except (KeyError, ValueError):
            continue
    return otherwise
