"""A door is the only way out of a real sandbox, and leads where its thread's list says."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from agentic.core.events.execution_events import Exposure
from agentic.egress.doors import FETCHED, OWN, HostDoors
from agentic.egress.host_list import HTTP, Authority, HostList
from agentic.egress.proxy import Proxy
from agentic.ports.errors import SandboxUnavailable
from agentic.sandbox.hidden_files import adopt
from agentic.sandbox.limits import Limits
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.workspace.workspace import RealWorld
from tests.integration.egress.internet import PUBLIC, Internet, Recorder
from tests.integration.world.rungs import SMALL, Ground, docker_url, ground, rung_name

__all__ = ["docker_url", "ground", "rung_name"]

HOST = "allowed.test"


class Town:
    """Threads' sandboxes with doors to a pretend internet."""

    def __init__(
        self,
        ground: Ground,
        proxy: Proxy | None = None,
        limits: Limits = SMALL,
        own: frozenset[Authority] = frozenset(),
    ) -> None:
        self.ground = ground
        self.internet = Internet({HOST: [(PUBLIC,)]}, allowed=Recorder(closes=True))
        self.chosen: dict[str, HostList] = {}
        proxy = proxy or Proxy(own, resolve=self.internet.resolve, dial=self.internet.dial)
        self.doors = HostDoors(ground.state / "doors", proxy, self._chosen)
        self.pool = Sandboxes(ground.state, self._rung, replace(limits, heartbeat=3.0), doors=self.doors)

    async def _chosen(self, thread: str) -> HostList:
        return self.chosen.get(thread, HostList())

    async def _rung(self) -> Choice:
        return Choice(self.ground.rung, "the test says so")

    def world(self, thread: str) -> RealWorld:
        folder = self.ground.folder / f"workspace-{thread}"
        adopt(folder, *self.ground.rung.owner)
        return RealWorld(self.pool, thread, folder)


@contextlib.asynccontextmanager
async def town_on(
    ground: Ground, proxy: Proxy | None = None, limits: Limits = SMALL, own: frozenset[Authority] = frozenset()
) -> AsyncGenerator[Town]:
    town = Town(ground, proxy, limits, own)
    try:
        yield town
    finally:
        await town.pool.close()
        await town.doors.close_all()
        await town.internet.allowed.ended()


@pytest.fixture
async def town(ground: Ground) -> AsyncGenerator[Town]:
    """A town of the rung."""
    async with town_on(ground) as made:
        yield made


FETCH = f"""python3 - <<'end'
import urllib.request, urllib.error
try:
    print(urllib.request.urlopen("http://{HOST}/", timeout=20).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
end"""


async def test_a_command_reaches_what_is_chosen_at_once_and_no_longer(town: Town) -> None:
    world = town.world("one")
    assert "403 The network refused allowed.test" in (await world.exec(FETCH, timeout=60)).text
    assert [refused.host for refused in world.refused()] == [HOST]
    assert world.refused() == ()
    town.chosen["one"] = HostList(frozenset((HOST,)))
    assert (await world.exec(FETCH, timeout=60)).text.strip() == "ok"
    del town.chosen["one"]
    assert "403" in (await world.exec(FETCH, timeout=60)).text


async def test_what_is_lent_to_a_task_is_its_threads_alone(town: Town) -> None:
    one, two = town.world("one"), town.world("two")
    one.lend((HOST,))
    assert (await one.exec(FETCH, timeout=60)).text.strip() == "ok"
    assert "403" in (await two.exec(FETCH, timeout=60)).text
    one.lend(())
    assert "403" in (await one.exec(FETCH, timeout=60)).text


