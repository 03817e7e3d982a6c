"""Files that were damaged, are newer, or are not ours: said plainly, never silently fresh or silently different."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import apsw
import pytest

from agentic.core.events.execution_events import Envelope
from agentic.ports.errors import (
    StoreCorrupt,
    StoreError,
    StoreTooNew,
    StoreUnavailable,
)
from agentic.stores.sqlite.file.open import version_problem
from agentic.stores.sqlite.file.schema import MIGRATIONS, prepare
from agentic.stores.sqlite.maintenance.integrity import whole
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.processes import acknowledged, process
from tests.integration.stores.samples import begin, envelopes, inbox_item, log_of, notes, outbox_item, sqlite


async def written(folder: Path) -> list[Envelope]:
    """A closed database with one log."""
    async with sqlite(folder) as store:
        lease = await begin(store)
        await store.append("x1", 1, lease, envelopes("x1", lease, 1, notes(60, 500)))
        return await log_of(store, "x1")


async def read_again(folder: Path) -> list[Envelope]:
    """The log, by a store opened anew."""
    async with sqlite(folder) as store:
        return await log_of(store, "x1")


async def test_f83_a_flipped_bit_is_detected_or_without_effect(tmp_path: Path) -> None:
    log = await written(tmp_path)
    path = tmp_path / "threadwright.db"
    good = path.read_bytes()
    places = random.Random(83)
    detected = 0
    for _ in range(150):
        damaged = bytearray(good)
        damaged[places.randrange(len(good))] ^= 1 << places.randrange(8)
        path.write_bytes(damaged)
        try:
            async with sqlite(tmp_path) as store:
                seen = await log_of(store, "x1")
                known = await store.execution("x1")
        except (StoreCorrupt, StoreTooNew):
            detected += 1
            continue
        # An index entry that does not lead to the log any more shows as a log that is missing or ends too soon.
        assert seen == log or known is None or known.head < len(log)
        assert seen == log[: len(seen)], "a damaged event was given out"
    assert detected >= 40


async def test_f83_a_changed_event_is_refused_when_it_is_read(tmp_path: Path) -> None:
    await written(tmp_path)
    path = tmp_path / "threadwright.db"
    good = path.read_bytes()
    for change in ("event = replace(event, '3:', '4:')", "fence = fence + 1", "at = at + 1", "cause = 'another'"):
        connection = apsw.Connection(str(path))
        connection.execute(f"UPDATE events SET {change} WHERE seq = 5")
        connection.close()
        async with sqlite(tmp_path) as store:
            with pytest.raises(StoreCorrupt, match="x1/5 does not match its checksum"):
                await log_of(store, "x1")
            assert len(await log_of(store, "x1", after=5)) == 56
        path.write_bytes(good)


async def test_f83_a_truncated_database_is_refused(tmp_path: Path) -> None:
    await written(tmp_path)
    path = tmp_path / "threadwright.db"
    good = path.read_bytes()
    for length in (0, 1, 50, 99, 100, 1_000, 2_048, 10_000, len(good) // 2, len(good) - 2_048):
        path.write_bytes(good[:length])
        with pytest.raises((StoreCorrupt, StoreUnavailable)):
            await read_again(tmp_path)


async def test_f83_a_database_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    log = await written(tmp_path)
    path = tmp_path / "threadwright.db"
    good = path.read_bytes()
    path.unlink()
    with pytest.raises(StoreCorrupt, match="is gone"):
        await read_again(tmp_path)
    assert not path.exists()
    path.write_bytes(good)
    assert await read_again(tmp_path) == log
    path.unlink()
    (tmp_path / "threadwright.db-mark").unlink()
    assert await read_again(tmp_path) == [], "who deletes the mark starts afresh"


async def test_f83_a_missing_write_ahead_log_is_refused(tmp_path: Path) -> None:
    async with asyncio.timeout(60), process("write", str(tmp_path / "threadwright.db"), "x1") as writer:
        last = await acknowledged(writer, 5)
    wal = tmp_path / "threadwright.db-wal"
    content = wal.read_bytes()
    wal.unlink()
    with pytest.raises(StoreCorrupt, match="wal is gone"):
        await read_again(tmp_path)
    assert not wal.exists()
    wal.write_bytes(content)
    assert len(await read_again(tmp_path)) >= last
    assert len(await read_again(tmp_path)) >= last, "closed in order, it needs no log"


async def test_f83_a_damaged_blob_is_refused(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        small = await store.put_blob(b"small" * 100)
        large = await store.put_blob(b"large" * 300_000)
        for path in (tmp_path / "blobs").rglob("*"):
            if path.is_file():
                path.write_bytes(b"other")
        with pytest.raises(StoreCorrupt):
            await store.get_blob(large.sha)
        for path in (tmp_path / "blobs").rglob("*"):
            if path.is_file():
                path.unlink()
        with pytest.raises(StoreCorrupt, match="missing"):
            await store.get_blob(large.sha)
        assert await store.get_blob(small.sha) == b"small" * 100


async def test_f83_what_waits_behind_a_damaged_row_goes_on_and_reads_stay_fresh(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        lease = await begin(store)
        await store.append("x1", 1, lease, envelopes("x1", lease, 1, notes(30)))
        await store.put_outbox([outbox_item("k1"), outbox_item("k2")])
        await store.put(inbox_item("1"))
        await store.put(inbox_item("2", minute=1))
        other = apsw.Connection(str(tmp_path / "threadwright.db"))
        other.execute("UPDATE outbox SET item = replace(item, 'key', 'k\"y') WHERE key = 'k1'")
        other.execute("UPDATE inbox SET item = replace(item, '{', '[') WHERE id = '1'")
        other.execute("UPDATE events SET fence = 9 WHERE seq = 5")
        other.close()
        first, second = await store.undelivered("thread")
        assert (first.item.key, "is lost" in first.item.text, second.item.text) == ("k1", True, "hello")
        assert [item.id for item in await store.pending("thread")] == ["2"]
        with pytest.raises(StoreCorrupt) as refused:
            await log_of(store, "x1")
        for_delivery = await store.outbox_row("k1")
        assert for_delivery is not None, "who delivers looks again whether it is due"
        assert ("is lost" in for_delivery.item.text, for_delivery.done) == (True, False)
        await store.delivered("k1", ["m1"])
        marked = await store.by_message("m1")
        assert marked is not None, "a reaction to that message finds what it is about"
        assert (marked.item.key, marked.delivered, marked.done) == ("k1", ("m1",), True)
        assert [row.item.key for row in await store.undelivered()] == ["k2"], f"a read after {refused.value!r} is fresh"
        said = [each.what for each in whole(tmp_path / "threadwright.db")]
        assert len(said) == 2
        assert "x1/5" in said[0]
        assert "inbox item 1 of thread thread" in said[1]


def test_f86_before_a_migration_a_copy_is_kept_and_only_the_newest_stay(tmp_path: Path) -> None:
    path = tmp_path / "threadwright.db"
    for version in range(1, 5):
        connection = apsw.Connection(str(path))
        prepare(connection, path, (*MIGRATIONS, *[f"CREATE TABLE more{n} (a)" for n in range(1, version)]))
        connection.execute("INSERT INTO facts VALUES (?, 'kept')", (str(version),))
        connection.close()
    newest = len(MIGRATIONS) + 3
    assert {each.name for each in tmp_path.glob("*.before-*")} == {
        f"threadwright.db.before-{newest - 1}", f"threadwright.db.before-{newest}",
    }  # fmt: skip
    copy = apsw.Connection(str(tmp_path / f"threadwright.db.before-{newest}"))
    assert [row[0] for row in copy.execute("SELECT key FROM facts ORDER BY key")] == ["1", "2", "3"]
    assert copy.pragma("user_version") == newest - 1
    copy.close()


async def test_f86_a_schema_from_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    await written(tmp_path)
    path = tmp_path / "threadwright.db"
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match="update Threadwright"):
        SQLiteStore.open(path)
    assert path.read_bytes() == before


def test_f86_a_migration_that_dies_in_the_middle_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "threadwright.db"
    connection = apsw.Connection(str(path))
    prepare(connection, path)
    broken = (*MIGRATIONS, "ALTER TABLE events ADD COLUMN more TEXT; CREATE TABLE half (a); SELECT no_such_function()")
    with pytest.raises(apsw.SQLError):
        prepare(connection, path, broken)
    assert connection.pragma("user_version") == len(MIGRATIONS)
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
    assert "half" not in names
    prepare(connection, path, (*MIGRATIONS, "ALTER TABLE events ADD COLUMN more TEXT"))
    assert connection.pragma("user_version") == len(MIGRATIONS) + 1
    connection.close()


async def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "threadwright.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE recipes (cake TEXT)")
    connection.close()
    with pytest.raises(StoreError, match="something else"):
        SQLiteStore.open(path)
    (tmp_path / "text.db").write_text("This is no database at all. " * 100)
    with pytest.raises(StoreError):
        SQLiteStore.open(tmp_path / "text.db")


def test_f85_an_old_sqlite_is_named_with_what_to_do() -> None:
    assert version_problem() == ""
    assert version_problem("3.51.3") == ""
    assert "install apsw" in version_problem("3.46.1")
