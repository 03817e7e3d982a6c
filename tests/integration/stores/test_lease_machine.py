"""Leases under drawn orders of taking, renewing, giving back, running out and dying: never two owners, never an old fence."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, consumes, invariant, multiple, rule

from agentic.ports.errors import LeaseLost
from agentic.ports.runtime import Lease
from agentic.stores.sqlite.file.connection import connect
from tests.integration.stores.machines import StoreMachine, drive
from tests.integration.stores.samples import STORES, envelopes, inbox_item, notes, outbox_item, started

OWNERS = ("ann", "ben", "cid")
THREADS = ("t1", "t2")
SECONDS = 20.0


class LeaseMachine(StoreMachine):
    """Owners in processes of their own; the model keeps who holds what, and until when."""

    leases: Bundle[Lease] = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, tuple[str, int, float]] = {}
        self.fences: dict[str, int] = {}
        self.heads: dict[str, int] = {}
        self.orphaned: set[str] = set()
        """Threads whose owner is provably dead."""
        self.tried = 0
        self.written: list[tuple[str, int]] = []

    def _holds(self, lease: Lease) -> bool:
        return self.held.get(lease.thread, ("", 0, 0.0))[:2] == (lease.owner, lease.fence)

    @rule(target=leases, thread=st.sampled_from(THREADS), owner=st.sampled_from(OWNERS))
    def acquire(self, thread: str, owner: str) -> Lease:
        holder, _, until = self.held.get(thread, ("", 0, 0.0))
        free = holder in ("", owner) or until <= self.clock() or thread in self.orphaned
        taken = self.do(self.store.acquire(thread, owner, SECONDS))
        assert (taken is not None) is free
        if taken is None:
            return multiple()  # type: ignore[return-value]
        assert taken.fence == self.fences.get(thread, 0) + 1
        self.fences[thread] = taken.fence
        self.held[thread] = (owner, taken.fence, self.clock() + SECONDS)
        self.orphaned.discard(thread)
        return taken

    @rule(lease=leases)
    def renew(self, lease: Lease) -> None:
        assert self.do(self.store.renew(lease, SECONDS)) is self._holds(lease)
        if self._holds(lease):
            self.held[lease.thread] = (lease.owner, lease.fence, self.clock() + SECONDS)

    @rule(lease=consumes(leases))
    def release(self, lease: Lease) -> None:
        self.do(self.store.release(lease))
        if self._holds(lease):
            self.held[lease.thread] = ("", lease.fence, 0.0)

    @rule(seconds=st.sampled_from((1.0, 19.0, 20.0, 21.0)))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(owner=st.sampled_from(OWNERS))
    def owner_dies(self, owner: str) -> None:
        """The process that took its leases is of an earlier boot, and so provably dead; its zombie may still write."""
        if self.kind == "sqlite":
            connection = connect(str(self.folder / "threadwright.db"))
            connection.execute("UPDATE leases SET process = 'an earlier boot/0/1/1' WHERE owner = ?", (owner,))
            connection.close()
            self.orphaned |= {thread for thread, held in self.held.items() if held[0] == owner}

    @rule()
    def all_die(self) -> None:
        self.crash()

    @rule(lease=leases)
    def write(self, lease: Lease) -> None:
        """Every write of a log is fenced: its events, and the outbox and inbox that go with them."""
        execution = f"x of {lease.thread}"
        head = self.heads.get(execution, 0)
        events = [started(lease.thread)] if head == 0 else notes(1)
        self.tried += 1
        key = f"k{self.tried}"
        self.do(self.store.put(inbox_item(key, lease.thread)))
        try:
            self.do(
                self.store.append(
                    execution, head, lease, envelopes(execution, lease, head, events),
                    [outbox_item(key, lease.thread)], [key],
                )
            )  # fmt: skip
        except LeaseLost:
            assert not self._holds(lease)
            assert self.do(self.store.outbox_row(key)) is None
            assert key in [item.id for item in self.do(self.store.pending(lease.thread))]
            self.do(self.store.discard([key]))
        else:
            assert self._holds(lease)
            self.heads[execution] = head + 1
            self.written.append((lease.thread, lease.fence))

    @rule(thread=st.sampled_from(THREADS))
    def all_ask_at_once(self, thread: str) -> None:
        holder, _, until = self.held.get(thread, ("", 0, 0.0))
        free = not holder or until <= self.clock() or thread in self.orphaned
        names = [f"newcomer {self.fences.get(thread, 0)}.{number}" for number in range(3)]
        taken = self.all_of(*(self.store.acquire(thread, name, SECONDS) for name in names))
        won = [lease for lease in taken if lease is not None]
        assert len(won) == free
        if not won:
            return
        self.orphaned.discard(thread)
        self.fences[thread] = won[0].fence
        self.held[thread] = (won[0].owner, won[0].fence, self.clock() + SECONDS)

    @invariant()
    def fences_of_what_was_written_only_grow(self) -> None:
        for thread in THREADS:
            fences = [fence for written, fence in self.written if written == thread]
            assert fences == sorted(fences)


@pytest.mark.parametrize("kind", sorted(STORES))
def test_a_thread_never_has_two_owners_and_an_old_fence_writes_nothing(kind: str) -> None:
    drive(LeaseMachine, kind)
