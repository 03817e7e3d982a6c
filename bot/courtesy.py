"""Who waits for their first word goes before those who are being worked for, while the process has more to do than it can.

Five hundred people may write in the same second.  Without this each new thread shares the processor with every further
turn of all the others, and the last one waits several times as long for any sign of work as the first.  A request that is
not a thread's first gives way while threads are beginning, but only as long as the event loop itself is late, and never
longer than ``AT_MOST``: on a process with time to spare nobody waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agentic.core.conversation import Prompt
from agentic.ports import Answer, LanguageModel, Meter

AT_MOST = 3.0
"""Seconds a request gives way."""
LATE = 0.02
"""The event loop is behind when a turn of it takes so many seconds."""
LONGEST_NAP = 0.25


class Courtesy:
    """Which threads are beginning: given something to do, and no model asked yet."""

    def __init__(self) -> None:
        self._beginning: set[str] = set()

    def begins(self, thread: str) -> None:
        """The thread was given something to do."""
        self._beginning.add(thread)

    def began(self, thread: str) -> None:
        """Its first request is on its way, or there will be none."""
        self._beginning.discard(thread)

    async def give_way(self) -> None:
        """Wait while threads begin and the event loop is behind."""
        loop = asyncio.get_running_loop()
        until = loop.time() + AT_MOST
        while self._beginning and (now := loop.time()) < until:
            await asyncio.sleep(0)
            late = loop.time() - now
            if late < LATE:
                return
            await asyncio.sleep(min(4 * late, LONGEST_NAP))


class Courteous:
    """A ``LanguageModel`` that lets threads which are beginning go first."""

    def __init__(self, model: LanguageModel, courtesy: Courtesy) -> None:
        self._model, self._courtesy = model, courtesy

    async def answer(
        self,
        model: str,
        prompt: Prompt,
        *,
        max_tokens: int,
        timeout: float,
        on_text: Callable[[str], None] | None = None,
        meter: Meter | None = None,
    ) -> Answer:
        """Ask as the model behind it does, a little later where others are beginning."""
        if any(message.role == "assistant" for message in prompt.messages):
            await self._courtesy.give_way()
        return await self._model.answer(
            model, prompt, max_tokens=max_tokens, timeout=timeout, on_text=on_text, meter=meter
        )

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """The price of the model behind it."""
        return self._model.price(model, tokens_in, tokens_out)

    async def close(self) -> None:
        """Nothing here is open; the model behind it is closed by whoever made it."""
