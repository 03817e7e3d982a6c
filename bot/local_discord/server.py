"""The one port: REST, gateway, files and page, behind a guard that refuses foreign origins.

A page elsewhere on the web can make a browser send requests to 127.0.0.1 (CSRF), and a name that resolves to 127.0.0.1
makes it read the answers too (DNS rebinding). Both show in the headers: the Host must be a loopback name, an Origin,
where there is one, must be this server's own, and where a browser states the requesting site (Sec-Fetch-Site), it must
not be another port of this machine, except for links to the page and to the one where people allow an application
something.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import urlsplit

from aiohttp import web

from bot.local_discord.gateway.gateway import Gateway
from bot.local_discord.model.json_fields import encode
from bot.local_discord.model.state import GuildState
from bot.local_discord.new_guild import Founded
from bot.local_discord.rest.cdn import Cdn
from bot.local_discord.rest.endpoint import PREFIX, Api
from bot.local_discord.rest.rate_limit_buckets import Allowances
from bot.local_discord.rest.routes_channels import ChannelRoutes
from bot.local_discord.rest.routes_guild import GuildRoutes
from bot.local_discord.rest.routes_interactions import CommandRoutes, InteractionRoutes
from bot.local_discord.rest.routes_messages import MessageRoutes
from bot.local_discord.rest.routes_oauth import OAuthRoutes
from bot.local_discord.rest.routes_polls import PollRoutes
from bot.local_discord.threads.auto_archive import LOOK_EVERY_SECONDS, archive_quiet
from bot.local_discord.web.chat_page import AUTHORIZE, Page
from bot.local_discord.web.page_access import Access

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

LINKED = ("/", AUTHORIZE)
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class Server:
    """The web server on loopback that serves the guild."""

    def __init__(self, home: Founded, allowed: Allowances, address: str) -> None:
        self.url = f"http://{address}"
        self.port = int(address.rpartition(":")[2])
        self.api = Api(home.state, home.commands, home.token, address, allowed)
        self.gateway = Gateway(self.api)
        self.access = Access(home.store, home.state.clock, self.port)
        self._page = Page(self.api, self.gateway, self.access)
        self._runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=0.5)
        self._look = asyncio.create_task(_archive_by_and_by(home.state))

    @property
    def rest_base(self) -> str:
        """The address of the REST API."""
        return self.url + PREFIX

    @property
    def gateway_url(self) -> str:
        """The address of the gateway."""
        return self.api.gateway_url

    @classmethod
    async def start(cls, home: Founded, allowed: Allowances, host: str, port: int, rather: int = 0) -> Server:
        """Listen; the port is bound first, because addresses in payloads contain it.

        ``rather`` is a port to take instead of ``port`` if it is free.
        """
        if host not in LOOPBACK:
            raise ValueError(f"The local guild listens on loopback only; {host!r} is not. Use 127.0.0.1.")
        sock = _bound(host, port, rather)
        shown = f"[{host}]" if ":" in host else host
        address = f"{shown}:{sock.getsockname()[1]}"
        server = cls(home, allowed, address)
        await server._runner.setup()
        await web.SockSite(server._runner, sock).start()
        return server

    def _application(self) -> web.Application:
        app = web.Application(middlewares=[refuse_strangers], client_max_size=32 * 1024 * 1024)
        for part in (GuildRoutes, ChannelRoutes, MessageRoutes, InteractionRoutes, CommandRoutes, PollRoutes):
            app.add_routes(part(self.api).routes())
        app.add_routes(Cdn(self.api.state, self.api.view.signer).routes())
        app.add_routes(OAuthRoutes(self.api).routes())
        app.add_routes(self._page.routes())
        app.router.add_get("/gateway", self.gateway.handle)
        app.router.add_get("/gateway/", self.gateway.handle)
        app.router.add_route("*", PREFIX + "/{rest:.*}", _not_found)
        return app

    async def close(self) -> None:
        """Disconnect everyone and free the port."""
        self._look.cancel()
        self.api.interactions.close()
        self.gateway.disconnect(1001)
        await self._page.close()
        await self._runner.cleanup()


def _bound(host: str, port: int, rather: int = 0) -> socket.socket:
    if rather:
        with suppress(OSError):
            return _bound(host, rather)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        reason = f"Port {port} on {host} is taken ({error.strerror}). Stop what listens there, or choose another port."
        raise OSError(error.errno, reason) from error
    return sock


async def _archive_by_and_by(state: GuildState) -> None:
    while True:
        await asyncio.sleep(LOOK_EVERY_SECONDS)
        archive_quiet(state)


async def _not_found(_: web.Request) -> web.Response:
    body = encode({"message": "404: Not Found", "code": 0})
    return web.Response(body=body, status=404, content_type="application/json")


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
    """Whether a page of another address sent the request; links to the pages themselves may be anywhere."""
    said = request.headers.get
    if said("Sec-Fetch-Site", "none") in ("none", "same-origin"):
        return False
    return not (request.method == "GET" and request.path in LINKED and said("Sec-Fetch-Dest") == "document")


@web.middleware
async def refuse_strangers(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse a foreign Host or Origin before the request is read."""
    host = request.headers.get("Host", "")
    origin = request.headers.get("Origin")
    foreign = origin is not None and not is_own_origin(origin, host)
    if not is_loopback(host) or foreign or _asked_from_elsewhere(request):
        return web.Response(status=403, text="This server answers only to pages of its own.\n")
    return await handler(request)
