"""A task on AWS, against a local one: what it costs there, and what the processor does a turn beside SQLite, by parts.

The local AWS counts as DynamoDB does: a kilobyte written is a unit, two in a transaction, and one more an index.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any

from agentic.aws.aws_place import AwsPlace
from agentic.aws.clients import Answer, Clients, Service
from agentic.core.events.execution_events import InboxItem, Person
from agentic.ports.runtime import SessionRow, Store
from agentic.runtime.budget_ledger import DailyCaps
from agentic.stores.aws.store import AwsStore
from agentic.stores.sqlite.store import SQLiteStore
from bench.figures import Figure, size
from bench.startup import cpu_seconds
from bench.trajectory import THREAD, work

TURNS = 20
"""Of a task whose price is told."""
LONG_TURNS = size("TURNS", 200, 10)
RENEWALS = 30
"""Of its lease, in the three or four minutes that it takes."""
CAPS = DailyCaps(100.0, 100.0, 100.0)
MOST_UNITS, MOST_REQUESTS, MOST_PUTS = 1_000, 250, 60
USD_A_MILLION = {"write": 0.625, "read": 0.125, "put": 5.0, "get": 0.4}
"""List prices of DynamoDB by request and of S3 in us-east-1, in November 2026."""


@dataclass(slots=True)
class Price:
    """What was asked of AWS."""

    requests: Counter[str] = field(default_factory=Counter[str])
    write: float = 0.0
    read: float = 0.0

    def __call__(self, service: Service, operation: str, arguments: dict[str, Any], answer: Answer) -> None:
        """Count a request."""
        self.requests[f"{service}.{operation}"] += 1
        told = answer.get("ConsumedCapacity", [])
        units = sum(each["CapacityUnits"] for each in (told if isinstance(told, list) else [told]))
        if operation in {"get_item", "batch_get_item", "query"}:
            self.read += units
        else:
            self.write += units

    @property
    def puts(self) -> int:
        """Objects that were written."""
        return self.requests["s3.put_object"]

    @property
    def usd(self) -> float:
        """All of it in US dollars."""
        millions = {"write": self.write, "read": self.read, "put": self.puts, "get": self.requests["s3.get_object"]}
        return sum(USD_A_MILLION[sort] * count for sort, count in millions.items()) / 1e6


class TimedClients(Clients):
    """Says how much processor time went into asking AWS, and not into what is asked."""

    asked = 0.0

    async def call(self, service: Service, operation: str, arguments: dict[str, Any]) -> Answer:
        """Send a request."""
        began = process_time()
        try:
            return await super().call(service, operation, arguments)
        finally:
            self.asked += process_time() - began


async def figures() -> AsyncIterator[Figure]:
    """The price of a task, then the processor time of a turn."""
    from deploy.aws_local.emulator import mini_stack
    from deploy.aws_local.resources import CREDENTIALS, make_resources

    os.environ.update(CREDENTIALS)
    with ExitStack() as stack:
        endpoint = stack.enter_context(mini_stack())
        price = await priced(make_resources(endpoint, "price"))
        note = f"{TURNS} turns of one call and 2 kB, three daily caps, {RENEWALS} renewals, its messages delivered"
        yield Figure("aws_task_write_units", price.write, "units", "<=", MOST_UNITS, note)
        yield Figure("aws_task_requests", price.requests.total(), "requests", "<=", MOST_REQUESTS)
        yield Figure("aws_task_puts", price.puts, "puts", "<=", MOST_PUTS)
        yield Figure("aws_task_read_units", price.read, "units")
        told = await priced(make_resources(endpoint, "told"), telling=True)
        yield Figure(
            "aws_task_told_write_units", told.write, "units", "<=", MOST_UNITS, "each step told to a queue at once"
        )
        yield Figure("aws_task_price", price.usd, "USD", note="list prices of us-east-1")
        async for figure in _processor(make_resources(endpoint, "processor")):
            yield figure


class Telling(AwsStore):
    """Tells a target outside of each step at once, which is more often than anybody would."""

    async def append(self, *args: Any, **options: Any) -> None:
        """Write, then tell."""
        await super().append(*args, **options)
        await self.published("queue", await self.unpublished("queue", 100))


async def priced(place: AwsPlace, turns: int = TURNS, *, telling: bool = False) -> Price:
    """What a task asks of AWS from its message to its answer; ``telling``: with what one who tells of all tasks asks."""
    price = Price()
    store = (Telling if telling else AwsStore).open(place, observer=price)
    await store.subscribe("queue")
    await _task(store, turns, RENEWALS, CAPS)
    await store.close()
    return price


async def _task(store: Store, turns: int, renewals: int = 0, caps: DailyCaps | None = None) -> None:
    now = datetime.now(UTC)
    await store.save_session(SessionRow(THREAD, "channel", "guild", "Fix the tests", now, now))
    anna = Person(id="7", name="Anna")
    await store.put(InboxItem(id="1", thread=THREAD, sort="task", author=anna, at=now, text="The tests fail."))
    lease = await store.acquire(THREAD, "bench")
    assert lease is not None
    await work(store, lease, turns, caps or DailyCaps())
    await store.discard([item.id for item in await store.pending(THREAD)])
    for _ in range(renewals):
        assert await store.renew(lease)
    for number, row in enumerate(await store.undelivered(THREAD)):
        await store.delivered(row.item.key, [f"{number}"])
    await store.release(lease)


async def _processor(place: AwsPlace) -> AsyncIterator[Figure]:
    """The same task over both stores, and of the one on AWS what is ours, the client's and the local AWS's."""
    clients = TimedClients(place)
    aws = AwsStore.over(clients)
    with tempfile.TemporaryDirectory(prefix="bench-aws-", dir=Path.cwd()) as folder:
        stores: dict[str, Store] = {
            "sqlite": SQLiteStore.open(Path(folder) / "threadwright.db"),
            "aws": aws,
        }
        await aws.fact("the first request makes the client")
        clients.asked, emulator = 0.0, _of_children()
        spent: dict[str, float] = {}
        for name, store in stores.items():
            began = process_time()
            await _task(store, LONG_TURNS)
            spent[name] = (process_time() - began) / LONG_TURNS * 1e3
            await store.close()
    asked, emulator = (seconds / LONG_TURNS * 1e3 for seconds in (clients.asked, _of_children() - emulator))
    note = f"{LONG_TURNS} turns, with the loop"
    yield Figure("sqlite_cpu_a_turn", spent["sqlite"], "ms", note=note)
    yield Figure("aws_cpu_a_turn", spent["aws"], "ms", note=note)
    yield Figure("aws_cpu_a_turn_over_sqlite", spent["aws"] / spent["sqlite"], "x")
    yield Figure("aws_cpu_a_turn_client", asked, "ms", note="botocore and aiohttp: made, signed, sent, read")
    more = spent["aws"] - spent["sqlite"] - asked
    yield Figure("aws_cpu_a_turn_store_more", more, "ms", note="items made, packed and read, beyond rows of SQLite")
    yield Figure("aws_cpu_a_turn_emulator", emulator, "ms", note="in its own process; of AWS itself nobody pays it")


def _of_children() -> float:
    """Processor time of the processes that this one has started and that run."""
    tasks = Path("/proc/self/task").glob("*/children")
    return sum(cpu_seconds(int(pid)) for task in tasks for pid in task.read_text().split())
