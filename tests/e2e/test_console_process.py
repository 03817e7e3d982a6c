"""The console as a child of the bot: found again after its death, gone with the bot however that ends."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from agentic.ports.errors import AgenticError, StoreCorrupt, StoreUnavailable
from bot.app.console_link import console_host
from bot.app.console_link.console_host import ConsoleHost
from bot.cli import console_command
from bot.config.settings import Settings, read_settings
from bot.console.bot_channel import BotChannel
from bot.console.process import serve
from bot.rendering.console_links import ConsoleLinks
from tests.e2e.processes import environment, started
from tests.waiting import eventually

SECONDS = 60.0


def consoles(home: Path) -> list[int]:
    """The processes of this home's console."""
    found: list[int] = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            ours = f"THREADWRIGHT_HOME={home}".encode() in (place / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if ours and b"--channel" in words:
            found.append(int(place.name))
    return found


async def answers(url: str, words: str = "Threadwright") -> bool:
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status == 200 and words in await answer.text()
    except aiohttp.ClientError:
        return False


async def test_a_console_that_dies_is_back_where_it_was_and_dies_with_the_bot(tmp_path: Path) -> None:
    env = environment(tmp_path, {}, THREADWRIGHT_CONSOLE="127.0.0.1:0", THREADWRIGHT_SANDBOX="host")
    async with started("run", env=env, cwd=tmp_path) as bot:
        url = (await bot.until_said(r"does and costs is shown at (\S+)"))[1]
        assert await answers(url)
        assert await answers(f"{url.rstrip('/')}/sign-in", "Sign in with Discord"), "with the one of this machine"
        assert re.search(rf"console\s+{url}", (await bot.until_said(r"console +.*[^$]*store"))[0])
        (first,) = consoles(tmp_path)
        oom = Path(f"/proc/{first}/oom_score_adj").read_text()
        assert int(oom) >= 800, "the kernel takes it before the bot"
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: first not in consoles(tmp_path) and len(consoles(tmp_path)) == 1, "another one")
        await eventually(lambda: answers(url))
        assert "is started again" in bot.output
        await bot.kill()
        await eventually(lambda: not consoles(tmp_path), "the console ends by itself")


async def nothing(_: Mapping[str, object]) -> Mapping[str, object]:
    return {}


async def nowhere(_: str) -> None:
    return None


async def test_where_the_address_is_taken_it_says_so_and_the_bot_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("THREADWRIGHT_CONSOLE", f"127.0.0.1:{taken.getsockname()[1]}")
        monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path))
        host = ConsoleHost(read_settings(), links := ConsoleLinks("http://before"), nothing, nowhere)
        async with asyncio.timeout(SECONDS):
            await host.run()
        assert f"{taken.getsockname()[1]} is taken. Set THREADWRIGHT_CONSOLE to another address" in host.trouble
        assert links.url == ""
        assert not consoles(tmp_path)


async def test_where_no_process_can_be_started_that_is_a_try_like_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    async def none_left(*_: object, **__: object) -> None:
        tries.append(1)
        raise BlockingIOError(errno.EAGAIN, "no process is left")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", none_left)
    monkeypatch.setattr(console_host, "FIRST_PAUSE", 0.0)
    host = ConsoleHost(Settings(home=tmp_path), ConsoleLinks(), nothing, nowhere)
    async with asyncio.timeout(SECONDS):
        await host.run()
    assert len(tries) == console_host.TRIES + 1
    assert "soon after its start" in host.trouble


async def test_where_it_cannot_be_stored_where_the_console_is_it_still_is_there(tmp_path: Path) -> None:
    async def full(_: str) -> None:
        raise StoreUnavailable("the disk is full")

    host = ConsoleHost(Settings(home=tmp_path), links := ConsoleLinks(), nothing, full)
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(b'{"id": 1, "ask": "listens", "url": "http://127.0.0.1:1"}\n')
        theirs.shutdown(socket.SHUT_WR)
        reader, writer = await asyncio.open_connection(sock=ours)
        await host._talk(reader, writer)  # pyright: ignore[reportPrivateUsage]
        writer.close()
    assert links.url == "http://127.0.0.1:1"
    assert host.settled.is_set()


class Told(BotChannel):
    """Where the console says that it is."""

    url = trouble = ""

    async def listens(self, url: str, trouble: str = "") -> None:
        self.url, self.trouble = url, trouble
        self.gone.set()


@pytest.mark.parametrize(("broken", "told"), [(StoreUnavailable("busy"), ""), (StoreCorrupt("torn"), "torn")])
async def test_a_store_that_cannot_be_opened_for_a_moment_is_no_reason_to_have_no_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: AgenticError, told: str
) -> None:
    channel = Told()

    async def over(_: int) -> Told:
        return channel

    async def failing(*_: object) -> None:
        raise broken

    monkeypatch.setattr(BotChannel, "over", over)
    monkeypatch.setattr(console_command, "serve", failing)
    monkeypatch.setattr(console_command, "OOM", tmp_path / "oom")
    with pytest.raises(type(broken)):
        await console_command.console(Settings(home=tmp_path), 1, 0)
    assert channel.trouble.partition(".")[0] == told


async def test_the_usual_port_gives_way_where_nobody_chose_it(tmp_path: Path) -> None:
    usual = Settings(home=tmp_path).console_address
    assert usual is not None
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

        def bound() -> bool:
            with suppress(OSError):  # somebody else has it now, and may give it back
                other.bind(usual)
                return True
            return False

        await eventually(bound)
        other.listen()
        told = Told()
        await serve(Settings(home=tmp_path), told, asyncio.Event())
    assert told.url.startswith("http://127.0.0.1:")
    assert told.url != f"http://127.0.0.1:{usual[1]}"
