"""Snapshots of a workspace on a real file system: what is kept, what is not read again, what is put back, what is not."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from agentic.workspace.snapshots import restore
from agentic.workspace.snapshots.manifest import Manifest
from agentic.workspace.snapshots.packs import OpenPack
from agentic.workspace.snapshots.scan import GRAIN_NS, Walk
from agentic.workspace.snapshots.snapshot_store import SnapshotLimits, SnapshotLost, Snapshots
from agentic.workspace.snapshots.undo_plan import GONE_ON, plan_undo
from tests.waiting import BOUND, eventually


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A small project."""
    root = tmp_path / "work"
    for name, text in {"a.txt": "one\n", "src/b.py": "b = 1\n", "src/deep/c.py": "", ".git/HEAD": "ref: x\n"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("a.txt")
    (root / "empty").mkdir()
    return root


@pytest.fixture
def snapshots(tmp_path: Path) -> Snapshots:
    return Snapshots(tmp_path / "home" / "checkpoints", home=tmp_path / "home")


async def save(snapshots: Snapshots, workspace: Path, thread: str = "1") -> str:
    saved = await snapshots.save(thread, workspace)
    assert saved.problem == ""
    return saved.manifest


async def undo(snapshots: Snapshots, workspace: Path, before: str, after: str) -> dict[str, str]:
    """Undo the way from one snapshot to another; returns what was left, with the reason."""
    now = await snapshots.load("1", await save(snapshots, workspace))
    plan = plan_undo(await snapshots.load("1", before), await snapshots.load("1", after), now)
    restored = await snapshots.restore("1", workspace, plan.wanted, now)
    return {**plan.left, **restored.left}


def tree(root: Path) -> dict[str, tuple[str, int, str]]:
    """Everything below a folder: kind, mode, content."""
    found: dict[str, tuple[str, int, str]] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = ("link", 0, str(path.readlink()))
        elif path.is_dir():
            found[name] = ("dir", 0, "")
        else:
            found[name] = ("file", path.stat().st_mode & 0o777, path.read_text())
    return found


@pytest.mark.wall("snapshots")
async def test_everything_an_execution_did_is_put_back(workspace: Path, snapshots: Snapshots) -> None:
    """Changed, deleted, added; modes, links, folders, kinds; and nothing is written through a hard link."""
    was = tree(workspace)
    before = await save(snapshots, workspace)
    outside = workspace.parent / "outside"
    outside.write_text("one\n")
    (workspace / "a.txt").unlink()
    os.link(outside, workspace / "a.txt")
    outside.write_text("changed through the link\n")
    (workspace / "src/deep/c.py").unlink()
    (workspace / "src/deep").rmdir()
    (workspace / "src/deep").write_text("a file where a folder was\n")
    (workspace / "run.sh").chmod(0o644)
    (workspace / "link").unlink()
    (workspace / "link").symlink_to("/etc/passwd")
    (workspace / "empty").rmdir()
    (workspace / "new/er").mkdir(parents=True)
    (workspace / "new/er/x.py").write_text("x")
    (workspace / "new/__pycache__").mkdir()
    (workspace / "new/__pycache__/x.pyc").write_text("made by running it")
    after = await save(snapshots, workspace)
    assert await undo(snapshots, workspace, before, after) == {}
    assert tree(workspace) == was
    assert outside.read_text() == "changed through the link\n"
    assert await undo(snapshots, workspace, before, after) == {}
    assert tree(workspace) == was


@pytest.mark.wall("snapshots")
async def test_what_somebody_changed_since_is_left_and_named(workspace: Path, snapshots: Snapshots) -> None:
    """One file of theirs stays, a folder with a file of theirs too, and the rest is put back."""
    before = await save(snapshots, workspace)
    (workspace / "a.txt").write_text("agent\n")
    (workspace / "src/b.py").write_text("agent\n")
    (workspace / "made").mkdir()
    (workspace / "made/one").write_text("agent")
    after = await save(snapshots, workspace)
    (workspace / "a.txt").write_text("a person\n")
    (workspace / "made/theirs").write_text("a person")
    assert await undo(snapshots, workspace, before, after) == {"a.txt": "it was changed since"}
    assert (workspace / "a.txt").read_text() == "a person\n"
    assert (workspace / "src/b.py").read_text() == "b = 1\n"
    assert [path.name for path in (workspace / "made").iterdir()] == ["theirs"]


async def test_a_repository_is_put_back_whole_or_not_at_all(workspace: Path, snapshots: Snapshots) -> None:
    """git's own index does not count as a change; anything else in .git that is newer keeps all of it."""
    (workspace / ".git/index").write_text("0")
    before = await save(snapshots, workspace)
    (workspace / ".git/HEAD").write_text("ref: y\n")
    (workspace / ".git/object").write_text("o")
    after = await save(snapshots, workspace)
    (workspace / ".git/index").write_text("refreshed by a status")
    assert await undo(snapshots, workspace, before, after) == {}
    assert (workspace / ".git/HEAD").read_text() == "ref: x\n"
    assert not (workspace / ".git/object").exists()
    (workspace / ".git/HEAD").write_text("ref: y\n")
    (workspace / ".git/object").write_text("o")
    (workspace / ".git/theirs").write_text("a branch of a person")
    assert await undo(snapshots, workspace, before, after) == {".git": GONE_ON}
    assert (workspace / ".git/HEAD").read_text() == "ref: y\n"


@pytest.mark.wall("snapshots")
async def test_unchanged_files_are_not_read_again(tmp_path: Path, workspace: Path) -> None:
    """Only what changed is read, also where size and modification time were set back to what they were."""
    await eventually(lambda: time.time_ns() - (workspace / "run.sh").stat().st_ctime_ns > GRAIN_NS, "a file settles")
    manifest, read = walked(tmp_path / "1.pack", Manifest(), workspace)
    assert read == 5
    assert walked(tmp_path / "2.pack", manifest, workspace) == (manifest, 0)
    status = (workspace / "a.txt").stat()
    (workspace / "a.txt").write_text("two\n")
    os.utime(workspace / "a.txt", ns=(status.st_atime_ns, status.st_mtime_ns))
    changed, read = walked(tmp_path / "3.pack", manifest, workspace)
    assert changed.entries["a.txt"].sha != manifest.entries["a.txt"].sha
    assert read == 1


def walked(path: Path, known: Manifest, workspace: Path) -> tuple[Manifest, int]:
    """A walk, and how many files it read."""
    pack = OpenPack(path)
    walk = Walk(pack, known.entries)
    try:
        return walk.run(str(workspace)), walk.read
    finally:
        pack.keep()


@pytest.mark.wall("snapshots")
async def test_nothing_outside_is_read_and_special_files_are_said(workspace: Path, snapshots: Snapshots) -> None:
    """Links are kept as links, a pipe blocks nobody, caches stay out, and so does our own state inside the workspace."""
    (workspace.parent / "secret").mkdir()
    (workspace.parent / "secret/key").write_text("canary")
    (workspace / "out").symlink_to("../secret")
    os.mkfifo(workspace / "pipe")
    (workspace / "node_modules").mkdir()
    (workspace / "node_modules/big.js").write_text("canary")
    (workspace / ".env").write_text("canary")
    home = workspace / ".tw"
    home.mkdir()
    (home / "database").write_text("canary")
    inside = Snapshots(home / "checkpoints", home=home)
    manifest = await inside.load("1", (await inside.save("1", workspace, hidden=(".env",))).manifest)
    assert manifest.entries["out"].kind == "link"
    assert set(manifest.left_out) == {"pipe", "node_modules", ".env", ".tw"}
    kept = [path for path in (home / "checkpoints").rglob("*") if path.is_file()]
    assert len(kept) == 3
    assert not any(b"canary" in path.read_bytes() for path in kept)


@pytest.mark.wall("snapshots")
async def test_what_a_snapshot_did_not_hold_is_never_touched(workspace: Path, snapshots: Snapshots) -> None:
    """A file that was hidden before, and one that is hidden now, are left alone."""
    (workspace / "s.env").write_text("secret")
    before = (await snapshots.save("1", workspace, hidden=("s.env",))).manifest
    after = await save(snapshots, workspace)
    assert await undo(snapshots, workspace, before, after) == {}
    assert (workspace / "s.env").read_text() == "secret"


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (SnapshotLimits(max_bytes=10), "more than 0 MB"),
        (SnapshotLimits(max_files=3), "more than 3 files"),
        (SnapshotLimits(free=1 << 60), "free on the disk"),
    ],
)
async def test_too_much_is_a_problem_in_words(
    workspace: Path, tmp_path: Path, limits: SnapshotLimits, words: str
) -> None:
    """Nothing is kept then, and what was kept before stays."""
    earlier = await save(Snapshots(tmp_path / "c"), workspace)
    (workspace / "more.txt").write_text("more than ten bytes\n")
    saved = await Snapshots(tmp_path / "c", limits).save("1", workspace)
    assert saved.manifest == ""
    assert words in saved.problem
    assert [path.name for path in (tmp_path / "c/1/manifests").iterdir()] == [earlier]
    assert len(list((tmp_path / "c/1/packs").iterdir())) == 1


