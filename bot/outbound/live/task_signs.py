"""The bot's sign on the message that gave a task: 👀 while it works, then whether it asks, is done, failed or was stopped.

It is a reaction, so that a channel's list of tasks shows at a glance what became of each.  None of the signs is a command,
since people click on signs that are there.  The last one is set before the answer counts as delivered, so that a crash
between the two leaves no task at work for ever.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import partial

from agentic.core.events.execution_events import Started
from agentic.ports.errors import StoreError
from agentic.ports.runtime import Store
from bot.outbound.discord_api import DiscordApi
from bot.outbound.request_queue import Urgency
from bot.progress.model import Progress

WORKS, ASKS, DONE, FAILED, STOPPED = "👀", "❓", "☑️", "⚠️", "⏹️"
PATIENCE = 5.0
"""Seconds that the record of an answer waits for its sign."""
REMEMBERED = 5_000
"""Number of executions whose signs are kept in memory; of others it is not known which sign their messages bear."""
_ENDS = {"done": DONE, "tour": DONE, "stopped": STOPPED, "cancelled": STOPPED}

log = logging.getLogger(__name__)


def sign_of_end(reason: str) -> str:
    """Return the sign for an execution that ended for this reason."""
    return _ENDS.get(reason, FAILED)


def sign_of(progress: Progress) -> str:
    """Return the sign for an execution that has not ended."""
    return ASKS if progress.asked or progress.crashes else WORKS


@dataclass(slots=True)
class Sign:
    """The sign of one execution: which one it is to be, and which ones its message may bear now."""

    wanted: str = WORKS
    borne: frozenset[str] = frozenset((WORKS, ASKS))
    doubtful: bool = False
    """Whether it has to be set even if it is the one that is wanted."""

    @property
    def true(self) -> bool:
        """Whether nothing is to be done; a 👀 that is there is left alone, also beside what may be there."""
        is_there = self.borne == frozenset((self.wanted,)) or (self.wanted == WORKS and WORKS in self.borne)
        return is_there and not self.doubtful


class TaskSigns:
    """Keeps the signs of running executions true, and sets the last one."""

    def __init__(self, store: Store, desk: DiscordApi) -> None:
        self._store, self._desk = store, desk
        self._signs: dict[str, Sign] = {}
        self._keepers: dict[str, asyncio.Task[None]] = {}

    def begun(self, execution: str) -> None:
        """It has just begun, so its message has 👀 alone."""
        self._of(execution, Sign(borne=frozenset((WORKS,))))

    def note(self, execution: str, wanted: str, *, doubtful: bool = False) -> None:
        """Bring the sign of an execution up to date, beside what the caller does; ``doubtful``: it may not be there."""
        sign = self._of(execution, Sign())
        sign.wanted, sign.doubtful = wanted, sign.doubtful or doubtful
        keeper = self._keepers.get(execution)
        gone = keeper is None or keeper.done()  # one that has ended is let go of only in the loop's next round
        if gone and not sign.true:
            keeper = asyncio.create_task(self._keep(execution, sign), name=f"sign of {execution}")
            self._keepers[execution] = keeper
            keeper.add_done_callback(partial(self._let_keeper_go, execution))

    def _let_keeper_go(self, execution: str, keeper: asyncio.Task[None]) -> None:
        if self._keepers.get(execution) is keeper:
            del self._keepers[execution]

    async def settled(self, execution: str) -> None:
        """Wait, at most ``PATIENCE`` seconds, until the sign is what it is to be."""
        if (keeper := self._keepers.get(execution)) is not None:
            await asyncio.wait((keeper,), timeout=PATIENCE)

    def forget(self, execution: str) -> None:
        """It has ended, and its last sign is set; or its thread was deleted."""
        self._signs.pop(execution, None)

    def close(self) -> None:
        """End what is being done."""
        for keeper in self._keepers.values():
            keeper.cancel()

    def _of(self, execution: str, new: Sign) -> Sign:
        while len(self._signs) > REMEMBERED:
            del self._signs[next(iter(self._signs))]
        return self._signs.setdefault(execution, new)

    async def _keep(self, execution: str, sign: Sign) -> None:
        try:
            place = await self._place(execution)
        except StoreError as error:
            log.warning("the message of task %s is not known, so it keeps its sign: %s", execution, error)
            return
        while place is not None and not sign.true:
            wanted, sign.doubtful = sign.wanted, False
            await self._desk.react(*place, wanted, Urgency.EDIT)
            for old in sorted(sign.borne - {wanted}):
                await self._desk.unreact(*place, old)
            sign.borne = frozenset((wanted,))

    async def _place(self, execution: str) -> tuple[str, str] | None:
        """(channel, message) of the message that gave the task, also to an earlier attempt; None where it was none."""
        started = await self._started(execution)
        if started is not None and started.trial_of:
            started = await self._started(started.trial_of) or started
        if started is None or not started.inbox.isdecimal():
            return None
        session = await self._store.session(started.thread)
        opened = started.inbox == started.thread and session is not None and session.channel
        return (opened or started.thread, started.inbox)

    async def _started(self, execution: str) -> Started | None:
        async for envelope in self._store.read(execution):
            return envelope.event if isinstance(envelope.event, Started) else None
        return None
