"""Somebody who receives the events as HTTP requests, and holds each signature against the secret by themselves."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

SECRET = "whsec_" + b64encode(bytes(range(32))).decode()
HOST = "hooks.test"


@dataclass
class Receiver:
    """What was received; ``status`` is what it answers, by what it is sent."""

    port: int = 0
    status: Callable[[dict[str, Any]], int] = lambda _: 204
    got: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refused: list[str] = field(default_factory=list[str])
    forged: list[str] = field(default_factory=list[str])
    silent: asyncio.Event | None = None
    """It answers nothing until this is set."""
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/hooks"

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait until something is so, which can become so with each request."""
        async with asyncio.timeout(60):
            while not done():
                self.heard.clear()
                await self.heard.wait()

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        id, at, signed = (request.headers[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        key = b64decode(SECRET.removeprefix("whsec_"))
        right = b64encode(hmac.new(key, f"{id}.{at}.{body.decode()}".encode(), hashlib.sha256).digest()).decode()
        event = json.loads(body)
        if signed != f"v1,{right}" or event["key"] != id:
            self.forged.append(id)
        status = self.status(event)
        if 200 <= status < 300:
            self.got.append(event)
        else:
            self.refused.append(id)
        self.heard.set()
        if self.silent is not None:
            await self.silent.wait()
        return web.Response(status=status, headers={"Location": "/elsewhere"} if status == 302 else {})


async def found_here(_host: str, _port: int) -> Sequence[str]:
    """Every name is this machine."""
    return ("127.0.0.1",)


@asynccontextmanager
async def receiver() -> AsyncGenerator[Receiver]:
    """It listens until the end."""
    made = Receiver()
    served = web.Application()
    served.router.add_post("/hooks", made.answer)
    runner = web.AppRunner(served, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.port = runner.addresses[0][1]
    try:
        yield made
    finally:
        await runner.cleanup()
