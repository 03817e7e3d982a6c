"""Which part of Discord's events a gateway hears, where several processes share them.

A gateway takes one shard by a lease; one more than there are shards stands by until one is free. So two never hear the same
server, and what a dead one heard is taken over once its lease is over.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass

from agentic.ports.runtime import Clock, Lease, Store
from bot.sessions.lease import ThreadTaken, take

COUNT = "gateway.shards"
"""The fact that says into how many shards all gateways divide the events."""
LOOK_SECONDS = 2.0
"""How often a gateway that stands by looks for a free shard."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shard:
    """One of ``count`` parts."""

    number: int = 0
    count: int = 1

    def has(self, guild: str) -> bool:
        """Whether the events of a server come here; '' stands for direct messages, which come to the first."""
        return self.count == 1 or (int(guild) >> 22 if guild else 0) % self.count == self.number

    @property
    def first(self) -> bool:
        """Whether it is the one whose process keeps house."""
        return self.number == 0


class ShardLeases:
    """Takes shards for one process."""

    def __init__(self, store: Store, clock: Clock, owner: str) -> None:
        self._store, self._clock, self._owner = store, clock, owner

    async def take(self, recommended: int) -> tuple[Shard, Lease]:
        """A shard that nobody has, waited for; ``recommended`` by Discord, and used unless others divide otherwise.

        Raises ``StoreError``.
        """
        said = False
        while True:
            count = await self._count(recommended)
            for number in range(count):
                with contextlib.suppress(ThreadTaken):
                    lease = await take(self._store, self._clock, _name(number, count), self._owner, patient=False)
                    return Shard(number, count), lease
            if not said:
                log.warning("all %d shards are taken by other gateways; this one stands by", count)
                said = True
            await self._clock.sleep(LOOK_SECONDS)

    async def _count(self, recommended: int) -> int:
        """Into how many parts: as those divide that are connected; where nobody is, as Discord recommends."""
        while True:
            known = await self._store.fact(COUNT)
            count = int(known or 0)
            if count and (count == recommended or await _holder(self._store, count, self._owner)):
                return count
            if await self._store.swap_fact(COUNT, known, str(recommended)):
                return recommended


async def _holder(store: Store, count: int, owner: str) -> str:
    for number in range(count):
        if (holder := await store.holder(_name(number, count))) not in ("", owner):
            return holder
    return ""


def _name(number: int, count: int) -> str:
    return f"shard: {number}/{count}"
