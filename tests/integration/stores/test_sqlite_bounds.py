"""What is asked again and again, or at each start, costs as much as it gives, however much is stored beside it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import apsw

from agentic.ports.stores import Scope, SessionRow, Store
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.samples import NOW, begin, finish, inbox_item, outbox_item

FEW, MANY = 30, 1_500
STEPS = 20
LAST = SessionRow("9", "c9", "g9", accessed=NOW)


ASKED: dict[str, Callable[[Store], Awaitable[object]]] = {
    "sessions of a guild": lambda store: store.recent_sessions(5, guild="g1"),
    "earlier sessions of a guild": lambda store: store.recent_sessions(5, guild="g1", before=LAST),
    "sessions": lambda store: store.recent_sessions(5),
    "earlier sessions": lambda store: store.recent_sessions(5, before=LAST),
    "sessions in a channel": lambda store: store.sessions_in("c7"),
    "a session": lambda store: store.session("7"),
    "a thread's executions": lambda store: store.executions("7"),
    "what is open": lambda store: store.open_executions(),
    "where something is open": lambda store: store.open_threads(50),
    "what is open in a thread": lambda store: store.open_executions("7"),
    "the newest executions": lambda store: store.newest_executions(5),
    "what waits for a thread": lambda store: store.pending("7"),
    "where something waits": lambda store: store.pending_threads(),
    "what is to be delivered": lambda store: store.undelivered(),
    "what is to be delivered in a thread": lambda store: store.undelivered("7"),
    "where something is to be delivered": lambda store: store.undelivered_threads(),
    "an item": lambda store: store.outbox_row("7"),
    "an item by its message": lambda store: store.by_message("m7"),
    "money that is set aside": lambda store: store.unsettled_usd(""),
    "what is to be cleared": lambda store: store.burials(),
    "what is to expire": lambda store: store.expire(NOW - timedelta(days=1), 5),
}


async def test_what_is_polled_costs_no_more_where_much_is_stored(tmp_path: Path) -> None:
    few, many = [await _steps(tmp_path / str(threads), threads) for threads in (FEW, MANY)]
    assert {asked: (few[asked], many[asked]) for asked in ASKED if many[asked] > 2 * few[asked] + 10} == {}


async def _steps(folder: Path, threads: int) -> Counter[str]:
    """How often ``STEPS`` steps of SQLite's machine were taken for each question."""
    asking, taken = [""], Counter[str]()

    def step() -> bool:
        taken[asking[0]] += 1
        return False

    async with _stored(folder, threads) as store, _counted(step):
        again = SQLiteStore.open(folder / "threadwright.sqlite")
        for asking[0], ask in ASKED.items():
            await ask(again)
        asking[0] = ""
        await again.close()
        assert len(await store.executions("7")) == 1
    return taken


@asynccontextmanager
async def _counted(step: Callable[[], bool]) -> AsyncIterator[None]:
    """Connections that are opened here tell of their steps."""

    def hook(connection: apsw.Connection) -> None:
        connection.set_progress_handler(step, STEPS)

    apsw.connection_hooks.append(hook)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(hook)


@asynccontextmanager
async def _stored(folder: Path, threads: int) -> AsyncIterator[Store]:
    """Threads that were each used once, and nothing of which is open or waits."""
    store = SQLiteStore.open(folder / "threadwright.sqlite")

    async def use(number: int) -> None:
        thread = str(number)
        lease = await begin(store, f"x{number}", await store.acquire(thread, "test"))
        await finish(store, f"x{number}", lease, 1)
        await store.save_session(SessionRow(thread, f"c{thread}", "g1", accessed=NOW + timedelta(seconds=number)))
        await store.put(inbox_item(thread, thread=thread))
        await store.discard([thread])
        await store.put_outbox([outbox_item(thread, thread=thread)])
        await store.delivered(thread, [f"m{thread}"])
        await store.reserve_usd(thread, [Scope("day", 1e9)], 0.1)
        await store.settle_usd(thread, 0.1)

    await asyncio.gather(*(use(number) for number in range(threads)))
    try:
        yield store
    finally:
        await store.close()
