"""A snapshot leaves room on the disk for everybody else, and takes no more of it while it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.world.snapshots.packs import OpenPack
from agentic.world.snapshots.walking import TooMuch, Walk


def test_new_content_ends_where_the_room_does(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    for name in ("a", "b", "c"):
        (workspace / name).write_bytes(name.encode() * 3_000)
    pack = OpenPack(tmp_path / "1.pack")
    with pytest.raises(TooMuch, match="too little room"):
        Walk(pack, {}, room=8_000).run(str(workspace))
    pack.drop()
    pack = OpenPack(tmp_path / "2.pack")
    first = Walk(pack, {}, room=9_000).run(str(workspace))
    pack.keep()
    pack = OpenPack(tmp_path / "3.pack")
    again = Walk(pack, first.entries, room=3_000).run(str(workspace))
    pack.keep()
    assert all(entry.same(first.entries[path]) for path, entry in again.entries.items())
