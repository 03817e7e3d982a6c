"""The way back from a command: in every kind of sandbox, and whoever dies on it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from agentic.ports.errors import NotSettled, SandboxError
from agentic.ports.failpoints import VARIABLE
from agentic.sandbox.hidden_files import adopt
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.workspace.savepoints import AFTER, Excuses, RestoredFiles, Savepoints
from agentic.workspace.snapshots import restore
from agentic.workspace.snapshots.losses import Shown
from agentic.workspace.snapshots.scan import GRAIN_NS
from agentic.workspace.snapshots.snapshot_store import SnapshotLimits, Snapshots
from agentic.workspace.workspace import RealWorld
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name
from tests.waiting import BOUND, eventually

__all__ = ["docker_url", "ground", "rung_name"]

SETTLES = """
import asyncio, sys
from pathlib import Path
from tests.integration.world.test_savepoints import settled
asyncio.run(settled(Path(sys.argv[1])))
"""
DYING = ("savepoint.noted.before", "savepoint.noted.after", "restore.before", "restore.file:3", "restore.after")


@pytest.fixture
async def world(ground: Ground) -> AsyncIterator[RealWorld]:
    async def chosen() -> Choice:
        return Choice(ground.rung, "the test says so")

    sandboxes = Sandboxes(ground.state, chosen, ground.limits)
    yield RealWorld(sandboxes, "t1", ground.workspace)
    await sandboxes.close()


def nothing(_: str, __: str) -> bool:
    """No file is the command's own."""
    return False


NOTHING = Excuses(nothing, nothing)


async def test_what_a_command_destroyed_in_a_sandbox_is_put_back_and_can_be_used_there(
    world: RealWorld, ground: Ground
) -> None:
    for number in range(5):
        ground.file(f"src/deep/m{number}", f"content number {number}\n")
    adopt(ground.workspace, *ground.rung.owner)
    savepoints = Savepoints(Snapshots(ground.folder / "kept"), world)
    for command in (
        "rm -rf *",
        "find . -type f -exec sh -c ': > {}' ';'",
        "chmod 000 src/deep/*; chmod 000 src/deep src",
    ):
        await savepoints.hold(command, NOTHING)
        await world.exec(command, timeout=20)
        back = await savepoints.settle(command, NOTHING)
        assert isinstance(back, RestoredFiles), command
        assert back.left == "", command
        seen = await world.exec("cat src/deep/* && echo more >> src/deep/m0 && touch src/new && rm src/new", timeout=20)
        assert seen.exit_code == 0, seen.output
        assert seen.output.startswith(b"content number 0\n")
        assert seen.output.count(b"\n") >= 5


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


async def settled(home: Path) -> RestoredFiles | None:
    """What a process that finds the call over does."""
    return await Savepoints(Snapshots(home / "kept"), _world(home)).settle("c1", NOTHING)


def _world(home: Path) -> RealWorld:
    async def nowhere() -> Choice:
        return Choice(None, "no command runs")

    return RealWorld(Sandboxes(home, nowhere), "t1", home / "work")


async def test_whoever_dies_while_putting_back_the_next_one_ends_it_and_says_the_same(tmp_path: Path) -> None:
    said: set[str] = set()
    for point in DYING:
        home = tmp_path / point.replace(":", "-")
        work = home / "work"
        for number in range(8):
            (work / f"src{number % 2}").mkdir(parents=True, exist_ok=True)
            (work / f"src{number % 2}" / f"m{number}").write_text(f"content of {number}\n")
        before = files(work)
        await Savepoints(Snapshots(home / "kept"), _world(home)).hold("c1", NOTHING)
        shutil.rmtree(work / "src0")
        (work / "src1" / "m1").write_text("")
        died = subprocess.run(
            [sys.executable, "-c", SETTLES, str(home)],
            env={**os.environ, VARIABLE: point, "PYTHONPATH": str(Path.cwd())},
            timeout=60,
            capture_output=True,
        )
        assert died.returncode == -signal.SIGKILL, (point, died.stderr)
        back = await settled(home)
        assert back is not None, point
        assert files(work) == before, point
        said.add(back.destroyed)
    assert len(said) == 1, said


