"""A store with tasks, the console that shows it on loopback, and a browser, for the files that test pages."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from agentic.ports.runtime import Store
from agentic.stores.factory import open_store
from bot.config.home import DATABASE
from bot.config.settings import Settings
from bot.console.console_server import ConsoleServer
from bot.console.process import console
from bot.rendering.secrets import Discretion
from tests.integration.console.logs import THREAD
from tests.integration.local_discord.browsers import NEEDS_CHROMIUM, chromium

__all__ = ["IN_A_BROWSER", "ConsoleGround", "chromium", "consoled", "page", "read_beside"]

IN_A_BROWSER = [pytest.mark.chromium, NEEDS_CHROMIUM, pytest.mark.asyncio(loop_scope="module")]

CONTENT = ("one = ", "print(")
"""How files of tests begin."""


@dataclass(frozen=True)
class ConsoleGround:
    """The store that a bot writes and the console reads, and where the console listens."""

    store: Store
    server: ConsoleServer
    home: Path

    @property
    def url(self) -> str:
        """The address, without a slash at its end."""
        host, port = self.server.address
        return f"http://{host}:{port}"

    def task(self, execution: str, tab: str = "") -> str:
        """The address of a task."""
        return f"{self.url}/t/{THREAD}/{execution}/{tab}".rstrip("/")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def consoled(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ConsoleGround]:
    """One store and one console a file; each test writes tasks of its own."""
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    store = open_store(home / DATABASE)
    async with console(Settings(home=home)) as server:
        await server.open("127.0.0.1", 0)
        yield ConsoleGround(store, server, home)
    await store.close()


@pytest_asyncio.fixture(loop_scope="module")
async def page(chromium: Browser) -> AsyncIterator[Page]:
    """A page of its own; an error in its scripts or a refusal by its policy fails the test."""
    context = await chromium.new_context()
    one = await context.new_page()
    errors: list[str] = []
    one.on("pageerror", lambda error: errors.append(str(error)))
    one.on("dialog", lambda dialog: errors.append(f"dialog {dialog.message}"))
    one.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    one.set_default_timeout(40_000)
    yield one
    await context.close()
    assert errors == []


@pytest.fixture
def read_beside(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts in which secrets were looked for beside the event loop; what begins as a file of a test does fails on it."""
    beside: list[str] = []
    text, content = Discretion.text, Discretion.content

    def seen(shown: str) -> None:
        if threading.current_thread() is not threading.main_thread():
            beside.append(shown)
        assert shown in beside or not shown.startswith(CONTENT)

    def looked(self: Discretion, shown: str) -> str:
        seen(shown)
        return text(self, shown)

    def passed(self: Discretion, shown: bytes, *, made: bool = True) -> bytes:
        seen(shown.decode())
        return content(self, shown, made=made)

    monkeypatch.setattr(Discretion, "text", looked)
    monkeypatch.setattr(Discretion, "content", passed)
    return beside
