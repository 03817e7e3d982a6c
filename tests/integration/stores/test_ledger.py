"""The ledger: caps that many executions share, never passed by what is set aside, whoever asks and whoever dies."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest

from agentic.ports.runtime import Scope, Store
from agentic.stores.sqlite.file.connection import connect
from agentic.stores.sqlite.file.schema import MIGRATIONS, prepare
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.samples import as_of_version, begin, finish, inbox_item, log_of, outbox_item, take

ANNA, GUILD = Scope("person:7:2026-03-01", 1.0), Scope("guild:9:2026-03-01", 1.5)


async def test_a_used_up_scope_refuses_also_what_has_no_price(store: Store) -> None:
    assert await store.reserve_usd("free", (ANNA,), 0.0) is None
    await store.reserve_usd("all", (ANNA,), 1.0)
    assert await store.reserve_usd("free too", (ANNA,), 0.0) == ANNA
    assert await store.reserve_usd("nothing allowed", (Scope("closed", 0.0),), 0.0) is not None


async def test_two_processes_worth_of_connections_share_one_cap(tmp_path: Path) -> None:
    stores = [SQLiteStore.open(tmp_path / "threadwright.db") for _ in range(2)]
    asked = [stores[number % 2].reserve_usd(f"{number}", (ANNA,), 0.1) for number in range(40)]
    granted = [answer is None for answer in await asyncio.gather(*asked)]
    assert sum(granted) == 10
    assert [await store.spent_usd(ANNA.name) for store in stores] == [1.0, 1.0]
    for store in stores:
        await store.close()


# --- a database that was made before there was a ledger -----------------------------------------------------------


def _made_by_the_first_schema(path: Path) -> None:
    connection = connect(str(path))
    prepare(connection, path, MIGRATIONS[:1])
    assert connection.pragma("user_version") == 1
    connection.close()


async def test_a_database_of_the_first_schema_keeps_all_it_holds_and_gets_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "threadwright.db"
    store = SQLiteStore.open(tmp_path / "newer.db")
    lease = await begin(store)
    await finish(store, "x1", lease, 1)
    await store.put(inbox_item("i1"))
    await store.put_outbox([outbox_item("k1")])
    await store.set_fact("watermark", "12")
    before = await log_of(store, "x1")
    await store.close()
    as_of_version(tmp_path / "newer.db", path, 1)
    store = SQLiteStore.open(path)
    assert await log_of(store, "x1") == before
    assert [item.id for item in await store.pending("thread")] == ["i1"]
    assert [row.item.key for row in await store.undelivered()] == ["k1"]
    assert await store.fact("watermark") == "12"
    assert (await take(store)).fence == lease.fence + 1
    assert await store.reserve_usd("a", (ANNA,), 0.5) is None
    assert await store.spent_usd(ANNA.name) == 0.5
    await store.close()
    assert connect(str(path)).pragma("user_version") == len(MIGRATIONS)


def test_a_migration_that_is_killed_leaves_the_first_schema(tmp_path: Path) -> None:
    path = tmp_path / "threadwright.db"
    _made_by_the_first_schema(path)
    connection = connect(str(path))
    with pytest.raises(apsw.SQLError):
        prepare(connection, path, (*MIGRATIONS[:2], "SELECT no_such_function()"))
    connection.close()
    connection = connect(str(path))
    assert connection.pragma("user_version") == 1
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    assert "reservations" not in tables
    prepare(connection, path)
    assert connection.pragma("user_version") == len(MIGRATIONS)
