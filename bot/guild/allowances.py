"""How much a client may do in how much time: Discord's published numbers, and a wide set for everyday use.

Published are the global limit, the limit of invalid requests, those of the gateway and of command creates
(topics/rate-limits, events/gateway, interactions/application-commands). The buckets of single routes are not: what
stands in `DISCORD` is what bots report from its headers. A client must read the headers and know none of this.
"""

from __future__ import annotations

from agentic.core.lazy_dataclass import dataclass

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Limit:
    """So many in so many seconds; no seconds means no limit."""

    number: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Route:
    """Which requests fall into one bucket: patterns over "METHOD /path" with `:id` for each id."""

    patterns: tuple[str, ...]
    limit: Limit


@dataclass(frozen=True, slots=True)
class Allowances:
    """All limits of a guild. `other` holds for each route that `routes` does not name; None: it has no bucket."""

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
