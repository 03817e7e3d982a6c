"""What is not timed but decides the speed: commits shared, bytes linear, one refused transaction harming no other."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import cast

import apsw
import pytest

from agentic.core.events.execution_events import Event
from agentic.ports.errors import LeaseLost, SequenceConflict
from agentic.stores.sqlite.file.connection import Connection
from agentic.stores.sqlite.store import PAGE_CHARACTERS, SQLiteStore
from agentic.stores.sqlite.tables import outbox
from tests.integration.stores.samples import begin, envelopes, extend, log_of, notes, sqlite, take
from tests.waiting import eventually


async def test_a_hundred_appends_at_once_share_a_few_commits(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        leases = await asyncio.gather(*(take(store, f"t{number}") for number in range(100)))
        before = store.counters.commits
        await asyncio.gather(*(begin(store, f"x{number}", lease) for number, lease in enumerate(leases)))
        assert store.counters.commits - before <= 5


async def test_one_append_is_one_commit(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        lease = await begin(store)
        before = store.counters.commits
        for after in range(1, 21, 2):
            await store.append("x1", after, lease, envelopes("x1", lease, after, notes(2)))
        assert store.counters.commits - before == 10


async def test_a_refused_transaction_leaves_its_group_alone(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        leases = [await take(store, f"t{number}") for number in range(30)]
        for number in range(0, 30, 3):
            await store.release(leases[number])
        results = await asyncio.gather(
            *(begin(store, f"x{number}", lease) for number, lease in enumerate(leases)),
            store.append("x1", 7, leases[1], envelopes("x1", leases[1], 7, notes(1))),
            return_exceptions=True,
        )
        assert [type(result) for result in results[0:30:3]] == [LeaseLost] * 10
        assert isinstance(results[-1], SequenceConflict)
        kept = [row.execution for row in await store.newest_executions(1_000)]
    assert kept == [f"x{number}" for number in range(30) if number % 3]


async def size_after(folder: Path, turns: int) -> tuple[int, int]:
    """(bytes of the closed database, bytes of its events) for turns with 2 kB of output in four small events."""
    folder.mkdir()
    payload = 0
    async with sqlite(folder) as store:
        lease = await begin(store)
        for turn in range(turns):
            after = 1 + 6 * turn
            events: list[Event] = [*notes(5, 250), *notes(1, 1_100)]
            placed = envelopes("x1", lease, after, events)
            payload += sum(len(one.event.model_dump_json().encode()) for one in placed)
            await store.append("x1", after, lease, placed)
    return (folder / "threadwright.db").stat().st_size, payload


async def test_the_file_grows_with_its_content_and_little_else(tmp_path: Path) -> None:
    empty, _ = await size_after(tmp_path / "empty", 0)
    small, _ = await size_after(tmp_path / "small", 100)
    large, payload = await size_after(tmp_path / "large", 300)
    assert large <= 1.3 * payload + empty
    assert (large - empty) == pytest.approx(3 * (small - empty), rel=0.05)


async def test_closing_leaves_all_of_the_log_in_the_database(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        lease = await begin(store)
        await extend(store, "x1", lease, 1, notes(2_000, 3_000))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["threadwright.db", "threadwright.db-mark"]
    async with sqlite(tmp_path) as store:
        assert len(await log_of(store, "x1")) == 2_001


async def test_the_write_ahead_log_stays_small_while_writing(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        lease = await begin(store)
        for after in range(1, 3_001, 10):
            await store.append("x1", after, lease, envelopes("x1", lease, after, notes(10, 4_000)))
        await eventually(lambda: store.counters.checkpoints >= 3)
        wal = tmp_path / "threadwright.db-wal"
        assert wal.stat().st_size < 30_000_000


async def test_others_run_while_a_long_log_is_read(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        lease = await begin(store)
        await extend(store, "x1", lease, 1, notes(2_000))
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        assert len(await log_of(store, "x1")) == 2_001
        ticking.cancel()
    assert ticks >= 5


async def test_others_run_while_a_log_of_long_events_is_read(tmp_path: Path) -> None:
    """A model that says megabytes fills a page with a few of them."""
    async with sqlite(tmp_path) as store:
        lease = await begin(store)
        await extend(store, "x1", lease, 1, notes(20, PAGE_CHARACTERS), most=1)
        others = 0

        async def other() -> None:
            nonlocal others
            while True:
                others += 1
                await asyncio.sleep(0)

        running = asyncio.create_task(other())
        assert [envelope.seq for envelope in await log_of(store, "x1")] == [*range(1, 22)]
        running.cancel()
    assert others >= 20


async def test_looking_for_what_is_to_be_delivered_reads_nothing_that_was(tmp_path: Path) -> None:
    async with sqlite(tmp_path):
        with closing(apsw.Connection(str(tmp_path / "threadwright.db"), flags=apsw.SQLITE_OPEN_READONLY)) as opened:
            for look in (outbox.waiting_threads, lambda connection: outbox.waiting(connection, None)):
                asked: list[str] = []
                opened.trace_v2(apsw.SQLITE_TRACE_STMT, lambda told, asked=asked: asked.append(told["sql"]))
                look(cast(Connection, opened))
                opened.trace_v2(0, None)
                plans = [str(row[3]) for sql in asked for row in opened.execute(f"EXPLAIN QUERY PLAN {sql}")]
                assert plans[0] == "SCAN outbox USING INDEX outbox_waiting"


async def test_the_file_is_private(tmp_path: Path) -> None:
    async with sqlite(tmp_path / "home") as store:
        await begin(store)
        files = [tmp_path / "home", *(tmp_path / "home").iterdir()]
        assert len(files) >= 3
        assert all(path.stat().st_mode & 0o077 == 0 for path in files)


async def test_two_stores_on_one_file_see_each_others_writes(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as one, sqlite(tmp_path) as two:
        lease = await begin(one)
        assert len(await log_of(two, "x1")) == 1
        await two.append("x1", 1, lease, envelopes("x1", lease, 1, notes(1)))
        assert len(await log_of(one, "x1")) == 2


async def test_what_was_asked_for_before_closing_is_written(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as store:
        leases = [await take(store, f"t{number}") for number in range(10)]
        begun = [asyncio.create_task(begin(store, f"x{number}", lease)) for number, lease in enumerate(leases)]
        await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await asyncio.gather(*begun)
    async with sqlite(tmp_path) as store:
        assert len(await store.newest_executions(1_000)) == 10


def test_a_store_can_be_used_from_one_event_loop_after_another(tmp_path: Path) -> None:
    store = SQLiteStore.open(tmp_path / "threadwright.db")
    asyncio.run(store.set_fact("a", "1"))
    asyncio.run(store.set_fact("a", "2"))
    assert asyncio.run(store.fact("a")) == "2"
    asyncio.run(store.close())
