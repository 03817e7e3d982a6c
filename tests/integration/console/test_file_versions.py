"""Files of a workspace as they are and as they were, read by a process that writes nothing."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.config.home import CHECKPOINTS, SANDBOXES
from bot.console.logs.file_versions import FileVersions
from tests.integration.console.logs import THREAD


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The workspace of a thread on this machine."""
    folder = tmp_path / "workspaces" / THREAD
    folder.mkdir(parents=True)
    return folder


def everything_below(home: Path) -> dict[str, tuple[int, int]]:
    return {str(path): ((about := path.lstat()).st_mtime_ns, about.st_size) for path in sorted(home.rglob("*"))}


async def test_versions_come_from_checkpoints_and_nothing_is_written(tmp_path: Path, work: Path) -> None:
    snapshots = Snapshots(tmp_path / CHECKPOINTS, home=tmp_path)
    for content in (b"one", b"two"):
        (work / "a.txt").write_bytes(content)
        assert (await snapshots.save(THREAD, work)).manifest
    (work / "a.txt").write_bytes(b"three")
    before = everything_below(tmp_path)
    files = FileVersions(tmp_path)
    wanted = {"a.txt": [sha(b"one"), sha(b"two"), sha(b"never kept"), ""], "b.txt": [sha(b"one")]}
    for _ in range(2):  # the second time from memory
        assert await files.versions(THREAD, wanted) == {("a.txt", sha(b"one")): b"one", ("a.txt", sha(b"two")): b"two"}
    assert await files.versions(THREAD, wanted, at_most=2) == {}
    assert await files.now(THREAD, "a.txt") == b"three"
    assert await files.now(THREAD, "missing.txt") is None
    assert everything_below(tmp_path) == before


async def test_what_aiignore_hides_or_ever_hid_stays_hidden_as_it_is_and_as_it_was(tmp_path: Path, work: Path) -> None:
    """Also in checkpoints from before it was hidden, and where the agent has taken the pattern away since."""
    for name in ("now.txt", "once.txt", "open.txt"):
        (work / name).write_bytes(name.encode())
    await Snapshots(tmp_path / CHECKPOINTS, home=tmp_path).save(THREAD, work)
    (work / ".aiignore").write_text("now.txt\n")
    kept = tmp_path / SANDBOXES / "ignored" / f"{THREAD}.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps(["once.txt"]))
    files = FileVersions(tmp_path)
    assert await files.visible(THREAD, ["now.txt", "once.txt", "open.txt"]) == {"open.txt"}
    assert [await files.now(THREAD, name) for name in ("now.txt", "once.txt", "open.txt")] == [None, None, b"open.txt"]
    wanted = {name: [sha(name.encode())] for name in ("now.txt", "once.txt", "open.txt")}
    assert {path for path, _ in await files.versions(THREAD, wanted)} == {"open.txt"}
    assert json.loads(kept.read_text()) == ["once.txt"]
    kept.write_text("damaged")
    assert await files.visible(THREAD, ["open.txt"]) == frozenset()


@pytest.mark.parametrize("path", ["../secret", "link", "folder/secret", "/etc/passwd", "a/../../secret", "fifo"])
async def test_nothing_outside_of_the_workspace_is_read(tmp_path: Path, work: Path, path: str) -> None:
    (tmp_path / "workspaces" / "secret").write_text("outside")
    (work / "link").symlink_to(tmp_path / "workspaces" / "secret")
    (work / "folder").symlink_to(tmp_path / "workspaces")
    os.mkfifo(work / "fifo")
    assert await FileVersions(tmp_path).now(THREAD, path) is None


async def test_a_thread_is_no_path(tmp_path: Path) -> None:
    assert await FileVersions(tmp_path).visible("../x", ["a"]) == frozenset()
