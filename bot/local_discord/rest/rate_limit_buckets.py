"""Rate limits: Discord's allowances, what was used of each, the headers, and the refusals.

Published are the global limit, the limit of invalid requests, those of the gateway and of command creates
(https://discord.com/developers/docs/topics/rate-limits, events/gateway, interactions/application-commands). The
buckets of single routes are not: those in `DISCORD` are what bots report from its headers. A client must read the
headers and know none of this. There is also a wide set of allowances for everyday use.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from zlib import crc32

from bot.local_discord.model.clock import Clock
from bot.local_discord.model.errors import RateLimitedError, too_many_creates, too_many_old_edits
from bot.local_discord.model.json_fields import JsonObject

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Limit:
    """A number of requests in a number of seconds; no seconds means no limit."""

    number: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Route:
    """The requests of one bucket: patterns over "METHOD /path" with `:id` for each id."""

    patterns: tuple[str, ...]
    limit: Limit


@dataclass(frozen=True, slots=True)
class Allowances:
    """All limits of a guild. `other` applies to each route that `routes` does not name; None: it has no bucket."""

    routes: tuple[Route, ...] = ()
    other: Limit | None = None
    everything: Limit = Limit(50, 1.0)
    invalid: Limit = Limit(10_000, 600.0)
    titles: Limit = Limit(2, 600.0)
    old_edits: Limit = Limit(3, 20.0)
    command_creates: Limit = Limit(200, DAY)
    session_starts: Limit = Limit(1_000, DAY)
    identifies: Limit = Limit(1, 5.0)
    max_concurrency: int = 1
    all_members: Limit = Limit(1, 30.0)


_MESSAGES = "/channels/:id/messages"
# Putting and taking reactions share a bucket, as both ways of starting a thread do.
REACTIONS = (f"PUT {_MESSAGES}/:id/reactions", f"DELETE {_MESSAGES}/:id/reactions")
THREADS = (f"POST {_MESSAGES}/:id/threads", "POST /channels/:id/threads")

DISCORD = Allowances(
    routes=(
        Route((f"POST {_MESSAGES}",), Limit(5, 5.0)),
        Route((f"PATCH {_MESSAGES}/:id",), Limit(5, 5.0)),
        Route((f"DELETE {_MESSAGES}/:id",), Limit(5, 1.0)),
        Route(REACTIONS, Limit(1, 0.25)),
        Route(THREADS, Limit(50, 300.0)),
        Route((f"POST {_MESSAGES}/bulk-delete",), Limit(1, 3.0)),
        Route(("POST /channels/:id/typing",), Limit(5, 5.0)),
        Route(("PATCH /channels/:id",), Limit(5, 15.0)),
        Route(("POST /webhooks/:id/:token", "PATCH /webhooks/:id/:token/messages/*"), Limit(5, 2.0)),
        Route(("PUT /applications/:id/*commands",), Limit(2, 60.0)),
        Route(("POST /applications/:id/*commands",), Limit(5, 20.0)),
        Route(("GET /guilds/:id/members",), Limit(10, 10.0)),
    ),
)

# Tests and people at the page restart bots in quick succession: no pause between two starts, wide buckets.
WIDE = Allowances(
    routes=(Route(REACTIONS, Limit(50, 1.0)), Route(THREADS, Limit(50, 1.0))),
    other=Limit(50, 1.0),
    identifies=Limit(1, 0.0),
    all_members=Limit(1, 0.0),
)


_ID = re.compile(r"\d{15,20}")
_TOKEN = re.compile(r"^(/webhooks/:id/)[\w-]{20,}")
_MAJOR = re.compile(r"/(?:channels|guilds|webhooks)/(\d{15,20})(?:/([\w-]{20,}))?")
_REACTION = re.compile(r"(/reactions)/.*")
# https://discord.com/developers/docs/topics/rate-limits#global-rate-limit: not bound to it
_INTERACTIONS = ("/interactions/", "/webhooks/")
BUCKETS_KEPT = 20_000
INVALID = (401, 403, 429)


@dataclass(slots=True)
class Bucket:
    """The remaining requests of a limit until it resets."""

    name: str
    limit: int
    seconds: float
    remaining: int
    resets_at: float

    @classmethod
    def full(cls, limit: Limit, name: str = "") -> Bucket:
        """Return an unused bucket."""
        return cls(name, limit.number, limit.seconds, limit.number, 0.0)

    def wait(self, now: float) -> float:
        """Take one; if none is left, return the seconds to wait first."""
        if self.seconds <= 0:
            return 0.0
        if now >= self.resets_at:
            self.remaining = self.limit
            self.resets_at = now + self.seconds
        if self.remaining <= 0:
            return self.resets_at - now
        self.remaining -= 1
        return 0.0

    def left(self, now: float) -> int:
        """How much is left now."""
        return self.limit if now >= self.resets_at else self.remaining


class RateLimits:
    """All counts, by the guild's clock."""

    def __init__(self, clock: Clock, allowed: Allowances = WIDE) -> None:
        self.allowed = allowed
        self.refused = 0
        self._session_starts = Bucket.full(allowed.session_starts)
        self._clock = clock
        self._buckets: dict[Hashable, Bucket] = {}
        self._everything = Bucket.full(allowed.everything)
        self._invalid = Bucket.full(allowed.invalid)

    # -- by request ---------------------------------------------------------------------------

    def bucket(self, method: str, path: str) -> Bucket | None:
        """Return the bucket of a request, if its route has one."""
        if path.startswith("/interactions/"):
            return None
        shape = _REACTION.sub(r"\1", _ID.sub(":id", path))
        route = f"{method} " + _TOKEN.sub(r"\1:token", shape)
        major = _MAJOR.match(path)
        patterns, limit = self._limit_of(route)
        if limit is None:
            return None
        name = f"{crc32(patterns[0].encode()):08x}{crc32(patterns[-1][::-1].encode()):08x}"
        return self._kept((name, major.group(0) if major else ""), limit, name)

    def take(self, bucket: Bucket | None, path: str) -> None:
        """Take one request from its bucket and from the global limit; raise 429 if either is empty."""
        now = self._clock.time()
        if bucket is not None and (seconds := bucket.wait(now)):
            raise RateLimitedError(seconds)
        if not path.startswith(_INTERACTIONS) and (seconds := self._everything.wait(now)):
            raise RateLimitedError(seconds, is_global=True)

    def headers(self, bucket: Bucket) -> dict[str, str]:
        """Return the rate limit headers of a bucket."""
        return {
            "X-RateLimit-Limit": str(bucket.limit),
            "X-RateLimit-Remaining": str(bucket.remaining),
            "X-RateLimit-Reset": f"{bucket.resets_at:.3f}",
            "X-RateLimit-Reset-After": f"{max(0.0, bucket.resets_at - self._clock.time()):.3f}",
            "X-RateLimit-Bucket": bucket.name,
        }

    def used_up(self, method: str, path: str, seconds: float) -> dict[str, str]:
        """Return the headers of a request that is refused for so many seconds, whatever is left of its bucket."""
        bucket = self.bucket(method, path)
        return self.headers(replace(bucket, remaining=0, resets_at=self._clock.time() + seconds)) if bucket else {}

    def count_answer(self, status: int, scope: str | None) -> None:
        """Count an invalid request; a shared rate limit is not held against the client."""
        self.refused += status == 429
        if status in INVALID and scope != "shared":
            self._invalid.wait(self._clock.time())

    def banned_for(self) -> float:
        """Return the remaining seconds of a ban after too many invalid requests, else 0."""
        now = self._clock.time()
        return 0.0 if self._invalid.left(now) > 0 else self._invalid.resets_at - now

    # -- by what it does ----------------------------------------------------------------------

    def rename(self, channel_id: int) -> None:
        """Count a change of a channel's name."""
        seconds = self._used(("title", channel_id), self.allowed.titles)
        if seconds:
            raise RateLimitedError(seconds, scope="shared")

    def old_edit(self, channel_id: int) -> None:
        """Count an edit of a message that is over an hour old."""
        seconds = self._used(("old edit", channel_id), self.allowed.old_edits)
        if seconds:
            raise too_many_old_edits(seconds)

    def create_command(self, scope: int | None) -> None:
        """Count a new command."""
        if self._used(("create", scope), self.allowed.command_creates):
            raise too_many_creates(self.allowed.command_creates.number)

    def start_session(self) -> bool:
        """Count a session start; returns whether there was none left for today."""
        return self._session_starts.wait(self._clock.time()) > 0

    def session_start_limit(self) -> JsonObject:
        """https://discord.com/developers/docs/events/gateway#session-start-limit-object"""
        now, starts = self._clock.time(), self._session_starts
        return {
            "total": starts.limit,
            "remaining": starts.left(now),
            "reset_after": int(max(0.0, starts.resets_at - now) * 1000),
            "max_concurrency": self.allowed.max_concurrency,
        }

    def identify(self, shard: int) -> bool:
        """Count an identify; returns whether it comes too early after another of its group."""
        key = ("identify", shard % self.allowed.max_concurrency)
        return self._used(key, self.allowed.identifies) > 0

    def ask_all_members(self) -> float:
        """Count a request for all members; returns the seconds to wait if it comes too early."""
        return self._used("all members", self.allowed.all_members)

    def _used(self, key: Hashable, limit: Limit) -> float:
        return self._kept(key, limit, "").wait(self._clock.time())

    def _kept(self, key: Hashable, limit: Limit, name: str) -> Bucket:
        if len(self._buckets) > BUCKETS_KEPT:
            now = self._clock.time()
            self._buckets = {k: b for k, b in self._buckets.items() if b.resets_at > now}
        return self._buckets.setdefault(key, Bucket.full(limit, name))

    def _limit_of(self, route: str) -> tuple[tuple[str, ...], Limit | None]:
        for one in self.allowed.routes:
            if any(fnmatchcase(route, pattern) for pattern in one.patterns):
                return one.patterns, one.limit
        return (route,), self.allowed.other
