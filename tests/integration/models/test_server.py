"""A model server at an address of one's own: what is said of an address that is wrong, and of a server that is another."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from aiohttp import web

from agentic.models.providers.catalogue import BY_NAME
from agentic.models.providers.server_check import MOST_BYTES, Finding, ask, flaw, lists, unlisted
from tests.waiting import eventually

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

    async def long(request: web.Request) -> web.StreamResponse:
        """A list of 12,000 models, written in pieces; ``/endless``: with so much space behind it that it is cut."""
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"data": [{"id": "first"}')
        for _ in range(12):
            await response.write(b"".join(b',{"id": "a-model-with-a-long-name"}' for _ in range(1_000)))
        await response.write(b',{"id": "last"}]}')
        if request.path == "/endless/models":
            for _ in range(MOST_BYTES // 1_000_000 + 1):
                await response.write(b" " * 1_000_000)
        return response

    app = web.Application()
    app.router.add_get("/long/models", long)
    app.router.add_get("/endless/models", long)
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


async def found(address: str, **env: str) -> tuple[str, ...] | Finding:
    return await ask(OPENAI, {"OPENAI_BASE_URL": address, **env}, seconds=20)


async def wrong_with(address: str, **env: str) -> Finding:
    answer = await found(address, **env)
    assert isinstance(answer, Finding), address
    return answer


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


async def test_a_server_is_asked_for_its_models_by_each_interface(server: str) -> None:
    assert await found(f"http://{server}/v1", OPENAI_API_KEY="right") == ("mine",)
    assert await ask(OLLAMA, {"OLLAMA_API_BASE": f"http://{server}"}, seconds=20) == ("tiny:latest",)
    assert await ask(ANTHROPIC, {"ANTHROPIC_BASE_URL": f"http://{server}"}, seconds=20) == ("mine",)


async def test_a_long_list_that_comes_in_pieces_is_read_to_its_end_and_an_endless_one_is_not(server: str) -> None:
    names = await found(f"http://{server}/long")
    assert isinstance(names, tuple), names
    assert (names[0], names[-1], len(names)) == ("first", "last", 12_002)
    wrong = await wrong_with(f"http://{server}/endless")
    assert wrong.said.endswith("cannot be asked (it answered with more than 4,000,000 bytes)")
    assert wrong.kind == "unknown"


@pytest.mark.parametrize(
    ("model", "listed"),
    [
        ("openai/mine", True), ("anthropic/dated", True), ("anthropic/dated-latest", True), ("openai/day", True),
        ("ollama_chat/tiny", True), ("openrouter/maker/some:free", True), ("openai/min", False), ("mine", True),
        ("openai/some:free", False),
    ],
)  # fmt: skip
def test_a_model_is_listed_also_by_its_name_without_a_date(model: str, listed: bool) -> None:
    names = ("mine", "dated-20260101", "day-2026-01-01", "tiny:latest", "maker/some")
    assert lists(names, model) == listed


async def test_what_is_wrong_with_a_server_is_told_with_what_to_do(server: str) -> None:
    https = await wrong_with(f"https://{server}/v1")
    assert https.said.endswith("speaks http, not https")
    assert https.instead == f"Write http://{server}/v1"
    told = {
        "http://127.0.0.1:9/v1": ("nothing answers", "unknown"),
        f"http://{server}": ("there is no list of models", "wrong"),
        f"http://{server}/page": ("is no model server", "wrong"),
    }
    for address, (said, kind) in told.items():
        wrong = await wrong_with(address)
        assert said in wrong.said
        assert wrong.kind == kind
    refused = await wrong_with(f"http://{server}/v1", OPENAI_API_KEY="wrong")
    assert "refused the key" in refused.said
    assert refused.kind == "refused"


def test_a_model_that_a_server_does_not_list_is_named_with_what_it_has() -> None:
    assert unlisted(OPENAI, {}, ("mine",), "openai/mine") is None
    env = {"OLLAMA_API_BASE": "http://there"}
    assert unlisted(OLLAMA, env, ("tiny:latest",), "ollama_chat/other") == Finding(
        "OLLAMA_API_BASE",
        "other is not among the models at http://there (it has: tiny:latest)",
        "Get it with `ollama pull other`, or name another",
    )
    typo = unlisted(OPENAI, {}, ("gpt-5.4-mini", "whisper"), "openai/gtp-5.4-mini")
    assert typo is not None
    assert typo.instead == "Did you mean gpt-5.4-mini?"


async def test_without_an_address_the_provider_is_asked_and_a_key_that_cannot_be_sent_is_refused(server: str) -> None:
    """OpenRouter shows its models to everybody, so its key is asked about first."""
    provider = replace(OPENAI, official=f"http://{server}/v1")
    assert await ask(provider, {"OPENAI_API_KEY": "right"}, seconds=20) == ("mine",)
    refused = await ask(provider, {"OPENAI_API_KEY": "wrong"}, seconds=20)
    assert refused == Finding(
        "OPENAI_API_KEY", "OpenAI refused the key (401)", "Copy the key again from your account there", "refused"
    )
    gone = await ask(replace(provider, official="http://127.0.0.1:9"), {"OPENAI_API_KEY": "right"}, seconds=20)
    assert isinstance(gone, Finding)
    assert gone.kind == "unknown"
    split = await ask(provider, {"OPENAI_API_KEY": "a\nb"}, seconds=20)
    assert isinstance(split, Finding)
    assert split.kind == "refused"
    open_list = await ask(replace(provider, name="openrouter"), {"OPENAI_API_KEY": "right"}, seconds=20)
    assert isinstance(open_list, Finding), "a list that needs no key proves none"


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
        shouted = await wrong_with(shouts)
        hushed = await ask(OPENAI, {"OPENAI_BASE_URL": hushes}, seconds=0.2)
        await eventually(lambda: len(left) == 2)
        for writer in left:
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
    assert "https://" in shouted.instead
    assert isinstance(hushed, Finding)
    assert hushed.kind == "unknown"
    assert "did not answer" in hushed.said
