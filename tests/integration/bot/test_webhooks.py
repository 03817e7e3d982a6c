"""Webhooks over real sockets: a delivery makes the bot look at once, and nothing else comes of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from unittest import mock
from urllib.parse import quote_plus

import aiohttp
import pytest

from agentic.forges.webhook import address_from
from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.after_run import webhook_server
from bot.after_run.webhook_server import CannotListen, WebhookServer
from bot.cli.doctor import webhooks
from bot.config.settings import Settings
from bot.local_discord.local_discord import LocalGuild
from bot.local_forge import LocalForge, Webhook
from bot.local_forge.git_endpoint import tip
from bot.local_forge.webhook_sender import signed
from bot.telemetry import bounded_server
from tests.integration.bot.test_repositories import BROKEN, attached, changes, publishes, until
from tests.integration.bot.whole import SECONDS, finishes, whole
from tests.waiting import eventually

SECRET = "a-secret-of-32-characters-or-so!"
BODY = json.dumps({"repository": {"full_name": "ada/shop"}}).encode()


@contextmanager
def own_port() -> Generator[int]:
    """A port at which nobody listens but who is told of it: it is bound all the while, so that no one else is given it."""
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def port() -> Generator[int]:
    """A port for this test alone."""
    with own_port() as port:
        yield port


@asynccontextmanager
async def listening(rung: list[str]) -> AsyncGenerator[int]:
    """A server of its own; yields its port."""
    with own_port() as port:
        server = WebhookServer(("127.0.0.1", port), SECRET, rung.append)
        await server.open()
        try:
            yield port
        finally:
            await server.close()


async def test_a_red_check_is_told_by_a_webhook_and_a_storm_of_them_asks_once(
    guild: LocalGuild, tmp_path: Path, port: int
) -> None:
    """The clock would look in hours.  However many deliveries come, the host is asked once in a while."""
    script = [changes("+ 1", "+ 2"), publishes(), finishes("Opened."), finishes("Seen.")]
    async with LocalForge(tmp_path / "forge") as forge, ScriptedEndpoint.start(script) as endpoint:
        shop = forge.create("ada/shop", BROKEN)
        with mock.patch.dict(os.environ, {"FORGE_TOKEN": forge.token}):
            async with whole(
                tmp_path / "home", endpoint, guild, forges=(f"{forge.web}=FORGE_TOKEN:github",),
                webhooks=f"127.0.0.1:{port}", webhook_secret=SECRET,
            ) as running:  # fmt: skip
                watch = running.app.watch
                assert watch is not None
                watch.pace, watch.gap = 1_000.0, 0.0
                await attached(running)
                thread = await running.task("fix it")
                looks = f"GET /api/v3/repos/ada/shop/pulls/{shop.pulls[0].number}"

                hook = Webhook(f"http://127.0.0.1:{port}/hooks", SECRET)
                forge.webhooks.append(hook)
                assert forge.requests.count(looks) == 0
                shop.set_check(tip(shop.folder, shop.pulls[0].head), "tests", "failure", "E")
                await running.says(thread, "failed on pull request")
                assert forge.requests.count(looks) == 1
                await until(running, thread, 2)

                watch.gap = 1_000.0
                async with aiohttp.ClientSession() as session:
                    for _ in range(4):  # the same delivery, again and again
                        storm = [session.post(hook.address, data=BODY, headers=signed(hook, BODY)) for _ in range(20)]
                        assert {answer.status for answer in await asyncio.gather(*storm)} == {204}
                        await eventually(lambda: not watch._rung, "it was taken in, and perhaps followed")  # pyright: ignore[reportPrivateUsage]
                watch.gap = 0.0
                hook.kind = "forgejo"
                forge.remark(shop, shop.pulls[0].number, "bob", "Why so?")
                await running.says(thread, "Why so?")
                assert forge.requests.count(looks) == 2
                assert hook.answers == [204, 204]


async def test_what_is_forged_unsigned_huge_slow_or_endless_rings_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[str] = []
    monkeypatch.setattr(webhook_server, "BODY_SECONDS", 0.1)
    async with listening(rung) as port, aiohttp.ClientSession() as session:
        address = f"http://127.0.0.1:{port}/"

        async def sent(body: bytes, headers: dict[str, str]) -> int:
            async with session.post(address, data=body, headers=headers) as answer:
                return answer.status

        right = signed(Webhook(address, SECRET), BODY)
        forged = signed(Webhook(address, "another secret, just as long as it"), BODY)
        assert await sent(BODY, {}) == 401
        assert await sent(BODY, forged) == 401
        assert await sent(BODY + b" ", right) == 401
        assert await sent(BODY, {"X-Hub-Signature-256": "sha256=" + "ä" * 64}) == 401
        async with session.get(address) as answer:
            assert (answer.status, await answer.text()) == (405, webhook_server.HERE)
        for nonsense in (
            b"",
            b"{",
            b"[" * 100_000,
            b'{"repository": 3}',
            b'{"repository": {"full_name": "%s"}}' % (b"x" * 999),
        ):
            assert await sent(nonsense, signed(Webhook(address, SECRET), nonsense)) == 204

        async def raw(*pieces: bytes) -> bytes:
            """What comes back to these bytes, until the connection ends."""
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for piece in pieces:
                writer.write(piece)
            async with asyncio.timeout(SECONDS):
                back = await reader.read()
            writer.close()
            return back

        head = b"POST / HTTP/1.1\r\nHost: x\r\n"
        assert b" 413 " in await raw(head, b"Content-Length: 99999999999\r\n\r\n")
        assert b" 408 " in await raw(head, b"Content-Length: 100\r\n\r\n", b"slow")
        much = b"Transfer-Encoding: chunked\r\n\r\n" + b"10000\r\n" + b"x" * 65_536 + b"\r\n"
        assert b" 413 " in await raw(head, much, *[b"10000\r\n" + b"x" * 65_536 + b"\r\n"] * 17)
        assert b" 400 " in await raw(b"\x16\x03\x01 no HTTP at all\r\n\r\n")
        assert rung == []

        form = b"payload=" + quote_plus(BODY).encode()
        for body in (BODY, form):
            for hook in (Webhook(address, SECRET), Webhook(address, SECRET, "forgejo")):
                assert await sent(body, signed(hook, body)) == 204
        assert rung == ["ada/shop"] * 4


async def test_connections_that_say_nothing_are_few_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_server, "CONNECTIONS", 2)
    rung: list[str] = []
    async with asyncio.timeout(SECONDS), listening(rung) as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        more, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(ConnectionError):
            assert await more.read() == b""
        assert not any(reader.at_eof() for reader, _ in silent)  # they have their places still
        for each in (writer, *(held for _, held in silent)):
            each.close()
    monkeypatch.setattr(bounded_server, "CONNECTION_SECONDS", 0.2)
    async with asyncio.timeout(SECONDS), listening(rung) as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for reader, _ in silent:
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        async with aiohttp.ClientSession() as session:
            hook = Webhook(f"http://127.0.0.1:{port}/", SECRET)
            async with session.post(hook.address, data=BODY, headers=signed(hook, BODY)) as answer:
                assert answer.status == 204
        for _, held in silent:
            held.close()
    assert rung == ["ada/shop"]


async def test_why_none_are_received_is_said_at_start_and_by_doctor(
    guild: LocalGuild, tmp_path: Path, port: int
) -> None:
    def wanted(**more: object) -> Settings:
        return Settings(_env_file=None, home=tmp_path, webhooks=f"127.0.0.1:{port}", **more)  # type: ignore[call-arg, arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]

    (row,) = await webhooks(wanted())
    assert (row.state, "THREADWRIGHT_WEBHOOK_SECRET is not set" in row.why, "openssl" in row.todo) == (
        "limited",
        True,
        True,
    )
    assert await webhooks(Settings(_env_file=None, home=tmp_path)) == ()  # type: ignore[call-arg]
    signs = wanted(webhook_secret=SECRET)
    (row,) = await webhooks(signs)
    assert row.state == "ok"
    with pytest.raises(CannotListen, match="SECRET is not set"):
        await WebhookServer(("127.0.0.1", port), "", print).open()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        (row,) = await webhooks(signs)
        assert (row.state, "is used by another program" in row.why) == ("limited", True)
        async with (
            ScriptedEndpoint.start([finishes("Done.")]) as endpoint,
            whole(tmp_path, endpoint, guild, webhooks=f"127.0.0.1:{port}", webhook_secret=SECRET) as running,
        ):
            assert "is used by another program" in str(running.app.deaf)
            await running.task("look")  # it works on without them
    server = WebhookServer(("127.0.0.1", port), SECRET, print)
    await server.open()
    (row,) = await webhooks(signs)
    assert row.state == "ok"
    await server.close()


def test_an_address_to_listen_at_is_read_or_refused_with_what_to_write() -> None:
    assert address_from("127.0.0.1:8091") == ("127.0.0.1", 8091)
    assert address_from("[::1]:80") == ("::1", 80)
    assert address_from("localhost:8091") == ("localhost", 8091)
    for wrong in (
        "8091",
        "127.0.0.1",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "bot.example.org:80",
        "127.0.0.1:８０",
        "a:b:c",
    ):
        with pytest.raises(ValueError, match=r"write 127\.0\.0\.1"):
            address_from(wrong)
