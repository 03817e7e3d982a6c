"""`threadwright costs`: US dollars for each solved task, against always the cheapest and always the strongest model.

From stored logs. What was spent is a fact; the comparison is an estimate whose assumptions are printed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from agentic.ports.errors import LogInvalid
from agentic.ports.runtime import Store
from agentic.stores.factory import open_store
from bot.access.denials import Bound
from bot.cli.console import fail, note, say
from bot.config.models import price_by, prices_from
from bot.config.settings import Settings
from bot.history.cost_summary import (
    ASSUMPTIONS,
    PriceOf,
    Spent,
    Sum,
    spent,
    summed,
)

NO_TASKS = "No finished tasks yet."


@dataclass(frozen=True, slots=True)
class CostsArguments:
    """The command's arguments."""

    days: float | None = None
    guild: str = ""
    role: str = ""
    by: str = ""
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    task: Spent
    guild: str


async def costs(settings: Settings, order: CostsArguments) -> int:
    """Print the costs; 1 where nothing matches what was asked for."""
    found: list[_Found] = []
    deleted = 0
    for database in settings.stores():
        store = open_store(database)
        try:
            found += await _of_store(store, price_by(prices_from(settings)), order)
            deleted += await _deleted(store, order)
        finally:
            await store.close()
    if deleted:
        note(Bound(settings.retention_days).missing(deleted).removeprefix("-# "))
    if not found and not deleted and order == CostsArguments(by=order.by):
        say(NO_TASKS)
        return 0
    if not found:
        return fail(f"No ended task in {settings.kept_in} matches. `threadwright costs` shows all.")
    rows = _rows(found, order)
    say(_as_json(rows)) if order.as_json else _table(rows)
    return 0


async def _of_store(store: Store, price: PriceOf, order: CostsArguments) -> list[_Found]:
    labels = {row.execution: row.label for row in await store.labels() if row.known}
    guilds = {row.thread: row.guild async for row in store.sessions()}
    since = _since(order)
    found: list[_Found] = []
    async for row in store.all_executions():
        if not row.finished or (since is not None and row.started_at is not None and row.started_at < since):
            continue
        guild = guilds.get(row.thread, "")
        if order.guild and guild != order.guild:
            continue
        try:
            log = [envelope async for envelope in store.read(row.execution)]
        except LogInvalid as error:
            note(f"{row.execution} was skipped, because its log can't be read: {error}")
            continue
        task = spent(log, labels.get(row.execution), price)
        if task is not None and (not order.role or (task.role or "general") == order.role):
            found.append(_Found(task, guild))
    return found


async def _deleted(store: Store, order: CostsArguments) -> int:
    """Count matching tasks whose logs were deleted; their roles are no longer known."""
    since, number = _since(order), 0
    async for row in store.sessions():
        if not order.guild or row.guild == order.guild:
            gone = await store.buried(row.thread)
            number += sum(since is None or one.started_at is None or one.started_at >= since for one in gone)
    return number


def _since(order: CostsArguments) -> datetime | None:
    return datetime.now(UTC) - timedelta(days=order.days) if order.days is not None else None


_KEYS: dict[str, Callable[[_Found], str]] = {
    "guild": lambda found: found.guild or "none",
    "role": lambda found: found.task.role or "general",
    "day": lambda found: f"{found.task.at:%Y-%m-%d}",
    "month": lambda found: f"{found.task.at:%Y-%m}",
}
BY = tuple(_KEYS)


def _rows(found: list[_Found], order: CostsArguments) -> list[Sum]:
    whole = summed("all", (one.task for one in found))
    if not order.by:
        return [whole]
    key = _KEYS[order.by]
    names = sorted({key(one) for one in found})
    return [*(summed(name, (one.task for one in found if key(one) == name)) for name in names), whole]


def _table(rows: list[Sum]) -> None:
    wide = max(len(row.name) for row in rows)
    say(f"{'':<{wide}}  tasks  solved  handed over   spent  a solved task  always cheap*   always premium*")
    for row in rows:
        premium = row.premium_per_solved
        dear = "-" if premium is None else f"{_usd(premium[0])}-{_usd(premium[1])}"
        say(
            f"{row.name:<{wide}}  {row.tasks:>5}  {row.solved:>6}  {row.handed_over:>11}  {_usd(row.usd):>6}  "
            f"{_usd(row.per_solved):>13}  {_usd(row.cheap_per_solved):>13}  {dear:>16}"
        )
    labelled = rows[-1].labelled
    say(f"\n* An estimate, in US dollars per solved task. {labelled} of {rows[-1].tasks} tasks have a known outcome.")
    for assumption in ASSUMPTIONS:
        say(f"- {assumption}")


def _as_json(rows: list[Sum]) -> str:
    def row_of(row: Sum) -> dict[str, object]:
        return {
            "name": row.name,
            "tasks": row.tasks,
            "solved": row.solved,
            "labelled": row.labelled,
            "handed_over": row.handed_over,
            "usd": row.usd,
            "usd_per_solved": row.per_solved,
            "estimate": {
                "always_cheap": {
                    "usd": row.cheap, "solved": row.cheap_solved, "usd_per_solved": row.cheap_per_solved,
                },
                "always_premium": {
                    "usd": [row.premium_low, row.premium_high], "solved": row.solved,
                    "usd_per_solved": row.premium_per_solved,
                },
            },
        }  # fmt: skip

    return json.dumps({"rows": [row_of(row) for row in rows], "assumptions": ASSUMPTIONS})


def _usd(value: float | None) -> str:
    if value is None:
        return "-"
    return f"${value:.2f}" if value >= 0.1 or value == 0 else f"${value:.4f}"
