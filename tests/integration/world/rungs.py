"""Sandboxes for tests, on every rung that this machine has: real bubblewrap, real Docker.

A Docker engine is taken from DOCKER_HOST or the usual socket; where there is none, root with dockerd starts one of its
own.  On a laptop without, the Docker half is skipped and says so; with CI set, it fails.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.backends.docker import Docker
from agentic.sandbox.hidden_files import adopt
from agentic.sandbox.limits import IMAGE, Limits
from agentic.sandbox.pool import Rung
from agentic.sandbox.protocol.heartbeat import Heartbeat
from agentic.sandbox.sandbox import Sandbox
from tests.scripts import reopen

DEPLOY = Path(__file__).parents[3] / "deploy" / "sandbox"
MB = 1024 * 1024
PROCESSES = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"
"""A command that shows what runs (there may be no ps); it is in its own output only as it stands here."""
SMALL = Limits(
    memory=512 * MB, processes=64, file_size=256 * MB, workspace=64 * MB, inodes=5_000, tmp=32 * MB, heartbeat=60.0
)  # fmt: skip


ENGINES: list[str] = []
"""The one that the tests of this process share."""


def missing(what: str) -> None:
    """Skip on a laptop, fail where everything has to be there."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}, and CI is set")
    pytest.skip(what)


def engine_has_image(url: str) -> bool:
    """The engine answers and the image is there, made now if need be."""
    environment = {**os.environ, "DOCKER_HOST": url}
    answer = subprocess.run(["docker", "version"], env=environment, capture_output=True, timeout=60)
    if answer.returncode != 0:
        return False
    made = subprocess.run([DEPLOY / "make-image", "--if-missing", "--tag", IMAGE], env=environment, timeout=600)
    return made.returncode == 0


@pytest.fixture(scope="session")
def docker_url() -> Iterator[str]:
    """The address of a Docker engine with the sandbox image.

    Each file that takes this fixture has one of its own; the first finds or starts the engine, the others share it,
    and it is stopped last, as what was set up first.
    """
    if ENGINES:
        yield ENGINES[0]
        return
    with engine() as url:
        ENGINES.append(url)
        yield url
        ENGINES.clear()


@contextmanager
def engine() -> Generator[str]:
    """An engine that is there, or one that is started and stopped."""
    if shutil.which("docker") is None:
        missing("there is no docker command here")
    for url in (os.environ.get("DOCKER_HOST", ""), "unix:///var/run/docker.sock"):
        if url and engine_has_image(url):
            yield url
            return
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        missing("there is no Docker engine here, and none can be started without root and dockerd")
    folder = tempfile.mkdtemp(prefix="tw-engine-", dir="/tmp")
    started = subprocess.run([DEPLOY / "start-engine", folder], capture_output=True, text=True, timeout=300)
    try:
        if started.returncode != 0 or not engine_has_image(started.stdout.strip()):
            missing(f"no Docker engine could be started: {started.stderr}")
        yield started.stdout.strip()
    finally:
        subprocess.run([DEPLOY / "stop-engine", folder, "--remove"], check=True, timeout=300)


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def rung_name(request: pytest.FixtureRequest) -> str:
    """Each rung."""
    name: str = request.param
    if name == "docker":
        request.getfixturevalue("docker_url")
    return name


@dataclass
class Ground:
    """Where one test's sandboxes stand: made on demand, ended with the test."""

    rung: Rung
    rung_name: str
    docker_url: str
    folder: Path
    limits: Limits
    heartbeat: Heartbeat

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def file(self, name: str, content: str | bytes = "") -> Path:
        """A file in the workspace, owned by the sandbox's user."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        for made in (path, *path.parents):
            if made == self.workspace:
                break
            os.chown(made, *self.rung.owner)
        return path

    @contextlib.asynccontextmanager
    async def open(self, **limits: float) -> AsyncIterator[Sandbox]:
        """A sandbox over the workspace."""
        for folder in (self.workspace, self.home):
            adopt(folder, *self.rung.owner)
        sandbox = await self.rung.start("a thread", self.workspace, self.home, replace(self.limits, **limits))
        try:
            yield sandbox
        finally:
            await sandbox.close()


def build_rung(name: str, state: Path, docker_url: str, heartbeat: Heartbeat | None = None) -> Rung:
    """A rung by its name."""
    if name == "docker":
        return Docker(state, docker_url, heartbeat=heartbeat)
    return Bubblewrap(state, heartbeat=heartbeat)


@pytest.fixture
async def ground(rung_name: str, request: pytest.FixtureRequest) -> AsyncIterator[Ground]:
    """A fresh place for sandboxes of the rung."""
    url = request.getfixturevalue("docker_url") if rung_name == "docker" else ""
    folder = Path(tempfile.mkdtemp(prefix="tw-ground-"))
    heartbeat = Heartbeat()
    rung = build_rung(rung_name, folder / "state", url, heartbeat)
    try:
        yield Ground(rung, rung_name, url, folder, SMALL, heartbeat)
    finally:
        await rung.close()
        reopen(folder)
        shutil.rmtree(folder)


@pytest.fixture
async def sandbox(ground: Ground) -> AsyncIterator[Sandbox]:
    """A sandbox of the rung, with small limits."""
    async with ground.open() as opened:
        yield opened


Opening = Callable[..., AbstractAsyncContextManager[Sandbox]]
