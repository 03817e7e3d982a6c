"""Who comes in: nobody from a foreign page, on this machine the user who runs the console, elsewhere whoever signs in.

The user of this machine needs no password, since whoever is that user can read the bot's files anyway. That shortcut is
for a console that nobody else reaches: it is off where people use another address (``console_url``), because their
connections come from this machine too, through a proxy that may run as any user; and it does not count for a request
that says it was passed on.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import cast
from weakref import WeakKeyDictionary

from aiohttp import web

from agentic.core.events.execution_events import Person
from bot.console.access.browser_sessions import BrowserSessions
from bot.console.access.console_address import ConsoleAddress, is_loopback
from bot.console.access.same_user import is_own_user
from bot.console.access.sign_in import SESSION, Answering, SignIn
from bot.console.access.viewer import Viewer

SAFE = ("GET", "HEAD")
PASSED_ON = frozenset({"forwarded", "via", "x-real-ip", "true-client-ip", "cf-connecting-ip", "client-ip"})
"""Headers of proxies, besides all that begin with ``X-Forwarded-``."""


class NoWayIn(Exception):
    """Others would reach the console, and nothing asks who they are; the message says what to set."""


class Entrance:
    """Decides for each request who sent it. ``owner`` tells as whom the user of this machine acts."""

    def __init__(
        self, sign_in: SignIn, sessions: BrowserSessions, owner: Callable[[], Awaitable[Person]], url: str = ""
    ) -> None:
        self._sign_in, self._sessions, self._owner, self._url = sign_in, sessions, owner, url
        self._address = ConsoleAddress("", 0, url)
        self._form_key = secrets.token_urlsafe(24)
        self._own: WeakKeyDictionary[asyncio.Transport, bool] = WeakKeyDictionary()
        """Connections of which it is known whether they are of this user: to look costs milliseconds."""

    def will_listen_at(self, host: str) -> None:
        """Raise ``NoWayIn`` for an address that others reach, if nobody could sign in there."""
        if ConsoleAddress(host, 0, self._url).local or self._sign_in.possible_from_elsewhere:
            return
        why, ways = "nothing asks who comes in", ", or DISCORD_CLIENT_ID and DISCORD_CLIENT_SECRET"
        if self._sign_in.possible:
            why, ways = "other machines cannot reach the local Discord to sign in", ""
        raise NoWayIn(
            f"The console would be reached at {self._url or host}, and {why}. Set THREADWRIGHT_CONSOLE_TOKEN (make one"
            f" with: openssl rand -hex 32){ways}, or let it listen at 127.0.0.1 without THREADWRIGHT_CONSOLE_URL."
        )

    def listens_at(self, host: str, port: int) -> None:
        """The address is known now: requests that name another host are refused."""
        self._address = self._sign_in.address = ConsoleAddress(host, port, self._url)

    def routes(self) -> list[tuple[str, str, Answering]]:
        """What answers to somebody who is not in yet."""
        return self._sign_in.routes()

    def check(self, request: web.Request) -> None:
        """Refuse what a foreign page or a renamed host sends. Raises ``HTTPException``."""
        if request.headers.get("Host", "").lower() not in self._address.hosts | _own_address(request):
            raise web.HTTPMisdirectedRequest(text="This address is not the console's. Use the link that the bot gave.")
        site = request.headers.get("Sec-Fetch-Site", "none")
        if request.method in SAFE:
            link = request.headers.get("Sec-Fetch-Mode"), request.headers.get("Sec-Fetch-Dest")
            if site not in ("same-origin", "none") and link != ("navigate", "document"):
                raise web.HTTPForbidden(text="Another page asked for this.")
            return
        origins = self._address.origins | {f"http://{host}" for host in _own_address(request)}
        if request.headers.get("Origin", "") not in origins or site not in ("same-origin", "none"):
            raise web.HTTPForbidden(text="Another page sent this.")

    def is_trustworthy(self, request: web.Request) -> bool:
        """Whether a browser counts the connection as secure: over https, or with this machine."""
        host = request.headers.get("Host", "")
        return self._address.secure or is_loopback(host.rpartition(":")[0].strip("[]") or host)

    async def viewer(self, request: web.Request) -> Viewer | None:
        """Who sent a request; None where somebody has to sign in first."""
        secret = request.cookies.get(self._address.cookie(SESSION), "")
        if (session := self._sessions.find(secret)) is not None:
            person = await self._owner() if session.everything else session.person
            return Viewer(person, session.everything, _form_key(secret), self._sessions.key(secret))
        if self._address.local and self._sent_by_own_user(request):
            return Viewer(await self._owner(), True, self._form_key)
        return None

    def _sent_by_own_user(self, request: web.Request) -> bool:
        names = {name.lower() for name in request.headers}
        if request.transport is None or names & PASSED_ON or any(name.startswith("x-forwarded-") for name in names):
            return False
        if (known := self._own.get(request.transport)) is None:
            peer, here = _end(request, "peername"), _end(request, "sockname")
            known = bool(peer and here and ip_address(peer[0]).is_loopback and is_own_user(peer, here))
            self._own[request.transport] = known
        return known

    def refused(self, request: web.Request) -> web.StreamResponse:
        """Answer somebody who has to sign in."""
        if not self._sign_in.possible:
            raise web.HTTPForbidden(text="Only the user who runs the bot may open this page.")
        if request.method in SAFE and request.headers.get("Sec-Fetch-Mode", "navigate") == "navigate":
            return self._sign_in.leading_to(request)
        anew = {"HX-Refresh": "true"} if request.method in SAFE else {}  # what is typed into a form stays
        raise web.HTTPUnauthorized(text="You are not signed in any more. Open the page again.", headers=anew)

    def sign_out(self, request: web.Request) -> web.StreamResponse:
        """End the session of a browser."""
        return self._sign_in.sign_out(request)


def _own_address(request: web.Request) -> frozenset[str]:
    """The address that a connection reached us by, as a host: a number cannot be made to mean another machine."""
    here = _end(request, "sockname")
    return ConsoleAddress(*here).hosts if here else frozenset()


def _end(request: web.Request, name: str) -> tuple[str, int] | None:
    found = request.transport.get_extra_info(name) if request.transport is not None else None
    return cast("tuple[str, int]", found[:2]) if found else None


def _form_key(secret: str) -> str:
    """What forms of a session carry; it says nothing about the secret."""
    return hashlib.sha256(f"form\n{secret}".encode()).hexdigest()[:40]
