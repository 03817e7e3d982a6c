"""The proxy passes on what is allowed, unchanged, and holds its bounds."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

from agentic.egress.host_list import Authority, HostList
from agentic.egress.proxy import Bounds
from agentic.ports.way_out import RefusedHost
from tests.integration.egress.internet import PUBLIC, SECONDS, Internet, Recorder, hello, opened

HOST = "allowed.test"
LISTED = HostList(frozenset((HOST,)))
CONNECT = f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n".encode()


def internet(**recorders: Recorder) -> Internet:
    return Internet({HOST: [(PUBLIC,)]}, **recorders)


async def test_a_tunnel_carries_what_follows_its_hello_both_ways() -> None:
    body = b"\x17\x03\x03" + bytes(range(256)) * 2_000
    async with opened(internet(), LISTED) as there:
        answered = await there.send(CONNECT, hello(HOST, record=20), body)
    assert answered.endswith(there.internet.allowed.answer)
    assert there.internet.allowed.heard == hello(HOST, record=20) + body
    assert not there.refusals


async def test_a_request_reaches_the_host_without_what_was_meant_for_the_proxy() -> None:
    head = (
        f"POST http://{HOST}/a?b=c HTTP/1.1\r\nHost: {HOST.upper()}\r\nProxy-Connection: keep-alive\r\nX-Own: yes\r\n"
        "Connection: x-own, host\r\nContent-Length: 4\r\nAccept: */*\r\n\r\n"
    )
    async with opened(internet(), LISTED) as there:
        answered = await there.send(head.encode() + b"body")
    assert answered.endswith(b"ok")
    assert (
        there.internet.allowed.heard
        == (
            f"POST /a?b=c HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 4\r\nAccept: */*\r\nConnection: close\r\n\r\nbody"
        ).encode()
    )


async def test_a_refusal_says_what_to_do() -> None:
    async with opened(internet(), LISTED) as there:
        answered = await there.send(b"CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n")
    assert answered.startswith(b"HTTP/1.1 403 ")
    assert b"other.test: it's not on this channel's list. If you need it, call the tool `network` with it." in answered
    assert there.refusals == [RefusedHost("other.test", "it's not on this channel's list", listed=False)]
    assert not there.internet.asked


async def test_a_listed_place_of_the_own_network_is_reached_at_its_port() -> None:
    names = {"index.test": [("10.0.0.5",)]}
    for port, through in ((8443, True), (8444, False)):
        listed, place = HostList(frozenset(("index.test",))), Authority("index.test", 8443)
        async with opened(Internet(dict(names)), listed, private=frozenset((place,))) as there:
            await there.send(
                f"CONNECT index.test:{port} HTTP/1.1\r\nHost: index.test\r\n\r\n".encode(), hello("index.test")
            )
        assert bool(there.internet.elsewhere.heard) is through


async def test_a_tunnel_is_cut_when_its_host_is_taken_off_the_list() -> None:
    async with opened(internet(), LISTED) as there:
        reader, writer = await asyncio.open_unix_connection(str(there.path))
        writer.write(CONNECT)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(hello(HOST))
        await reader.readexactly(len(there.internet.allowed.answer))
        there.policy[0] = HostList()
        async with asyncio.timeout(SECONDS):
            with contextlib.suppress(OSError):
                writer.write(b"more")
                assert await reader.read() == b""
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    assert b"more" not in there.internet.allowed.heard


async def test_what_does_not_come_in_time_is_ended() -> None:
    bounds = replace(Bounds(), head_seconds=0.05)
    for first in (b"GET http://allowed", CONNECT + hello(HOST)[:20]):
        async with opened(internet(), LISTED, bounds=bounds) as there:
            reader, writer = await asyncio.open_unix_connection(str(there.path))
            writer.write(first)
            async with asyncio.timeout(SECONDS):
                await reader.read()
            writer.close()
            await writer.wait_closed()
        assert len(there.refusals) == 1
        assert not there.internet.allowed.heard


async def test_what_moves_no_more_is_ended() -> None:
    async with opened(internet(allowed=Recorder(b"")), LISTED, bounds=replace(Bounds(), idle_seconds=0.05)) as there:
        reader, writer = await asyncio.open_unix_connection(str(there.path))
        writer.write(CONNECT + hello(HOST))
        async with asyncio.timeout(SECONDS):
            assert b" 200 " in await reader.read()
        writer.close()
        await writer.wait_closed()


async def test_too_many_connections_too_long_heads_and_too_many_bytes_are_refused() -> None:
    async with opened(internet(), LISTED, bounds=replace(Bounds(), connections=1, head=1000, size=100_000)) as there:
        first, writer = await asyncio.open_unix_connection(str(there.path))
        writer.write(CONNECT)
        await first.readuntil(b"\r\n\r\n")
        assert b" 503 " in await there.send(CONNECT)
        writer.write_eof()
        await first.read()
        writer.close()
        await writer.wait_closed()
        long = f"GET http://{HOST}/ HTTP/1.1\r\nHost: {HOST}\r\nX: {'a' * 2_000}\r\n\r\n".encode()
        assert b" 431 " in await there.send(long)
        assert b" 431 " in await there.send(b"GET http://" + b"a" * 200_000)
        await there.send(CONNECT, hello(HOST), b"a" * 1_000_000)
    assert len(there.internet.allowed.heard) < 200_000


async def test_a_host_that_cannot_be_reached_is_told_and_not_refused() -> None:
    async with opened(Internet(), LISTED) as there:
        assert b"502 Bad Gateway" in await there.send(CONNECT)
    assert not there.refusals


async def test_a_slow_reader_holds_up_the_host_and_fills_no_memory() -> None:
    """The host can send no more than the buffers between take."""
    sent = 0

    class Flood(Recorder):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal sent
            with contextlib.suppress(OSError):
                await reader.read(1)
                while sent < 1 << 30:
                    writer.write(b"a" * 65536)
                    sent += 65536
                    await writer.drain()
            writer.close()

    async with opened(internet(allowed=Flood()), LISTED) as there:
        reader, writer = await asyncio.open_unix_connection(str(there.path), limit=1024)
        writer.write(CONNECT + hello(HOST))
        await reader.readexactly(100)
        before = -1
        while before != sent:
            before = sent
            for _ in range(50):
                await asyncio.sleep(0)
        writer.transport.abort()
    assert sent < 8 << 20
