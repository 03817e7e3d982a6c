"""The ledger under drawn orders of reserving, settling, releasing and dying: no cap is passed, nothing counts twice."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from agentic.ports.runtime import Scope
from tests.integration.stores.machines import StoreMachine, drive
from tests.integration.stores.samples import STORES

CENT = 10_000_000
"""In billionths of a dollar."""
CAPS = {"person 1": 30, "person 2": 30, "guild": 50, "bot": 70, "nobody": 0}
"""In cents."""
KEYS = tuple(f"r{number}" for number in range(14))
RAISES = ("raise/q1", "raise/q2", "raise/q3")
SCOPES = st.lists(st.sampled_from(sorted(CAPS)), min_size=1, max_size=4)
CENTS = st.integers(0, 40)


@dataclass
class Entry:
    """What the model knows of a key; amounts in cents."""

    scopes: frozenset[str]
    reserved: int
    settled: int | None = None

    @property
    def counts(self) -> int:
        return self.reserved if self.settled is None else self.settled


class LedgerMachine(StoreMachine):
    """Requests of many executions that share caps; the model is what stands under each key."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[str, Entry] = {}
        self.raises: dict[str, tuple[str, int]] = {}

    def _cap(self, scope: str) -> int:
        return CAPS[scope] + sum(cents for name, cents in self.raises.values() if name == scope)

    def _taken(self, scope: str) -> int:
        return sum(entry.counts for entry in self.entries.values() if scope in entry.scopes)

    def _reserved_beyond_settled(self, scope: str) -> int:
        """What stands there with every settlement above its reservation taken back to it."""
        return sum(min(entry.counts, entry.reserved) for entry in self.entries.values() if scope in entry.scopes)

    def _fits(self, scopes: list[str], cents: int) -> bool:
        return all(
            self._taken(name) < self._cap(name) and self._taken(name) + cents <= self._cap(name) for name in scopes
        )

    @rule(key=st.sampled_from(KEYS), scopes=SCOPES, cents=CENTS)
    def reserve(self, key: str, scopes: list[str], cents: int) -> None:
        full = self.do(self.store.reserve_usd(key, [Scope(name, CAPS[name] / 100) for name in scopes], cents / 100))
        if key in self.entries:
            assert full is None
        elif self._fits(scopes, cents):
            assert full is None
            self.entries[key] = Entry(frozenset(scopes), cents)
        else:
            assert full is not None
            assert not self._fits([full.name], cents)

    @rule(keys=st.lists(st.sampled_from(KEYS), min_size=2, max_size=6, unique=True), cents=CENTS)
    def reserve_at_once(self, keys: list[str], cents: int) -> None:
        """Children of one execution ask beside each other: as many get it as fit, and not one more."""
        scopes = ["person 1", "bot"]
        asked = [Scope(name, CAPS[name] / 100) for name in scopes]
        before = set(self.entries)
        answers = self.all_of(*(self.store.reserve_usd(key, asked, cents / 100) for key in keys))
        for key, full in zip(keys, answers, strict=True):
            if key not in before and full is None:
                assert self._fits(scopes, cents)
                self.entries[key] = Entry(frozenset(scopes), cents)
        assert all(full is None or not self._fits([full.name], cents) for full in answers)

    @rule(key=st.sampled_from(KEYS), cents=CENTS)
    def settle(self, key: str, cents: int) -> None:
        self.do(self.store.settle_usd(key, cents / 100))
        entry = self.entries.get(key)
        if entry is not None and entry.settled is None:
            entry.settled = cents

    @rule(key=st.sampled_from(KEYS), cents=CENTS)
    def settle_twice_at_once(self, key: str, cents: int) -> None:
        self.all_of(self.store.settle_usd(key, cents / 100), self.store.settle_usd(key, (cents + 5) / 100))
        entry = self.entries.get(key)
        if entry is not None and entry.settled is None:
            entry.settled = cents

    @rule(key=st.sampled_from(KEYS))
    def release(self, key: str) -> None:
        self.do(self.store.release_usd(key))
        entry = self.entries.get(key)
        if entry is not None and entry.settled is None:
            del self.entries[key]

    @rule(key=st.sampled_from(RAISES), scope=st.sampled_from(sorted(CAPS)), cents=CENTS)
    def raise_a_cap(self, key: str, scope: str, cents: int) -> None:
        """An operator adds to the cap of a day; the same decision, told twice, counts once."""
        self.do(self.store.raise_usd(key, scope, cents / 100))
        self.raises.setdefault(key, (scope, cents))

    @rule(scope=st.sampled_from(sorted(CAPS)), cents=CENTS)
    def raise_a_cap_twice_at_once(self, scope: str, cents: int) -> None:
        self.all_of(*(self.store.raise_usd(RAISES[0], scope, cents / 100) for _ in range(2)))
        self.raises.setdefault(RAISES[0], (scope, cents))

    @rule()
    def the_owner_dies(self) -> None:
        """What it had set aside stays so, and counts as it was reserved, until somebody clears it up."""
        self.crash()

    @rule(prefix=st.sampled_from(["r", "r1", "x"]), asked=st.sets(st.sampled_from(KEYS)))
    def the_next_owner_clears_up(self, prefix: str, asked: set[str]) -> None:
        """By the log: what was asked is settled as it was reserved, what was not is given back."""
        left = self.do(self.store.unsettled_usd(prefix))
        standing = {key for key, entry in self.entries.items() if entry.settled is None and key.startswith(prefix)}
        assert left == sorted(standing)
        for key in left:
            if key in asked:
                self.settle(key, self.entries[key].reserved)
            else:
                self.release(key)
        assert self.do(self.store.unsettled_usd(prefix)) == []

    @invariant()
    def each_scope_holds_what_its_keys_hold(self) -> None:
        for scope in CAPS:
            assert round(self.do(self.store.spent_usd(scope)) * 1e9) == self._taken(scope) * CENT
            assert round(self.do(self.store.raised_usd(scope)) * 1e9) == (self._cap(scope) - CAPS[scope]) * CENT

    @invariant()
    def no_cap_is_passed_by_what_was_set_aside(self) -> None:
        for scope in CAPS:
            assert self._reserved_beyond_settled(scope) <= self._cap(scope)


@pytest.mark.parametrize("kind", sorted(STORES))
def test_no_cap_is_passed_and_nothing_is_settled_twice(kind: str) -> None:
    drive(LedgerMachine, kind)
