"""What people install with works through the door: real clients in real sandboxes, an index on loopback over TLS."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentic.egress.host_list import Authority, HostList
from agentic.egress.package_hosts import PACKAGE_HOSTS
from agentic.egress.proxy import Proxy
from agentic.sandbox.limits import Limits
from tests.integration.egress.index_server import MODULE, NAME, IndexServer, index_server
from tests.integration.egress.internet import Internet
from tests.integration.egress.test_doors import Town, town_on
from tests.integration.world.rungs import Ground, docker_url, ground, missing, rung_name

__all__ = ["docker_url", "ground", "rung_name"]


@dataclass(frozen=True)
class Client:
    """A program, what it does with ``{url}``, and what it prints at the end."""

    program: str
    command: str
    prints: str


CARGO = (
    "mkdir -p p/src && cd p && : > src/lib.rs && export CARGO_HTTP_CAINFO=/workspace/ca.pem CARGO_NET_RETRY=0 && "
    'export CARGO_REGISTRIES_OWN_INDEX=sparse+{url}/index/ && printf \'[package]\\nname = "p"\\nversion = "0.1.0"\\n'
    'edition = "2021"\\n[dependencies]\\ntiny-crate = {{ version = "1", registry = "own" }}\\n\' > Cargo.toml && '
    "cargo vendor -q > .cargo.toml && cat vendor/tiny-crate/src/lib.rs"
)
"""``vendor`` fetches as ``build`` does, and needs no compiler beside it."""
GO = (
    "mkdir -p m && cd m && export SSL_CERT_FILE=/workspace/ca.pem GOPROXY={url}/go GOSUMDB=off GOFLAGS=-modcacherw && "
    f"printf 'module m\\n\\ngo 1.19\\n\\nrequire {MODULE} v1.0.0\\n' > go.mod && "
    f'go mod download && cat "$(go env GOMODCACHE)/{MODULE}@v1.0.0/tiny.go"'
)
CLIENTS = (
    Client("pip", "PIP_INDEX_URL={url}/wheels/ python3 -m pip install -q --retries 0 --cert ca.pem tinypkg && "
           "python3 -c 'import tinypkg; print(tinypkg.ANSWER)'", "42"),
    Client("uv", "cd \"$(mktemp -d)\" && uv venv -q --python /usr/bin/python3 v && SSL_CERT_FILE=/workspace/ca.pem "
           "UV_HTTP_RETRIES=0 UV_DEFAULT_INDEX={url}/wheels/ VIRTUAL_ENV=v uv pip install -q tinypkg && "
           "v/bin/python -c 'import tinypkg; print(tinypkg.ANSWER)'", "42"),
    Client("curl", "curl -sS --cacert ca.pem {url}/hello", '"hello"'),
    Client("git", "GIT_SSL_CAINFO=/workspace/ca.pem git clone -q {url}/repo.git && cat repo/README", "hello"),
    Client("npm", "export npm_config_cafile=ca.pem npm_config_registry={url}/ npm_config_audit=false npm_config_fund=false; "
           "echo '{{\"dependencies\": {{\"tiny-lib\": \"1.0.0\"}}}}' > package.json && npm install --fetch-retries 0 && "
           "rm -r node_modules && npm ci && node -p 'require(\"tiny-lib\")'", "42"),
    Client("cargo", CARGO, "pub const ANSWER: u32 = 42;"),
    Client("go", GO, "const Answer = 42"),
)  # fmt: skip
NOT_IN_THE_IMAGE = ("cargo", "go")
"""A person's own image may have them; here the machine's are handed to the sandbox, for they need nothing around them."""
IN_THE_IMAGE = ("uv", "npm")
"""Bubblewrap shows the machine's own, of which nothing is promised."""


def of_this_machine(program: str) -> Path:
    """A program itself, and not what chooses between versions of it."""
    if program == "cargo" and shutil.which("rustup"):
        which = ["rustup", "which", "cargo"]
        return Path(subprocess.run(which, capture_output=True, text=True, check=True, timeout=60).stdout.strip())
    found = shutil.which(program)
    if found is None:
        missing(f"there is no {program} here")
    return Path(str(found)).resolve()


@pytest.fixture
async def index(tmp_path: Path) -> AsyncGenerator[IndexServer]:
    async with index_server(tmp_path) as server:
        yield server


@pytest.fixture
async def town(ground: Ground, index: IndexServer) -> AsyncGenerator[Town]:
    """A town whose internet has one place, which is a listed one of the own network."""
    names = Internet({NAME: [("127.0.0.1",)]})
    proxy = Proxy(frozenset((Authority(NAME, index.port),)), resolve=names.resolve)
    async with town_on(ground, proxy, Limits()) as made:
        yield made


async def test_each_client_fetches_from_a_listed_index_and_from_no_other(town: Town, index: IndexServer) -> None:
    world = town.world("one")
    given = world.workspace / "given"
    given.mkdir(mode=0o755)
    for source in (index.certificate, *map(of_this_machine, NOT_IN_THE_IMAGE)):
        made = Path(shutil.copy(source, given))
        made.chmod(0o755)
    (given / index.certificate.name).rename(world.workspace / "ca.pem")
    handed = "export PATH=$PATH:/workspace/given GOROOT=/workspace/given GOTOOLCHAIN=local; "
    for client in CLIENTS:
        if town.ground.rung_name != "docker" and client.program in IN_THE_IMAGE:
            continue
        command = handed + client.command.format(url=index.url)
        town.chosen.pop("one", None)
        refused = await world.exec(command, timeout=120)
        assert not refused.ok, (client.program, refused.text)
        assert not index.asked, client.program
        assert {each.host for each in world.refused()} == {NAME}, (client.program, refused.text)
        town.chosen["one"] = HostList(frozenset((NAME,)))
        fetched = await world.exec(command, timeout=120)
        assert fetched.text.strip().splitlines()[-1:] == [client.prints], (client.program, fetched.text)
        assert world.refused() == (), client.program
        index.asked.clear()


def test_the_hosts_of_each_client_are_in_the_preset() -> None:
    """Those that pip and uv, npm, cargo and go ask when nobody tells them otherwise."""
    usual = {"pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "index.crates.io", "static.crates.io"}
    assert usual | {"proxy.golang.org", "sum.golang.org"} <= set(PACKAGE_HOSTS)