async def test_old_snapshots_go_and_their_content_with_them(workspace: Path, tmp_path: Path) -> None:
    """The newest stay whole; room is bounded also where a large file changes each time beside one that never does."""
    snapshots = Snapshots(tmp_path / "c", SnapshotLimits(kept=3))
    names: list[str] = []
    for round_ in range(12):
        (workspace / "large").write_bytes(bytes([round_]) * (2 << 20))
        (workspace / f"small{round_}").write_text(f"{round_}")
        names.append(await save(snapshots, workspace))
    assert await snapshots.listed("1") == tuple(names[-3:])
    with pytest.raises(SnapshotLost, match="newest 3"):
        await snapshots.load("1", names[0])
    size = sum(path.stat().st_size for path in (tmp_path / "c/1/packs").iterdir())
    assert size < 5 * (2 << 20)
    now = await snapshots.load("1", names[-1])
    (workspace / "small0").unlink()
    present = await snapshots.load("1", await save(snapshots, workspace))
    await snapshots.restore("1", workspace, {"small0": now.entries["small0"]}, present)
    assert (workspace / "small0").read_text() == "0"


@pytest.mark.wall("snapshots")
async def test_snapshots_are_bounded_in_bytes_and_what_is_needed_stays(workspace: Path, tmp_path: Path) -> None:
    """The oldest go where all take too much; not the newest two, nor those by which something can be undone."""
    asked: list[str] = []

    async def needed(thread: str) -> tuple[str, ...]:
        asked.append(thread)
        return tuple(names[1:2])

    snapshots = Snapshots(tmp_path / "c", SnapshotLimits(total=5 << 20), needed=needed)
    names: list[str] = []
    for _ in range(10):
        (workspace / "large").write_bytes(os.urandom(1 << 20))
        names.append(await save(snapshots, workspace))
    size = sum(path.stat().st_size for path in (tmp_path / "c/1/packs").iterdir())
    assert size <= 5 << 20
    there = await snapshots.listed("1")
    assert there == (names[1], *names[1 - len(there) :])
    assert len(there) >= 3
    assert set(asked) == {"1"}
    with pytest.raises(SnapshotLost, match="fewer where they take more than 5 MB"):
        await snapshots.load("1", names[2])
    (workspace / "a.txt").write_text("more\n")
    last = await save(Snapshots(tmp_path / "c", SnapshotLimits(total=1), needed=needed), workspace)
    assert await snapshots.listed("1") == (names[1], names[-1], last)
    assert await undo(snapshots, workspace, names[1], last) == {}


