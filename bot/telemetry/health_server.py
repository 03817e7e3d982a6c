"""Says over HTTP whether the process is alive and whether it is ready, with each part of it and what to do.

``/healthz``: the event loop turns, or nobody would answer.  ``/readyz``: every part that this process needs works, and it
is not ending.  Which parts there are depends on what the process is for, so whoever builds it names them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from aiohttp import web

from bot.telemetry.bounded_server import BoundedServer, why_not

LIVE, READY = "/healthz", "/readyz"
CHECK_SECONDS = 3.0
"""So long a part may take to say how it is."""
FRESH_SECONDS = 1.0
"""So long an answer is given again: whoever asks often does not load the parts."""
PartState = Literal["ok", "limited", "failing"]
"""limited: it works, and less is possible; such a process is ready."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PartHealth:
    """One part of the process."""

    name: str
    state: PartState
    what: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """How a part is asked."""

    name: str
    ask: Callable[[], Awaitable[PartHealth]]


class HealthServer:
    """Listens from ``open`` to ``close``."""

    def __init__(
        self, address: tuple[str, int], role: str, checks: Sequence[HealthCheck], stall: Callable[[float], float]
    ) -> None:
        self._address, self._role, self._checks, self._stall = address, role, checks, stall
        self._server = BoundedServer(address, self._answer)
        self._last: tuple[float, tuple[PartHealth, ...]] | None = None
        self._looking = asyncio.Lock()

    async def open(self) -> None:
        """Listen.  Raises ``OSError``, whose text says what to do."""
        try:
            await self._server.open()
        except OSError as error:
            todo = "Set THREADWRIGHT_HEALTH to another one (each process of the bot needs its own), or leave it out"
            raise OSError(
                f"{why_not(self._address, error)}, so nobody could ask whether the bot is well. {todo}"
            ) from error

    async def close(self) -> None:
        """Stop listening."""
        await self._server.close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD"):
            raise web.HTTPMethodNotAllowed(request.method, ["GET", "HEAD"])
        if request.path == LIVE:
            stall = round(self._stall(60.0), 3)
            return web.json_response({"status": "ok", "role": self._role, "longest_stall_seconds": stall})
        if request.path != READY:
            raise web.HTTPNotFound(text=f"Ask {LIVE} or {READY}.\n")
        parts = await self._parts()
        ready = all(part.state != "failing" for part in parts)
        said = {"status": "ok" if ready else "failing", "role": self._role, "parts": [asdict(part) for part in parts]}
        return web.json_response(said, status=200 if ready else 503)

    async def _parts(self) -> tuple[PartHealth, ...]:
        async with self._looking:
            now = asyncio.get_running_loop().time()
            if self._last is None or now - self._last[0] > FRESH_SECONDS:
                self._last = now, tuple(await asyncio.gather(*(_asked(check) for check in self._checks)))
            return self._last[1]


async def _asked(check: HealthCheck) -> PartHealth:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check.ask()
    except TimeoutError:
        return PartHealth(
            check.name, "failing", f"it did not answer in {CHECK_SECONDS:.0f} s", "Look at the log, and restart it"
        )
    except Exception:  # an answer is owed, whatever is wrong
        log.exception("a fault of ours: %s cannot be asked", check.name)
        return PartHealth(check.name, "failing", "it cannot be asked", "Look at the log")
