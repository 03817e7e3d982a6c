"""Money as every store counts it, in whole billionths of a US dollar, and the ledger that lives in memory.

Sums of fractions would drift; of whole numbers they do not, so that what was taken back leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentic.ports.runtime import Scope

_NANOS = 1_000_000_000


def nanos(usd: float) -> int:
    """US dollars in whole billionths; less than nothing is nothing."""
    return max(round(usd * _NANOS), 0)


def dollars(amount: int) -> float:
    """Billionths in US dollars."""
    return amount / _NANOS


def fits(taken: int, amount: int, scope: Scope, raised: int = 0) -> bool:
    """Whether a scope of which so much is taken has room for an amount; one that is used up has none for 0 either."""
    cap = nanos(scope.cap_usd) + raised
    return taken < cap and taken + amount <= cap


@dataclass(slots=True)
class _Entry:
    """What stands under a key."""

    scopes: tuple[str, ...]
    amount: int
    settled: bool = False


class MemoryLedger:
    """Reservations and what they came to."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._taken: dict[str, int] = {}
        self._raised: dict[str, int] = {}
        self._raises: set[str] = set()

    def reserve(self, key: str, scopes: Sequence[Scope], usd: float) -> Scope | None:
        """In all scopes or in none."""
        if key in self._entries:
            return None
        amount = nanos(usd)
        for scope in scopes:
            if not fits(self._taken.get(scope.name, 0), amount, scope, self._raised.get(scope.name, 0)):
                return scope
        self._entries[key] = entry = _Entry(tuple(dict.fromkeys(scope.name for scope in scopes)), amount)
        self._add(entry, amount)
        return None

    def settle(self, key: str, usd: float) -> None:
        """The first settlement of a key counts."""
        entry = self._entries.get(key)
        if entry is None or entry.settled:
            return
        amount = nanos(usd)
        self._add(entry, amount - entry.amount)
        entry.amount, entry.settled = amount, True

    def release(self, key: str) -> None:
        """As if it had never been reserved."""
        entry = self._entries.get(key)
        if entry is not None and not entry.settled:
            self._add(entry, -entry.amount)
            del self._entries[key]

    def spent(self, scope: str) -> float:
        """Settled and set aside."""
        return dollars(self._taken.get(scope, 0))

    def raise_cap(self, key: str, scope: str, usd: float) -> None:
        """The first raise of a key counts."""
        if key not in self._raises:
            self._raises.add(key)
            self._raised[scope] = self._raised.get(scope, 0) + nanos(usd)

    def raised(self, scope: str) -> float:
        """What people added to its cap."""
        return dollars(self._raised.get(scope, 0))

    def unsettled(self, prefix: str) -> list[str]:
        """Keys of reservations that stand."""
        return sorted(key for key, entry in self._entries.items() if not entry.settled and key.startswith(prefix))

    def forget(self, prefixes: tuple[str, ...]) -> None:
        """Settled entries under keys that begin so; what they came to stays in the sums."""
        self._entries = {
            key: each for key, each in self._entries.items() if not (each.settled and key.startswith(prefixes))
        }

    def erase(self, scope: str, before: str) -> None:
        """The sums of a scope (``*``: of all) for earlier days, unless something is set aside in them."""
        held = {name for entry in self._entries.values() if not entry.settled for name in entry.scopes}
        for sums in (self._taken, self._raised):
            for name in [name for name in sums if name not in held]:
                whose, _, day = name.rpartition(" ")
                if scope in ("*", whose) and day < before:
                    del sums[name]

    def _add(self, entry: _Entry, amount: int) -> None:
        for scope in entry.scopes:
            self._taken[scope] = self._taken.get(scope, 0) + amount
