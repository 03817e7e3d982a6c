"""Mends taken out, one at a time: what is struck at each await must then show a violation, or it would see nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from unittest.mock import patch

from agentic import effects
from agentic.core.events import ModelFailed, ToolFinished
from agentic.core.execution import Execution
from agentic.errors import StoreError
from agentic.ports import Lease, Used
from agentic.purse import Purse
from agentic.store_ports import Leases
from bot import forking, serving
from tests.chaos.awaits.many import strikes


@dataclass(frozen=True, slots=True)
class Mend:
    """What is put in its place, and where and by which words the harness sees that it is missing."""

    out: Callable[[], contextlib.AbstractContextManager[object]]
    play: str
    ways: tuple[str, ...]
    words: str
    where: str
    """What stands in the place of the awaits that are struck."""


def _released() -> contextlib.AbstractContextManager[object]:
    """Who is cancelled while giving the lease back keeps it."""

    async def careless(store: Leases, lease: Lease) -> None:
        await store.release(lease)

    stack = contextlib.ExitStack()
    for module in (serving, forking):
        stack.enter_context(patch.object(module, "give_back", careless))
    return stack


def _request_taken_for_a_call() -> contextlib.AbstractContextManager[object]:
    """An effect that is cancelled after its result was noted gets another: that of a call."""

    def careless(execution: Execution, ref: str, used: Used | None = None) -> ModelFailed | ToolFinished:
        if execution.request is not None and execution.request.id == ref:
            return ModelFailed(request=ref, failure="cancelled", message="cancelled")
        return ToolFinished(call=ref, outcome="cancelled", preview="Cancelled while it ran.")

    return patch.object(effects, "cancelled", careless)


def _owed_no_more() -> contextlib.AbstractContextManager[object]:
    """What is being settled is owed no longer, also where that is cancelled."""

    async def careless(self: Purse) -> None:
        owed, self._owed = self._owed, []
        for one in owed:
            try:
                await self._settle(*one)
            except StoreError:
                self._owed.append(one)

    return patch.object(Purse, "settle", careless)


MENDS: dict[str, Mend] = {
    "paired": Mend(_request_taken_for_a_call, "kinds", ("cancelled",), "and no answer made it", "store.settle_usd"),
    "owed": Mend(_owed_no_more, "kinds", ("cancelled",), "in the ledger, and as", "store.settle_usd"),
    "leases": Mend(_released, "kinds", ("ended",), "is still held by", "bot/tenure.py"),
}


@contextlib.contextmanager
def applied(name: str) -> Iterator[None]:
    """Without this mend, for a while; '' for with all of them."""
    with MENDS[name].out() if name else contextlib.nullcontext():
        yield


def missed(name: str) -> str:
    """The first violation that shows that a mend is missing; '' where none does."""
    mend = MENDS[name]
    with applied(name):
        for outcome in strikes({mend.play: (mend.ways, 1)}, where=mend.where):
            if seen := next((line for line in outcome.lines if mend.words in line), ""):
                return seen
    return ""
