"""Labels of executions: both stores, and files from before there were any."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from agentic.ports.errors import StoreCorrupt
from agentic.ports.runtime import (
    LabelRow,
    Look,
    SessionRow,
    Store,
)
from agentic.stores.sqlite.file.connection import connect
from agentic.stores.sqlite.file.schema import MIGRATIONS, prepare
from agentic.stores.sqlite.maintenance import integrity
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.samples import as_of_version

LOOKS = (
    Look(2, {"failed": 0.5, "turns": 0.4}, 90.0, 71, 64, "shell", "small"),
    Look(5, {"failed": 1.0, "turns": 1.0}, 85.0, 55, 40, "shell", "large"),
)
ROW = LabelRow("x1", "t1", "g1", "shell", "large", 3, None, "", 0.0, 40, 1, 2, False, LOOKS)


def _version(path: Path) -> object:
    return connect(str(path)).execute("PRAGMA user_version").get


async def test_a_label_comes_back_as_it_was_kept_and_keeps_its_place(store: Store) -> None:
    await store.put_label(ROW)
    await store.put_label(replace(ROW, execution="x2", thread="t2", label=False, source="verifier", weight=1.0))
    assert await store.labelled() == 1
    changed = replace(ROW, label=True, source="person", weight=1.0, up=2, looks=LOOKS[:1])
    await store.put_label(changed)
    assert [row.execution for row in await store.labels()] == ["x1", "x2"]
    assert (await store.labels())[0] == changed
    assert await store.labels("t1") == [changed]
    assert [row.execution for row in await store.labels(newest=1)] == ["x2"]
    assert await store.labels("t1", newest=0) == []
    assert await store.labelled() == 2
    await store.put_label(replace(changed, talk=True))
    assert await store.labelled() == 1


async def test_a_file_from_before_labels_moves_to_them_with_a_copy_and_all_it_held(tmp_path: Path) -> None:
    path = tmp_path / "threadwright.sqlite"
    old = SQLiteStore.open(tmp_path / "newer.db")
    await old.save_session(SessionRow("t1", "c1", "g1", "a title", confidence=64))
    await old.close()
    as_of_version(tmp_path / "newer.db", path, 2)
    assert _version(path) == 2
    store = SQLiteStore.open(path)
    assert await store.labels() == []
    await store.put_label(ROW)
    session = await store.session("t1")
    assert session is not None
    assert session.confidence == 64
    await store.close()
    assert _version(path) == len(MIGRATIONS)
    copy = path.with_name("threadwright.sqlite.before-3")
    assert _version(copy) == 2
    assert connect(str(copy)).execute("SELECT title FROM sessions").get == "a title"


def test_a_migration_that_breaks_leaves_the_file_at_the_earlier_schema(tmp_path: Path) -> None:
    path = tmp_path / "threadwright.sqlite"
    connection = connect(str(path))
    prepare(connection, path, MIGRATIONS[:2])
    with pytest.raises(apsw.SQLError, match="no_such_function"):
        prepare(connection, path, (*MIGRATIONS[:2], MIGRATIONS[2] + "; SELECT no_such_function()"))
    assert _version(path) == 2
    assert not list(connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'labels'"))
    prepare(connection, path)
    assert _version(path) == len(MIGRATIONS)


async def test_a_damaged_label_is_named_with_what_makes_it_anew(tmp_path: Path) -> None:
    path = tmp_path / "threadwright.sqlite"
    store = SQLiteStore.open(path)
    await store.put_label(ROW)
    await store.close()
    connection = connect(str(path))
    connection.execute("UPDATE labels SET looks = '[{'")
    connection.close()
    assert [damage.execution for damage in integrity.rows(path)] == ["x1"]
    store = SQLiteStore.open(path)
    with pytest.raises(StoreCorrupt, match="calibration --rebuild"):
        await store.labels()
    await store.put_label(ROW)
    assert await store.labels() == [ROW]
    await store.close()
