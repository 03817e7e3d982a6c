"""Names are looked up in threads of the proxy's own, of which no door takes all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from agentic.egress.names import Names
from agentic.egress.proxy import Door, Proxy
from agentic.ports.way_out import RefusedHost
from tests.waiting import eventually

SECONDS = 60.0


class SilentServer:
    """Looks names up; those of ``silent.test`` get no answer until it speaks."""

    def __init__(self) -> None:
        self.speaks = threading.Event()
        self.asked: list[str] = []

    def look(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        if host.endswith("silent.test"):
            self.speaks.wait(SECONDS)
            raise OSError("no answer")
        return ("93.184.216.10",)


def door() -> Door:
    async def allows(_: str) -> bool:
        return True

    def refused(_: RefusedHost) -> None:
        pass

    return Door(allows, refused)


async def test_a_door_whose_names_get_no_answer_holds_up_no_other_door_and_nothing_else() -> None:
    server = SilentServer()
    names = Names(server.look, threads=3, each=2)
    one, two = door(), door()
    asking = [asyncio.create_task(names.resolve(one, f"{number}.silent.test", 443)) for number in range(80)]
    try:
        await eventually(lambda: len(server.asked) >= 2)
        async with asyncio.timeout(SECONDS):
            assert await names.resolve(two, "allowed.test", 443) == ("93.184.216.10",)
            await asyncio.to_thread(lambda: None)
        assert server.asked == ["0.silent.test", "1.silent.test", "allowed.test"]
        for task in asking[:2]:  # who gives up frees no place: its thread is still at it
            task.cancel()
        await asyncio.gather(*asking[:2], return_exceptions=True)
        async with asyncio.timeout(SECONDS):
            assert await names.resolve(two, "allowed.test", 443)
        assert len(server.asked) == 4
    finally:
        server.speaks.set()
        async with asyncio.timeout(SECONDS):
            ended = await asyncio.gather(*asking, return_exceptions=True)
        names.close()
    assert all(isinstance(each, OSError | asyncio.CancelledError) for each in ended)
    assert len(server.asked) == 82  # a place is free again once its thread is done


async def test_a_proxy_looks_up_in_its_own_threads_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def found(*_: object, **__: object) -> list[tuple[object, object, object, str, tuple[str, int]]]:
        looked.append(threading.current_thread().name)
        raise OSError("not here")

    monkeypatch.setattr("socket.getaddrinfo", found)
    proxy = Proxy()
    assert b" 502 " in await _asked(proxy)
    assert [name.partition("_")[0] for name in looked] == ["egress-names"]
    proxy.close()
    assert b" 502 " in await _asked(proxy)
    assert len(looked) == 1


async def _asked(proxy: Proxy) -> bytes:
    """What is answered to a request for a host that is allowed."""
    asked: asyncio.Queue[asyncio.Task[None]] = asyncio.Queue()

    def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.put_nowait(asyncio.create_task(proxy.serve(door(), reader, writer)))

    async with await asyncio.start_server(served, "127.0.0.1", 0) as listening:
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
        writer.write(b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        async with asyncio.timeout(SECONDS):
            answered = await reader.read()
            await asked.get_nowait()
        writer.close()
    return answered
