"""The outbox under drawn orders of putting, posting, dying and delivering again: each key becomes one message, in order."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from agentic.core.events.ids import digest
from agentic.ports.runtime import OutboxRow
from tests.integration.stores.machines import StoreMachine, drive
from tests.integration.stores.samples import STORES, begin, envelopes, notes, outbox_item

THREADS = ("t1", "t2")
KEYS = tuple(f"k{number}" for number in range(12))


class OutboxMachine(StoreMachine):
    """A deliverer that dies anywhere, and a Discord that knows a repeated nonce; the model is a list of keys a thread."""

    def __init__(self) -> None:
        super().__init__()
        self.put: dict[str, list[str]] = {thread: [] for thread in THREADS}
        self.texts: dict[str, str] = {}
        self.posted: dict[str, str] = {}
        """Discord: nonce -> message."""
        self.channel: dict[str, list[str]] = {thread: [] for thread in THREADS}
        """What stands there, by key, in the order of posting."""
        self.recorded: dict[str, tuple[str, ...]] = {}
        self.heads = 0

    def _new(self, key: str, thread: str, text: str) -> None:
        if key not in self.texts:
            self.put[thread].append(key)
            self.texts[key] = text

    @rule(keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=3), thread=st.sampled_from(THREADS), text=st.text())
    def put_items(self, keys: list[str], thread: str, text: str) -> None:
        """Beside the log: a key that is known stays what and where it is."""
        self.do(self.store.put_outbox([outbox_item(key, thread, text) for key in keys]))
        for key in keys:
            self._new(key, thread, text)

    @rule(key=st.sampled_from(KEYS))
    def put_with_events(self, key: str) -> None:
        """In one transaction with what caused it; the lease is taken anew each time."""
        lease = self.do(self.store.acquire("t1", "me"))
        assert lease is not None
        if self.heads == 0:
            self.do(begin(self.store, "x1", lease))
            self.heads = 1
        item = outbox_item(key, "t1", "from an event")
        self.do(self.store.append("x1", self.heads, lease, envelopes("x1", lease, self.heads, notes(1)), [item]))
        self.heads += 1
        self._new(key, "t1", "from an event")

    def _post(self, row: OutboxRow) -> str:
        """Discord takes each nonce once."""
        nonce = digest("nonce", row.item.key, length=24)
        if nonce not in self.posted:
            self.posted[nonce] = f"message {len(self.posted)}"
            self.channel[row.item.thread].append(row.item.key)
        return self.posted[nonce]

    @rule(thread=st.sampled_from(THREADS), count=st.integers(1, 4), dies=st.booleans())
    def deliver(self, thread: str, count: int, dies: bool) -> None:
        """Some of what waits, oldest first; the process may die when the last is posted and not recorded."""
        rows = self.do(self.store.undelivered(thread))[:count]
        for row in rows:
            message = self._post(row)
            if dies and row is rows[-1]:
                self.crash()
                return
            self.do(self.store.delivered(row.item.key, [message]))
            self.recorded[row.item.key] = (message,)

    @rule(key=st.sampled_from(KEYS))
    def record_again(self, key: str) -> None:
        """A late owner records what another recorded before: the same message, for the nonce was the same."""
        if key in self.recorded:
            self.do(self.store.delivered(key, self.recorded[key]))

    @rule()
    def process_dies(self) -> None:
        self.crash()

    @invariant()
    def what_waits_is_what_was_put_and_not_recorded_in_order(self) -> None:
        for thread in THREADS:
            rows = self.do(self.store.undelivered(thread))
            assert [row.item.key for row in rows] == [key for key in self.put[thread] if key not in self.recorded]
            assert [row.item.text for row in rows] == [self.texts[row.item.key] for row in rows]
            assert [row.order for row in rows] == sorted({row.order for row in rows})

    @invariant()
    def each_key_stands_once_and_in_the_order_it_was_put(self) -> None:
        for thread in THREADS:
            stands = self.channel[thread]
            assert stands == self.put[thread][: len(stands)]

    @invariant()
    def receipts_lead_back(self) -> None:
        for key, messages in self.recorded.items():
            row = self.do(self.store.by_message(messages[0]))
            assert row is not None
            assert (row.item.key, row.delivered, row.done) == (key, messages, True)


@pytest.mark.parametrize("kind", sorted(STORES))
def test_each_item_becomes_one_message_in_order_whoever_dies(kind: str) -> None:
    drive(OutboxMachine, kind)
