"""Check the place where webhooks are received: a running bot listens there, or one could."""

from __future__ import annotations

import asyncio

import aiohttp

from bot.after_run.webhook_server import HERE, MAKE_ONE, UNSIGNED, CannotListen, cannot_listen

SECONDS = 5.0


async def trouble(address: tuple[str, int], *, has_secret: bool) -> CannotListen | None:
    """Why no webhook would be received; None where a bot listens, or nobody does and the place is free."""
    if not has_secret:
        return CannotListen(UNSIGNED, MAKE_ONE)
    try:
        server = await asyncio.get_running_loop().create_server(asyncio.Protocol, *address)
    except OSError as error:
        return None if await _is_ours(address) else cannot_listen(address, error)
    server.close()
    await server.wait_closed()
    return None


async def _is_ours(address: tuple[str, int]) -> bool:
    """Whether a running bot is what listens there."""
    host, port = address
    place = f"[{host}]" if ":" in host else host
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS)) as session,
            session.get(f"http://{place}:{port}/", allow_redirects=False) as answer,
        ):
            return HERE.encode() in await answer.content.read(1_000)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return False
