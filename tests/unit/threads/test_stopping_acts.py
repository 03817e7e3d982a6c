"""🛑 during what people do to what a task left: it is short and is not broken off, and whoever stops is answered at once."""

from __future__ import annotations

import asyncio

from agentic.core.events.execution_events import InboxItem
from agentic.core.state.execution import Execution
from agentic.ports.runtime import Lease, SessionRow
from bot.sessions.dependencies import Acted
from bot.threads.inbox import ACTING
from tests.stores import fresh_store
from tests.unit.threads.house import house
from tests.unit.threads.test_stopping import FINISH, item


class Slow:
    """An act that waits for the test in the middle."""

    def __init__(self) -> None:
        self.begun, self.go, self.done = asyncio.Event(), asyncio.Event(), 0

    async def act(self, item: InboxItem, session: SessionRow, lease: Lease) -> Acted:
        self.begun.set()
        await self.go.wait()
        self.done += 1
        return Acted("Undone.")

    async def ended(self, execution: Execution) -> None: ...

    async def begins(self, thread: str) -> None: ...


async def test_a_stop_during_an_act_is_answered_at_once_and_begins_nothing_that_waited() -> None:
    acts = Slow()
    async with house([FINISH], acts=acts) as home:
        await home.threads.deliver(item("8", "undo"), guild="1")
        await acts.begun.wait()
        await home.threads.deliver(item("9", "task", "count the stars"), guild="1")
        receipt = await home.threads.deliver(item("10", "stop"), guild="1")
        assert receipt.text == ACTING
        assert not acts.done
        acts.go.set()
        await home.threads.idle("100")
        texts = await home.texts()
        assert texts[0] == "Undone."
        assert any("Stopped before it started" in text and "count the stars" in text for text in texts)
        assert await home.reasons() == []
        assert await home.store.pending("100") == []


async def test_a_stop_while_an_act_waits_for_another_process_calls_it_off_and_says_so() -> None:
    acts, store = Slow(), fresh_store()
    await store.acquire("100", "another", 600)
    acts.go.set()
    async with house([FINISH], acts=acts, store=store) as home:
        await home.threads.deliver(item("8", "undo"), guild="1")
        assert home.threads.state("100") == "busy", "from the moment it is kept"
        await home.threads.deliver(item("9", "stop"), guild="1")
        await home.threads.idle("100")
        assert any("Stopped before it started" in text and "an undo" in text for text in await home.texts())
        assert (acts.done, await store.pending("100")) == (0, [])
        assert home.threads.state("100") == "idle"
