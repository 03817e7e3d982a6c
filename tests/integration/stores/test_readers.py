"""A version that is too old for what is stored takes no lease."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from agentic.core.events.execution_events import Event, Noted
from agentic.core.events.upcasting import READER, ReaderVersion
from agentic.ports.errors import SequenceConflict, StoreTooNew
from agentic.ports.runtime import Store
from agentic.stores.checks import MIN_READER
from agentic.stores.sqlite.file.schema import MIGRATIONS, prepare
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.samples import begin, envelopes, notes, take


def misread(event: Event) -> bool:
    """What today's version would misread, if there were a next one that wrote it."""
    return isinstance(event, Noted) and event.text == "in the way of the next version"


NEXT = ReaderVersion(READER + 1, ((READER + 1, misread),))
NEW: list[Event] = [Noted(text="in the way of the next version")]


@pytest.fixture
def newer(tmp_path: Path) -> Store:
    """A store as the next version opens it."""
    return SQLiteStore.open(tmp_path / "threadwright.db", reading=NEXT)


async def test_what_an_older_version_would_misread_raises_what_is_needed_once_it_is_written(newer: Store) -> None:
    lease = await begin(newer)
    await newer.append("x1", 1, lease, envelopes("x1", lease, 1, notes(2)))
    assert await newer.fact(MIN_READER) is None
    with pytest.raises(SequenceConflict):
        await newer.append("x1", 9, lease, envelopes("x1", lease, 9, NEW))
    assert await newer.fact(MIN_READER) is None, "what was not written needs nothing"
    await newer.append("x1", 3, lease, envelopes("x1", lease, 3, NEW))
    assert await newer.fact(MIN_READER) == str(NEXT.reader)
    await newer.set_fact(MIN_READER, "1")
    await newer.append("x1", 4, lease, envelopes("x1", lease, 4, notes(1)))
    await newer.append("x1", 5, lease, envelopes("x1", lease, 5, NEW))
    await newer.append("x1", 6, lease, envelopes("x1", lease, 6, NEW))
    assert await newer.fact(MIN_READER) == str(NEXT.reader)
    assert await newer.acquire("another thread", "me") is not None
    await newer.close()


async def test_a_reader_that_is_too_old_gets_no_lease_and_is_told_what_to_do(store: Store) -> None:
    held = await take(store)
    await store.set_fact(MIN_READER, str(READER + 1))
    with pytest.raises(StoreTooNew, match="update it; nothing was taken up"):
        await store.acquire("another thread", "me")
    assert await store.renew(held), "what it has begun it may end"
    await store.release(held)
    await store.set_fact(MIN_READER, str(READER))
    assert await store.acquire("another thread", "me") is not None


async def test_a_migration_can_shut_out_the_processes_that_were_left_running(tmp_path: Path) -> None:
    older = SQLiteStore.open(tmp_path / "threadwright.db")
    held = await take(older)
    connection = apsw.Connection(str(tmp_path / "threadwright.db"))
    reader = f"INSERT INTO facts (key, value) VALUES ('{MIN_READER}', '{READER + 1}')"
    prepare(connection, tmp_path / "threadwright.db", (*MIGRATIONS, reader))
    connection.close()
    with pytest.raises(StoreTooNew):
        await older.acquire("another thread", "me")
    await older.release(held)
    await older.close()
