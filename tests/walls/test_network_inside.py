"""Nothing that a command does inside of a sandbox leads out but by its door; on a machine without the wall it would."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from agentic.egress.host_list import HostList
from tests.integration.egress.internet import hello
from tests.integration.egress.test_doors import HOST, Town, town_on
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name
from tests.walls.tally import Wall

__all__ = ["docker_url", "ground", "rung_name"]

TRY = """
import json, os, socket, struct, sys
told = {}
there = json.loads(sys.argv[1])

def tried(name, attempt):
    try:
        told[name] = bool(attempt())
    except Exception as error:
        told[name] = False

def tcp(address, port, family=socket.AF_INET):
    with socket.socket(family) as s:
        s.settimeout(2)
        s.connect((address, port))
        s.sendall(b"x")
        return True

def udp(address, port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        s.sendto(b"x", (address, port))
        return s.recv(1)

def raw(protocol, family=socket.AF_INET, sort=socket.SOCK_RAW):
    with socket.socket(family, sort, protocol) as s:
        return True

def unix(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        return True

for name, address in there["addresses"].items():
    tried(f"TCP to {name}", lambda: tcp(address, there["port"]))
    tried(f"UDP to {name}", lambda: udp(address, there["udp"]))
tried("TCP by IPv6", lambda: tcp("::1", there["port6"], socket.AF_INET6))
tried("an abstract socket of the machine", lambda: unix("\\0" + there["abstract"]))
tried("a path of the machine", lambda: unix(there["path"]))
tried("the engine's socket", lambda: unix("/var/run/docker.sock") or unix("/run/docker.sock"))
tried("another thread's door", lambda: unix(there["other"]))
tried("ICMP", lambda: raw(1))
tried("raw IP", lambda: raw(255))
tried("packets", lambda: raw(3, 17))
tried("SCTP", lambda: raw(132, sort=socket.SOCK_STREAM))
tried("VSOCK", lambda: raw(0, 40, socket.SOCK_STREAM))
tried("Bluetooth", lambda: raw(3, 31))
tried("a resolver", lambda: socket.getaddrinfo(there["name"], 80))
for number in (1, 2):
    tried(f"an interface of one's own ({number})", lambda: os.system("ip link add x%d type dummy 2>/dev/null" % number) == 0)
tried("another network", lambda: os.open("/proc/%d/ns/net" % there["pid"], os.O_RDONLY) >= 0 and there["pid"] != os.getpid()
      and os.readlink("/proc/self/ns/net") == there["net"])
print(json.dumps(told))
"""


@dataclass
class Outside:
    """What listens on the machine, and what has reached it."""

    there: dict[str, object] = field(default_factory=dict[str, object])
    reached: int = 0


@contextlib.asynccontextmanager
async def outside(other: str) -> AsyncGenerator[Outside]:
    """Listeners of every kind."""
    out = Outside()

    def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        out.reached += 1
        writer.close()

    class Echo(asyncio.DatagramProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport

        def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
            out.reached += 1
            cast(asyncio.DatagramTransport, self.transport).sendto(data, addr)

    loop, abstract = asyncio.get_running_loop(), f"tw-{os.getpid()}-wall"
    path = f"/tmp/tw-wall-{os.getpid()}"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"\0{abstract}")
    async with (
        await asyncio.start_server(connected, "0.0.0.0", 0) as tcp,
        await asyncio.start_server(connected, "::1", 0) as tcp6,
        await asyncio.start_unix_server(connected, sock=listening),
        await asyncio.start_unix_server(connected, path),
    ):
        transport, _ = await loop.create_datagram_endpoint(Echo, ("0.0.0.0", 0))
        own = socket.gethostbyname(socket.gethostname())
        out.there = {
            "addresses": {"the loopback": "127.0.0.1", "another loopback": "127.0.0.2", "the machine's address": own},
            "port": tcp.sockets[0].getsockname()[1], "port6": tcp6.sockets[0].getsockname()[1],
            "udp": transport.get_extra_info("sockname")[1], "abstract": abstract, "path": path, "other": other,
            "name": socket.gethostname(), "pid": os.getpid(), "net": str(Path("/proc/self/ns/net").readlink()),
        }  # fmt: skip
        try:
            yield out
        finally:
            transport.close()
            Path(path).unlink()


@pytest.fixture
async def town(ground: Ground) -> AsyncGenerator[Town]:
    async with town_on(ground) as made:
        yield made


@pytest.mark.wall("network")
async def test_nothing_leads_out_of_a_sandbox_beside_its_door(town: Town, wall: Wall) -> None:
    await town.world("other").exec("true", timeout=60)
    (other,) = (town.ground.state / "doors").iterdir()
    async with outside(str(other)) as out:
        world = town.world("one")
        (world.workspace / "try.py").write_text(TRY)
        ran = await world.exec(f"python3 try.py {shlex.quote(json.dumps(out.there))}", timeout=90)
        assert ran.ok, ran.text
        told = json.loads(ran.text.splitlines()[-1])
        for form, through in told.items():
            wall.held(form, not through)
        wall.held("anything of all that", out.reached == 0, str(out.reached))
    assert len(told) > 18


async def test_the_same_leads_out_where_there_is_no_wall(town: Town) -> None:
    """So that the test above can fail: as a plain process of this machine."""
    await town.world("other").exec("true", timeout=60)
    (other,) = (town.ground.state / "doors").iterdir()
    async with outside(str(other)) as out:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", TRY, json.dumps(out.there), stdout=subprocess.PIPE
        )
        told = json.loads((await process.communicate())[0])
        for form in (
            "TCP to the loopback", "UDP to the loopback", "TCP to the machine's address", "an abstract socket of the machine",
            "a path of the machine", "another thread's door", "a resolver", "another network",
        ):  # fmt: skip
            assert told[form], form
        if os.geteuid() == 0:
            assert told["ICMP"]
        assert out.reached >= 5


RELAYED = """
import socket, sys, threading
def serve():
    server = socket.create_server(("127.0.0.1", 9999))
    ready.set()
    client, _ = server.accept()
    data = client.recv(65536)
    with socket.create_connection(("127.0.0.1", 17080)) as s:
        s.sendall(data)
        client.sendall(s.recv(65536))
    client.close()
ready = threading.Event()
threading.Thread(target=serve, daemon=True).start()
ready.wait()
with socket.create_connection(("127.0.0.1", 9999)) as s:
    s.sendall(bytes.fromhex(sys.argv[1]))
    print(s.recv(65536).decode("latin-1"))
"""
STRAIGHT = """
import socket, sys
with socket.socket(socket.AF_UNIX) as s:
    s.connect("/opt/threadwright/door")
    s.sendall(bytes.fromhex(sys.argv[1]))
    print(s.recv(65536).decode("latin-1"))
"""


@pytest.mark.wall("network")
async def test_a_relay_of_ones_own_and_the_door_itself_lead_no_further(town: Town, wall: Wall) -> None:
    world = town.world("one")
    for way, program in (("a relay", RELAYED), ("the door", STRAIGHT)):
        for host in ("evil.test", HOST):
            sent = f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
            told = await world.exec(f"cat > way.py <<'end'\n{program}\nend\npython3 way.py {sent.hex()}", timeout=60)
            wall.held(f"{way} to {host}", told.text.startswith("HTTP/1.1 403"), told.text)
    town.chosen["one"] = HostList(frozenset((HOST,)))
    sent = f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode() + hello("evil.test")
    await world.exec(f"python3 way.py {sent.hex()}", timeout=60)
    wall.held("fronting by the door", not town.internet.allowed.heard)
    told = await world.exec(
        f"python3 way.py {sent.replace(b'evil.test', b'allowed.test')[: sent.index(bytes([22]))].hex()}", timeout=60
    )
    assert told.text.startswith("HTTP/1.1 200"), "what is listed is reached, so the door works"


@pytest.mark.wall("network")
async def test_a_door_is_no_file_that_a_command_can_change(town: Town, wall: Wall) -> None:
    world = town.world("one")
    for command in (
        "rm -f /opt/threadwright/door", "mv /opt/threadwright/door /tmp/door", "chmod 777 /opt/threadwright/door",
        "ln /opt/threadwright/door /workspace/door", "touch /opt/threadwright/new", "mkdir /opt/threadwright/more",
    ):  # fmt: skip
        wall.held(command, not (await world.exec(command, timeout=60)).ok)
