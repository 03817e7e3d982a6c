"""Caps that executions share: of a person, a server, the whole bot, by day (UTC).

Before a paid request its reservation is set aside in all of them at once, or it is not made; after it the real price takes
its place.  A request that is lost, or whose price nobody knows, counts as it was reserved, as it does in its own log.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from agentic.core.events import BudgetRefused, ModelAnswered, ModelFailed, ModelRequested, Person, Whose
from agentic.core.requesting import UNPRICED
from agentic.errors import StoreError
from agentic.store_ports import Ledger, Scope, Sessions

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DailyCaps:
    """US dollars a day; None where nothing is capped."""

    person: float | None = None
    guild: float | None = None
    bot: float | None = None


NO_CAPS = DailyCaps()


class PurseStore(Ledger, Sessions, Protocol):
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


class Purse:
    """Sets aside and settles for the executions of a process; without caps it does nothing."""

    def __init__(self, store: PurseStore, caps: DailyCaps) -> None:
        self._store, self._caps = store, caps

    async def refusal(self, spender: Spender, request: ModelRequested, now: datetime) -> BudgetRefused | None:
        """Set the request's reservation aside; where it does not fit, what it does not fit into.  Raises ``StoreError``."""
        if self._caps == NO_CAPS:
            return None
        day = now.astimezone(UTC).date().isoformat()
        scopes = await self._scopes(spender, day)
        full = await self._store.reserve_usd(request.request, tuple(scopes), request.reserved_usd)
        if full is None:
            return None
        return BudgetRefused(
            whose=scopes[full],
            day=day,
            cap_usd=full.cap_usd,
            spent_usd=await self._store.spent_usd(full.name),
            needed_usd=request.reserved_usd,
        )

    async def settle(self, came_to: ModelAnswered | ModelFailed) -> None:
        """What a request came to; where that cannot be kept, or nobody knows it, the reservation stands."""
        if self._caps == NO_CAPS:
            return
        try:
            if isinstance(came_to, ModelAnswered):
                await self._store.settle_usd(came_to.request, came_to.usd)
            elif came_to.failure not in UNPRICED:
                await self._store.release_usd(came_to.request)
        except StoreError as error:
            log.warning("request %s is not settled, its reservation stands: %s", came_to.request, error)

    async def _scopes(self, spender: Spender, day: str) -> dict[Scope, Whose]:
        session = await self._store.session(spender.thread)
        guild = session.guild if session is not None else ""
        caps, person = self._caps, spender.requester.id
        found: dict[Scope, Whose] = {}
        if caps.person is not None:
            found[Scope(f"person {person} {day}", caps.person)] = "person"
        if caps.guild is not None and guild:
            found[Scope(f"guild {guild} {day}", caps.guild)] = "guild"
        if caps.bot is not None:
            found[Scope(f"bot {day}", caps.bot)] = "bot"
        return found
