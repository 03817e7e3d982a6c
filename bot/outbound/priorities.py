"""Who goes next to Discord, and when; pure, with the time passed in.

Four things are kept at once.  Requests go at the pace of ``bot/outbound/rate_limits.py``, whatever they are.  What
matters more goes
first: receipts, final answers and questions before new messages before edits.  Among equals the channel goes that
has waited longest since it was last served, so that a channel with a thousand messages does not hold up one with a
single one.  And nothing waits for ever: what has waited ``AGES_SECONDS`` counts as one step more urgent.  A request
whose bucket is used up steps aside and holds nobody up.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict, deque
from dataclasses import dataclass, field
from enum import IntEnum

from bot.outbound.rate_limits import FOR_EVER, PER_SECOND, Bucket, Buckets, Pace

AGES_SECONDS = 15.0
WAITING_AT_MOST = 4_000


class Urgency(IntEnum):
    """Who goes first."""

    RESULT = 0
    """Receipts, final answers, questions."""
    MESSAGE = 1
    EDIT = 2


class Crowded(Exception):
    """So much waits already that this cannot wait, too; try again later."""


@dataclass(slots=True, eq=False)
class Job:
    """A request that waits for its turn, or has it."""

    urgency: Urgency
    lane: str
    """Its channel."""
    route: str
    """What Discord's limits go by; '' where nobody looks after them here."""
    asked: float
    granted: float | None = None
    dropped: bool = False
    bucket: Bucket | None = None


_Queue = tuple[Urgency, str, str]
"""(urgency, lane, route): a route that is used up holds up no other one of its channel."""
_Entry = tuple[float, int, _Queue]
"""(since when its queue waits, a number that decides ties, which queue)."""


@dataclass(slots=True)
class Schedule:
    """Everything that waits; ``grant`` says who may go now."""

    per_second: int = PER_SECOND
    at_most: int = WAITING_AT_MOST
    buckets: Buckets = field(default_factory=Buckets)
    waiting: int = 0
    _lanes: dict[_Queue, deque[Job]] = field(default_factory=lambda: defaultdict(deque[Job]))
    _served: dict[str, float] = field(default_factory=dict[str, float])
    _heads: tuple[list[_Entry], ...] = field(default_factory=lambda: tuple([] for _ in Urgency))
    _aside: list[tuple[float, _Entry]] = field(default_factory=list[tuple[float, _Entry]])
    """Lanes whose bucket is used up, by when it is full again."""
    _parked: list[_Entry] = field(default_factory=list[_Entry])
    """Lanes whose bucket says more when a request has ended."""
    _edits: dict[Job, None] = field(default_factory=dict[Job, None])
    _ties: itertools.count[int] = field(default_factory=itertools.count)
    _pace: Pace = field(init=False)
    _paused: float = 0.0

    def __post_init__(self) -> None:
        """The pace is that of ``per_second``."""
        self._pace = Pace(self.per_second)

    def add(self, urgency: Urgency, lane: str, route: str, now: float) -> tuple[Job, Job | None]:
        """Let a request wait; where the queue is full, the latest edit makes room and is returned too.

        Raises ``Crowded`` where there is no room for it.
        """
        dropped = None
        if self.waiting >= self.at_most:
            if urgency is Urgency.EDIT or not self._edits:
                raise Crowded
            dropped = next(reversed(self._edits))
            self.withdraw(dropped)
        job = Job(urgency, lane, route, now)
        queue = self._lanes[urgency, lane, route]
        queue.append(job)
        self.waiting += 1
        if urgency is Urgency.EDIT:
            self._edits[job] = None
        if len(queue) == 1:
            self._line_up((urgency, lane, route))
        return job, dropped

    def withdraw(self, job: Job) -> None:
        """It wants no turn any more."""
        if job.granted is None and not job.dropped:
            job.dropped = True
            self.waiting -= 1
            self._edits.pop(job, None)

    def grant(self, now: float) -> list[Job]:
        """Who may go at this moment, in order."""
        granted: list[Job] = []
        while self._aside and self._aside[0][0] <= now:
            self._back(heapq.heappop(self._aside)[1])
        while self._has_room(now) and (job := self._next(now)) is not None:
            job.granted = now
            self._pace.went(now)
            self.waiting -= 1
            granted.append(job)
        return granted

    def look_again(self, now: float) -> float | None:
        """When ``grant`` may have something new by time alone; None if not before something else happens."""
        times = [self._aside[0][0]] if self._aside else []
        if any(self._heads):
            times.append(max(self._paused, self._pace.free(now)))
        return max(now, min(times)) if times else None

    def ended(self, job: Job) -> None:
        """A request has ended: its bucket may have room again."""
        if job.bucket is not None:
            job.bucket.back()
            job.bucket = None
        parked, self._parked = self._parked, []
        for entry in parked:
            self._back(entry)

    def pause(self, now: float, seconds: float) -> None:
        """Discord has said how long nothing at all may go."""
        self._paused = max(self._paused, now + seconds)

    def limited(self, job: Job, now: float, seconds: float) -> None:
        """Discord has said how long nothing of a request's route may go; a job without one is held up by the library."""
        if not job.route:
            return
        bucket = self.buckets.bucket(job.route, job.lane)
        bucket.remaining, bucket.known, bucket.resets = 0, True, now + seconds
        bucket.limit = bucket.limit or 1

    def _has_room(self, now: float) -> bool:
        return now >= self._paused and self._pace.free(now) <= now

    def _next(self, now: float) -> Job | None:
        while True:
            heads = [heap for heap in self._heads if heap]
            if not heads:
                return None
            heap = min(heads, key=lambda heap: _rank(heap[0], now))
            entry = heapq.heappop(heap)
            job = self._take(entry, now)
            if job is not None:
                return job

    def _take(self, entry: _Entry, now: float) -> Job | None:
        """The first job of a queue; None where its bucket is used up or nobody waits there any more."""
        lane = entry[2]
        queue = self._lanes[lane]
        while queue and queue[0].dropped:
            queue.popleft()
        if not queue:
            del self._lanes[lane]
            return None
        job = queue[0]
        if job.route:
            bucket = self.buckets.bucket(job.route, job.lane)
            if (ready := bucket.ready(now)) > now:
                self._step_aside(entry, ready)
                return None
            bucket.taken(now)
            job.bucket = bucket
        queue.popleft()
        self._edits.pop(job, None)
        self._serve(lane, now)
        return job

    def _serve(self, lane: _Queue, now: float) -> None:
        self._served[lane[1]] = now
        if len(self._served) > self.at_most:
            self._served = {name: at for name, at in self._served.items() if at > now - AGES_SECONDS}
        if self._lanes[lane]:
            self._line_up(lane)
        else:
            del self._lanes[lane]

    def _step_aside(self, entry: _Entry, ready: float) -> None:
        if ready == FOR_EVER:
            self._parked.append(entry)
        else:
            heapq.heappush(self._aside, (ready, entry))

    def _back(self, entry: _Entry) -> None:
        heapq.heappush(self._heads[entry[2][0]], entry)

    def _line_up(self, lane: _Queue) -> None:
        since = max(self._lanes[lane][0].asked, self._served.get(lane[1], 0.0))
        self._back((since, next(self._ties), lane))


def _rank(entry: _Entry, now: float) -> tuple[int, float, int]:
    since, tie, (urgency, _, _) = entry
    return max(0, urgency - int((now - since) / AGES_SECONDS)), since, tie
