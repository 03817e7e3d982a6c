"""A snapshot leaves room on the disk for everybody else, and takes no more of it while it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.workspace.snapshots.packs import OpenPack
from agentic.workspace.snapshots.scan import SnapshotTooLarge, Walk
from agentic.workspace.snapshots.snapshot_store import Snapshots


def test_new_content_ends_where_the_room_does(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    for name in ("a", "b", "c"):
        (workspace / name).write_bytes(name.encode() * 3_000)
    pack = OpenPack(tmp_path / "1.pack")
    with pytest.raises(SnapshotTooLarge, match="disk is too full"):
        Walk(pack, {}, room=8_000).run(str(workspace))
    pack.drop()
    pack = OpenPack(tmp_path / "2.pack")
    first = Walk(pack, {}, room=9_000).run(str(workspace))
    pack.keep()
    pack = OpenPack(tmp_path / "3.pack")
    again = Walk(pack, first.entries, room=3_000).run(str(workspace))
    pack.keep()
    assert all(entry.same(first.entries[path]) for path, entry in again.entries.items())


async def test_a_thread_may_have_snapshots_of_another_as_its_own(tmp_path: Path) -> None:
    """Those that are named, once, also when the other thread is gone; what it saves itself comes after them."""
    kept, files = Snapshots(tmp_path / "kept"), tmp_path / "files"
    files.mkdir()
    names: list[str] = []
    for text in ("one", "two", "three"):
        (files / "a.txt").write_text(text)
        names.append((await kept.save("100", files)).manifest)
    for _ in range(2):
        await kept.adopt("100", "200", [names[0], names[1], "000009-gone"])
    assert await kept.listed("200") == (names[0], names[1])
    await kept.forget("100")
    assert await kept.content("200", names[1], "a.txt") == b"two"
    (files / "a.txt").write_text("four")
    fourth = (await kept.save("200", files)).manifest
    assert await kept.listed("200") == (names[0], names[1], fourth)
    assert await kept.content("200", names[0], "a.txt") == b"one"
    await kept.adopt("300", "400", names)
    assert await kept.listed("400") == ()
