"""Which sandbox commands run in, tried when it is first needed; MCP servers of the owner's file; the web; who looks on; where
events go; what keeps the home in step with other machines.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agentic.egress.host_list import private_places
from agentic.event_targets.event_file import EventFile
from agentic.event_targets.event_target import EventTarget
from agentic.event_targets.event_webhook import EventWebhook, key_from
from agentic.mcp_client.server_file import FILE as MCP_FILE
from agentic.mcp_client.server_file import ServerFile, load
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.sandbox.protocol.heartbeat import Heartbeat
from agentic.stores.factory import open_shared_home, open_store
from agentic.web.page_reader import PageReader
from agentic.web.search_engines import PublicEngines, SearchEngine, Searxng
from agentic.web.web_client import WebClient
from agentic.workspace.workspace import RealWorld
from bot.config.home import MCP_TOKENS, SHARED
from bot.config.settings import Settings
from bot.workspace.web_tools import ThreadHosts, WebTools

if TYPE_CHECKING:
    from agentic.core.events.execution_events import Watcher
    from agentic.mcp_client.servers import McpServers
    from agentic.ports.runtime import SessionRow, Store
    from agentic.stores.shared_files import SharedHome
    from bot.config.preferences import Preferences
    from bot.equipment.watcher_files import WatcherFiles

STEP_SECONDS = 60.0
"""So long a process waits at its start until its home is in step with those of others."""

log = logging.getLogger(__name__)


def chooser(settings: Settings, state: Path, heartbeat: Heartbeat | None = None) -> Callable[[], Awaitable[Choice]]:
    """What tries them, by what is set."""

    async def choice() -> Choice:
        if settings.sandbox in ("auto", "docker"):  # its library is slow to import: the event loop goes on meanwhile
            await asyncio.to_thread(importlib.import_module, "agentic.sandbox.backends.docker")
        from agentic.sandbox.backends.selection import choose

        return await choose(settings.sandbox, state, image=settings.sandbox_image, heartbeat=heartbeat)

    return choice


def mcp_servers(
    settings: Settings,
    environment: Mapping[str, str],
    sandboxes: Sandboxes,
    state: Path,
    shared: SharedHome | None = None,
) -> McpServers | None:
    """What the owner's file names, with what they agreed to; None where there is no such file.

    ``state`` holds the folder in which servers run that are looked at while no thread uses them.
    """
    file = load(settings.home / MCP_FILE, environment)
    for problem in file.problems:
        log.warning("%s", problem)
    if file == ServerFile():
        return None
    from agentic.mcp_client.agreed_tools import FILE, Catalogue  # with the SDK, which only they need
    from agentic.mcp_client.oauth.kept_tokens import KeptTokens
    from agentic.mcp_client.servers import McpServers

    for name in ("mcp", "client"):  # the SDK logs what servers send; what matters of it is told to whoever asks
        logging.getLogger(name).setLevel(logging.CRITICAL)
    scratch = state / "mcp-workspace"
    scratch.mkdir(parents=True, exist_ok=True)
    return McpServers(
        file,
        Catalogue(settings.home / FILE),
        RealWorld(sandboxes, "mcp", scratch),
        KeptTokens(settings.home / MCP_TOKENS, shared),
        shared,
    )


async def home_shared(store: Store, home: Path, without: Collection[str] = ()) -> SharedHome | None:
    """What keeps a home in step with those of other machines, after a first look; None where it is the only one.

    Some files are read once, so that look has its time.
    """
    shared = open_shared_home(store, home, frozenset(SHARED).difference(without))
    if shared is not None:
        await shared.fresh(STEP_SECONDS)
    return shared


@asynccontextmanager
async def home_in_step(settings: Settings, without: Collection[str]) -> AsyncGenerator[SharedHome | None]:
    """The same for a command, but for parts that it does not need, such as tokens; what it changed is shared at the end."""
    if settings.aws_place is None:
        yield None
        return
    store = open_store(settings.aws_place)
    try:
        shared = await home_shared(store, settings.home, without)
        try:
            yield shared
        finally:
            if shared is not None:
                await shared.fresh()
                await shared.close()
    finally:
        await store.close()


def watching(files: WatcherFiles, preferences: Preferences) -> Callable[[SessionRow], Awaitable[tuple[Watcher, ...]]]:
    """Who looks on in a thread, as somebody chose there, for its channel or for the server."""

    async def chosen(row: SessionRow) -> tuple[Watcher, ...]:
        return await files.chosen((await preferences.of(row.thread, row.channel, row.guild)).watchers)

    return chosen


def web_client(settings: Settings) -> WebClient:
    """What sends requests to the web."""
    return WebClient(private_places(settings.network_private))


def search_engine(settings: Settings, client: WebClient) -> SearchEngine:
    """What finds pages: the owner's SearXNG, else public engines."""
    return Searxng(client, settings.search_url) if settings.search_url else PublicEngines()


def web_tools(settings: Settings, chosen: ThreadHosts, reach: ThreadHosts) -> WebTools:
    """The web for threads, by what is chosen for each."""
    client = web_client(settings)
    return WebTools(client, PageReader(), search_engine(settings, client), chosen, reach)


def event_targets(settings: Settings) -> tuple[EventTarget, ...]:
    """Where what happens in executions is told outside; nothing unless somebody set it."""
    targets: list[EventTarget] = []
    if settings.events_file is not None:
        targets.append(EventFile(settings.events_file))
    if settings.events_webhook and settings.events_webhook_secret is not None:
        key = key_from(settings.events_webhook_secret.get_secret_value())
        targets.append(EventWebhook(settings.events_webhook, key, web_client(settings), time.time))
    if settings.events_place is not None:
        from agentic.event_targets.event_queue import EventQueue  # with the SDK

        targets.append(EventQueue(settings.events_place))
    return tuple(targets)
