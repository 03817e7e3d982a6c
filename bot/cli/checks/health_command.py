"""`threadwright health`: ask the process that runs here whether it is ready, or only alive; for containers too."""

from __future__ import annotations

import asyncio
import http.client
import json
from typing import Any, cast

from bot.cli.console import fail, say
from bot.config.settings import Settings
from bot.telemetry.health_server import LIVE, READY

SECONDS = 5.0
ANSWER_BYTES = 100_000
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where one listens at all of them, one asks here
NOT_SET = (
    "THREADWRIGHT_HEALTH is not set, so the bot does not say how it is. Set it to 127.0.0.1:8092, here and for the bot."
)


async def health(settings: Settings, *, live: bool) -> int:
    """Print how it is; 0 if it is well, 1 if it is not or says nothing, 64 if nobody said where to ask."""
    address = settings.health_address
    if address is None:
        fail(NOT_SET)
        return 64
    place = f"{address[0]}:{address[1]}"
    try:
        status, said = await asyncio.to_thread(_asked, address, LIVE if live else READY)
    except (OSError, http.client.HTTPException, ValueError) as error:
        return fail(
            f"Nothing that could be well answers at {place}: {error}. Is the bot running, with THREADWRIGHT_HEALTH set?"
        )
    for part in said.get("parts", []):
        todo = f". {part['todo']}" if part["todo"] else ""
        say(f"{part['state']:8} {part['name']}: {part['what']}{todo}")
    say(f"{said.get('status')}, {place}")
    return 0 if status == http.client.OK else 1


def _asked(address: tuple[str, int], path: str) -> tuple[int, dict[str, Any]]:
    """The status and what is said.  Raises ``OSError``, ``HTTPException``, ``ValueError``."""
    connection = http.client.HTTPConnection(EVERYWHERE.get(address[0], address[0]), address[1], timeout=SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        said = json.loads(answer.read(ANSWER_BYTES))
    finally:
        connection.close()
    if not isinstance(said, dict):
        raise ValueError("what answers is no Threadwright")
    return answer.status, cast("dict[str, Any]", said)
