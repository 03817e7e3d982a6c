"""Many threads' sandboxes, and the ladder that chooses their kind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from docker.errors import APIError
from docker.models.containers import Container

from agentic.ports.errors import SandboxLost
from agentic.sandbox.backends import docker as docker_rung
from agentic.sandbox.backends.docker import OWNER_LABEL, Docker
from agentic.sandbox.backends.hidden_mounts import Cover
from agentic.sandbox.backends.selection import choose, chooser
from agentic.sandbox.limits import Limits
from agentic.sandbox.pool import Choice, Sandboxes, reaped
from agentic.sandbox.protocol.call_journal import Diary
from agentic.sandbox.sandbox import Sandbox
from bot.cli.doctor import sandbox_component
from bot.equipment.skill_folder import SkillFile, write_skill
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name
from tests.scripts import Gate, running, supervisors
from tests.waiting import BOUND, eventually

__all__ = ["docker_url", "ground", "rung_name"]

Make = Callable[..., Sandboxes]


@pytest.fixture
async def make(ground: Ground) -> AsyncIterator[Make]:
    """Pools over the test's ground, closed at its end."""
    made: list[Sandboxes] = []

    async def chosen() -> Choice:
        return Choice(ground.rung, "the test says so")

    def build(**how: float) -> Sandboxes:
        made.append(Sandboxes(ground.state, chosen, ground.limits, **how))  # pyright: ignore[reportArgumentType]
        return made[-1]

    yield build
    for pool in made:
        await pool.close()


async def test_a_thread_keeps_its_sandbox_and_its_files_from_others(make: Make, ground: Ground) -> None:
    """Same thread, same sandbox; another thread sees nothing of it."""
    pool = make()
    assert not supervisors(ground.folder)
    first = await pool.for_thread("one", ground.folder / "one")
    assert await pool.for_thread("one", ground.folder / "one") is first
    assert supervisors(ground.folder)
    other = await pool.for_thread("two", ground.folder / "two")
    await first.exec("echo mine > f; echo mine > ~/f; echo mine > /tmp/f; sleep 60 & true", timeout=10)
    seen = await other.exec(
        "cat f ~/f /tmp/f; cat /proc/[0-9]*/cmdline | tr '\\0' ' '; find / -xdev -name f 2>/dev/null", timeout=20
    )
    assert "mine" not in seen.text
    assert "sleep 60" not in seen.text


async def test_what_comes_into_a_threads_skills_is_read_in_its_sandbox_at_once_and_not_changed(
    make: Make, ground: Ground
) -> None:
    pool = make()
    sandbox = await pool.for_thread("one", ground.folder / "one")
    skill = pool.skills_folder("one") / "notes-12345678"
    write_skill(skill, (SkillFile("a/run.sh", b"echo from a skill\n", runs=True),))
    place = f"{await pool.skills_place('one')}/notes-12345678"
    seen = await sandbox.exec(f"{place}/a/run.sh; echo worse > {place}/a/run.sh; touch {place}/b", timeout=20)
    assert "from a skill" in seen.text
    if ground.rung_name != "host":  # which has no walls
        assert (skill / "a/run.sh").read_bytes() == b"echo from a skill\n"
        assert not (skill / "b").exists()
    other = await pool.for_thread("two", ground.folder / "two")
    assert "from a skill" not in (await other.exec(f"ls -R /opt/threadwright; {place}/a/run.sh", timeout=20)).text or (
        ground.rung_name == "host"
    )
    await pool.forget("one")
    assert not pool.skills_folder("one").exists()


async def test_beyond_the_limit_an_idle_sandbox_gives_way(make: Make, ground: Ground) -> None:
    """The one that was used longest ago."""
    pool = make(count=2)
    for name in ("one", "two"):
        async with pool.use(name, ground.folder / name) as sandbox:
            assert (await sandbox.exec("true", timeout=10)).ok
    async with pool.use("one", ground.folder / "one"):
        pass
    async with asyncio.timeout(BOUND), pool.use("three", ground.folder / "three") as sandbox:
        assert (await sandbox.exec("echo three", timeout=10)).text == "three\n"
    assert pool.existing("one") is not None
    assert pool.existing("two") is None