async def test_a_savepoint_is_of_one_call_and_one_that_is_as_before_is_not_written_again(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for name in ("a", "b"):
        (tmp_path / "work" / name).write_text(f"content of {name}\n")
    changed = (tmp_path / "work" / "b").stat().st_ctime_ns
    await eventually(lambda: time.time_ns() - changed > 2 * GRAIN_NS)  # what was written just now is read again
    savepoints = Savepoints(Snapshots(tmp_path / "kept"), _world(tmp_path))
    await savepoints.hold("c0", NOTHING)
    await savepoints.hold("c1", NOTHING)
    written = (tmp_path / "kept" / "t1" / "savepoint").stat().st_mtime_ns
    await savepoints.hold("c2", NOTHING)
    for name in ("a", "b"):
        (tmp_path / "work" / name).unlink()
    assert (tmp_path / "kept" / "t1" / "savepoint").stat().st_mtime_ns == written
    assert await savepoints.settle("c1", NOTHING) is None
    assert await savepoints.settle("c2", NOTHING) is not None
    assert len(list((tmp_path / "kept" / "t1" / "packs").iterdir())) == 1


async def test_what_was_being_put_back_between_two_calls_is_ended_by_the_next_process(tmp_path: Path) -> None:
    work, snapshots = tmp_path / "work", Snapshots(tmp_path / "kept")
    work.mkdir()
    for name in ("a", "b"):
        (work / name).write_text(f"content of {name}\n")
    held = await snapshots.hold("t1", work, f"c1{AFTER}")
    await snapshots.note("t1", replace(held, destroyed="deleted 2 files", losses=frozenset("x")))
    (work / "a").unlink()
    back = await Savepoints(snapshots, _world(tmp_path)).hold("c2", NOTHING)
    assert back is not None
    assert (back.destroyed, back.beside, files(work)) == (
        "deleted 2 files",
        True,
        {"a": "content of a\n", "b": "content of b\n"},
    )
    (work / "a").unlink()
    assert await Savepoints(snapshots, _world(tmp_path)).hold("c3", NOTHING) is None


async def test_what_a_person_let_a_call_destroy_is_known_to_whoever_ends_it(tmp_path: Path) -> None:
    work, snapshots = tmp_path / "work", Snapshots(tmp_path / "kept")
    work.mkdir()
    for name in ("a", "b"):
        (work / name).write_text(f"content of {name}\n")
    await Savepoints(snapshots, _world(tmp_path)).hold("c1", NOTHING)
    (work / "a").unlink()
    back = await Savepoints(snapshots, _world(tmp_path)).settle("c1", NOTHING)
    assert back is not None
    for shown, stays in ((Shown(back.losses), True), (Shown(named=("a",)), True), (Shown(), False)):
        (work / "a").write_text("content of a\n")
        await Savepoints(snapshots, _world(tmp_path)).hold("c1", NOTHING, shown)
        (work / "a").unlink()
        again = await Savepoints(snapshots, _world(tmp_path)).settle("c1", NOTHING)
        assert (again is None, (work / "a").exists()) == (stays, not stays)


async def changed_by(home: Path, files: Mapping[str, str], changed: Mapping[str, str | None]) -> RestoredFiles | None:
    """What a call comes to that writes these files over, or deletes them."""
    work = home / "work"
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    savepoints = Savepoints(Snapshots(home / "kept", SnapshotLimits(max_bytes=2 << 20), home=home), _world(home))
    await savepoints.hold("c1", NOTHING)
    for name, new in changed.items():
        (work / name).write_text(new) if new is not None else (work / name).unlink()
    return await savepoints.settle("c1", NOTHING)


async def test_what_was_not_looked_into_in_time_counts_as_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = " ".join(f"word{number}" for number in range(99))
    edit = ({"a": words}, {"a": words.replace("word9", "name9")})
    assert await changed_by(tmp_path / "in time", *edit) is None
    monkeypatch.setattr("agentic.workspace.savepoints.FIND_SECONDS", 0.0)
    assert await changed_by(tmp_path / "late", *edit) is not None


@pytest.mark.parametrize(("limit", "value", "most"), [("FIND_SECONDS", 0.0, 0), ("MOST_REPOSITORIES", 7, 7)])
async def test_many_changed_repositories_are_not_asked_beyond_a_time_and_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: float, most: int
) -> None:
    asked: set[str] = set()

    async def own(_: RealWorld, script: str, *, cwd: str, **more: object) -> None:
        asked.add(cwd)
        raise SandboxError("no sandbox stands here")

    monkeypatch.setattr(f"agentic.workspace.savepoints.{limit}", value)
    monkeypatch.setattr(RealWorld, "own", own)
    git = {"objects/x": "x", "refs/heads/main": "a" * 40, "HEAD": "ref: refs/heads/main"}
    files = {f"r{number}/.git/{name}": text for number in range(30) for name, text in git.items()}
    back = await changed_by(tmp_path, files, {f"r{n}/.git/refs/heads/main": "b" * 40 for n in range(30)})
    assert back is not None
    assert back.destroyed == "destroyed history of git in “r0/.git” and 29 more"
    assert len(asked) == most


