"""What is noted at once, and is more than the store writes at once."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import Envelope, Noted
from agentic.ports.errors import AppendTooLarge
from agentic.runtime.clock import SystemClock
from agentic.runtime.event_recorder import Recorder
from agentic.stores.checks import MOST_ITEMS
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.samples import inbox_item, log_of, started, take
from tests.stores import fresh_store


class Seen:
    """A sink that keeps what it is shown."""

    def __init__(self, store: SQLiteStore) -> None:
        self.store = store
        self.seqs: list[int] = []

    def saw(self, envelope: Envelope) -> None:
        self.seqs.append(envelope.seq)

    def streamed(self, execution: str, text: str) -> None:
        """Nothing streams here."""


async def test_what_is_more_than_one_append_holds_is_written_in_order_each_with_what_it_took_in() -> None:
    store = fresh_store()
    lease = await take(store)
    sink = Seen(store)
    recorder = Recorder(store, SystemClock(), (sink,), lease, "x1", "build")
    recorder.note(started())
    for number in range(3 * MOST_ITEMS):
        await store.put(inbox_item(str(number)))
        recorder.note(Noted(text=str(number)), taken=str(number))
    await recorder.commit()
    assert [e.event.text for e in await log_of(store, "x1", 1) if isinstance(e.event, Noted)] == [
        str(number) for number in range(3 * MOST_ITEMS)
    ]
    assert sink.seqs == list(range(1, 3 * MOST_ITEMS + 2)), "each once, in order"
    assert await store.pending("thread") == []
    assert not recorder.uncommitted


async def test_what_was_noted_together_is_never_taken_apart() -> None:
    store = fresh_store()
    lease = await take(store)
    recorder = Recorder(store, SystemClock(), (), lease, "x1", "build")
    recorder.note(started())
    recorder.note(*[Noted(text="one of many") for _ in range(MOST_ITEMS + 1)])
    with pytest.raises(AppendTooLarge):
        await recorder.commit()
    assert len(await log_of(store, "x1")) == 1
