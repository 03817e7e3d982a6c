"""What is set aside and spent of the caps that executions share; ``budgets`` holds the sums of ``reservations``.

What people add to a cap stands in the same two tables under a name of its own (``_RAISED``), settled from the first.
Each function runs within one transaction of the one writer, so two reservations never see the same room.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from agentic.ports.runtime import Scope
from agentic.stores.money import dollars, fits, nanos
from agentic.stores.sqlite.file.connection import Connection

_RAISED = "raised "
"""Before the name of a scope: what its cap was raised by."""
_LAST = "\U0010ffff"
"""Sorts after whatever stands in a key."""
_ADD = "INSERT INTO budgets (scope, nanos) VALUES (?1, ?2) ON CONFLICT (scope) DO UPDATE SET nanos = nanos + ?2"
_ADD_TO_ALL = """
    UPDATE budgets SET nanos = nanos + ?2 WHERE scope IN (SELECT scope FROM reservations WHERE key = ?1)
"""


def reserve(connection: Connection, key: str, scopes: Sequence[Scope], usd: float) -> Scope | None:
    """In all scopes or in none; a key that is known is granted as it was."""
    if _known(connection, key):
        return None
    amount = nanos(usd)
    for scope in scopes:
        if not fits(_taken(connection, scope.name), amount, scope, _taken(connection, _RAISED + scope.name)):
            return scope
    for name in dict.fromkeys(scope.name for scope in scopes):
        connection.execute("INSERT INTO reservations (key, scope, nanos) VALUES (?, ?, ?)", (key, name, amount))
        connection.execute(_ADD, (name, amount))
    return None


def settle(connection: Connection, key: str, usd: float) -> None:
    """The first settlement of a key counts."""
    reserved = _reserved(connection, key)
    if reserved is None:
        return
    amount = nanos(usd)
    connection.execute(_ADD_TO_ALL, (key, amount - reserved))
    connection.execute("UPDATE reservations SET nanos = ?, settled = 1 WHERE key = ?", (amount, key))


def release(connection: Connection, key: str) -> None:
    """As if it had never been reserved."""
    reserved = _reserved(connection, key)
    if reserved is None:
        return
    connection.execute(_ADD_TO_ALL, (key, -reserved))
    connection.execute("DELETE FROM reservations WHERE key = ?", (key,))


def spent(connection: Connection, scope: str) -> float:
    """Settled and set aside."""
    return dollars(_taken(connection, scope))


def raise_cap(connection: Connection, key: str, scope: str, usd: float) -> None:
    """The first raise of a key counts."""
    if _known(connection, key):
        return
    name, amount = _RAISED + scope, nanos(usd)
    connection.execute("INSERT INTO reservations (key, scope, nanos, settled) VALUES (?, ?, ?, 1)", (key, name, amount))
    connection.execute(_ADD, (name, amount))


def raised(connection: Connection, scope: str) -> float:
    """What people added to its cap."""
    return dollars(_taken(connection, _RAISED + scope))


def unsettled(connection: Connection, prefix: str) -> list[str]:
    """Keys of reservations that stand."""
    query = "SELECT DISTINCT key FROM reservations WHERE settled = 0 AND key >= ?1 AND key < ?2 ORDER BY key"
    return [cast("str", key) for (key,) in connection.execute(query, (prefix, prefix + _LAST))]


def _known(connection: Connection, key: str) -> bool:
    return connection.execute("SELECT 1 FROM reservations WHERE key = ?", (key,)).get is not None


def _taken(connection: Connection, scope: str) -> int:
    return cast("int | None", connection.execute("SELECT nanos FROM budgets WHERE scope = ?", (scope,)).get) or 0


def _reserved(connection: Connection, key: str) -> int | None:
    """What is set aside under a key, None where nothing is any more."""
    found = connection.execute("SELECT nanos FROM reservations WHERE key = ? AND settled = 0 LIMIT 1", (key,)).get
    return cast("int | None", found)
