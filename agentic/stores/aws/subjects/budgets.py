"""What is set aside and spent of the caps that executions share.

A scope is an item with what is ``taken``, what its cap was ``raised`` by, and ``net``, the one less the other: a condition
cannot add, and whether an amount fits is a question about ``net`` alone. ``held`` counts reservations that stand. A
reservation is an item beside others of its execution. Both change in one transaction, so each scope is what stands under
its keys, and of many who ask at once as many get it as fit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from agentic.aws.aws_errors import ConditionFailed
from agentic.aws.items import ABSENT, Delete, Item, Put, Update, Value, Write, key_of, keyed, number, text
from agentic.ports.errors import StoreUnavailable
from agentic.ports.stores import Scope
from agentic.stores.aws import layout
from agentic.stores.aws.layout import LISTED, WAITING
from agentic.stores.aws.store_subject import Aws, StoreSubject
from agentic.stores.money import dollars, fits, nanos

_SORT, _LIST = "RESERVED", "SCOPE"
_DAY = re.compile(r"(.*) (\d{4}-\d\d-\d\d)", re.DOTALL)
_ROUNDS = 10
"""So often a key is looked at again that others change at the same moment."""
_STANDS = "#made = :made AND attribute_exists(#scopes)"
_ADD = "ADD #taken :amount, #net :amount, #held :held"


class Budgets(StoreSubject):
    """Amounts are whole billionths of a US dollar."""

    async def reserve_usd(self, key: str, scopes: Sequence[Scope], usd: float) -> Scope | None:
        """Set it aside in all scopes, or in none; the one that is full."""
        amount = nanos(usd)
        tightest: dict[str, Scope] = {}
        for scope in scopes:
            known = tightest.get(scope.name, scope)
            tightest[scope.name] = min(known, scope, key=lambda each: each.cap_usd)
        reservation: dict[str, Value] = {
            "amount": amount,
            "scopes": list(tightest),
            "made": self._aws.order.next(),
            **layout.waiting(_SORT, layout.reservation(key)[0], key),
        }
        writes: list[Write] = [Put(keyed(layout.reservation(key), reservation), ABSENT)]
        writes += [_taking(scope, amount) for scope in tightest.values()]
        try:
            await self._table.transact(writes)
        except ConditionFailed as refused:
            known, *full = refused.reasons
            if known.refused:
                return None
            return next(scope for scope, reason in zip(tightest.values(), full, strict=True) if reason.refused)
        self._aws.reserved.put(key, keyed(layout.reservation(key), reservation))
        return None

    async def settle_usd(self, key: str, usd: float) -> None:
        """What it came to; the first settlement counts."""
        await self._end_reservation(key, nanos(usd))

    async def release_usd(self, key: str) -> None:
        """Forget a reservation that was not settled."""
        await self._end_reservation(key, None)

    async def _end_reservation(self, key: str, came_to: int | None) -> None:
        """Put what it came to in the place of what was set aside; for None, as if it had never been."""
        at, known = layout.reservation(key), self._aws.reserved.get(key)
        self._aws.reserved.drop(key)
        for _ in range(_ROUNDS):
            item, known = known or await self._table.get(at), None
            if item is None or "scopes" not in item:
                return
            made: dict[str, Value] = {"made": item["made"]}
            # What is settled stays, so that its key counts once, and no longer says for whom it was.
            ended = (
                Delete(at, _STANDS, made)
                if came_to is None
                else Update(
                    at, "REMOVE #scopes, #waits, #waits_at SET #amount = :amount", _STANDS, {**made, "amount": came_to}
                )
            )
            more = (came_to or 0) - number(item, "amount")
            scopes = cast(Sequence[str], item["scopes"])
            change: dict[str, Value] = {"amount": more, "held": -1}
            try:
                await self._table.transact(
                    [ended, *(Update(layout.scope(name), _ADD, values=change) for name in scopes)]
                )
            except ConditionFailed:
                continue  # somebody else ended it, or ended it and reserved anew
            return
        raise StoreUnavailable(f"reservation {key} is changed by others all the time: it is tried again later")

    async def spent_usd(self, scope: str) -> float:
        """Settled and set aside, in US dollars."""
        return dollars(number(await self._scope_item(scope), "taken"))

    async def raise_usd(self, key: str, scope: str, usd: float) -> None:
        """People added to the cap of a scope; the first raise of a key counts."""
        raised: dict[str, Value] = {"amount": nanos(usd), "less": -nanos(usd), **_listing(scope)}
        change = f"ADD #raised :amount, #net :less {_listed(scope)}"
        with suppress(ConditionFailed):
            await self._table.transact(
                [Put(keyed(layout.raised(key), {}), ABSENT), Update(layout.scope(scope), change, values=raised)]
            )

    async def raised_usd(self, scope: str) -> float:
        """What people added to the cap of a scope, in US dollars."""
        return dollars(number(await self._scope_item(scope), "raised"))

    async def unsettled_usd(self, prefix: str) -> list[str]:
        """Keys of reservations that stand."""
        if "/" in prefix:  # all of one execution, which stand together
            found = [item async for item in self._table.query(layout.reservation(prefix)[0], prefix)]
        else:
            asked = (self._table.query(shard, prefix, index=WAITING) for shard in layout.shards(_SORT))
            keys = [key_of(item) for items in asked async for item in items]
            found = list((await self._table.get_all(keys)).values())
        return sorted(text(item, "sk") for item in found if "scopes" in item)

    async def erase_spending(self, scope: str, before: str) -> None:
        """The sums of a scope (``*``: of all) for earlier days, unless something is set aside in them."""
        names = [
            text(item, "pk").removeprefix(layout.scope("")[0])
            async for item in self._table.query(_LIST, until=before, index=LISTED)
        ]
        for name in names:
            if scope in ("*", _whose(name)):
                with suppress(ConditionFailed):
                    await self._table.write(
                        Delete(layout.scope(name), "attribute_not_exists(#held) OR #held = :none", {"none": 0})
                    )

    async def _scope_item(self, name: str) -> Item:
        return await self._table.get(layout.scope(name)) or {}


async def forget_settled(aws: Aws, execution: str) -> None:
    """Forget what was settled for an execution; the sums stay."""
    items = aws.table.query(layout.reservation(f"{execution}/")[0])
    await aws.table.delete_all([key_of(item) async for item in items if "scopes" not in item])


def _taking(scope: Scope, amount: int) -> Update:
    """What takes an amount out of a scope, if it fits; of one that is not there nothing is taken yet."""
    cap = nanos(scope.cap_usd)
    untouched = "attribute_not_exists(#net) OR " if fits(0, amount, scope) else ""
    values: dict[str, Value] = {"amount": amount, "held": 1, "cap": cap, "room": cap - amount, **_listing(scope.name)}
    condition = f"{untouched}(#net < :cap AND #net <= :room)"
    return Update(layout.scope(scope.name), f"{_ADD} {_listed(scope.name)}", condition, values)


def _whose(name: str) -> str:
    dated = _DAY.fullmatch(name)
    return dated[1] if dated else ""


def _listing(name: str) -> dict[str, str]:
    """A scope of a day stands in the list of days, from which it is taken once it is old."""
    dated = _DAY.fullmatch(name)
    return layout.listed(_LIST, f"{dated[2]} {dated[1]}") if dated else {}


def _listed(name: str) -> str:
    return "SET #listed = :listed, #listed_at = :listed_at" if _listing(name) else ""
