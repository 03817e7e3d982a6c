"""The stores answer alike, whatever is done in whatever order: leases, inbox, outbox and log, drawn at random."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, multiple, rule, run_state_machine_as_test

from agentic.core.events.execution_events import Event
from agentic.ports.errors import StoreError
from agentic.ports.runtime import Lease, OutboxRow, Store
from tests.integration.stores.samples import STORES, Seconds, envelopes, inbox_item, log_of, notes, outbox_item, started

THREADS = st.sampled_from(["one", "two"])
OWNERS = st.sampled_from(["anna", "ben"])
IDS = st.sampled_from([str(number) for number in range(6)])
KEYS = st.lists(st.sampled_from(["k1", "k2", "k3", "k4"]), max_size=3)


async def _by_name(threads: Awaitable[list[str]]) -> list[str]:
    """Of two that have waited equally long either may come first."""
    return sorted(await threads)


class BothStores(RuleBasedStateMachine):
    """Does everything to each store, and compares what they answer."""

    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.seconds = Seconds()
        self.runner = asyncio.Runner()
        self.stores = self.opened()

    def opened(self) -> list[Store]:
        """The stores, which forget nothing by being closed."""
        return [opened(Path(self.folder.name), self.seconds) for opened in STORES.values()]

    def close(self) -> None:
        """Close both."""
        for store in self.stores:
            self.runner.run(store.close())

    def teardown(self) -> None:
        """Let go of the file."""
        self.close()
        self.runner.close()
        self.folder.cleanup()

    def both(self, act: Callable[[Store], Awaitable[object]]) -> object:
        """What both answer, which is the same."""
        answers = [self.runner.run(_outcome(act, store)) for store in self.stores]
        assert answers[0] == answers[1]
        return answers[0]

    @rule(target=leases, thread=THREADS, owner=OWNERS, seconds=st.sampled_from([5.0, 20.0]))
    def acquire(self, thread: str, owner: str, seconds: float) -> object:
        lease = self.both(lambda store: store.acquire(thread, owner, seconds))
        return lease if isinstance(lease, Lease) else multiple()

    @rule(lease=leases)
    def renew(self, lease: Lease) -> None:
        self.both(lambda store: store.renew(lease, 10.0))

    @rule(lease=consumes(leases))
    def release(self, lease: Lease) -> None:
        self.both(lambda store: store.release(lease))

    @rule(seconds=st.sampled_from([1.0, 6.0, 30.0]))
    def time_passes(self, seconds: float) -> None:
        self.seconds.advance(seconds)

    @rule(lease=leases, expected=st.integers(0, 4), count=st.integers(0, 2), keys=KEYS, acks=st.lists(IDS, max_size=2))
    def append(self, lease: Lease, expected: int, count: int, keys: list[str], acks: list[str]) -> None:
        execution = f"x of {lease.thread}"
        events: list[Event] = [started(lease.thread), *notes(count)] if expected == 0 else notes(count)
        items = [outbox_item(key, lease.thread) for key in keys]
        placed = envelopes(execution, lease, expected, events)
        self.both(lambda store: store.append(execution, expected, lease, placed, items, acks))
        self.both(lambda store: log_of(store, execution))

    @rule(id=IDS, thread=THREADS, minute=st.integers(0, 3))
    def put(self, id: str, thread: str, minute: int) -> None:
        self.both(lambda store: store.put(inbox_item(id, thread, minute=minute)))

    @rule(ids=st.lists(IDS, max_size=3))
    def discard(self, ids: list[str]) -> None:
        self.both(lambda store: store.discard(ids))

    @rule(keys=KEYS, thread=THREADS)
    def put_outbox(self, keys: list[str], thread: str) -> None:
        self.both(lambda store: store.put_outbox([outbox_item(key, thread) for key in keys]))

    @rule(key=st.sampled_from(["k1", "k2", "k3", "k4"]), messages=st.lists(IDS, max_size=2, unique=True))
    def delivered(self, key: str, messages: list[str]) -> None:
        self.both(lambda store: store.delivered(key, messages))

    @rule(thread=THREADS, message=IDS, key=st.sampled_from(["k1", "k2"]))
    def look(self, thread: str, message: str, key: str) -> None:
        self.both(lambda store: store.pending(thread))
        self.both(lambda store: _by_name(store.pending_threads()))
        self.both(lambda store: store.undelivered(thread))
        self.both(lambda store: store.undelivered())
        self.both(lambda store: store.by_message(message))
        self.both(lambda store: store.outbox_row(key))
        self.both(lambda store: store.newest_executions(1_000))

    @rule()
    def reopen(self) -> None:
        """Another process goes on with it."""
        self.close()
        self.stores = self.opened()


async def _outcome(act: Callable[[Store], Awaitable[object]], store: Store) -> object:
    """What came of it, with errors by their kind, and without the outbox's own numbers."""
    try:
        outcome = await act(store)
    except StoreError as error:
        return type(error)
    if isinstance(outcome, OutboxRow):
        return _unnumbered(outcome)
    if isinstance(outcome, list):
        return [_unnumbered(row) if isinstance(row, OutboxRow) else row for row in outcome]
    return outcome


def _unnumbered(row: OutboxRow) -> tuple[object, ...]:
    return row.item, row.delivered, row.done


@pytest.mark.aws
def test_stores_answer_alike() -> None:
    slow = [HealthCheck.too_slow, HealthCheck.differing_executors]
    run_state_machine_as_test(
        BothStores, settings=settings(max_examples=2, stateful_step_count=40, deadline=None, suppress_health_check=slow)
    )
