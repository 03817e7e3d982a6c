"""The console's web server: who may come in, what answers, and the headers of every answer."""

from __future__ import annotations

import asyncio
import gc
import logging
import secrets
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler as WebHandler

from agentic.ports.errors import AgenticError
from bot.console.access.entrance import SAFE, Entrance
from bot.console.access.form_data import FORM_BYTES, read_form
from bot.console.access.viewer import Viewer
from bot.console.bot_channel import UNKNOWN, AskedTooOften, BotSilent
from bot.console.console_context import Console, Handler, Route
from bot.console.hindsight import compare, time_travel
from bot.console.listener import Listener
from bot.console.overall import health_page, judgement_page, lessons_page, search_page
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

STATIC = Path(__file__).with_name("static")
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
STATIC_SECONDS = 3600
TRY_AGAIN = "10"
"""Seconds after which the bot asks Discord again for somebody who asked for too much."""

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
        self._listener = Listener(self._app)

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
        answer.headers["Server"] = "Threadwright"

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

    def _answering(self, handler: Handler) -> WebHandler:
        async def answered(request: web.Request) -> web.StreamResponse:
            viewer = await self._entrance.viewer(request)
            if viewer is None:
                return self._entrance.refused(request)
            if request.method not in SAFE:
                await _of_a_form(request, viewer)
            answer = await handler(self._console, request, viewer)
            return await downloads.as_asked(self._console, request, answer) if request.method in SAFE else answer

        return answered

    @web.middleware
    async def _guarded(self, request: web.Request, handler: WebHandler) -> web.StreamResponse:
        try:
            self._entrance.check(request)
            answer = await handler(request)
        except web.HTTPException as refused:
            if refused.status < HTTPStatus.BAD_REQUEST:
                raise
            unsaid = refused.text == f"{refused.status}: {refused.reason}"
            answer = self._trouble(refused.status, refused.reason if unsaid else refused.text or refused.reason)
            for name in ("Allow", "Retry-After", "HX-Refresh"):
                if name in refused.headers:
                    answer.headers[name] = refused.headers[name]
        except AskedTooOften as often:
            answer = self._trouble(429, str(often))
            answer.headers["Retry-After"] = TRY_AGAIN
        except BotSilent:
            answer = self._trouble(503, UNKNOWN)
        except (AgenticError, ReflexionError) as error:
            answer = self._trouble(503, f"The store does not answer now: {error}. Try again in a moment.")
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception:
            log.exception("a fault of ours: %s %s", request.method, request.path)
            answer = self._trouble(500, "This page has a fault of ours. The bot's log says more.")
        return answer

    def _trouble(self, status: int, words: str) -> web.Response:
        text = self._console.pages.render("trouble.html", words=words, status=status, viewer=None)
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
    return web.FileResponse(path, headers={"Cache-Control": f"private, max-age={STATIC_SECONDS}"})
