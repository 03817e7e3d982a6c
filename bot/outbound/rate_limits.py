"""How many requests may go at a moment, so that Discord never sees too many in a second; pure, with the time passed in.

Discord counts what arrives.  Where a second's worth leaves at once and the network or a busy machine brings it a moment
later than what follows, two seconds' worth arrive together.  So requests leave evenly: what arrives in a second was sent
within hardly more than a second, and that stays below the limit even where some of it comes a fifth of a second late.
It also keeps an answer from waiting for the rest of a second behind a burst of edits.

Discord's limits of single routes, as its answers tell them; pure, with the time passed in.

Which routes share a bucket, and how large it is, is never assumed: it is read from the headers.  A bucket that is not
known yet takes one request at a time, whose answer says more.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

FOR_EVER = math.inf
IDLE_SECONDS = 600.0
"""A bucket that was not used for so long is forgotten."""
SWEEP_AT = 4_000

Key = tuple[str, str]
"""(route or bucket hash, channel)."""


@dataclass(slots=True)
class Bucket:
    """Requests that share a limit; ``remaining`` counts what may still go before ``resets``."""

    limit: int = 1
    remaining: int = 1
    in_flight: int = 0
    resets: float = FOR_EVER
    known: bool = False
    """Discord has said what its limit is; or, with a limit of 0, that there is none."""
    used: float = 0.0

    def ready(self, now: float) -> float:
        """When the next request may go; ``FOR_EVER`` means once one that is on its way has ended."""
        if self.known and self.limit == 0:
            return now
        if now >= self.resets:
            self.remaining, self.resets = max(1, self.limit), FOR_EVER
        if self.remaining - (0 if self.known else self.in_flight) > 0:
            return now
        return self.resets

    def taken(self, now: float) -> None:
        """A request goes."""
        self.remaining -= self.known
        self.in_flight += 1
        self.used = now

    def back(self) -> None:
        """It has ended; where no answer said when there is room again, there is."""
        self.in_flight -= 1
        if self.in_flight == 0 and self.resets == FOR_EVER:
            self.remaining = max(1, self.limit)


@dataclass(slots=True)
class Buckets:
    """All limits that are known."""

    _of_route: dict[str, str] = field(default_factory=dict[str, str])
    _sizes: dict[str, int] = field(default_factory=dict[str, int])
    _buckets: dict[Key, Bucket] = field(default_factory=dict[Key, Bucket])

    def bucket(self, route: str, channel: str) -> Bucket:
        """The bucket in which a request counts now."""
        mark = self._of_route.get(route, route)
        found = self._buckets.get((mark, channel))
        if found is None:
            if len(self._buckets) >= SWEEP_AT:
                self._sweep()
            size = self._sizes.get(mark)
            found = Bucket() if size is None else Bucket(size, size, known=True)
            self._buckets[mark, channel] = found
        return found

    def learn(self, route: str, channel: str, headers: Mapping[str, str], now: float) -> None:
        """Take in what an answer says of the limit of its route."""
        before = self.bucket(route, channel)
        limit, remaining, after = (_number(headers, f"X-RateLimit-{name}") for name in _FIELDS)
        if limit is None or remaining is None or after is None:
            if not before.known:
                before.limit, before.known = 0, True
            return
        mark = headers.get("X-RateLimit-Bucket") or route
        self._of_route[route], self._sizes[mark] = mark, int(limit)
        bucket = self._buckets.setdefault((mark, channel), before)
        left = int(min(remaining, limit - bucket.in_flight))
        fresh = not bucket.known or now >= bucket.resets or bucket.resets == FOR_EVER
        bucket.limit, bucket.known = int(limit), True
        bucket.remaining = left if fresh else min(left, bucket.remaining)
        bucket.resets = now + after

    def _sweep(self) -> None:
        latest = max((bucket.used for bucket in self._buckets.values()), default=0.0)
        for key, bucket in list(self._buckets.items()):
            if bucket.in_flight == 0 and bucket.used < latest - IDLE_SECONDS:
                del self._buckets[key]


_FIELDS = ("Limit", "Remaining", "Reset-After")


def _number(headers: Mapping[str, str], name: str) -> float | None:
    try:
        return float(headers[name])
    except (KeyError, ValueError):
        return None


PER_SECOND = 40
"""Discord takes 50."""
SECOND = 1.0
PARTS = 5
"""In each so much smaller part of a second go at most so many fewer requests."""


@dataclass(slots=True)
class Pace:
    """Remembers when the latest requests went."""

    per_second: int = PER_SECOND
    latest: deque[float] = field(default_factory=deque[float])

    def went(self, now: float) -> int:
        """A request goes; returns how many went in the second that ends now."""
        self.latest.append(now)
        while self.latest[0] <= now - SECOND:
            self.latest.popleft()
        return len(self.latest)

    def free(self, now: float, held: int = 0) -> float:
        """From when on one more may go; ``held`` others may go at any moment, and count for the second."""
        in_part = max(1, self.per_second // PARTS)
        return max(now, self._free(self.per_second - held, SECOND), self._free(in_part, SECOND / PARTS))

    def _free(self, most: int, seconds: float) -> float:
        if most <= 0:
            return float("inf")
        return self.latest[-most] + seconds if len(self.latest) >= most else 0.0
