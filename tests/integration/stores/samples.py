"""Small logs to write, and the stores that must write them alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agentic.aws.aws_place import AwsPlace
from agentic.core.events.execution_events import (
    Envelope,
    Event,
    Finished,
    InboxItem,
    Noted,
    OutboxItem,
    Person,
    Sort,
    Started,
)
from agentic.ports.runtime import Lease, Store
from agentic.stores.aws.store import AwsStore
from agentic.stores.sqlite.file.connection import connect
from agentic.stores.sqlite.file.schema import MIGRATIONS, prepare
from agentic.stores.sqlite.store import SQLiteStore
from tests.aws.accounts import local_aws, new_place

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
ANNA = Person(id="7", name="Anna")


@dataclass(slots=True)
class Seconds:
    """A clock that stands still until it is told to move."""

    at: float = 1_000.0

    def __call__(self) -> float:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += seconds


OpenStore = Callable[[Path, Seconds], Store]

_PLACES: dict[Path, AwsPlace] = {}


def _aws(folder: Path, seconds: Seconds) -> AwsStore:
    """A store on AWS; opened again for the same folder it is the same one."""
    if folder not in _PLACES:
        _PLACES[folder] = new_place(local_aws())
    return AwsStore.open(_PLACES[folder], seconds)


STORES: dict[str, OpenStore] = {
    "aws": _aws,
    "sqlite": lambda folder, seconds: SQLiteStore.open(folder / "threadwright.db", seconds),
}


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncIterator[SQLiteStore]:
    """A SQLite store that is closed at the end."""
    store = SQLiteStore.open(folder / "threadwright.db")
    try:
        yield store
    finally:
        await store.close()


def as_of_version(newer: Path, path: Path, version: int) -> None:
    """What stands in a database, as one of an earlier schema holds it."""
    connection = connect(str(path))
    prepare(connection, path, MIGRATIONS[:version])
    connection.execute("ATTACH ? AS newer", (str(newer),))
    for (table,) in list(connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")):
        if not str(table).startswith("sqlite_"):
            names = ", ".join(str(row[1]) for row in connection.execute(f"PRAGMA main.table_info({table})"))
            connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM newer.{table}")
    connection.close()


def envelopes(execution: str, lease: Lease, after: int, events: Sequence[Event]) -> list[Envelope]:
    """Events in their places behind ``after``."""
    return [
        Envelope(
            execution=execution,
            seq=seq,
            at=NOW + timedelta(microseconds=seq),
            fence=lease.fence,
            event=event,
            cause=f"cause {seq}",
            build="0.1.0",
        )
        for seq, event in enumerate(events, after + 1)
    ]


def started(thread: str = "thread", task: str = "fix it") -> Started:
    """The beginning of a log."""
    return Started(thread=thread, task=task, requester=ANNA)


def notes(count: int, size: int = 10) -> list[Event]:
    """Events that say nothing."""
    return [Noted(text=f"{number}:".ljust(size, "·")) for number in range(count)]


async def take(store: Store, thread: str = "thread", owner: str = "me") -> Lease:
    """A lease that must be free."""
    lease = await store.acquire(thread, owner)
    assert lease is not None
    return lease


async def begin(store: Store, execution: str = "x1", lease: Lease | None = None) -> Lease:
    """An execution with its first event."""
    lease = lease or await take(store)
    await store.append(execution, 0, lease, envelopes(execution, lease, 0, [started(lease.thread)]))
    return lease


async def extend(
    store: Store, execution: str, lease: Lease, after: int, events: Sequence[Event], most: int = 96
) -> None:
    """Events that are more than one append may carry, ``most`` at a time."""
    log = envelopes(execution, lease, after, events)
    for first in range(0, len(log), most):
        await store.append(execution, after + first, lease, log[first : first + most])


async def finish(store: Store, execution: str, lease: Lease, after: int) -> None:
    """The end of an execution."""
    events: list[Event] = [Finished(reason="done", answer="done")]
    await store.append(execution, after, lease, envelopes(execution, lease, after, events))


async def log_of(store: Store, execution: str, after: int = 0) -> list[Envelope]:
    """The whole log."""
    return [envelope async for envelope in store.read(execution, after)]


def inbox_item(id: str, thread: str = "thread", sort: Sort = "guidance", minute: int = 0) -> InboxItem:
    """Something Anna wrote."""
    return InboxItem(
        id=id, thread=thread, sort=sort, author=ANNA, at=NOW + timedelta(minutes=minute), text=f"text of {id}"
    )


def outbox_item(key: str, thread: str = "thread", text: str = "hello") -> OutboxItem:
    """Something to post."""
    return OutboxItem(key=key, thread=thread, execution="x1", sort="notice", text=text)
