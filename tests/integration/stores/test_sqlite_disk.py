"""A disk that is full, broken, read-only or locked: nothing is acknowledged, and it recovers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest

from agentic.ports.errors import StoreUnavailable
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.failing_disk import failing_disk
from tests.integration.stores.samples import begin, envelopes, inbox_item, log_of, notes, outbox_item, sqlite, take
from tests.waiting import eventually

WORDS = {
    apsw.FullError: "disk is full",
    apsw.IOError: "disk reports an error",
    apsw.ReadOnlyError: "read-only",
}


@pytest.mark.parametrize("error", WORDS, ids=lambda error: error.__name__)
async def test_f82_a_disk_that_fails_at_any_write_acknowledges_nothing_and_recovers(
    tmp_path: Path, error: type[apsw.Error]
) -> None:
    kept = 1
    said: list[str] = []
    with failing_disk() as disk:
        async with sqlite(tmp_path) as store:
            lease = await begin(store)
            for operation in range(1, 100):
                events = envelopes("x1", lease, kept, notes(4, 3_000))
                disk.arm(error, operation)
                try:
                    async with asyncio.timeout(60):
                        await store.append("x1", kept, lease, events, [outbox_item(f"k{operation}")])
                except StoreUnavailable as unavailable:
                    said.append(str(unavailable))
                else:
                    assert disk.failed == 0, "a write failed and the append was acknowledged"
                    kept += 4
                    break
                finally:
                    disk.repair()
                assert len(await log_of(store, "x1")) == kept
                assert await store.undelivered() == []
                assert await store.put(inbox_item(str(operation))), "it works again once the disk does"
        assert len(said) >= 3
        assert all(WORDS[error] in words for words in said)
    async with sqlite(tmp_path) as store:
        assert len(await log_of(store, "x1")) == kept
        assert len(await store.pending("thread")) == len(said)


async def test_others_run_while_the_disk_takes_its_time_for_a_commit(tmp_path: Path) -> None:
    with failing_disk() as disk:
        async with sqlite(tmp_path) as store:
            disk.goes.clear()
            kept = asyncio.create_task(store.put(inbox_item("slow")))
            await eventually(disk.standing.is_set)
            assert not kept.done(), "nothing is acknowledged before it is on the disk"
            assert not await store.pending("thread"), "what is there can be read meanwhile"
            disk.goes.set()
            assert await kept
            assert disk.let_go, "nobody else ran while it stood"


async def test_f82_a_group_on_a_full_disk_is_refused_as_a_whole_and_each_can_try_again(tmp_path: Path) -> None:
    with failing_disk() as disk:
        async with sqlite(tmp_path) as store:
            leases = [await take(store, f"t{number}") for number in range(20)]
            disk.arm(apsw.FullError, 1)
            begun = [begin(store, f"x{number}", lease) for number, lease in enumerate(leases)]
            results = await asyncio.gather(*begun, return_exceptions=True)
            assert {type(result) for result in results} == {StoreUnavailable}
            disk.repair()
            await asyncio.gather(*(begin(store, f"x{number}", lease) for number, lease in enumerate(leases)))
            assert len(await store.newest_executions(1_000)) == 20


async def test_f82_a_full_disk_stops_large_content_and_nothing_else(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        (tmp_path / "blobs").write_text("no folder can stand here")
        with pytest.raises(StoreUnavailable, match="could not be written"):
            await store.put_blob(bytes(2_000_000))
        await begin(store)
        (tmp_path / "blobs").unlink()
        ref = await store.put_blob(bytes(2_000_000))
        assert await store.get_blob(ref.sha) == bytes(2_000_000)


async def test_f82_a_checkpoint_that_fails_loses_nothing(tmp_path: Path) -> None:
    with failing_disk() as disk:
        async with sqlite(tmp_path) as store:
            lease = await begin(store)
            reader = apsw.Connection(str(tmp_path / "threadwright.db"))
            reader.execute(
                "BEGIN; SELECT count(*) FROM events"
            ).fetchall()  # while it reads, the log is not copied away
            kept = 1
            for _ in range(40):
                await store.append("x1", kept, lease, envelopes("x1", lease, kept, notes(10, 5_000)))
                kept += 10
            disk.arm(apsw.FullError, 1)
            reader.close()
        assert disk.failed > 0, "closing copies the log into the database"
    async with sqlite(tmp_path) as store:
        assert len(await log_of(store, "x1")) == kept


async def test_f82_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="check that the folder is writable"):
        SQLiteStore.open(tmp_path / "file" / "threadwright.db")


async def test_f84_a_database_that_stays_locked_is_said_so_and_the_event_loop_goes_on(tmp_path: Path) -> None:
    """A loop that stood still could not have the lock given back, for which the store waits."""
    path = tmp_path / "threadwright.db"
    store, impatient = (SQLiteStore.open(path, busy_milliseconds=most) for most in (60_000, 50))
    lease = await begin(store)
    events = envelopes("x1", lease, 1, notes(1))
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="another process"):
        await impatient.append("x1", 1, lease, events)
    waiting = asyncio.create_task(store.append("x1", 1, lease, events))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not waiting.done()
    other.execute("ROLLBACK")
    await waiting
    assert len(await log_of(store, "x1")) == 2
    other.close()
    for each in (impatient, store):
        await each.close()
