"""Keeps strangers out of a server on loopback.

A page elsewhere on the web can make a browser send requests to 127.0.0.1 (CSRF), and a name that
resolves to 127.0.0.1 makes it read the answers too (DNS rebinding). Both show in the headers: the
Host must be a loopback name, an Origin, where there is one, this server's own, and where a browser says
who asks (Sec-Fetch-Site), no other port of this machine does: it may send people to the page, no more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def is_loopback(host: str) -> bool:
    """Whether a Host header or address names this machine."""
    try:
        return urlsplit(f"//{host}").hostname in LOOPBACK
    except ValueError:
        return False


def is_own_origin(origin: str, host: str) -> bool:
    """Whether an Origin header is the one that `host` serves."""
    return origin == f"http://{host}" and is_loopback(host)


def _asked_from_elsewhere(request: web.Request) -> bool:
    """Whether a page of another address asks; a link to the page itself may stand anywhere."""
    said = request.headers.get
    if said("Sec-Fetch-Site", "none") in ("none", "same-origin"):
        return False
    return not (request.method == "GET" and request.path == "/" and said("Sec-Fetch-Dest") == "document")


@web.middleware
async def refuse_strangers(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuses a foreign Host or Origin before anything is looked at."""
    host = request.headers.get("Host", "")
    origin = request.headers.get("Origin")
    foreign = origin is not None and not is_own_origin(origin, host)
    if not is_loopback(host) or foreign or _asked_from_elsewhere(request):
        return web.Response(status=403, text="This server answers only to pages of its own.\n")
    return await handler(request)
