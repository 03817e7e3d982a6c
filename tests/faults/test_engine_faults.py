"""Row 71 of the fault catalogue, in the midst of a command: a Docker engine of our own that is killed and started again.

It takes some seconds, because an image is made for it: the engine that other tests share cannot be killed under them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import docker
import pytest

from agentic.core.events.execution_events import CancelRequested, ToolFinished
from agentic.ports.errors import CallNotBegun, SandboxLost
from agentic.sandbox.backends.docker import Docker
from agentic.sandbox.limits import MB, Limits
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.workspace import RealWorld
from tests.integration.loop.housing import FINISH, MAIN, House, houses, next_owner, shell
from tests.integration.world.rungs import DEPLOY, engine_has_image
from tests.scripts import running
from tests.waiting import eventually

pytestmark = pytest.mark.docker
ROOM = 1024 * MB
TOKEN = uuid4().hex
ENDLESS = f"echo begun >> done.txt; while sleep 600; do echo {TOKEN}; done"


@dataclass
class Engine:
    """A dockerd that a test may kill."""

    folder: Path
    url: str = ""
    runs: bool = False

    def start(self) -> None:
        for left in ("pid", "exec/containerd/containerd.pid"):  # of processes whose numbers may not be free yet
            (self.folder / left).unlink(missing_ok=True)
        started = subprocess.run([DEPLOY / "start-engine", self.folder], capture_output=True, text=True, timeout=300)
        assert started.returncode == 0, started.stderr
        self.url, self.runs = started.stdout.strip(), True

    def kill(self) -> None:
        os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)
        self.runs = False


@pytest.fixture(scope="module")
def own_engine() -> Iterator[Engine]:
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("an engine of our own needs root and dockerd")
    roomy = (
        Path("/dev/shm").is_dir() and shutil.disk_usage("/dev/shm").free > ROOM
    )  # an image's files go in a moment there
    made = Engine(Path(tempfile.mkdtemp(prefix="tw-mortal-", dir="/dev/shm" if roomy else "/tmp")))
    try:
        made.start()
        assert engine_has_image(made.url)
        yield made
    finally:
        if not made.runs:
            made.start()  # what a dead one left is cleared away by the next
        subprocess.run([DEPLOY / "stop-engine", made.folder, "--remove"], check=True, timeout=300)


@pytest.fixture
def engine(own_engine: Engine) -> Engine:
    """It runs."""
    if not own_engine.runs:
        own_engine.start()
    return own_engine


@dataclass
class Place:
    """An agent's tools in a container of that engine."""

    toolbox: StandardToolbox
    workspace: Path

    async def begun(self) -> None:
        await eventually((self.workspace / "done.txt").exists)
        assert running(TOKEN)

    def times(self) -> int:
        """How often the command ran."""
        return (self.workspace / "done.txt").read_text().count("begun")


@asynccontextmanager
async def place(engine: Engine, folder: Path) -> AsyncGenerator[Place]:
    folder.chmod(0o755)

    async def chosen() -> Choice:
        return Choice(Docker(folder / "state", engine.url), "the test says so")

    pool = Sandboxes(folder / "state", chosen, Limits(memory=512 * MB, processes=64, tmp=32 * MB, heartbeat=1.5))
    world = RealWorld(pool, "one", folder / "workspace")

    async def source() -> RealWorld:
        return world

    try:
        yield Place(StandardToolbox(source), folder / "workspace")
    finally:
        await pool.close()


async def outcomes(house: House) -> list[str]:
    return [event.outcome for event in await house.events(ToolFinished)]


def containers(url: str) -> int:
    client = docker.DockerClient(base_url=url)
    try:
        return len(client.containers.list(all=True))
    finally:
        client.close()


async def test_f71_an_engine_that_dies_mid_command_leaves_its_outcome_unknown_and_it_never_runs_twice(
    engine: Engine, tmp_path: Path
) -> None:
    """Never “not begun”: what the command did stands in the file.  The next command meets the dead engine, and of that one
    it is said; with the engine back the work goes on, and no container is left behind."""
    async with asyncio.timeout(120), houses(tmp_path) as made, place(engine, tmp_path) as at:
        house = await made(shell(ENDLESS), shell("echo next >> done.txt"), shell("echo next >> done.txt"), FINISH)
        work = house.start(at.toolbox)
        await at.begun()
        engine.kill()
        with pytest.raises(SandboxLost):
            await work
        await eventually(lambda: not running(TOKEN), "a sandbox ends when nobody beats for it")
        assert await outcomes(house) == []
        house.lease = await next_owner(house)
        with pytest.raises(CallNotBegun):
            await house.loop.run(house.lease, MAIN, at.toolbox, house.doorbell)
        told = await house.events(ToolFinished)
        assert [event.outcome for event in told] == ["unknown", "failed"]
        assert "Not begun" in told[1].preview
        assert (at.times(), (at.workspace / "done.txt").read_text()) == (1, "begun\n")
        engine.start()
        house.lease = await next_owner(house)
        ended = await house.loop.run(house.lease, MAIN, at.toolbox, house.doorbell)
        assert ended.finished is not None
        assert await outcomes(house) == ["unknown", "failed", "ok", "ok"]
        assert (at.workspace / "done.txt").read_text() == "begun\nnext\n"
        assert containers(engine.url) == 1
    assert containers(engine.url) == 0


async def test_f71_a_stop_while_the_engine_is_dead_is_a_stop(engine: Engine, tmp_path: Path) -> None:
    """It neither breaks the execution off nor lets the command run on."""
    async with asyncio.timeout(120), houses(tmp_path) as made, place(engine, tmp_path) as at:
        house = await made(shell(ENDLESS), FINISH)
        work = house.start(at.toolbox)
        await at.begun()
        os.kill(int((engine.folder / "pid").read_text()), signal.SIGSTOP)  # the kill cannot be heard of
        await house.say("stop")
        await house.first(CancelRequested)
        engine.kill()
        assert (await house.ends(work)).reason == "stopped"
        await eventually(lambda: not running(TOKEN), "a sandbox ends when nobody beats for it")
        assert (await outcomes(house))[0] in ("cancelled", "unknown")
