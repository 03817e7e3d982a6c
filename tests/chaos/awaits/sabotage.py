"""Mends taken out, one at a time: what is struck at each await must then show a violation, or it would see nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from unittest.mock import patch

from agentic.core.events.execution_events import ModelFailed, ToolFinished
from agentic.core.state.execution import Execution
from agentic.ports.errors import SandboxUnavailable, StoreError
from agentic.ports.runtime import (
    Lease,
    Observation,
    Prepared,
    Used,
)
from agentic.ports.stores import Leases
from agentic.runtime import effects, loop
from agentic.runtime.budget_ledger import BudgetLedger
from agentic.sandbox.pool import Sandboxes
from agentic.sandbox.sandbox import Sandbox
from agentic.tools.base.tool import CallContext
from agentic.tools.toolbox import StandardToolbox
from bot.actions import fork
from bot.sessions import lease as lease_module
from bot.sessions import session_work
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
    for module in (session_work, fork):
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

    async def careless(self: BudgetLedger) -> None:
        owed, self._owed = self._owed, []
        for one in owed:
            try:
                await self._settle(*one)
            except StoreError:
                self._owed.append(one)

    return patch.object(BudgetLedger, "settle", careless)


def _closing_raises() -> contextlib.AbstractContextManager[object]:
    """What fails while a sandbox is closed takes the place of the loss, and any want of a sandbox says “not begun”."""

    async def careless(self: Sandbox, reason: str) -> str:
        self._channel.fail(reason)
        self._heartbeat.remove(self._transport.outlet)
        await self._channel.close()
        return await self._transport.close()

    async def run(
        self: StandardToolbox, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]
    ) -> Observation:
        return await self._tools[tool].run(prepared, CallContext(call, prepared.timeout, on_output, self._open))

    stack = contextlib.ExitStack()
    stack.enter_context(patch.object(Sandbox, "_close", careless))
    stack.enter_context(patch.object(StandardToolbox, "run", run))
    stack.enter_context(patch.object(loop, "CallNotBegun", SandboxUnavailable))
    return stack


def _whoever_asks_ends() -> contextlib.AbstractContextManager[object]:
    """Who is cancelled while a sandbox ends leaves the masks where they are, and tells nobody that there is room."""

    async def careless(self: Sandboxes, thread: str, reason: str = "") -> None:
        held = self._held.pop(thread, None)
        if held is not None:
            await held.sandbox.close(reason)
            held.hidden.lift()
            self._ring()

    return patch.object(Sandboxes, "end", careless)


def _line_not_told() -> contextlib.AbstractContextManager[object]:
    """Who is first in the line for a sandbox and is cancelled tells nobody."""

    async def careless(self: Sandboxes, thread: str) -> None:
        bell = self._waiting[thread] = asyncio.Event()
        try:
            while next(iter(self._waiting)) != thread or not self._has_room():
                spare = self._spare() if next(iter(self._waiting)) == thread else None
                if spare is None:
                    bell.clear()
                    await bell.wait()
                else:
                    await self.end(spare)
            self._making += 1
        finally:
            del self._waiting[thread]

    return patch.object(Sandboxes, "_wait_for_room", careless)


def _ended_once() -> contextlib.AbstractContextManager[object]:
    """Who is cancelled twice while work under a lease ends does not end it."""

    async def careless(*tasks: asyncio.Future[object]) -> None:
        for task in reversed(tasks):
            if not task.done():
                task.cancel()
                await asyncio.wait((task,))
            if not task.cancelled():
                task.exception()

    return patch.object(lease_module, "ended", careless)


MENDS: dict[str, Mend] = {
    "closing": Mend(
        _closing_raises, "kinds", ("engine dies",), "is said not to have begun", "agentic/sandbox/sandbox.py"
    ),
    "ends": Mend(_whoever_asks_ends, "crowd", ("cancelled",), "is left behind", "agentic/sandbox/pool.py"),
    "line": Mend(
        _line_not_told, "crowd", ("stalled", "cancelled late"), "never got a sandbox", "agentic/sandbox/pool.py"
    ),
    "twice": Mend(_ended_once, "kinds", ("interrupted twice",), "while nobody held", "agentic/sandbox/sandbox.py"),
    "paired": Mend(_request_taken_for_a_call, "kinds", ("cancelled",), "and no answer made it", "store.settle_usd"),
    "owed": Mend(_owed_no_more, "kinds", ("cancelled",), "in the ledger, and as", "store.settle_usd"),
    "leases": Mend(_released, "kinds", ("ended",), "is still held by", "bot/sessions/lease.py"),
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
