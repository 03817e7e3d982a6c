"""The inbox under drawn orders of putting, taking in, discarding and dying: nothing acknowledged is lost or comes twice."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from agentic.core.events.execution_events import InputReceived, Started
from agentic.ports.errors import SequenceConflict
from agentic.ports.runtime import Lease
from tests.integration.stores.machines import StoreMachine, drive
from tests.integration.stores.samples import ANNA, STORES, envelopes, inbox_item, log_of

THREADS = ("t1", "t2")
IDS = tuple(f"i{number}" for number in range(10))


class InboxMachine(StoreMachine):
    """People write, an execution takes in; the model is what was ever kept, and where each item went."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, tuple[str, int, int]] = {}
        """id -> thread, minute, the order of keeping."""
        self.taken: dict[str, list[str]] = {thread: [] for thread in THREADS}
        self.discarded: set[str] = set()
        self.heads: dict[str, int] = {}

    def _waiting(self, thread: str) -> list[str]:
        gone = {id for taken in self.taken.values() for id in taken} | self.discarded
        waiting = [id for id, (place, _, _) in self.kept.items() if place == thread and id not in gone]
        return sorted(waiting, key=lambda id: self.kept[id][1:])

    @rule(id=st.sampled_from(IDS), thread=st.sampled_from(THREADS), minute=st.integers(0, 3))
    def put(self, id: str, thread: str, minute: int) -> None:
        """Discord may tell of the same message again, also long after it was taken in, also out of order."""
        assert self.do(self.store.put(inbox_item(id, thread, minute=minute))) is (id not in self.kept)
        self.kept.setdefault(id, (thread, minute, len(self.kept)))

    @rule(id=st.sampled_from(IDS), thread=st.sampled_from(THREADS))
    def put_by_two_at_once(self, id: str, thread: str) -> None:
        """The event and the look back over the gap bring the same message together."""
        item = inbox_item(id, thread)
        news = self.all_of(self.store.put(item), self.store.put(item))
        assert sum(news) == (id not in self.kept)
        self.kept.setdefault(id, (thread, 0, len(self.kept)))

    @rule(thread=st.sampled_from(THREADS), conflicts=st.booleans())
    def take_in(self, thread: str, conflicts: bool) -> None:
        """All that waits is acknowledged in the transaction that records it, or, where that is refused, not at all."""
        waiting = self.do(self.store.pending(thread))
        lease = self.do(self.store.acquire(thread, "me"))
        assert lease is not None
        execution = f"x of {thread}"
        head = self.heads.get(execution, 0)
        if head == 0:
            self._begin(execution, lease)
            head = 1
        events = [InputReceived(inbox=item.id, sort="guidance", author=ANNA) for item in waiting]
        acks = [item.id for item in waiting]
        if conflicts:
            late = envelopes(execution, lease, head + 1, events)
            with pytest.raises(SequenceConflict):
                self.do(self.store.append(execution, head + 1, lease, late, (), acks))
            return
        self.do(self.store.append(execution, head, lease, envelopes(execution, lease, head, events), (), acks))
        self.heads[execution] = head + len(events)
        self.taken[thread] += acks

    def _begin(self, execution: str, lease: Lease) -> None:
        begun = Started(thread=lease.thread, task="go", requester=ANNA)
        self.do(self.store.append(execution, 0, lease, envelopes(execution, lease, 0, [begun])))
        self.heads[execution] = 1

    @rule(ids=st.lists(st.sampled_from(IDS), max_size=3))
    def discard(self, ids: list[str]) -> None:
        """What was taken in, and what was never there, can be discarded too: nothing happens."""
        self.do(self.store.discard(ids))
        taken = {id for taken in self.taken.values() for id in taken}
        self.discarded |= {id for id in ids if id in self.kept and id not in taken}

    @rule()
    def process_dies(self) -> None:
        self.crash()

    @invariant()
    def what_waits_is_what_was_kept_and_went_nowhere(self) -> None:
        for thread in THREADS:
            assert [item.id for item in self.do(self.store.pending(thread))] == self._waiting(thread)
        firsts = {thread: self.kept[waiting[0]][1:] for thread in THREADS if (waiting := self._waiting(thread))}
        threads = self.do(self.store.pending_threads())
        assert sorted(threads) == sorted(firsts)
        assert [firsts[thread][0] for thread in threads] == sorted(minute for minute, _ in firsts.values())

    @invariant()
    def what_was_taken_in_stands_in_the_log_once(self) -> None:
        for thread in THREADS:
            log = self.do(log_of(self.store, f"x of {thread}"))
            recorded = [envelope.event.inbox for envelope in log if isinstance(envelope.event, InputReceived)]
            assert recorded == self.taken[thread]
            assert len(recorded) == len(set(recorded))


@pytest.mark.parametrize("kind", sorted(STORES))
def test_what_people_say_is_taken_in_once_whoever_dies(kind: str) -> None:
    drive(InboxMachine, kind)
