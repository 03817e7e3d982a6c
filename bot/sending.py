"""The one scheduler of everything the process sends to Discord.

``bot/scheduling.py`` says who goes when, ``bot/wire.py`` sees to it that nothing goes around it, and this waits for the
turns.  What discord.py does not try again is tried again here (503, connection resets, requests that hang), always with
the same nonce, so that a post that had landed stays one message.  A request is never cancelled while discord.py sleeps
for a limit, since it would keep its global lock for ever: only the time on the wire is bounded.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import aiohttp
import discord

from bot.pace import Pace
from bot.scheduling import Crowded, Job, Schedule, Urgency
from bot.traffic import Traffic
from bot.wire import Wire

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
                self._schedule.ended(job, _now())
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
            self._schedule.ended(job, _now())
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
