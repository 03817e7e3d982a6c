"""What people install with works through the door: real clients in real sandboxes, an index on loopback over TLS."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentic.egress.doors import HostDoors
from agentic.egress.host_list import Authority, HostList
from agentic.egress.proxy import Proxy
from agentic.sandbox.limits import PROXY_ENVIRONMENT
from agentic.sandbox.supervisor.relay import Relay
from tests.integration.egress.index_server import NAME, IndexServer, index_server
from tests.integration.egress.internet import Internet
from tests.integration.egress.test_doors import Town, town_on
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name

__all__ = ["docker_url", "ground", "rung_name"]


@dataclass(frozen=True)
class Client:
    """A program, what it does with ``{url}``, and what it prints at the end."""

    program: str
    command: str
    prints: str


CLIENTS = (
    Client("pip", "PIP_INDEX_URL={url}/wheels/ python3 -m pip install -q --cert ca.pem tinypkg && "
           "python3 -c 'import tinypkg; print(tinypkg.ANSWER)'", "42"),
    Client("curl", "curl -sS --cacert ca.pem {url}/hello", '"hello"'),
    Client("git", "GIT_SSL_CAINFO=/workspace/ca.pem git clone -q {url}/repo.git && cat repo/README", "hello"),
    Client("npm", "export npm_config_cafile=ca.pem npm_config_registry={url}/ npm_config_audit=false npm_config_fund=false; "
           "echo '{{\"dependencies\": {{\"tiny-lib\": \"1.0.0\"}}}}' > package.json && npm install --fetch-retries 0 && "
           "rm -r node_modules && npm ci && node -p 'require(\"tiny-lib\")'", "42"),
)  # fmt: skip


@pytest.fixture
async def index(tmp_path: Path) -> AsyncGenerator[IndexServer]:
    async with index_server(tmp_path) as server:
        yield server


@pytest.fixture
async def town(ground: Ground, index: IndexServer) -> AsyncGenerator[Town]:
    """A town whose internet has one place, which is a listed one of the own network."""
    names = Internet({NAME: [("127.0.0.1",)]})
    proxy = Proxy(frozenset((Authority(NAME, index.port),)), resolve=names.resolve)
    async with town_on(ground, proxy) as made:
        yield made


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.program)
async def test_a_client_fetches_from_a_listed_index_and_from_no_other(
    town: Town, index: IndexServer, client: Client
) -> None:
    world = town.world("one")
    shutil.copy(index.certificate, world.workspace / "ca.pem")
    (world.workspace / "ca.pem").chmod(0o644)
    if not (await world.exec(f"{client.program} --version || python3 -m {client.program} --version", timeout=60)).ok:
        pytest.skip(f"there is no {client.program} in {town.ground.rung_name}")
    command = client.command.format(url=index.url)
    refused = await world.exec(command, timeout=120)
    assert not refused.ok
    assert not index.asked
    assert [each.host for each in world.refused()] == [f"{NAME}"]
    town.chosen["one"] = HostList(frozenset((NAME,)))
    fetched = await world.exec(command, timeout=120)
    assert fetched.text.strip().splitlines()[-1:] == [client.prints], fetched.text
    assert world.refused() == ()


@pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo here")
async def test_cargo_fetches_by_relay_and_door(index: IndexServer, tmp_path: Path) -> None:
    """As a process of this machine, where it is installed, with a relay like that in a sandbox."""
    listed = HostList(frozenset((NAME,)))

    async def chosen(_: str) -> HostList:
        return listed

    names = Internet({NAME: [("127.0.0.1",)]})
    doors = HostDoors(
        tmp_path / "doors", Proxy(frozenset((Authority(NAME, index.port),)), resolve=names.resolve), chosen
    )
    path = await doors.open("one", (os.geteuid(), os.getegid()))
    relay = Relay(str(path), 0)
    relay.start()
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "main.rs").write_text('fn main() { println!("{}", tiny_crate::ANSWER); }\n')
    (project / "Cargo.toml").write_text(
        '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n'
        'tiny-crate = { version = "1", registry = "own" }\n'
    )
    proxy = f"http://127.0.0.1:{relay.port}"
    environment = {
        "PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "CARGO_HOME": str(tmp_path / "cargo"),
        "CARGO_REGISTRIES_OWN_INDEX": f"sparse+{index.url}/index/", "CARGO_HTTP_CAINFO": str(index.certificate),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", f"{os.environ['HOME']}/.rustup"),
        **{name: proxy for name, value in PROXY_ENVIRONMENT.items() if value.startswith("http")},
    }  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        "cargo", "fetch", cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said = (await process.communicate())[0].decode()
    await doors.close_all()
    assert process.returncode == 0, said
    assert "/crates/tiny-crate/1.0.0/download" in index.asked