async def test_what_came_from_the_own_network_is_private_and_from_elsewhere_is_not(ground: Ground) -> None:
    for place, private in ((Authority(HOST, HTTP), (OWN,)), (Authority("wiki.corp", HTTP), ())):
        async with town_on(ground, own=frozenset((place,))) as town:
            town.world("one").lend((HOST,))
            assert (await town.world("one").exec(FETCH, timeout=60)).text.strip() == "ok"
            came = Exposure(untrusted=(FETCHED.format(host=HOST),), private=private)
            assert await town.doors.exposure("one") == came
            assert await town.doors.exposure("one") == Exposure(), "each is told once"


async def test_the_way_out_outlives_everything_a_command_can_end(town: Town) -> None:
    world = town.world("one")
    town.chosen["one"] = HostList(frozenset((HOST,)))
    await world.exec("(kill -9 -1) & kill -9 -1; true", timeout=60)
    ended = await world.exec(FETCH, timeout=60)
    assert ended.text.strip() == "ok"
    assert ended.left_running == ()


async def test_there_is_a_loopback_of_its_own_and_nothing_else(town: Town) -> None:
    world = town.world("one")
    seen = await world.exec(
        """python3 - <<'end'
import socket
with socket.create_server(("127.0.0.1", 8000)) as server, socket.create_connection(server.getsockname()) as client:
    server.accept()[0].sendall(b"hello")
    print(client.recv(5).decode())
print(*(line.partition(":")[0].strip() for line in open("/proc/net/dev") if ":" in line))
print(len(open("/proc/net/route").readlines()))
end""",
        timeout=60,
    )
    assert seen.text.split() == ["hello", "lo", "1"]


async def test_a_hundred_connections_at_once_all_end(town: Town) -> None:
    """More than the relay holds wait, and a stop is answered meanwhile."""
    world = town.world("one")
    town.chosen["one"] = HostList(frozenset((HOST,)))
    many = f"""python3 - <<'end'
import socket
opened = []
for _ in range(100):  # who says nothing for long is not waited for
    opened.append(socket.create_connection(("127.0.0.1", 17080), timeout=50))
    opened[-1].sendall(b"GET http://{HOST}/ HTTP/1.1\\r\\nHost: {HOST}\\r\\n\\r\\n")
print(sum(each.makefile("rb").read().endswith(b"ok") for each in opened))
end"""
    assert (await world.exec(many, timeout=100)).text.strip() == "100"


async def test_a_door_is_shut_with_its_sandbox(town: Town) -> None:
    world = town.world("one")
    await world.exec("true", timeout=60)
    (path,) = (town.ground.state / "doors").iterdir()
    assert path.is_socket()
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (town.ground.rung.owner[0], 0o600)
    await world.close()
    assert list((town.ground.state / "doors").iterdir()) == []
    with pytest.raises(OSError, match=r".*"):
        await asyncio.open_unix_connection(str(path))


async def test_nothing_is_kept_of_a_thread_whose_sandbox_is_gone(town: Town) -> None:
    world = town.world("one")
    await world.exec(FETCH, timeout=60)
    assert world.refused()
    world.lend((HOST,))
    world.lend(())
    await world.close()
    world.lend(())
    assert town.doors.known == 0


@pytest.mark.parametrize("called_off", [False, True])
async def test_a_start_that_comes_to_nothing_leaves_no_door(
    town: Town, monkeypatch: pytest.MonkeyPatch, called_off: bool
) -> None:
    doors, begun, go = town.ground.state / "doors", asyncio.Event(), asyncio.Event()

    async def fails(*_: object) -> None:
        assert len(list(doors.iterdir())) == 1
        begun.set()
        await go.wait()
        raise SandboxUnavailable("there is no room for one")

    monkeypatch.setattr(type(town.ground.rung), "start", fails)
    starting = asyncio.create_task(town.pool.for_thread("one", town.ground.folder / "one"))
    await begun.wait()
    if called_off:
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        go.set()
        await town.pool.end("one")
    else:
        go.set()
        with pytest.raises(SandboxUnavailable):
            await starting
    assert list(doors.iterdir()) == []
