"""Caps that executions share: of a person, a server, the whole bot, by day (UTC).

Before a paid request its reservation is set aside in all of them at once, or it is not made; after it the real price takes
its place.  A request that is lost, or whose price nobody knows, counts as it was reserved, as it does in its own log.  What is
to be settled is kept until it is, also where whoever settles it is cancelled in the middle.  A reservation stands under the
name of its execution and its request: so whoever takes an execution up finds what its earlier owner had set aside and did
not come to settle, and clears it up by what the log says.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from agentic.core.events.execution_events import (
    BudgetRefused,
    Envelope,
    Event,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Person,
    Whose,
)
from agentic.core.fold.model_requests import UNPRICED, cost_of_failure
from agentic.core.state.execution import Execution
from agentic.ports.errors import StoreError
from agentic.ports.stores import Budgets, Scope, Sessions

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DailyCaps:
    """US dollars a day; None where nothing is capped."""

    person: float | None = None
    guild: float | None = None
    bot: float | None = None


NO_CAPS = DailyCaps()


@dataclass(frozen=True, slots=True)
class Day:
    """What is spent and set aside of a cap today, and what people added to it."""

    whose: Whose
    cap_usd: float
    spent_usd: float
    raised_usd: float = 0.0


class PurseStore(Budgets, Sessions, Protocol):
    """The part of a store that this needs."""


class Spender(Protocol):
    """Who spends: an execution, while it runs or when it is judged."""

    @property
    def thread(self) -> str:
        """Where it was asked for."""
        ...

    @property
    def requester(self) -> Person:
        """Who asked for it."""
        ...


class BudgetLedger:
    """Sets aside and settles for the executions of a process; without caps it does nothing.

    ``of`` names what a request belongs to: an execution, or its outcome.
    """

    def __init__(self, store: PurseStore, caps: DailyCaps) -> None:
        self._store, self._caps = store, caps
        self._raised: set[str] = set()
        self._owed: list[tuple[str, ModelAnswered | ModelFailed]] = []
        self._place = ("", "")
        """The thread that was asked for last, with its guild, which never changes."""

    async def refusal(self, spender: Spender, of: str, request: ModelRequested, now: datetime) -> BudgetRefused | None:
        """Set the request's reservation aside; where it does not fit, what it does not fit into.  Raises ``StoreError``."""
        if self._caps == NO_CAPS:
            return None
        day = _day(now)
        scopes = self._scopes(spender.requester.id, await self._guild(spender.thread), day)
        full = await self._store.reserve_usd(_key(of, request.request), tuple(scopes), request.reserved_usd)
        if full is None:
            return None
        return BudgetRefused(
            whose=scopes[full],
            day=day,
            cap_usd=full.cap_usd + await self._store.raised_usd(full.name),
            spent_usd=await self._store.spent_usd(full.name),
            needed_usd=request.reserved_usd,
        )

    async def reserve(self, key: str, person: str, guild: str, usd: float, now: datetime) -> Whose | None:
        """Set an amount aside for what belongs to no execution; whose cap it does not fit into, None where it fits.

        It counts once under its key, until it is released.  Raises ``StoreError``.
        """
        scopes = self._scopes(person, guild, _day(now))
        full = await self._store.reserve_usd(key, tuple(scopes), usd) if scopes else None
        return scopes[full] if full is not None else None

    async def spend(self, key: str, usd: float) -> None:
        """What was set aside under a key came to so much.  Raises ``StoreError``."""
        await self._store.settle_usd(key, usd)

    async def release(self, key: str) -> None:
        """What was set aside under a key was not spent.  Raises ``StoreError``."""
        await self._store.release_usd(key)

    def owes(self, of: str, came_to: ModelAnswered | ModelFailed) -> None:
        """What a request came to, to be settled by the next ``settle``."""
        if self._caps != NO_CAPS:
            self._owed.append((of, came_to))

    async def settle(self) -> None:
        """Settle all that is owed; where it cannot be kept, or this is cancelled, the rest stays owed.

        Where nobody knows what a request cost, its reservation stands.
        """
        for one in tuple(self._owed):
            try:
                await self._settle(*one)
            except StoreError as error:
                log.warning("request %s is not settled, its reservation stands: %s", one[1].request, error)
            else:
                self._owed = [other for other in self._owed if other is not one]

    async def take_up(self, execution: Execution, log: AsyncIterable[Envelope]) -> None:
        """Bring the ledger to what the log of an execution says, which an earlier owner may not have come to do."""
        await self.clear_up(execution.id, log)
        await self.raise_caps(execution)

    async def raise_caps(self, execution: Execution, commit: Callable[[], Awaitable[None]] | None = None) -> None:
        """What people added to caps of a day by this execution's questions counts for everybody, as soon as its log says so.

        Raises ``StoreError``.
        """
        due = [one for one in execution.caps.days if one.question not in self._raised]
        if not due or self._caps == NO_CAPS:
            return
        if commit is not None:
            await commit()
        guild = await self._guild(execution.thread)
        for one in due:
            name = _name(one.whose, execution.requester.id, guild, one.day)
            await self._store.raise_usd(f"raise/{one.question}", name, one.usd)
            self._raised.add(one.question)

    async def clear_up(self, of: str, events: AsyncIterable[Envelope]) -> None:
        """Settle what an earlier owner left set aside, by the log: what was never asked is given back.

        What was asked and has no answer counts as it was reserved.  Raises ``StoreError``.
        """
        left = await self._store.unsettled_usd(_key(of, "")) if self._caps != NO_CAPS else []
        if not left:
            return
        came_to = costs_in([envelope.event async for envelope in events])
        for key in left:
            request = key.removeprefix(_key(of, ""))
            if request in came_to:
                await self._store.settle_usd(key, came_to[request])
            else:
                await self._store.release_usd(key)

    async def _settle(self, of: str, came_to: ModelAnswered | ModelFailed) -> None:
        key = _key(of, came_to.request)
        if came_to.usd is not None:
            await self._store.settle_usd(key, came_to.usd)
        elif not came_to.begun and came_to.failure not in UNPRICED:
            await self._store.release_usd(key)

    async def today(self, person: str, guild: str, now: datetime) -> tuple[Day, ...]:
        """How far each cap is used up that concerns somebody in a server.  Raises ``StoreError``."""
        scopes = self._scopes(person, guild, _day(now))
        return tuple(
            [
                Day(
                    whose,
                    scope.cap_usd,
                    await self._store.spent_usd(scope.name),
                    await self._store.raised_usd(scope.name),
                )
                for scope, whose in scopes.items()
            ]
        )

    async def _guild(self, thread: str) -> str:
        if self._place[0] != thread and (session := await self._store.session(thread)) is not None:
            self._place = (thread, session.guild)
        return self._place[1] if self._place[0] == thread else ""

    def _scopes(self, person: str, guild: str, day: str) -> dict[Scope, Whose]:
        caps: dict[Whose, float | None] = {
            "person": self._caps.person, "guild": self._caps.guild if guild else None, "bot": self._caps.bot,
        }  # fmt: skip
        return {Scope(_name(whose, person, guild, day), cap): whose for whose, cap in caps.items() if cap is not None}


def costs_in(events: Iterable[Event]) -> dict[str, float]:
    """What each request of a log counts as: the price of its answer or of what came of one, else its reservation."""
    found: dict[str, float] = {}
    for event in events:
        if isinstance(event, ModelRequested):
            found[event.request] = event.reserved_usd
        elif isinstance(event, ModelAnswered):
            found[event.request] = event.usd
        elif isinstance(event, ModelFailed):
            found[event.request] = cost_of_failure(event, found.get(event.request, 0.0))
    return found


def _day(now: datetime) -> str:
    return now.astimezone(UTC).date().isoformat()


def _key(of: str, request: str) -> str:
    return f"{of}/{request}"


def _name(whose: Whose, person: str, guild: str, day: str) -> str:
    """The scope of a cap on a day, as the ledger names it."""
    return f"bot {day}" if whose == "bot" else f"{whose} {person if whose == 'person' else guild} {day}"
