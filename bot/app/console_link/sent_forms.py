"""Forms of the console's pages, each acted on once, however often and however fast it is sent."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine

from bot.console.bot_channel import Done

REMEMBERED = 500
"""Forms whose answers are known."""


class SentForms:
    """Remembers what became of each."""

    def __init__(self) -> None:
        self._acts: OrderedDict[str, asyncio.Task[Done]] = OrderedDict()

    async def once(self, key: str, act: Callable[[], Coroutine[None, None, Done]]) -> Done:
        """Act, or tell what came of it before; what was refused may be sent again."""
        done = self._acts.get(key)
        if done is None:
            done = self._acts[key] = asyncio.create_task(act())
            while len(self._acts) > REMEMBERED:
                self._acts.popitem(last=False)
        try:
            said = await asyncio.shield(done)
        except Exception:
            self._acts.pop(key, None)
            raise
        if not said.done:  # it may be sent again once what stood in its way is gone
            self._acts.pop(key, None)
        return said
