"""Health: components, leases, queues, what waits to be delivered, sandboxes, budgets, loop lag, and what went wrong.

What only the bot knows it tells; the rest is what the store holds, so that the page says something without a bot too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from aiohttp import web

from agentic.core.events.ids import is_child
from agentic.runtime.budget_ledger import BudgetLedger, DailyCaps, Day
from bot.console.access.viewer import Viewer
from bot.console.bot_channel import BotSilent
from bot.console.console_context import Console, Route
from bot.console.overall.figures.health_figures import told_health, troubles
from bot.console.overall.figures.task_summary import TaskSummary
from bot.console.overall.home_lists import WAIT_SECONDS
from reflexion.errors import ReflexionError

SHOWN = 50
"""Lines of each list."""
ASKED_SECONDS = 2.0
"""So long the bot may take to say how it is."""
LOOK_SECONDS, LOOK_AFAR_SECONDS = 10, 60
"""How often an open page asks again: here, and where each look costs money."""
RECENT = timedelta(days=1)
NOT_YOURS = "Sign in with the token to see this."


@dataclass(frozen=True, slots=True)
class ThreadLoad:
    """What stands open in one thread."""

    thread: str
    title: str
    holder: str = ""
    """Who has its lease; '' for nobody."""
    waiting: int = 0
    what: str = ""

    @property
    def process(self) -> str:
        """The holder in short: its process, where its name has one."""
        parts = self.holder.split("/")
        return f"process {parts[2]}" if len(parts) == 4 else self.holder


@dataclass(frozen=True, slots=True)
class DayBudget:
    """A cap of today."""

    name: str
    day: Day
    server: str = ""
    """The id of its server, where it is one's."""


async def health(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """The page; ``/health/now`` is its changing part alone."""
    if not viewer.everything:
        raise web.HTTPForbidden(text=NOT_YOURS)
    store, now = console.store, datetime.now(UTC)
    try:
        async with asyncio.timeout(ASKED_SECONDS):
            told = await console.bot.health()
    except (TimeoutError, BotSilent):
        told = {"parts": [{"name": "bot", "state": "failing", "what": "it does not answer", "todo": "Look at its log"}]}
    rows = await console.summaries.since(datetime.combine(now.date(), time(), UTC) - RECENT)
    missing = await console.summaries.read(rows, WAIT_SECONDS)
    tasks = [each for row in rows if (each := console.summaries.latest(row.execution)) is not None]
    opened = [row for row in await store.open_executions() if not is_child(row.execution)]
    threads = list(dict.fromkeys(row.thread for row in opened))
    inbox, outbox = await store.pending_threads(), await store.undelivered_threads()
    template = "health_now.html" if request.path.endswith("/now") else "health.html"
    return console.page(
        template, viewer, told=None if told is None else told_health(told), lessons=await _lessons(console),
        leases=[await _lease(console, thread) for thread in threads[:SHOWN]], leases_more=max(len(threads) - SHOWN, 0),
        inbox=[await _inbox(console, thread) for thread in inbox[:SHOWN]], inbox_more=max(len(inbox) - SHOWN, 0),
        outbox=[await _outbox(console, thread) for thread in outbox[:SHOWN]], outbox_more=max(len(outbox) - SHOWN, 0),
        purses=await _purses(console, tasks, now), troubles=troubles(tasks)[:SHOWN], missing=missing,
        titles={row.execution: " ".join(row.task[:1_000].split())[:100] for row in rows},
        clean=console.discretion.text, every=console.rest(LOOK_SECONDS, LOOK_AFAR_SECONDS),
    )  # fmt: skip


async def _title(console: Console, thread: str) -> str:
    session = await console.store.session(thread)
    title = session.title if session is not None else ""
    if not title:
        title = (await console.names.of([thread])).get(thread, "")
    return console.discretion.text(title)[:100] or f"thread {thread}"


async def _lease(console: Console, thread: str) -> ThreadLoad:
    return ThreadLoad(thread, await _title(console, thread), await console.store.holder(thread))


async def _inbox(console: Console, thread: str) -> ThreadLoad:
    waiting = await console.store.pending(thread)
    kinds = ", ".join(dict.fromkeys(item.sort for item in waiting[:SHOWN]))
    return ThreadLoad(thread, await _title(console, thread), await console.store.holder(thread), len(waiting), kinds)


async def _outbox(console: Console, thread: str) -> ThreadLoad:
    waiting = await console.store.undelivered(thread)
    kinds = ", ".join(dict.fromkeys(row.item.sort for row in waiting[:SHOWN]))
    return ThreadLoad(thread, await _title(console, thread), waiting=len(waiting), what=kinds)


async def _lessons(console: Console) -> str:
    """Why lessons cannot be read; '' where they can."""
    if console.lessons is None:
        return "they could not be opened when the console started"
    try:
        await console.lessons.guilds_with("quarantined")
    except ReflexionError as error:
        return console.discretion.text(str(error))
    return ""


async def _purses(console: Console, tasks: Iterable[TaskSummary], now: datetime) -> list[DayBudget]:
    """What is spent and set aside of each cap today: the bot's, and of servers and people with tasks since yesterday."""
    settings = console.settings
    caps = DailyCaps(settings.max_daily_usd_person, settings.max_daily_usd_server, settings.max_daily_usd)
    ledger, found = BudgetLedger(console.store, caps), dict[str, DayBudget]()
    pairs = dict.fromkeys([("", "", ""), *((each.requester.id, each.requester.name, each.guild) for each in tasks)])
    names = await console.names.of(guild for _, _, guild in pairs)
    for person, name, guild in list(pairs)[: 4 * SHOWN]:
        for day in await ledger.today(person, guild, now):
            server = names.get(guild) or f"server {guild}"
            id, called = {
                "bot": ("", "the whole bot"), "guild": (guild, server), "person": (person, name or person),
            }[day.whose]  # fmt: skip
            if id or day.whose == "bot":
                found.setdefault(f"{day.whose} {id}", DayBudget(called, day, guild if day.whose == "guild" else ""))
    return list(found.values())[:SHOWN]


ROUTES: tuple[Route, ...] = (("GET", "/health", health), ("GET", "/health/now", health))
