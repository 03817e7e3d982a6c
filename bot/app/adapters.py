"""Which sandbox commands run in, tried when it is first needed."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from agentic.sandbox.pool import Choice
from agentic.sandbox.protocol.heartbeat import Heartbeat
from bot.config.settings import Settings


def chooser(settings: Settings, state: Path, heartbeat: Heartbeat | None = None) -> Callable[[], Awaitable[Choice]]:
    """What tries them, by what is set."""

    async def choice() -> Choice:
        if settings.sandbox in ("auto", "docker"):  # its library is slow to import: the event loop goes on meanwhile
            await asyncio.to_thread(importlib.import_module, "agentic.sandbox.backends.docker")
        from agentic.sandbox.backends.selection import choose

        return await choose(settings.sandbox, state, image=settings.sandbox_image, heartbeat=heartbeat)

    return choice
