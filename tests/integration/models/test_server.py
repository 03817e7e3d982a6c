"""A model server at an address of one's own: what is said of an address that is wrong, and of a server that is another."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from agentic.models.providers.catalogue import BY_NAME
from agentic.models.providers.server_check import Finding, flaw, look

OPENAI, OLLAMA, ANTHROPIC = BY_NAME["openai"], BY_NAME["ollama_chat"], BY_NAME["anthropic"]


@pytest.fixture
async def server() -> AsyncIterator[str]:
    """One that serves a model by each of the interfaces, and takes one key."""

    async def openai(request: web.Request) -> web.Response:
        if request.headers.get("Authorization") not in (None, "Bearer right"):
            return web.json_response({"error": "no"}, status=401)
        return web.json_response({"data": [{"id": "mine"}]})

    async def tags(_: web.Request) -> web.Response:
        return web.json_response({"models": [{"name": "tiny:latest"}]})

    app = web.Application()
    app.router.add_get("/v1/models", openai)
    app.router.add_get("/api/tags", tags)
    app.router.add_get("/page/models", page)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def page(_: web.Request) -> web.Response:
    return web.Response(text="<html>hello</html>", content_type="text/html")


async def found(address: str, model: str = "openai/mine", **env: str) -> Finding | None:
    return await look(OPENAI, {"OPENAI_BASE_URL": address, **env}, [model], seconds=20)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:8000/v1", "http or https"),
        ("localhost", "http or https"),
        ("ftp://example.org", "no address of a web server"),
        ("http://", "no address of a web server"),
        ("http://[::1", "no address"),
        ("http://127.0.0.1:99999", "no address"),
    ],
)
def test_an_address_that_can_be_none_is_named_before_anything_is_asked(address: str, said: str) -> None:
    wrong = flaw(OPENAI, {"OPENAI_BASE_URL": address})
    assert wrong is not None
    assert wrong.variable == "OPENAI_BASE_URL"
    assert said in wrong.said
    assert "http://" in wrong.instead
    assert flaw(OPENAI, {}) is None


async def test_a_server_that_has_the_model_is_all_right(server: str) -> None:
    assert await found(f"http://{server}/v1", OPENAI_API_KEY="right") is None
    assert await look(OLLAMA, {"OLLAMA_API_BASE": f"http://{server}"}, ["ollama_chat/tiny"], seconds=20) is None
    assert await look(ANTHROPIC, {"ANTHROPIC_BASE_URL": f"http://{server}"}, ["anthropic/mine"], seconds=20) is None
    assert await look(OPENAI, {}, ["openai/mine"]) is None


async def test_what_is_wrong_with_a_server_is_told_with_what_to_do(server: str) -> None:
    https = await found(f"https://{server}/v1")
    assert https is not None
    assert https.said.endswith("speaks http, not https")
    assert https.instead == f"Write http://{server}/v1"
    told = {
        "http://127.0.0.1:9/v1": "nothing answers",
        f"http://{server}": "there is no list of models",
        f"http://{server}/page": "is no model server",
    }
    for address, said in told.items():
        wrong = await found(address)
        assert wrong is not None, address
        assert said in wrong.said
    refused = await found(f"http://{server}/v1", OPENAI_API_KEY="wrong")
    assert refused is not None
    assert "refused the key" in refused.said
    missing = await look(OLLAMA, {"OLLAMA_API_BASE": f"http://{server}"}, ["ollama_chat/other"], seconds=20)
    assert missing == Finding(
        "OLLAMA_API_BASE",
        f"other is not among the models at http://{server} (it has: tiny:latest)",
        "Get it with `ollama pull other`, or name another",
    )


async def test_what_is_no_web_server_and_what_says_nothing_are_told_apart() -> None:
    left: list[asyncio.StreamWriter] = []

    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"\x15\x03\x01\x00\x02\x02\x46")
        writer.close()
        left.append(writer)

    async def hush(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        left.append(writer)

    loud, quiet = await asyncio.start_server(shout, "127.0.0.1", 0), await asyncio.start_server(hush, "127.0.0.1", 0)
    async with loud, quiet:
        shouts, hushes = (f"http://127.0.0.1:{one.sockets[0].getsockname()[1]}/v1" for one in (loud, quiet))
        shouted = await found(shouts)
        hushed = await look(OPENAI, {"OPENAI_BASE_URL": hushes}, ["openai/mine"], seconds=0.2)
        async with asyncio.timeout(20):
            while len(left) < 2:
                await asyncio.sleep(0.01)
            for writer in left:
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()
    assert shouted is not None
    assert "https://" in shouted.instead
    assert hushed is not None
    assert "did not answer" in hushed.said