async def test_while_all_are_busy_threads_wait_in_order_and_know_their_place(make: Make, ground: Ground) -> None:
    """First come, first served."""
    pool, go = make(count=1), asyncio.Event()
    order: list[str] = []

    async def work(name: str) -> None:
        async with pool.use(name, ground.folder / name) as sandbox:
            order.append(name)
            await sandbox.exec("true", timeout=10)
            await go.wait()

    async with asyncio.timeout(BOUND), asyncio.TaskGroup() as group:
        for place, name in enumerate(("one", "two", "three")):
            group.create_task(work(name))
            await eventually(lambda name=name, place=place: pool.position(name) == place and order)
        assert (pool.position("one"), pool.position("two"), pool.position("three")) == (0, 1, 2)
        go.set()
    assert order == ["one", "two", "three"]
    assert pool.position("three") == 0


async def test_idle_sandboxes_are_ended_and_busy_ones_are_not(make: Make, ground: Ground) -> None:
    """By the time since their last use."""
    pool = make(idle=0.0)
    idle = await pool.for_thread("idle", ground.folder / "idle")
    async with pool.use("busy", ground.folder / "busy") as busy:
        assert await pool.evict_idle() == 1
        assert (await busy.exec("true", timeout=10)).ok
    assert idle.lost


async def test_cancelling_the_making_of_a_sandbox_leaves_nothing_behind(make: Make, ground: Ground) -> None:
    """Whenever the cancellation comes."""
    pool = make()
    for rounds in (0, 1, 10, 50, -1):
        making = asyncio.create_task(pool.for_thread("one", ground.folder / "one"))
        for _ in range(rounds):
            await asyncio.sleep(0)
        if rounds < 0:  # its first process is there
            await eventually(lambda making=making: making.done() or supervisors(ground.folder))
        if making.cancel():
            with pytest.raises(asyncio.CancelledError):
                await making
            assert pool.existing("one") is None
        else:
            await pool.end("one")  # it was quicker than we
    await eventually(lambda: not supervisors(ground.folder))


async def test_whoever_gives_up_on_a_slow_start_waits_for_nothing_and_the_next_gets_a_sandbox(ground: Ground) -> None:
    """The late sandbox is ended by the pool before the thread gets another."""
    rung, begun, go = ground.rung, asyncio.Event(), asyncio.Event()
    started: list[Sandbox] = []

    class Slow:
        name, owner, reap, close, covers = rung.name, rung.owner, rung.reap, rung.close, rung.covers
        memory, said = rung.memory, rung.said

        async def start(
            self,
            thread: str,
            workspace: Path,
            home: Path,
            limits: Limits,
            diary: Diary | None = None,
            covered: Sequence[Cover] = (),
            door: Path | None = None,
            mirror: Path | None = None,
            skills: Path | None = None,
        ) -> Sandbox:
            begun.set()
            await go.wait()
            started.append(await rung.start(thread, workspace, home, limits))
            return started[-1]

    async def chosen() -> Choice:
        return Choice(Slow(), "the test says so")

    pool = Sandboxes(ground.state, chosen, ground.limits, count=1)
    try:
        async with asyncio.timeout(BOUND):
            making = asyncio.create_task(pool.for_thread("one", ground.folder / "one"))
            await begun.wait()
            making.cancel()
            await asyncio.wait((making,), timeout=BOUND)
            assert making.cancelled(), "it does not wait for the start"
            again = asyncio.create_task(pool.for_thread("one", ground.folder / "one"))
            go.set()
            sandbox = await again
            assert (await sandbox.exec("true", timeout=10)).ok
            assert [one.lost is None for one in started] == [False, True]
    finally:
        await pool.close()


