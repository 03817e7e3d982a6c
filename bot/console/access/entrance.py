"""Who comes in: nobody from a foreign page, on this machine the user who runs the console, elsewhere whoever signs in."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from ipaddress import ip_address

from aiohttp import web

from agentic.core.events.execution_events import Person
from bot.console.access.same_user import is_own_user
from bot.console.access.viewer import Viewer

SAFE = ("GET", "HEAD")


class Entrance:
    """Decides for each request who sent it. ``owner`` tells as whom the user of this machine acts."""

    def __init__(self, owner: Callable[[], Awaitable[Person]]) -> None:
        self._owner = owner
        self._hosts: frozenset[str] = frozenset()
        self._form_key = secrets.token_urlsafe(24)

    def listens_at(self, host: str, port: int) -> None:
        """The address is known now: requests that name another host are refused."""
        self._hosts = frozenset(f"{name}:{port}" for name in (host, "localhost", "127.0.0.1"))

    def routes(self) -> list[tuple[str, str, Callable[[web.Request], Awaitable[web.StreamResponse]]]]:
        """What answers to somebody who is not in yet."""
        return []

    def check(self, request: web.Request) -> None:
        """Refuse what a foreign page or a renamed host sends. Raises ``HTTPException``."""
        if request.headers.get("Host", "") not in self._hosts:
            raise web.HTTPMisdirectedRequest(text="This address is not the console's. Use the link that the bot gave.")
        if request.method in SAFE:
            return
        origin = request.headers.get("Origin", "")
        site = request.headers.get("Sec-Fetch-Site", "same-origin")
        if origin not in {f"http://{host}" for host in self._hosts} or site != "same-origin":
            raise web.HTTPForbidden(text="Another page sent this.")

    async def viewer(self, request: web.Request) -> Viewer | None:
        """Who sent a request; None where somebody has to sign in first."""
        transport = request.transport
        if transport is None:
            return None
        peer, here = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        if peer is None or not ip_address(peer[0]).is_loopback or not is_own_user(peer[:2], here[:2]):
            return None
        return Viewer(await self._owner(), True, self._form_key)

    def refused(self, request: web.Request) -> web.StreamResponse:
        """Answer somebody who has to sign in."""
        raise web.HTTPForbidden(text="Only the user who runs the bot may open this page.")
