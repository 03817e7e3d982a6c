"""Finding an Ollama."""

from __future__ import annotations

import asyncio
import socket

from aiohttp import web

from agentic.models.ollama import find_ollama
from tests.waiting import BOUND


async def serve(handler) -> tuple[web.AppRunner, str]:
    app = web.Application()
    app.router.add_get("/api/tags", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


async def test_its_models_are_offered_without_those_that_only_embed():
    async def tags(request: web.Request) -> web.Response:
        return web.json_response({"models": [{"name": "nomic-embed-text:latest"}, {"name": "qwen3:8b", "size": 1}]})

    runner, address = await serve(tags)
    async with asyncio.timeout(BOUND):
        found = await find_ollama(60, {"OLLAMA_API_BASE": address})
    await runner.cleanup()
    assert found is not None
    assert found.models == ("ollama_chat/qwen3:8b",)
    assert "THREADWRIGHT_TIER_2=ollama_chat/qwen3:8b" in found.offer()


async def test_one_without_models_says_how_to_get_one():
    async def tags(request: web.Request) -> web.Response:
        return web.json_response({"models": []})

    runner, address = await serve(tags)
    async with asyncio.timeout(BOUND):
        found = await find_ollama(60, address=address)
    await runner.cleanup()
    assert found is not None
    assert "ollama pull" in found.offer()


async def test_nothing_listening_is_nothing_found():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with asyncio.timeout(BOUND):
            assert await find_ollama(address=f"http://127.0.0.1:{taken.getsockname()[1]}") is None


async def test_something_else_on_the_port_or_something_slow_is_nothing_found():
    async def page(request: web.Request) -> web.Response:
        return web.Response(text="<html>", content_type="text/html")

    async def slow(request: web.Request) -> web.Response:
        return await asyncio.Future[web.Response]()

    for handler in (page, slow):
        runner, address = await serve(handler)
        async with asyncio.timeout(BOUND):
            assert await find_ollama(0.3, address=address) is None
        await runner.cleanup()
