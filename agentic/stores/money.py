"""Money as every store counts it, in whole billionths of a US dollar.

Sums of fractions would drift; of whole numbers they do not, so that what was taken back leaves nothing behind.
"""

from __future__ import annotations

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
