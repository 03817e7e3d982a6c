"""Rate-limit buckets and their headers.

Discord's real buckets are not published and may not be hard-coded by a client; these are wide
enough that a well-behaved bot never meets them, and real enough that a loop does.
https://discord.com/developers/docs/topics/rate-limits
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from zlib import crc32

from bot.guild.errors import RateLimitedError

_ID = re.compile(r"\d{15,20}")
_MAJOR = re.compile(r"/(?:channels|guilds|webhooks)/(\d{15,20})(?:/([\w-]{20,}))?")
_REACTION = re.compile(r"(/reactions)/.*")


@dataclass(slots=True)
class Bucket:
    """How much of a limit is left until it resets."""

    name: str
    limit: int
    seconds: float
    remaining: int
    resets_at: float


class RateLimits:
    """One bucket for each route and major parameter."""

    def __init__(self, limit: int = 50, seconds: float = 1.0) -> None:
        self.limit = limit
        self.seconds = seconds
        self._buckets: dict[tuple[str, str], Bucket] = {}

    def take(self, bucket: Bucket) -> None:
        """Takes one request from a bucket; 429 if it is empty."""
        now = time.time()
        if now >= bucket.resets_at:
            bucket.remaining = bucket.limit
            bucket.resets_at = now + bucket.seconds
        if bucket.remaining <= 0:
            raise RateLimitedError(bucket.resets_at - now)
        bucket.remaining -= 1

    def bucket(self, method: str, path: str) -> Bucket:
        """The bucket that a request falls into."""
        major = _MAJOR.match(path)
        route = _REACTION.sub(r"\1", _ID.sub(":id", path))
        key = (f"{method} {route}", major.group(0) if major else "")
        if key not in self._buckets:
            name = f"{crc32(key[0].encode()):08x}"
            self._buckets[key] = Bucket(name, self.limit, self.seconds, self.limit, 0.0)
        return self._buckets[key]


def headers(bucket: Bucket) -> dict[str, str]:
    """The headers that tell a client where it stands."""
    return {
        "X-RateLimit-Limit": str(bucket.limit),
        "X-RateLimit-Remaining": str(bucket.remaining),
        "X-RateLimit-Reset": f"{bucket.resets_at:.3f}",
        "X-RateLimit-Reset-After": f"{max(0.0, bucket.resets_at - time.time()):.3f}",
        "X-RateLimit-Bucket": bucket.name,
    }


class RenameLimit:
    """Two renames of a channel in ten minutes, the third is told to wait."""

    def __init__(self, limit: int = 2, seconds: float = 600.0) -> None:
        self.limit = limit
        self.seconds = seconds
        self._times: dict[int, list[float]] = {}

    def take(self, channel_id: int) -> None:
        """Counts a rename; 429 over the limit."""
        now = time.monotonic()
        recent = [t for t in self._times.get(channel_id, []) if now - t < self.seconds]
        if len(recent) >= self.limit:
            raise RateLimitedError(self.seconds - (now - recent[0]), scope="shared")
        self._times[channel_id] = [*recent, now]