@pytest.mark.docker
async def test_containers_of_a_dead_owner_are_reaped_and_those_of_the_living_are_not(
    docker_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At start, by label."""
    state, workspace, home = (tmp_path / name for name in ("state", "workspace", "home"))
    rung = Docker(state, docker_url)
    for folder in (workspace, home):
        folder.mkdir()
    alive = await rung.start("alive", workspace, home, Limits())
    monkeypatch.setattr("agentic.sandbox.backends.docker.process_mark", lambda _pid: "another-boot:1:1")
    dead = await rung.start("dead", workspace, home, Limits())
    monkeypatch.undo()
    try:
        assert OWNER_LABEL
        assert await rung.reap() == ()
        assert (await alive.exec("true", timeout=10)).ok
        with pytest.raises(SandboxLost):
            await dead.exec("true", timeout=10)
    finally:
        await alive.close()
        await dead.close()
        await rung.close()


@pytest.mark.docker
async def test_a_container_that_cannot_be_removed_keeps_no_other_from_being_reaped(
    docker_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`doctor` tells of it, and it is tried again at the next start."""
    state, workspace, home = (tmp_path / name for name in ("state", "workspace", "home"))
    rung = Docker(state, docker_url)
    for folder in (workspace, home):
        folder.mkdir()
    monkeypatch.setattr("agentic.sandbox.backends.docker.process_mark", lambda _pid: "another-boot:1:1")
    dead = [await rung.start(name, workspace, home, Limits()) for name in ("one", "two")]
    monkeypatch.undo()
    remove, failed = docker_rung._remove, 0

    def fails_first(container: Container) -> str:
        nonlocal failed
        failed += 1
        if failed == 1:
            raise APIError("removal is already in progress")
        return remove(container)

    try:
        with monkeypatch.context() as patched:
            patched.setattr(docker_rung, "_remove", fails_first)
            choice = Choice(rung, "the test says so", left=await reaped(rung))
        assert failed == 2
        assert "removal is already in progress" in choice.left[0]
        row = sandbox_component(choice)
        assert (row.state, "removal is already in progress" in row.why) == ("limited", True)
        assert await rung.reap() == ()
        assert failed == 2, "the other one was gone by then"
    finally:
        for sandbox in dead:
            await sandbox.close()
        await rung.close()


@pytest.mark.wall("stops")
@pytest.mark.docker
async def test_a_container_that_the_engine_cannot_remove_is_killed_from_here(
    docker_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine's own removal fails until its first process is gone."""
    if os.geteuid() != 0:
        pytest.skip("only root may kill a container's process")
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    for folder in (workspace, home):
        folder.mkdir()
    rung = Docker(tmp_path / "state", docker_url)
    sandbox = await rung.start("a thread", workspace, home, Limits())
    remove = Container.remove

    def removed(container: Container, **how: bool) -> None:
        container.reload()
        if container.attrs["State"]["Running"]:
            raise APIError("could not kill the container: it did not exit")
        remove(container, **how)

    try:
        monkeypatch.setattr(Container, "remove", removed)
        assert "could not be removed" not in await sandbox.close()
    finally:
        await rung.close()


async def test_the_ladder_takes_what_really_runs_and_says_why_not_the_better_one(tmp_path: Path) -> None:
    """Without an engine it is bubblewrap."""
    choice = await choose("auto", tmp_path / "state", docker_url=f"unix://{tmp_path}/none.sock")
    assert choice.name == "bubblewrap"
    assert "none.sock" in choice.skipped[0]


@pytest.mark.docker
async def test_the_ladder_prefers_docker(tmp_path: Path, docker_url: str) -> None:
    """Where it runs."""
    choice = await choose("auto", tmp_path / "state", docker_url=docker_url)
    assert choice.name == "docker"
    assert choice.rung is not None
    await choice.rung.close()


async def test_the_host_is_used_only_by_name_and_keeps_the_same_promises_about_ends(tmp_path: Path) -> None:
    """A stubborn setsid child ends with the kill there too."""
    pool = Sandboxes(tmp_path / "state", chooser("host", tmp_path / "state"))
    assert (await pool.choice()).name == "host"
    gate, token, another = Gate(tmp_path / "workspace"), uuid4().hex, uuid4().hex
    stubborn = f"setsid sh -c 'trap \"\" TERM; cat gate; while :; do sleep 600; done' {token} & sleep 600"
    try:
        async with pool.use("t", tmp_path / "workspace") as sandbox:
            command = asyncio.create_task(sandbox.exec(stubborn, timeout=600, exec_id="mine"))
            await gate.open()
            assert running(token)
            assert await sandbox.kill("mine") >= 1
            assert (await command).killed_reason == "stopped"
            assert running(token) == []
            assert (await sandbox.exec("env | grep -c TOKEN; pwd", timeout=10)).text == f"0\n{tmp_path}/workspace\n"
            await sandbox.start(f"setsid sh -c 'cat gate; while :; do sleep 600; done' {another}")
            await gate.open()
            assert running(another)
    finally:
        await pool.close()
    assert running(another) == []


async def test_an_unknown_setting_is_refused_in_words(tmp_path: Path) -> None:
    """With what to write instead."""
    choice = await choose("podman", tmp_path)  # type: ignore[arg-type]
    assert choice.rung is None
    assert "auto, docker, bubblewrap or host" in choice.why
