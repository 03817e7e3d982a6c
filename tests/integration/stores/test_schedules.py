"""Schedules in both stores, and files from before there were any."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from agentic.ports.runtime import ScheduleRow, Store
from agentic.stores.sqlite.file.connection import connect
from agentic.stores.sqlite.file.schema import MIGRATIONS
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.samples import NOW, as_of_version, inbox_item

ROW = ScheduleRow("s1", "g1", "7", "", NOW, "{}")


async def test_a_schedule_is_changed_only_as_it_was_read(store: Store) -> None:
    kept = await store.put_schedule(ROW)
    assert kept == replace(ROW, revision=1)
    assert await store.put_schedule(ROW) is None
    first = await store.put_schedule(replace(kept, body="first", due=None))
    assert first == replace(ROW, body="first", due=None, revision=2)
    assert await store.put_schedule(replace(kept, body="second")) is None
    assert await store.schedule("s1") == first
    await store.delete_schedules(["s1", "s2"])
    assert await store.put_schedule(replace(first, body="third")) is None
    assert await store.schedule("s1") is None


async def test_schedules_are_found_by_server_person_and_thread_in_the_order_they_were_made(store: Store) -> None:
    rows = [
        replace(ROW, id="s3", thread="t1"), replace(ROW, id="s2", person="8"),
        replace(ROW, id="s1", guild="g2", thread="t1", due=None),
    ]  # fmt: skip
    for row in rows:
        assert await store.put_schedule(row) is not None
    assert [row.id for row in await store.schedules()] == ["s3", "s2", "s1"]
    assert [row.id for row in await store.schedules(guild="g1")] == ["s3", "s2"]
    assert [row.id for row in await store.schedules(person="7")] == ["s3", "s1"]
    assert [row.id for row in await store.schedules(thread="t1")] == ["s3", "s1"]
    assert [row.id for row in await store.schedules(guild="g2", person="7", thread="t1")] == ["s1"]
    assert await store.schedules(guild="g2", person="8") == []


async def test_what_is_due_comes_the_earliest_first(store: Store) -> None:
    for id, minutes in (("s1", 10), ("s2", 0), ("s3", 20)):
        await store.put_schedule(replace(ROW, id=id, due=NOW + timedelta(minutes=minutes)))
    await store.put_schedule(replace(ROW, id="s4", due=None))
    assert [row.id for row in await store.schedules_due(NOW + timedelta(minutes=10))] == ["s2", "s1"]
    assert (await store.schedules_due(NOW))[0].due == NOW
    assert await store.schedules_due(NOW - timedelta(microseconds=1)) == []


async def test_a_file_from_before_schedules_moves_to_them_with_all_it_held(tmp_path: Path) -> None:
    path = tmp_path / "threadwright.sqlite"
    old = SQLiteStore.open(tmp_path / "newer.db")
    await old.put(inbox_item("1"))
    await old.close()
    as_of_version(tmp_path / "newer.db", path, 5)
    store = SQLiteStore.open(path)
    assert await store.schedules() == []
    assert await store.put_schedule(ROW) is not None
    assert [item.id for item in await store.pending("thread")] == ["1"]
    await store.close()
    assert connect(str(path)).execute("PRAGMA user_version").get == len(MIGRATIONS)