async def test_new_files_count_among_what_is_read_and_those_beyond_a_limit_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = " ".join(f"word{number}" for number in range(99))
    move: tuple[dict[str, str], dict[str, str | None]] = (
        {"a.md": words}, {"a.md": None, "b.md": words + " more"} | {f"b{n}.md": "of another thing " * 99 for n in range(5)}
    )  # fmt: skip
    assert await changed_by(tmp_path / "few", *move) is None
    monkeypatch.setattr("agentic.workspace.savepoints.ALL_BYTES", 4_000)
    assert await changed_by(tmp_path / "many", *move) is not None
    sizes = {f"n{number}": str(number) * (1 << 20) for number in range(4)}
    back = await changed_by(tmp_path / "large", {"a": words}, {"a": None, **sizes})
    assert back is not None
    assert [change.path for change in back.changes] == ["n0"]


async def test_one_agent_never_counts_on_a_savepoint_that_anothers_replaced(tmp_path: Path) -> None:
    work, snapshots = tmp_path / "work", Snapshots(tmp_path / "kept")
    work.mkdir()
    (work / "a").write_text("content of a\n")
    one, other = (Savepoints(snapshots, _world(tmp_path)) for _ in range(2))
    await one.hold("c1", NOTHING)
    await other.hold("c2", NOTHING)
    await one.hold("c3", NOTHING)
    (work / "a").unlink()
    assert await one.settle("c3", NOTHING) is not None
    assert files(work) == {"a": "content of a\n"}


