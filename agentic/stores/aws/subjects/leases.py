"""One owner a thread.

A lease runs by the clock of the wall, on which machines agree: one that is ahead takes a thread too early, and the fence
keeps what its owner writes then from doing harm.
"""

from __future__ import annotations

from typing import cast
from uuid import uuid4

from agentic.aws.aws_errors import ConditionFailed
from agentic.aws.items import Item, Update, Value, number, text
from agentic.ports.failpoints import reach
from agentic.ports.stores import Lease
from agentic.stores.aws import layout
from agentic.stores.aws.store_subject import StoreSubject
from agentic.stores.checks import MIN_READER, check_reader
from agentic.stores.process_identity import dead_here

_TAKE = (
    "SET #fence = if_not_exists(#fence, :none) + :one, #owner = :owner, #until = :until, #process = :process,"
    " #attempt = :attempt"
)
_FREE = "(attribute_not_exists(#pk) OR #owner = :free OR #owner = :owner OR #until <= :now)"
_OF_THE_DEAD = "#fence = :fence AND #owner = :held"
_ONCE = "(attribute_not_exists(#attempt) OR #attempt <> :attempt)"
"""A request that is sent again, or comes late, takes nothing a second time."""
_OURS = "#fence = :fence AND #owner = :owner"


class Leases(StoreSubject):
    """Who may write for a thread."""

    async def acquire(self, thread: str, owner: str, seconds: float = 20.0) -> Lease | None:
        """Take the thread if it is free, has run out, is already ours, or its owner is provably dead on this host."""
        reach("lease.acquire.before")
        lease = await self._taken(thread, owner, seconds)
        if lease is not None:
            # After it was taken: from here on nobody else writes into this thread what this version would misread.
            needed = await self._table.get(layout.fact(MIN_READER))
            try:
                check_reader(None if needed is None else text(needed, "value"), self._aws.reading.reader)
            except BaseException:
                await self.release(lease)
                raise
        reach("lease.acquire.after")
        return lease

    async def _taken(self, thread: str, owner: str, seconds: float) -> Lease | None:
        now = self._aws.seconds()
        attempt = uuid4().hex
        values: dict[str, Value] = {
            "none": 0,
            "one": 1,
            "owner": owner,
            "until": now + seconds,
            "process": self._aws.process,
            "attempt": attempt,
        }
        take = Update(layout.lease(thread), _TAKE, f"{_FREE} AND {_ONCE}", {**values, "free": "", "now": now})
        try:
            return self._lease_of(await self._table.write(take))
        except ConditionFailed as refused:
            stood = refused.reasons[0].item or {}
        if text(stood, "attempt") != attempt and dead_here(text(stood, "process")):
            held: dict[str, Value] = {"fence": number(stood, "fence"), "held": text(stood, "owner")}
            succeed = Update(layout.lease(thread), _TAKE, f"{_OF_THE_DEAD} AND {_ONCE}", {**values, **held})
            try:
                return self._lease_of(await self._table.write(succeed))
            except ConditionFailed as refused:
                stood = refused.reasons[0].item or {}
        return self._lease_of(stood) if text(stood, "attempt") == attempt else None

    def _lease_of(self, item: Item) -> Lease:
        self._aws.order.heard(number(item, "order"))
        return Lease(text(item, layout.PARTITION), text(item, "owner"), number(item, "fence"))

    async def renew(self, lease: Lease, seconds: float = 20.0) -> bool:
        """Hold it longer; False if it was taken or given back."""
        reach("lease.renew.before")
        held = await self._change_lease(
            lease, "SET #until = :until, #order = :order", {"until": self._aws.seconds() + seconds}
        )
        reach("lease.renew.after")
        return held

    async def release(self, lease: Lease) -> None:
        """Give it back; the fence stays."""
        reach("lease.release.before")
        await self._change_lease(lease, "SET #owner = :free, #order = :order", {"free": ""})
        reach("lease.release.after")

    async def holder(self, thread: str) -> str:
        """Its owner, '' where it can be taken."""
        held = await self._table.get(layout.lease(thread)) or {}
        runs = cast(float, held.get("until", 0.0)) > self._aws.seconds() and not dead_here(text(held, "process"))
        return text(held, "owner") if runs else ""

    async def _change_lease(self, lease: Lease, change: str, values: dict[str, Value]) -> bool:
        # What was numbered so far goes with it: the next owner's numbers are greater, whatever its clock says.
        values |= {"order": self._aws.order.last, "fence": lease.fence, "owner": lease.owner}
        try:
            await self._table.write(Update(layout.lease(lease.thread), change, _OURS, values))
        except ConditionFailed:
            return False
        return True
