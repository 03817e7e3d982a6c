"""The console's web server: who may come in, what answers, and the headers of every answer."""

from __future__ import annotations

import asyncio
import gc
import logging
import secrets
from collections.abc import Iterable
from http import HTTPStatus

from aiohttp import web
from aiohttp.typedefs import Handler as WebHandler

from agentic.ports.errors import AgenticError
from bot.console.access.entrance import SAFE, Entrance
from bot.console.access.form_data import FORM_BYTES, read_form
from bot.console.access.viewer import Viewer
from bot.console.bot_channel import UNKNOWN, AskedTooOften, BotSilent
from bot.console.console_context import Console, Handler, Route, unreadable
from bot.console.hindsight import compare, time_travel
from bot.console.listener import Listener
from bot.console.overall import health_page, judgement_page, lessons_page, search_page
from bot.console.page_templates import STATIC, VERSIONS
from bot.console.pages import (
    downloads,
    figures_page,
    files_page,
    home_page,
    identity,
    live,
    task,
    task_acts,
    terminal_page,
    why,
    world,
)
from reflexion.errors import ReflexionError

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
SERVER = "Threadwright"
ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin"}
"""What browsers ignore, with a warning, over http from elsewhere than this machine."""
ROUTES: tuple[Route, ...] = (
    *home_page.ROUTES,
    *search_page.ROUTES,
    *lessons_page.ROUTES,
    *judgement_page.ROUTES,
    *health_page.ROUTES,
    *task.ROUTES,
    *live.ROUTES,
    *task_acts.ROUTES,
    *identity.ROUTES,
    *world.ROUTES,
    *downloads.ROUTES,
    *why.ROUTES,
    *compare.ROUTES,
    *time_travel.ROUTES,
    *figures_page.ROUTES,
    *terminal_page.ROUTES,
    *files_page.ROUTES,
)
TRY_AGAIN = "10"
"""Seconds after which the bot asks Discord again for somebody who asked for too much."""
KEPT, CHECKED = "private, max-age=31536000, immutable", "private, no-cache"
"""How long browsers keep a static file whose address names its content; and any other."""
VIEWER = web.RequestKey("viewer", Viewer)
BEGUN = web.RequestKey("begun", web.StreamResponse)
"""The answer whose first part was sent."""

log = logging.getLogger(__name__)


class ConsoleServer:
    """Listens from ``open`` to ``close``."""

    def __init__(self, console: Console, entrance: Entrance, routes: Iterable[Route] = ROUTES) -> None:
        self._console, self._entrance = console, entrance
        self._app = web.Application(middlewares=[self._guarded], client_max_size=FORM_BYTES)
        self._app.on_response_prepare.append(self._guard)
        for method, path, handler in (*routes, ("POST", "/sign-out", self._sign_out)):
            self._add(method, path, self._answering(handler))
        for method, path, enter in entrance.routes():
            self._add(method, path, enter)
        self._add("GET", r"/static/{name:[\w.-]+}", _static)
        self._listener = Listener(self._app, {**HEADERS, "Server": SERVER})

    def _add(self, method: str, path: str, answering: WebHandler) -> None:
        if method == "GET":
            self._app.router.add_get(path, answering)  # and HEAD
        else:
            self._app.router.add_route(method, path, answering)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens: host and port."""
        return self._listener.address

    async def prepare(self) -> None:
        """Do beforehand what the first page would wait for."""
        await asyncio.to_thread(self._console.pages.prepare)
        gc.freeze()  # what was loaded until now stays: the collector need not look through it again and again

    async def _guard(self, request: web.Request, answer: web.StreamResponse) -> None:
        headers = {**HEADERS, **(ISOLATED if self._entrance.is_trustworthy(request) else {})}
        for name, value in headers.items():
            answer.headers.setdefault(name, value)
        answer.headers["Server"] = SERVER
        request[BEGUN] = answer

    async def open(self, host: str, port: int) -> None:
        """Listen; port 0 for any that is free. Raises ``OSError``, ``NoWayIn``."""
        self._entrance.will_listen_at(host)
        await self._listener.open(host, port, self._entrance.listens_at)

    async def close(self) -> None:
        """End all connections."""
        await self._console.followers.close()
        await self._listener.close()

    async def _sign_out(self, console: Console, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        return self._entrance.sign_out(request)

    async def _known(self, request: web.Request) -> Viewer | None:
        """Who sent a request, whom its error page greets too."""
        viewer = await self._entrance.viewer(request)
        if viewer is not None:
            request[VIEWER] = viewer
        return viewer

    def _answering(self, handler: Handler) -> WebHandler:
        async def answered(request: web.Request) -> web.StreamResponse:
            viewer = await self._known(request)
            if viewer is None:
                return self._entrance.refused(request)
            if request.method not in SAFE:
                await _of_a_form(request, viewer)
            await self._console.logs.look()
            answer = await handler(self._console, request, viewer)
            return await downloads.as_asked(self._console, request, answer) if request.method in SAFE else answer

        return answered

    @web.middleware
    async def _guarded(self, request: web.Request, handler: WebHandler) -> web.StreamResponse:
        try:
            self._entrance.check(request)
            if request.match_info.http_exception is not None:  # no page of ours
                await self._known(request)
            return await handler(request)
        except web.HTTPException as refused:
            if refused.status < HTTPStatus.BAD_REQUEST:
                raise
            unsaid = refused.text == f"{refused.status}: {refused.reason}"
            words = refused.reason if unsaid else refused.text or refused.reason
            answer = self._trouble(request, refused.status, words)
            for name in ("Allow", "Retry-After", "HX-Refresh"):
                if name in refused.headers:
                    answer.headers[name] = refused.headers[name]
            return answer
        except AskedTooOften as often:
            answer = self._trouble(request, 429, str(often))
            answer.headers["Retry-After"] = TRY_AGAIN
            return answer
        except BotSilent:
            return self._trouble(request, 503, UNKNOWN)
        except (AgenticError, ReflexionError) as error:
            return self._trouble(request, 503, unreadable(error))
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception:
            log.exception("a fault of ours: %s %s", request.method, request.path)
            return self._trouble(request, 500, "This page has a fault of ours. The bot's log says more.")

    def _trouble(self, request: web.Request, status: int, words: str) -> web.StreamResponse:
        """An error page; where an answer has begun it is cut off instead, so that nobody takes it for whole."""
        if (begun := request.get(BEGUN)) is not None:
            log.warning("cut off, %s %s: %s", request.method, request.path, words)
            if request.transport is not None:
                request.transport.abort()
            return begun
        text = self._console.pages.render("trouble.html", words=words, status=status, viewer=request.get(VIEWER))
        return web.Response(status=status, text=text, content_type="text/html")


async def _of_a_form(request: web.Request, viewer: Viewer) -> None:
    """Refuse what another page sends in somebody's name: a form carries the key that only our pages have."""
    form = await read_form(request)
    given = request.headers.get("X-Form-Key") or form.get("form_key", "")
    if not secrets.compare_digest(given.encode("utf-8", "replace"), viewer.form_key.encode()):
        raise web.HTTPForbidden(text="This form is no longer valid. Open the page again.")


async def _static(request: web.Request) -> web.StreamResponse:
    path = STATIC / request.match_info["name"]
    if not path.is_file():
        raise web.HTTPNotFound(text="There is no such file.")
    named = request.query.get("v") == VERSIONS.get(path.name)
    return web.FileResponse(path, headers={"Cache-Control": KEPT if named else CHECKED})