async def test_a_crash_leaves_the_old_snapshots_and_no_half_one(workspace: Path, snapshots: Snapshots) -> None:
    """A pack without a manifest and a half manifest are cleared away by the next save."""
    first = await save(snapshots, workspace)
    folder = workspace.parent / "home/checkpoints/1"
    (folder / "packs/000002.pack").write_bytes(b"half")
    (folder / "manifests/000002-aaaa.new").write_bytes(b"half")
    (workspace / "a.txt").write_text("later\n")
    second = await save(snapshots, workspace)
    assert await snapshots.listed("1") == (first, second)
    assert not list((folder / "manifests").glob("*.new"))
    assert (await snapshots.load("1", first)).entries["a.txt"].size == 4


@pytest.mark.wall("snapshots")
async def test_damage_is_noticed(workspace: Path, snapshots: Snapshots) -> None:
    """A changed manifest is refused; changed content is not put back; the next save works."""
    name = await save(snapshots, workspace)
    folder = workspace.parent / "home/checkpoints/1"
    manifest = await snapshots.load("1", name)
    pack = folder / "packs" / manifest.entries["a.txt"].pack
    pack.write_bytes(pack.read_bytes().replace(b"one", b"0ne"))
    (workspace / "a.txt").write_text("two\n")
    now = await snapshots.load("1", await save(snapshots, workspace))
    with pytest.raises(SnapshotLost, match="damaged"):
        await snapshots.restore("1", workspace, {"a.txt": manifest.entries["a.txt"]}, now)
    assert (workspace / "a.txt").read_text() == "two\n"
    path = folder / "manifests" / name
    path.write_bytes(path.read_bytes().replace(b"a.txt", b"b.txt"))
    with pytest.raises(SnapshotLost, match="damaged"):
        await snapshots.load("1", name)
    await save(snapshots, workspace)


