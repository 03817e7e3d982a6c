"""HTTP answers in the shapes of Discord and of the edge in front of it, and connections that are reset on purpose."""

from __future__ import annotations

import asyncio
import socket
import struct
from math import ceil

from aiohttp import web

from bot.local_discord.faults import rules
from bot.local_discord.model.errors import ApiError, RateLimitedError
from bot.local_discord.model.json_fields import Json, encode
from bot.local_discord.rest.rate_limit_buckets import RateLimits


def as_json(body: Json, status: int, extra: dict[str, str]) -> web.Response:
    """A JSON answer; None has no body."""
    if body is None:
        return web.Response(status=status, headers=extra)
    # Exactly this content type: with a charset, discord.py takes the body for text.
    return web.Response(body=encode(body), status=status, headers=extra, content_type="application/json")


def refusal(error: ApiError, bucket_headers: dict[str, str]) -> web.Response:
    """Discord's answer to a request it refuses."""
    extra = dict(bucket_headers)
    if isinstance(error, RateLimitedError):
        # A 429 without Via counts as a ban by the edge: clients give up at once.
        extra = ({} if error.is_global else extra) | {
            "Via": "1.1 google",
            "Retry-After": str(ceil(error.retry_after)),
            "X-RateLimit-Scope": error.scope,
        }
        if error.is_global:
            extra["X-RateLimit-Global"] = "true"
    return as_json(error.body(), error.status, extra)


def edge(seconds: float) -> web.Response:
    """Return the edge's answer to a banned address: HTML, without Via and without JSON."""
    page = "<html><head><title>Access denied</title></head><body>error code: 1015</body></html>"
    extra = {"Retry-After": str(ceil(seconds)), "Server": "cloudflare"}
    return web.Response(status=429, text=page, content_type="text/html", headers=extra)


async def misbehaved(
    request: web.Request, path: str, fault: rules.Fault | None, ratelimits: RateLimits
) -> web.StreamResponse | None:
    """Return the answer of a request that a fault keeps from taking effect, or None."""
    match fault:
        case rules.RateLimited(retry_after=seconds, html=True):
            return edge(seconds)
        case rules.RateLimited(retry_after=seconds, is_global=everywhere):
            used_up = ratelimits.used_up(request.method, path, seconds)
            return refusal(RateLimitedError(seconds, is_global=everywhere), used_up)
        case rules.ErrorAnswer(status, code, message, landed=False):
            return refusal(ApiError(status, code, message), {})
        case rules.Reset(landed=False):
            cut(request)
            return web.Response(status=500)
        case rules.Delayed(seconds=seconds, landed=False):
            await asyncio.sleep(seconds)
        case _:
            pass
    return None


async def landed(request: web.Request, fault: rules.Fault | None, answer: web.StreamResponse) -> web.StreamResponse:
    """Return the answer of a request that took effect, changed by the fault."""
    match fault:
        case rules.Reset():
            cut(request)
        case rules.Delayed(seconds=seconds, landed=True):
            await asyncio.sleep(seconds)
        case rules.ErrorAnswer(status, code, message):
            return refusal(ApiError(status, code, message), {})
        case _:
            pass
    return answer


def cut(request: web.Request) -> None:
    """Reset the connection: the client reads errno 104."""
    if request.transport is None:
        return
    sock = request.transport.get_extra_info("socket")
    if sock is not None:  # without lingering, closing sends RST
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.transport.abort()
