"""The console as a process: the store opened to be read, the server, until it is stopped or the bot is gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from agentic.ports.errors import AgenticError
from agentic.stores.factory import open_store
from bot.config.home import DATABASE, LESSONS
from bot.config.settings import Settings
from bot.console.access.entrance import Entrance
from bot.console.bot_channel import BotChannel
from bot.console.console_context import Console
from bot.console.logs.followers import Followers
from bot.console.logs.log_cache import LogCache
from bot.console.logs.long_texts import LongTexts
from bot.console.logs.sent_requests import SentRequests
from bot.console.page_templates import Pages
from bot.console.pages import live
from bot.console.server import ConsoleServer
from bot.rendering.secrets import Discretion
from reflexion.errors import ReflexionError
from reflexion.ports import LessonStore
from reflexion.stores.factory import open_lessons

LOOK_SECONDS, LOOK_AFAR_SECONDS = 0.05, 2.0
"""How often a watched task is looked at: here, and in a store where each look costs money."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def console(settings: Settings, channel: BotChannel | None = None) -> AsyncGenerator[ConsoleServer]:
    """Everything, ready to listen. Raises ``StoreError`` where the store cannot be opened."""
    async with AsyncExitStack() as stack:
        bot = channel or BotChannel()
        stack.push_async_callback(bot.close)
        store = open_store(settings.aws_place or settings.home / DATABASE)
        stack.push_async_callback(store.close)
        lessons: LessonStore | None = None
        try:
            lessons = open_lessons(settings.aws_place or settings.home / LESSONS)
            stack.push_async_callback(lessons.close)
        except (AgenticError, ReflexionError, OSError) as error:
            log.warning("lessons are not shown: %s", error)
        discretion = Discretion(settings.secrets)
        logs = LogCache(store, discretion)
        followers = Followers(logs, LOOK_AFAR_SECONDS if settings.aws_place else LOOK_SECONDS)
        pages = Pages()
        for name, update in live.views(pages).items():
            followers.add_view(name, update)
        whole = Console(
            settings,
            store,
            lessons,
            logs,
            followers,
            pages,
            bot,
            discretion,
            SentRequests(store),
            LongTexts(discretion),
        )
        server = ConsoleServer(whole, Entrance(bot.owner))
        stack.push_async_callback(server.close)
        yield server


async def serve(settings: Settings, address: tuple[str, int], stopped: asyncio.Event) -> None:
    """Serve the console until ``stopped``. Raises ``OSError`` where the address cannot be listened at."""
    async with console(settings) as server:
        await server.prepare()
        await server.open(*address)
        await stopped.wait()
