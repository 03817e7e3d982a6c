"""The console as a process: the store opened to be read, the server, until it is stopped or the bot is gone."""

from __future__ import annotations

import asyncio
import errno
import functools
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import ip_address

from pydantic import SecretStr

from agentic.core.events.execution_events import Level
from agentic.forges.webhook import address_from
from agentic.ports.errors import AgenticError
from agentic.stores.factory import open_objects, open_store
from agentic.workspace.snapshots.shared_copies import SharedCopies
from bot.config.home import CHECKPOINTS, CONSOLE_SESSIONS, DATABASE, LESSONS
from bot.config.models import price_by, prices_from
from bot.config.settings import Settings
from bot.console.access.browser_sessions import BrowserSessions
from bot.console.access.discord_sign_in import DiscordSignIn
from bot.console.access.entrance import Entrance, NoWayIn
from bot.console.access.sight import Sight
from bot.console.access.sign_in import SignIn
from bot.console.bot_channel import BotChannel
from bot.console.console_context import Console
from bot.console.console_server import ConsoleServer
from bot.console.logs.file_versions import FileVersions
from bot.console.logs.followers import Followers
from bot.console.logs.log_cache import LogCache
from bot.console.logs.sent_requests import SentRequests
from bot.console.overall.figures.spend_report import SpendingReport
from bot.console.overall.remembered import Remembered
from bot.console.overall.task_summaries import TaskSummaries
from bot.console.page_templates import Pages
from bot.console.pages import live
from bot.console.place_names import PlaceNames
from bot.rendering.secrets import Discretion
from reflexion.errors import ReflexionError
from reflexion.ports import LessonStore
from reflexion.stores.factory import open_lessons

SUMS_SECONDS = 10.0
"""So long sums over many tasks are shown as they were."""
LEVEL_SECONDS = 20.0
"""So long it counts what somebody may do in a server; the channel to the bot keeps it for ten more."""
LOOK_SECONDS, LOOK_AFAR_SECONDS = 0.05, 2.0
"""How often a watched task is looked at: here, and in a store where each look costs money."""

DEFAULT = str(Settings.model_fields["console"].default)

log = logging.getLogger(__name__)


@asynccontextmanager
async def console(settings: Settings, channel: BotChannel | None = None) -> AsyncGenerator[ConsoleServer]:
    """Everything, ready to listen. Raises ``StoreError`` where the store cannot be opened."""
    async with AsyncExitStack() as stack:
        bot = channel or BotChannel()
        stack.push_async_callback(bot.close)
        store = open_store(settings.aws_place or settings.home / DATABASE, keeps_index=False)
        stack.push_async_callback(store.close)
        lessons: LessonStore | None = None
        try:
            lessons = open_lessons(settings.aws_place or settings.home / LESSONS)
            stack.push_async_callback(lessons.close)
        except (AgenticError, ReflexionError, OSError) as error:
            log.warning("lessons are not shown: %s", error)
        discretion = Discretion(settings.secrets)
        afar = settings.aws_place is not None
        logs = LogCache(store, discretion, LOOK_AFAR_SECONDS if afar else 0.0)
        pages = Pages({"discord": settings.discord_api == Settings.model_fields["discord_api"].default})
        newest = functools.partial(live.newest, bot, pages)
        followers = Followers(logs, LOOK_AFAR_SECONDS if afar else LOOK_SECONDS, newest=newest)
        for name, update in live.views(pages).items():
            followers.add_view(name, update, live.RESTS.get(name, 0.0))
        sessions = BrowserSessions(settings.home / CONSOLE_SESSIONS, _value(settings.console_token))
        sessions.ended = followers.end
        summaries = TaskSummaries(store, logs, price_by(prices_from(settings)))
        stack.push_async_callback(summaries.close)
        sight = Sight(bot.sees, bot.sees_many, store.session)
        stack.push_async_callback(sight.close)
        whole = Console(
            settings=settings,
            store=store,
            lessons=lessons,
            logs=logs,
            followers=followers,
            pages=pages,
            bot=bot,
            discretion=discretion,
            files=FileVersions(settings.home, _shared_copies(stack, settings)),
            sight=sight,
            sessions=sessions,
            requests=SentRequests(store),
            summaries=summaries,
            names=PlaceNames(bot.names, discretion.text),
            sums=Remembered[SpendingReport](SUMS_SECONDS),
            levels=Remembered[tuple[Level | None]](LEVEL_SECONDS),
        )
        server = ConsoleServer(whole, entrance(settings, pages, bot, sessions))
        stack.push_async_callback(server.close)
        yield server


def _shared_copies(stack: AsyncExitStack, settings: Settings) -> SharedCopies | None:
    """Checkpoints in the bucket, where other machines work too."""
    if settings.aws_place is None:
        return None
    objects = open_objects(settings.aws_place)
    stack.push_async_callback(objects.close)
    return SharedCopies(objects, settings.home / CHECKPOINTS)


def entrance(settings: Settings, pages: Pages, bot: BotChannel, sessions: BrowserSessions) -> Entrance:
    """Who comes in, as it is set."""
    token, secret = _value(settings.console_token), _value(settings.discord_client_secret)
    discord = None
    if settings.discord_client_id and secret:
        discord = DiscordSignIn(settings.discord_api, settings.discord_client_id, secret)
    return Entrance(SignIn(pages, sessions, bot.owner, token, discord), sessions, bot.owner, settings.console_url)


def _value(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret is not None else ""


async def serve(settings: Settings, channel: BotChannel, stopped: asyncio.Event, port: int = 0) -> None:
    """Serve the console until ``stopped``, or until the bot is gone; tells the bot where, or why not.

    ``port``: where it was before, so that links go on working. Raises ``OSError`` where it cannot listen, ``NoWayIn``
    where others would reach it and could not sign in, ``StoreError`` where there is nothing to show.
    """
    host, wanted = settings.console_address or address_from(DEFAULT)
    free = "console" not in settings.model_fields_set or settings.console_address is None
    async with console(settings, channel) as server:
        await server.prepare()
        try:
            await _listen(server, host, tuple(dict.fromkeys((port or wanted, wanted, *([0] if free else [])))))
        except (OSError, NoWayIn) as error:
            await channel.listens("", _not_there(settings, error) if isinstance(error, OSError) else str(error))
            raise
        await channel.listens(address_of(server))
        ends = [asyncio.create_task(each.wait()) for each in (stopped, channel.gone)]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()


async def _listen(server: ConsoleServer, host: str, ports: tuple[int, ...]) -> None:
    """Listen at the first of these ports that is not taken."""
    for port in ports:
        try:
            return await server.open(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or port == ports[-1]:
                raise
    return None


def address_of(server: ConsoleServer) -> str:
    """The address that a browser on this machine opens."""
    host, port = server.address
    here = "127.0.0.1" if ip_address(host).is_unspecified else host
    return f"http://[{here}]:{port}" if ":" in here else f"http://{here}:{port}"


def _not_there(settings: Settings, error: OSError) -> str:
    taken = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used ({os.strerror(error.errno or 0)})"
    return f"{settings.console} {taken}. Set THREADWRIGHT_CONSOLE to another address, or to off, and restart the bot"