@pytest.mark.wall("snapshots")
async def test_a_swapped_folder_leads_nowhere(workspace: Path, snapshots: Snapshots) -> None:
    """Where a folder became a link between the look and the act, nothing is written outside."""
    before = await snapshots.load("1", await save(snapshots, workspace))
    (workspace / "src/b.py").write_text("agent\n")
    now = await snapshots.load("1", await save(snapshots, workspace))
    (workspace / "src").rename(workspace.parent / "elsewhere")
    (workspace / "src").symlink_to(workspace.parent / "elsewhere")
    done = await snapshots.restore("1", workspace, {"src/b.py": before.entries["src/b.py"]}, now)
    assert list(done.left) == ["src/b.py"]
    assert (workspace.parent / "elsewhere/b.py").read_text() == "agent\n"


async def test_a_damaged_snapshot_and_a_crash_after_it_prevent_no_further_ones(
    workspace: Path, snapshots: Snapshots
) -> None:
    """Nobody knows which content a damaged one needs, so what the crash left stays, and bars nobody's way."""
    first = await save(snapshots, workspace)
    folder = workspace.parent / "home/checkpoints/1"
    (folder / "manifests" / first).write_bytes(b"damaged")
    (folder / "packs/000002.pack").write_bytes(b"half")
    (workspace / "a.txt").write_text("later\n")
    name = await save(snapshots, workspace)
    assert (await snapshots.content("1", name, "a.txt")) == b"later\n"


@pytest.mark.wall("snapshots")
async def test_a_folder_that_came_to_stand_where_a_file_was_is_left_and_named(
    workspace: Path, snapshots: Snapshots
) -> None:
    """What else there is to put back is put back."""
    before = await snapshots.load("1", await save(snapshots, workspace))
    (workspace / "a.txt").unlink()
    (workspace / "run.sh").unlink()
    now = await snapshots.load("1", await save(snapshots, workspace))
    (workspace / "a.txt").mkdir()
    done = await snapshots.restore("1", workspace, {name: before.entries[name] for name in ("a.txt", "run.sh")}, now)
    assert (list(done.left), done.files) == (["a.txt"], ["run.sh"])
    assert (workspace / "a.txt").is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.wall("snapshots")
