"""Control groups of sandboxes: made where that is allowed, entered, ended with all that is in them, and told of."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from agentic.sandbox.backends import bubblewrap, cgroups
from agentic.sandbox.backends.bubblewrap import STAGE
from agentic.sandbox.backends.cgroups import (
    COUNTED,
    HELD,
    ControlGroup,
    ControlGroups,
)
from agentic.sandbox.backends.host import Host
from agentic.sandbox.limits import Limits
from tests.integration.world.rungs import Ground, docker_url, ground
from tests.waiting import eventually

__all__ = ["docker_url", "ground"]

LIMITS = Limits(memory=1 << 28, processes=48)
UNSTOPPABLE = "trap '' TERM HUP; (while :; do (true &); done) & while :; do sleep 600; done"


@pytest.fixture
def rung_name() -> str:
    return "bubblewrap"


@pytest.fixture
def groups(tmp_path: Path) -> ControlGroups:
    """Those of a home of its own; skipped where none may be made."""
    made = ControlGroups(tmp_path)
    if (group := made.make(LIMITS)) is None:
        pytest.skip("no control group may be made here")
    group.remove()
    return made


@pytest.fixture
def unified() -> Iterator[ControlGroup]:
    """An empty group of version 2 without controllers, which is there on most machines that count in version 1 too."""
    for top in (cgroups.ROOT, cgroups.ROOT / "unified"):
        folder = top / f"threadwright-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        group = ControlGroup((folder,))
        if (folder / "cgroup.kill").exists():
            yield group
            group.kill()
            group.remove()
            return
        group.remove()
    pytest.skip("no group of version 2 may be made here")


@asynccontextmanager
async def inside(group: ControlGroup) -> AsyncIterator[None]:
    """Many that are born again and again; whoever takes this ends them, and no signal but the last does."""
    process = subprocess.Popen(group.joined_by(["/bin/sh", "-c", UNSTOPPABLE]), start_new_session=True)
    try:
        await eventually(group.holds)
        yield
        assert process.wait(60) == -signal.SIGKILL
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)


async def test_a_sandbox_lives_and_ends_in_its_group(groups: ControlGroups, ground: Ground) -> None:
    async with ground.open() as sandbox:
        (mine,) = [ControlGroup((folder,)) for folder in ControlGroups(ground.state)._found() if _is_memorys(folder)]
        assert ground.rung.memory == HELD
        assert mine.holds()
        own, inside = mine.deaths()
        assert (await sandbox.exec(["cat", inside], timeout=10)).text == Path(own).read_text()
        assert not (await sandbox.exec(f"echo 1 > {inside}", timeout=10)).ok
    assert not list(ControlGroups(ground.state)._found())


def _is_memorys(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("memory.max", "memory.limit_in_bytes"))


async def test_whatever_is_in_a_group_ends_with_it(groups: ControlGroups) -> None:
    group = groups.make(LIMITS)
    assert group is not None
    async with inside(group):
        await group.end()
    assert group.remove()


async def test_a_group_of_version_2_is_ended_by_one_write(unified: ControlGroup) -> None:
    async with inside(unified):
        await unified.end()
    assert not unified.folders[0].exists()


async def test_a_dead_owners_groups_are_reaped_and_nobody_elses(
    groups: ControlGroups, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = ControlGroups(tmp_path / "elsewhere")
    alive = groups.make(LIMITS)
    monkeypatch.setattr(cgroups, "process_mark", lambda _pid: "another-boot:1:1")
    dead, foreign = groups.make(LIMITS), elsewhere.make(LIMITS)
    monkeypatch.undo()
    assert alive is not None
    assert dead is not None
    assert foreign is not None
    try:
        async with inside(dead):
            assert await groups.reap() == ()
        assert [group.folders[0].exists() for group in (alive, dead, foreign)] == [True, False, True]
    finally:
        assert alive.remove()
        assert foreign.remove()


async def test_on_the_host_a_process_that_hides_ends_with_its_sandbox(groups: ControlGroups, tmp_path: Path) -> None:
    """It has a session, an environment and a parent of its own."""
    rung = Host(tmp_path / "state")
    sandbox = await rung.start("a thread", tmp_path, tmp_path, LIMITS)
    hidden = "import os\nif not os.fork():\n os.setsid()\n if not os.fork():\n  os.execve('/bin/sleep', ['sleep', '1000'], {})"
    try:
        assert rung.memory == HELD
        await sandbox.exec(["python3", "-c", hidden], timeout=10)
    finally:
        await sandbox.close()
    assert not list(ControlGroups(tmp_path / "state")._found())


async def test_without_a_place_for_groups_memory_is_counted(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    async with ground.open() as sandbox:
        assert ground.rung.memory == COUNTED
        assert (await sandbox.exec("true", timeout=10)).ok
    assert await ground.rung.reap() == ()


@pytest.mark.parametrize(
    ("shares", "chosen"),
    [({"slice": "memory pids"}, "slice"), ({"slice/unit": "memory pids cpu"}, "slice/unit"), ({}, "")],
)
def test_in_version_2_the_nearest_folder_that_shares_its_controllers_is_taken(
    shares: dict[str, str], chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over plain files, which take no controllers: what the kernel does with them is tried where it counts in version 2."""
    (tmp_path / "slice" / "unit").mkdir(parents=True)
    (tmp_path / "own").write_text("1:name=systemd:/other\n0::/slice/unit\n")
    for folder in (tmp_path, tmp_path / "slice", tmp_path / "slice/unit"):
        (folder / "cgroup.procs").touch()
        (folder / "cgroup.controllers").write_text("memory pids cpu")
        control = folder / "cgroup.subtree_control"
        control.write_text(shares.get(str(folder.relative_to(tmp_path)), ""))
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    monkeypatch.setattr(cgroups, "OWN", tmp_path / "own")
    monkeypatch.setattr(Path, "write_text", _refused)
    assert cgroups._parents() == ((tmp_path / chosen,) if chosen else ())


def _refused(_path: Path, _text: str) -> int:
    raise OSError


async def test_a_fresh_stage_can_be_reached_by_the_sandboxs_user_whatever_our_mask_is(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below /run, as on a machine where no sandbox was ever started."""
    if os.geteuid() != 0:
        pytest.skip("only root shows a workspace to another user")
    stage = STAGE.parent.with_name(f"threadwright-test-{os.getpid()}") / "stage"
    monkeypatch.setattr(bubblewrap, "STAGE", stage)
    staged = bubblewrap._Sources(*(stage / name for name in ("workspace", "home", "program", "etc")))
    monkeypatch.setattr(bubblewrap, "STAGED", staged)
    before = os.umask(0o077)
    try:
        async with ground.open() as sandbox:
            assert (await sandbox.exec("pwd; touch here", timeout=10)).text == "/workspace\n"
        assert stat.S_IMODE(stage.parent.stat().st_mode) == 0o755
    finally:
        os.umask(before)
        subprocess.run(["rm", "-r", "--one-file-system", stage.parent], check=True)