async def test_checkpoints_and_savepoints_keep_what_the_other_needs(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    snapshots = Snapshots(tmp_path / "kept", SnapshotLimits(kept=1))
    savepoints = Savepoints(snapshots, _world(tmp_path))
    for name in ("a", "b"):
        (work / name).write_text(f"content of {name}\n")
    await savepoints.hold("c1", NOTHING)
    for name in ("a", "b"):
        (work / name).write_text("else\n")
    for number in range(3):
        (work / "c").write_text(f"{number}\n")
        assert not (await snapshots.save("t1", work)).problem
    assert await savepoints.settle("c1", NOTHING) is not None
    assert (work / "a").read_text() == "content of a\n"
    manifest = (await snapshots.listed("t1"))[-1]
    assert await snapshots.content("t1", manifest, "c") == b"2\n"


async def test_of_a_workspace_that_is_too_large_none_is_kept_and_that_is_said(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for number in range(4):
        (work / str(number)).write_text("x\n")
    savepoints = Savepoints(Snapshots(tmp_path / "kept", SnapshotLimits(max_files=3)), _world(tmp_path))
    fits = Savepoints(Snapshots(tmp_path / "fits", SnapshotLimits(max_files=4)), _world(tmp_path))
    await fits.hold("c0", NOTHING)
    for number in range(4):
        (work / str(number)).unlink()
        (work / f"new{number}").write_text("y\n")
        (work / f"more{number}").write_text("y\n")
    assert await fits.settle("c0", NOTHING) is not None
    assert (work / "3").read_text() == "x\n"
    await savepoints.hold("c1", NOTHING)
    assert (savepoints.holds, "more than 3 files" in savepoints.problem) == (False, True)
    shutil.rmtree(work)
    work.mkdir()
    assert await savepoints.settle("c1", NOTHING) is None


class Beside(RealWorld):
    """A world in which something that was left running may act at any moment."""

    @property
    def stirs(self) -> bool:
        return True


def _beside(home: Path) -> Savepoints:
    async def nowhere() -> Choice:
        return Choice(None, "no command runs")

    return Savepoints(Snapshots(home / "kept"), Beside(Sandboxes(home, nowhere), "t1", home / "work"))


def _written(home: Path) -> dict[str, str]:
    (home / "work/src").mkdir(parents=True, exist_ok=True)
    for number in range(5):
        (home / f"work/src/m{number}.py").write_text(f"def number_{number}() -> int:\n    return {number}\n")
    return files(home / "work")


async def test_what_was_put_back_to_the_end_is_not_put_back_again_over_what_people_did_since(tmp_path: Path) -> None:
    _written(tmp_path)
    looks, savepoints = replace(NOTHING, looks=True), _beside(tmp_path)
    await savepoints.hold("c1", looks)
    shutil.rmtree(tmp_path / "work/src")
    back = await savepoints.settle("c1", looks)
    assert back is not None
    assert back.beside
    shutil.rmtree(tmp_path / "work/src")  # a person
    assert await _beside(tmp_path).hold("d1", NOTHING) is None
    assert not (tmp_path / "work/src").exists()


@pytest.mark.parametrize("again", ["called off", "a process that died"])
async def test_what_was_not_put_back_to_the_end_is_before_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: str
) -> None:
    before, savepoints = _written(tmp_path), _beside(tmp_path)
    await savepoints.hold("c1", NOTHING)
    shutil.rmtree(tmp_path / "work/src")
    at_the_second, go = asyncio.Event(), threading.Event()
    loop, reached = asyncio.get_running_loop(), iter(range(100))

    def reach(point: str) -> None:
        if point == "restore.file" and next(reached) == 1:
            loop.call_soon_threadsafe(at_the_second.set)
            assert go.wait(BOUND)

    with monkeypatch.context() as patched:
        patched.setattr(restore, "reach", reach)
        settling = asyncio.create_task(savepoints.settle("c1", NOTHING))
        await at_the_second.wait()
        for _ in range(2):
            settling.cancel()
            for _ in range(20):  # so many passes of the loop it takes at most until the restore has heard of it
                await asyncio.sleep(0)
        go.set()
        with pytest.raises(NotSettled):
            await settling
    assert 0 < len(files(tmp_path / "work")) < 5
    back = await (savepoints if again == "called off" else _beside(tmp_path)).hold("d1", NOTHING)
    assert back is not None
    assert files(tmp_path / "work") == before


async def test_a_stop_waits_for_what_is_put_back_before_a_command_and_the_command_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, savepoints = _written(tmp_path), _beside(tmp_path)
    await savepoints.hold("c1", NOTHING)
    assert await savepoints.settle("c1", NOTHING) is None
    shutil.rmtree(tmp_path / "work/src")  # what it left running
    began, go, loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    def reach(point: str) -> None:
        if point == "restore.before":
            loop.call_soon_threadsafe(began.set)
            assert go.wait(BOUND)

    monkeypatch.setattr(restore, "reach", reach)
    holding = asyncio.create_task(savepoints.hold("c2", NOTHING))
    await began.wait()
    holding.cancel()
    await asyncio.sleep(0)
    assert not holding.done()
    go.set()
    back = await holding
    assert back is not None
    assert files(tmp_path / "work") == before
    assert not savepoints.holds, "nothing is kept for a command that does not begin"


async def test_what_something_left_running_moved_is_no_call_s_own_wherever_it_stands(tmp_path: Path) -> None:
    _written(tmp_path)
    excuses = replace(NOTHING, derived=_in_build)
    savepoints, work = _beside(tmp_path), tmp_path / "work"
    await savepoints.hold("c1", excuses)
    assert await savepoints.settle("c1", excuses) is None
    (work / "build").mkdir()
    (work / "src").rename(work / "build/src")
    assert await savepoints.hold("c2", excuses) is None
    shutil.rmtree(work / "build")
    back = await savepoints.settle("c2", excuses)
    assert back is not None
    assert len(files(work)) == 5


def _in_build(path: str, __: str) -> bool:
    return path.startswith("build/")


async def test_a_recall_leaves_nothing_that_is_told_as_another_s_doing(tmp_path: Path) -> None:
    _written(tmp_path)
    await _beside(tmp_path).hold("c1", NOTHING)
    shutil.rmtree(tmp_path / "work/src")
    assert await _beside(tmp_path).settle("c1", NOTHING) is not None
    recalls = _beside(tmp_path)
    assert await recalls.settle("c1", NOTHING) is not None
    assert await recalls.hold("c2", NOTHING) is None
