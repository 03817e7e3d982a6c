"""Nothing that a command writes is left out of what its thread's files are counted as, however it is put away."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest

from agentic.sandbox.folder_removal import remove_tree
from agentic.sandbox.supervisor.files import disk_usage
from tests.integration.world.rungs import MB, Ground, docker_url, ground, rung_name
from tests.waiting import eventually
from tests.walls.tally import Wall

__all__ = ["docker_url", "ground", "rung_name"]

TAKE = """
import ctypes, os, sys, time
left, many, alive = int(sys.argv[1]), int(sys.argv[2]), []
def fill(name):
    global left
    file = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
    size = min(left, 200 << 20)
    os.posix_fallocate(file, 0, size)
    left -= size
    alive.append((file, size))
    return name
def fill_all(folder="."):
    names = [fill(f"{folder}/{len(alive)}") for _ in range(99) if left]
    for number in range(many):
        os.close(os.open(f"{folder}/x{number}", os.O_WRONLY | os.O_CREAT, 0o600))
    return names
def close_all():
    for file, _ in alive:
        os.close(file)
def put(folder, *modes):
    places = [folder]
    for mode in modes[1:]:
        places.append(places[-1] + "/below")
    os.makedirs(places[-1])
    fill_all(places[-1])
    close_all()
    for place, mode in reversed(list(zip(places, modes))):
        os.chmod(place, mode)
def unlink():
    for name in fill_all():
        os.unlink(name)
def map_unlinked():
    unlink()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    for file, size in alive:
        assert libc.mmap(None, size, 1, 1, file, 0) not in (None, 2**64 - 1)
    close_all()
def deep(levels):
    for _ in range(levels):
        os.mkdir("d" * 100)
        os.chdir("d" * 100)
    fill_all()
    close_all()
def in_a_child():
    unlink()
    if os.fork():
        close_all()
    else:
        os.setsid()
"""
WAYS = {
    "in the open": "fill_all(); close_all()",
    "unlinked": "unlink()",
    "unlinked, in a child": "in_a_child()",
    "unlinked, mapped": "map_unlinked()",
    "unlinked, in the home": "os.chdir(os.environ['HOME']); unlink()",
    **{f"in a folder of mode {mode:03o}": f"put('f', {mode})" for mode in (0, 0o300, 0o600, 0o100, 0o77)},
    "in a closed folder of the home": "os.chdir(os.environ['HOME']); put('f', 0)",
    "in a closed folder of closed ones": "put('f', 0, 0o100, 0, 0o300)",
    "in a workspace that is closed": "fill_all(); close_all(); os.chmod('.', 0)",
    "below 300 folders": "deep(300)",
    "below 2,000 folders": "deep(2000)",
}
MARGIN = 80 * MB
FILES = 7_500


@pytest.mark.wall("limits")
async def test_files_count_wherever_they_are_put_away(ground: Ground, wall: Wall) -> None:
    """Growth counts from what was last seen, so that each form takes more than the one before it."""
    seen = 0
    async with ground.open() as sandbox:
        for way, code in WAYS.items():
            seen += MARGIN
            argv = ["python3", "-c", f"{TAKE}{code}\ntime.sleep(600)", str(seen), "0"]
            done = await sandbox.exec(argv, timeout=240)
            grew = "the files of the thread grew" in done.killed_reason
            wall.held(f"{ground.rung_name}: {way}", grew, f"{done.killed_reason} {done.text[:300]}")
            empty(ground)
        code = f"{TAKE}os.mkdir('f', 0o300); fill_all('f')\ntime.sleep(600)"
        said = await sandbox.exec(["python3", "-c", code, "0", str(FILES)], timeout=240)
        became = "the files of the thread became" in said.killed_reason
        wall.held(f"{ground.rung_name}: many files", became, f"{said.killed_reason} {said.text[:300]}")
        await eventually(
            lambda: (ground.workspace / "f").stat().st_mode & 0o777 == 0o300, "as it was, once it is counted"
        )
        empty(ground)


def empty(ground: Ground) -> None:
    """Take everything away that a form left."""
    for folder in (ground.workspace, ground.home):
        folder.chmod(0o700)
        subprocess.run(["find", folder, "-mindepth", "1", "-delete"], check=True, timeout=60)


def test_each_file_counts_once_however_few_folders_are_held_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same as a plain walk finds, without a descriptor that stays open; more than can wait is never too little."""
    for number in range(40):
        folder = tmp_path / "/".join(f"{number % width}" for width in (2, 3, 5, 7, 11))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(number)).write_bytes(b"x" * number * 300)
    (tmp_path / "link").symlink_to("/usr")
    found = [path.lstat().st_blocks * 512 for path in tmp_path.rglob("*")]
    opened = len(list(Path("/proc/self/fd").iterdir()))
    for held in (256, 3, 1):
        monkeypatch.setattr(disk_usage, "HELD", held)
        assert disk_usage.usage([str(tmp_path)]) == (sum(found), len(found))
    monkeypatch.setattr(disk_usage, "WAITING", 1)
    assert disk_usage.usage([str(tmp_path)])[1] >= disk_usage.UNCOUNTED
    assert len(list(Path("/proc/self/fd").iterdir())) == opened


def test_a_deep_tree_is_counted_rightly_and_never_for_too_little(tmp_path: Path) -> None:
    """Ordinary: 1,200 packages 60 folders deep.  Made to hide: so many folders below 255 that descriptors run out."""
    ordinary = tmp_path / "/".join(["node_modules"] * 60)
    for number in range(1_200):
        (ordinary / f"{number}" / "dist").mkdir(parents=True)
    assert disk_usage.usage([str(tmp_path)])[1] == 60 + 2 * 1_200
    hiding = tmp_path / "/".join("a" * 255)
    hiding.mkdir(parents=True)
    for number in range(300):
        (hiding / f"{number}" / "file").mkdir(parents=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (400, hard))
        counted = disk_usage.usage([str(tmp_path)])[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert counted >= disk_usage.UNCOUNTED
    remove_tree(tmp_path / "a")
