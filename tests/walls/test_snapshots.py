"""What a workspace does to its checkpoints: files that are all hole, content that changes without times, odd names."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from agentic.sandbox.folder_removal import remove_tree
from agentic.workspace.snapshots.manifest import Manifest
from agentic.workspace.snapshots.scan import GRAIN_NS
from agentic.workspace.snapshots.snapshot_store import Snapshots
from agentic.workspace.snapshots.undo_plan import plan_undo
from bot.workspace.folders import Workspaces
from tests.integration.world.rungs import MB, Ground, docker_url, ground, rung_name
from tests.scripts import Gate
from tests.waiting import eventually
from tests.walls.tally import Wall

__all__ = ["docker_url", "ground", "rung_name"]

TB = 1 << 40
SPARSE = {
    "a terabyte of nothing": (TB, ()),
    "a byte at the end of a terabyte": (TB, ((TB - 1, b"x"),)),
    "bytes here and there": (TB, tuple((place << 30, b"%d" % place) for place in range(0, 1_000, 100))),
    "across the edges of blocks": (64 * MB, tuple(((place << 16) - 2, b"word") for place in range(1, 1_000, 99))),
    "one block of nothing in a small file": (200_000, ((0, b"a" * 65_536), (131_072, b"b" * 60_000))),
    "a megabyte and a byte": (MB + 1, ((5, b"x"),)),
    "a megabyte": (MB, ((5, b"x"),)),
    "zeros that are written": (0, ((0, bytes(8 * MB)), (8 * MB, b"x"))),
    **{f"20 MB, number {number}": (20 * MB, ((number << 20, b"%d" % number),)) for number in range(20)},
}
OWN_PAGES = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
def mapped(name):
    file = os.open(name, os.O_RDWR)
    place = libc.mmap(None, 8192, 3, 1, file, 0)
    if name != "kept-open": os.close(file)
    return place
names = ["kept-open", "closed", "closed-to-all"]
pages = [mapped(name) for name in names]
libc.prctl(4, 0, 0, 0, 0)
for number in range(1, 4):
    for page in pages:
        ctypes.memset(page, 64 + number, 8192)
    open(os.path.expanduser(f"~/written{number}")).read()
for page in pages:
    ctypes.memset(page, 90, 8192)
"""
NAMES = [
    b"caf\xe9.txt",
    b"\xff\xfe",
    b"line\nbreak",
    b"\x1b[31mred",
    b"-rf",
    b"quote'\"$(x)",
    b"star*[a]?",
    b"tab\t",
    b"\xed\xa0\x80",
]


def sparse(path: Path, size: int, content: tuple[tuple[int, bytes], ...]) -> None:
    with path.open("wb") as file:
        for place, data in content:
            file.seek(place)
            file.write(data)
        file.truncate(max(size, file.tell()))


def kept_bytes(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))


@pytest.mark.wall("snapshots")
async def test_holes_cost_nothing_and_come_back_as_holes(tmp_path: Path, wall: Wall) -> None:
    """Of each form: saved, changed, undone; little is kept, little is read, and each byte is where it was."""
    work, snapshots = tmp_path / "work", Snapshots(tmp_path / "kept")
    work.mkdir()
    for number, (size, content) in enumerate(SPARSE.values()):
        sparse(work / str(number), size, content)
    used = kept_bytes(work)
    began = time.process_time()
    before = await snapshots.save("1", work)
    took = time.process_time() - began
    wall.held("20 kB become 800 MB", kept_bytes(tmp_path / "kept") < used + 4 * MB, f"{kept_bytes(tmp_path / 'kept')}")
    wall.held("a terabyte is read", took < 20, f"{took:.1f} s")
    for number in range(len(SPARSE)):
        (work / str(number)).write_text("agent\n")
    after = await snapshots.load("1", (await snapshots.save("1", work)).manifest)
    was = await snapshots.load("1", before.manifest)
    done = await snapshots.restore("1", work, plan_undo(was, after, after).wanted, after)
    for number, (form, (size, content)) in enumerate(SPARSE.items()):
        path = work / str(number)
        same = str(number) in done.files and path.stat().st_size == max(size, sum(map(len, (d for _, d in content))))
        with path.open("rb") as file:
            for place, data in content:
                file.seek(place)
                same = same and file.read(len(data)) == data
        wall.held(form, same and path.stat().st_blocks * 512 <= 2 * MB, "it is another file")
    again = await snapshots.load("1", (await snapshots.save("1", work)).manifest)
    assert all(entry.same(was.entries[path]) for path, entry in again.entries.items()), (
        "holes do not change a file's hash"
    )


