"""A model endpoint that answers from a script: real HTTP on loopback, OpenAI's and Anthropic's protocols.

Tests and the bench go through the real client libraries with it::

    async with ScriptedEndpoint.start([Reply("hello")]) as endpoint:
        ...  # endpoint.url, endpoint.environment(), endpoint.requests

A script is a list of replies, taken in order, or a function of the captured request.  Where the function raises, the
request is answered with status 400 and the error is raised again when the endpoint closes, so that the test fails.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Final, Self

from aiohttp import web

from agentic.models.scripted import endpoint_anthropic, endpoint_openai
from agentic.models.scripted.captured_request import CapturedRequest, Protocol, capture
from agentic.models.scripted.replies import Break, Reply

Script = Iterable[Reply] | Callable[[CapturedRequest], Reply | Awaitable[Reply]]

FOREVER: Final = 3600.0
NOTHING_LEFT: Final = "the script has no reply left for this request"


class ScriptedEndpoint:
    """A running endpoint; ``requests`` holds what it was sent, in order of arrival."""

    def __init__(self, script: Script, *, capture_requests: bool = True) -> None:
        self._script = script if callable(script) else iter(tuple(script))
        self._capture = capture_requests
        self._runner: web.AppRunner | None = None
        self._count = 0
        self._answered_at = 0.0
        self.url = ""
        self.requests: list[CapturedRequest] = []
        self.sounds: list[bytes] = []
        """What it was sent to be written down."""
        self.words = ""
        """What it hears in any sound; '' for nothing, which is an error."""
        self.failures: list[BaseException] = []
        self.gaps: list[float] = []
        """Seconds from an answer's last byte to the arrival of the next request."""
        self.left_at: dict[int, float] = {}
        """When (monotonic) the client went away before its answer was complete, by the request's number."""
        self.left = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def start(cls, script: Script = (), *, port: int = 0, capture_requests: bool = True) -> AsyncGenerator[Self]:
        """Serve until the block ends; raises what a script function raised."""
        endpoint = cls(script, capture_requests=capture_requests)
        await endpoint.open(port)
        try:
            yield endpoint
        finally:
            await endpoint.close()
        if endpoint.failures:
            raise endpoint.failures[0]

    async def open(self, port: int = 0) -> None:
        """Listen on loopback."""
        app = web.Application(client_max_size=1 << 30)
        for prefix in ("", "/v1"):
            app.router.add_post(f"{prefix}/chat/completions", self._openai)
            app.router.add_post(f"{prefix}/messages", self._anthropic)
            app.router.add_get(f"{prefix}/models", self._models)
            app.router.add_post(f"{prefix}/audio/transcriptions", self._hear)
        app.router.add_get("/scripted/gaps", self._gaps)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        host, bound = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{bound}"

    async def close(self) -> None:
        """Stop listening and drop what is open."""
        if self._runner is not None:
            await self._runner.cleanup()

    def environment(self) -> dict[str, str]:
        """The variables by which a process finds this endpoint as a provider's."""
        return {
            "OPENAI_API_KEY": "scripted",
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "ANTHROPIC_API_KEY": "scripted",
            "ANTHROPIC_BASE_URL": self.url,
            "HOSTED_VLLM_API_KEY": "scripted",
            "HOSTED_VLLM_API_BASE": f"{self.url}/v1",
        }

    async def _models(self, request: web.Request) -> web.Response:
        row = {"id": "scripted", "object": "model", "created": 0, "owned_by": "threadwright"}
        return web.json_response({"object": "list", "data": [row]})

    async def _hear(self, request: web.Request) -> web.Response:
        sound = (await request.post())["file"]
        self.sounds.append(sound.file.read() if isinstance(sound, web.FileField) else b"")
        if not self.words:
            return web.json_response({"error": {"message": "nothing can be heard"}}, status=400)
        return web.json_response({"text": self.words})

    async def _gaps(self, request: web.Request) -> web.Response:
        taken, self.gaps = self.gaps, []
        self._answered_at = 0.0
        return web.json_response({"gaps_ms": [gap * 1000 for gap in taken]})

    async def _openai(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, "openai", endpoint_openai)

    async def _anthropic(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, "anthropic", endpoint_anthropic)

    async def _serve(self, http: web.Request, protocol: Protocol, speaks: ModuleType) -> web.StreamResponse:
        if self._answered_at:
            self.gaps.append(time.monotonic() - self._answered_at)
        self._count += 1
        number = self._count
        request = capture(number, protocol, dict(http.headers), await http.read())
        if self._capture:
            self.requests.append(request)
        try:
            return await self._reply(http, request, await self._next(request), speaks)
        except (asyncio.CancelledError, ConnectionError):
            self.left_at[number] = time.monotonic()
            self.left.set()
            raise

    async def _next(self, request: CapturedRequest) -> Reply:
        if not callable(self._script):
            return next(self._script, None) or Reply.error(400, NOTHING_LEFT)
        try:
            reply = self._script(request)
            return await reply if inspect.isawaitable(reply) else reply
        except Exception as error:  # noqa: BLE001 - whatever a script raises is raised again by ``start``
            self.failures.append(error)
            return Reply.error(400, f"the script failed: {error}")

    async def _reply(
        self, http: web.Request, request: CapturedRequest, reply: Reply, speaks: ModuleType
    ) -> web.StreamResponse:
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.raw is not None or reply.status >= 400:
            raw = reply.raw if reply.raw is not None else speaks.error_body(reply.status, reply.failure)
            kind = "text/event-stream" if request.stream and reply.status < 400 else "application/json"
            return self._whole(raw.encode() if isinstance(raw, str) else raw, reply.status, reply.headers, kind)
        if request.stream:
            return await self._stream(http, request, reply, speaks)
        if reply.broken:
            await self._break(http, None, reply, speaks)
            return web.Response()  # nobody is there to get it
        return self._whole(
            speaks.body(reply, request, int(time.time())), reply.status, reply.headers, "application/json"
        )

    def _whole(self, body: bytes, status: int, headers: Mapping[str, str], kind: str) -> web.Response:
        self._answered_at = time.monotonic()
        return web.Response(body=body, status=status, headers=headers, content_type=kind)

    async def _stream(
        self, http: web.Request, request: CapturedRequest, reply: Reply, speaks: ModuleType
    ) -> web.StreamResponse:
        response = web.StreamResponse(
            status=reply.status, headers={**reply.headers, "content-type": "text/event-stream"}
        )
        await response.prepare(http)
        for sent, piece in enumerate(speaks.pieces(reply, request, int(time.time()))):
            if reply.broken and sent > reply.broken.after:
                await self._break(http, response, reply, speaks)
                return response
            await response.write(piece)
            if reply.pace:
                await asyncio.sleep(reply.pace)
        await response.write_eof()
        self._answered_at = time.monotonic()
        return response

    async def _break(
        self, http: web.Request, stream: web.StreamResponse | None, reply: Reply, speaks: ModuleType
    ) -> None:
        broken = reply.broken or Break("stall")
        if broken.how == "stall":
            await asyncio.sleep(FOREVER)
        elif broken.how == "error" and stream is not None:
            await stream.write(speaks.broken_event(reply.failure))
            await stream.write_eof()
        elif http.transport is not None:
            http.transport.abort()
