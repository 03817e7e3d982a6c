"""Facts in the SQLite lesson store: one row each, and all of a scope changed together."""

from __future__ import annotations

from datetime import datetime

from agentic.stores.sqlite.file.connection import Connection
from reflexion.lessons.fact import Fact, FactScope, living
from reflexion.ports import FactsChange

_HERE = "guild = ? AND thread = ? AND repository = ?"


def facts_in(db: Connection, scope: FactScope) -> tuple[Fact, ...]:
    """All facts of one scope, oldest first."""
    rows = db.execute(f"SELECT body FROM fact WHERE {_HERE} ORDER BY number", _key(scope))
    return tuple(Fact.model_validate_json(str(row[0])) for row in rows)


def facts(db: Connection, guild: str | None) -> tuple[Fact, ...]:
    """All facts of a guild, or of all."""
    rows = db.execute("SELECT body FROM fact WHERE ?1 IS NULL OR guild = ?1 ORDER BY number", (guild,))
    return tuple(Fact.model_validate_json(str(row[0])) for row in rows)


def change_facts(db: Connection, scope: FactScope, change: FactsChange) -> tuple[Fact, ...]:
    """Write what a pure function makes of them; rows that stay as they are are left alone."""
    before = {fact.id: fact for fact in facts_in(db, scope)}
    after = change(tuple(before.values()))
    for id in before.keys() - {fact.id for fact in after}:
        db.execute(f"DELETE FROM fact WHERE {_HERE} AND id = ?", (*_key(scope), id))
    for fact in after:
        if before.get(fact.id) != fact:
            db.execute(
                "INSERT INTO fact (guild, thread, repository, id, body) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (guild, thread, repository, id) DO UPDATE SET body = excluded.body",
                (*_key(scope), fact.id, fact.model_dump_json()),
            )
    return after


def sweep(db: Connection, now: datetime) -> None:
    """Delete what has expired."""
    held = facts(db, None)
    stay = {(fact.scope, fact.id) for fact in living(held, now)}
    for fact in held:
        if (fact.scope, fact.id) not in stay:
            db.execute(f"DELETE FROM fact WHERE {_HERE} AND id = ?", (*_key(fact.scope), fact.id))


def _key(scope: FactScope) -> tuple[str, str, str]:
    return (scope.guild, scope.thread, scope.repository)