@pytest.mark.wall("snapshots")
async def test_what_is_written_through_a_mapping_is_seen(ground: Ground, wall: Wall) -> None:
    """By checkpoints and by the scan after a command, also of a process into which nobody may look."""
    snapshots = Snapshots(ground.folder / "kept")
    names = ("kept-open", "closed", "closed-to-all")
    for name in names:
        ground.file(name, b"0" * 8192)
    gates = [Gate(ground.home, f"written{number}") for number in range(1, 4)]

    def settled() -> bool:
        return all(time.time_ns() - (ground.workspace / name).stat().st_ctime_ns > GRAIN_NS for name in names)

    async with ground.open() as sandbox:
        await sandbox.start(["python3", "-c", OWN_PAGES])
        for number, gate in enumerate(gates, 1):
            await gate.reached()
            await eventually(settled, "times alone would be trusted")
            seen = {change.path for change in (await sandbox.exec("true", timeout=20)).changes.files}
            saved = await snapshots.save("1", ground.workspace)
            for name in names:
                kept = await snapshots.content("1", saved.manifest, name)
                form = f"{ground.rung_name}: {name}, write {number}"
                wall.held(f"{form}, checkpoint", kept == bytes([64 + number]) * 8192, str(kept and kept[:1]))
                wall.held(f"{form}, scan", name in seen, str(seen))
            await gate.open()


@pytest.mark.wall("snapshots")
async def test_a_folder_of_a_thousand_in_each_other_is_undone_and_forgotten(tmp_path: Path, wall: Wall) -> None:
    """So is a closed one, also where the bot is an ordinary user; nothing is removed through a link."""
    work, snapshots = Workspaces(tmp_path / "work"), Snapshots(tmp_path / "kept")
    folder = work.folder("1")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").write_text("mine")
    before = await snapshots.load("1", (await snapshots.save("1", folder)).manifest)
    deep(folder / "made/__pycache__")
    now = await snapshots.load("1", (await snapshots.save("1", folder)).manifest)
    await snapshots.restore("1", folder, plan_undo(before, now, now).wanted, now)
    wall.held("an undo", not (folder / "made").exists())
    deep(folder)
    (folder / "out").symlink_to(tmp_path / "mine")
    (folder / "closed/inner").mkdir(parents=True)
    (folder / "closed").chmod(0)
    await asyncio.to_thread(work.forget, "1")
    wall.held("a thread that is no more", not folder.exists())
    wall.held("through a link", (tmp_path / "mine/file").exists())
    wall.held("closed by an ordinary user", not closed_by_an_ordinary_user().exists())


def closed_by_an_ordinary_user() -> Path:
    """A folder of somebody who is not root, who removes it."""
    root, place = os.geteuid(), Path(tempfile.mkdtemp())
    os.chown(place, root or 65532, -1)
    os.seteuid(root or 65532)
    try:
        (place / "a/b/c").mkdir(parents=True)
        for folder in (place / "a/b", place / "a", place):
            folder.chmod(0)
        remove_tree(place)
    finally:
        os.seteuid(root)
    return place


def deep(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(1_200):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)


@pytest.mark.wall("snapshots")
async def test_names_that_are_no_text_are_kept_and_put_back(tmp_path: Path, wall: Wall) -> None:
    """Files, links, and folders of such names; each is as it was after an undo."""
    work, snapshots = tmp_path / "work", Snapshots(tmp_path / "kept")
    names = {os.fsdecode(name): name for name in NAMES}
    for name, content in names.items():
        (work / f"d{name}").mkdir(parents=True)
        (work / name).write_bytes(content)
        (work / f"d{name}" / name).write_bytes(content)
        (work / f"l{name}").symlink_to(name)
    before = await snapshots.load("1", (await snapshots.save("1", work)).manifest)
    shutil.rmtree(work)
    work.mkdir()
    now = await snapshots.load("1", (await snapshots.save("1", work)).manifest)
    assert now == Manifest()
    await snapshots.restore("1", work, plan_undo(before, now, now).wanted, now)
    for name, content in names.items():
        back = (work / f"l{name}").is_symlink() and (work / f"l{name}").readlink() == Path(name)
        back = back and {path.read_bytes() for path in (work / name, work / f"d{name}" / name)} == {content}
        wall.held(repr(name), back, "it is not back")