async def test_what_is_hidden_is_given_to_nobody_under_the_name_of_what_was_just_made(
    workspace: Path, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever owns the folder may move another over the new one between its making and its giving away."""
    for path in (workspace, *workspace.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    before = await snapshots.load("1", await save(snapshots, workspace))
    (workspace / "empty").rmdir()
    now = await snapshots.load("1", await save(snapshots, workspace))
    hidden = workspace / "hidden"
    hidden.mkdir(0o700)
    (hidden / "key").write_text("secret")
    mkdir = os.mkdir

    def swapped(name: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        mkdir(name, mode, dir_fd=dir_fd)
        hidden.rename(workspace / "empty")

    monkeypatch.setattr(os, "mkdir", swapped)
    await snapshots.restore("1", workspace, {"empty": before.entries["empty"]}, now)
    assert (workspace / "empty/key").exists()
    assert (workspace / "empty").stat().st_uid == 0


@pytest.mark.wall("snapshots")
async def test_threads_share_nothing_and_can_be_forgotten(workspace: Path, snapshots: Snapshots) -> None:
    """The same content lies in each thread's folder; one is deleted without the other; odd names are refused."""
    one, other = await save(snapshots, workspace, "1"), await save(snapshots, workspace, "2")
    await snapshots.forget("1")
    with pytest.raises(SnapshotLost):
        await snapshots.load("1", one)
    assert (await snapshots.load("2", other)).entries
    with pytest.raises(ValueError, match="cannot name a thread"):
        await snapshots.save("../1", workspace)
    with pytest.raises(SnapshotLost):
        await snapshots.load("2", "../../1/manifests/x")


async def test_who_is_cancelled_leaves_no_half_snapshot(workspace: Path, snapshots: Snapshots) -> None:
    """The next save finds the lock free and nothing in its way."""
    saving = asyncio.create_task(snapshots.save("1", workspace))
    await asyncio.sleep(0)
    saving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saving
    name = await save(snapshots, workspace)
    assert name in await snapshots.listed("1")
    assert isinstance(await snapshots.load("1", name), Manifest)


@pytest.mark.wall("snapshots")
async def test_who_calls_a_restore_off_hears_so_once_it_changes_nothing_more_and_others_wait_for_it(
    workspace: Path, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As undo, rewind and a fork do when the process ends; doing it again goes on from there."""
    (workspace / "some").mkdir()
    for number in range(6):
        (workspace / "some" / f"f{number}").write_text(f"content {number}")
    before, there = await save(snapshots, workspace), tree(workspace)
    shutil.rmtree(workspace / "some")
    after, reached, go = await save(snapshots, workspace), threading.Event(), threading.Event()

    def slow(point: str) -> None:
        if point == "restore.file" and (workspace / "some" / "f1").exists():
            reached.set()
            assert go.wait(BOUND)

    monkeypatch.setattr(restore, "reach", slow)
    restoring = asyncio.create_task(undo(snapshots, workspace, before, after))
    await eventually(reached.is_set)
    restoring.cancel()
    saving = asyncio.create_task(save(snapshots, workspace))
    for _ in range(50):
        await asyncio.sleep(0)
    assert not restoring.done()
    assert not saving.done()
    go.set()
    await asyncio.gather(restoring, return_exceptions=True)
    assert restoring.cancelled()
    assert len(list((workspace / "some").iterdir())) == 2
    halfway = await saving
    assert await undo(snapshots, workspace, before, halfway) == {}
    assert tree(workspace) == there


async def test_the_folder_is_closed_to_others(workspace: Path, snapshots: Snapshots) -> None:
    """What lies there may be secret."""
    await save(snapshots, workspace)
    assert (workspace.parent / "home/checkpoints").stat().st_mode & 0o077 == 0
