"""What people do on the console takes no place from what they look at, on either side of the channel to the bot."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest

from bot.app.console_link import console_host
from bot.app.console_link.console_host import BUSY, ConsoleHost
from bot.config.settings import Settings
from bot.console import bot_channel
from bot.console.access.viewer import Viewer
from bot.console.bot_channel import BotChannel, Deed, Done
from bot.rendering.console_links import ConsoleLinks
from tests.integration.console import logs


class SlowBot:
    """Sees everything at once, and does nothing until ``go``."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.begun = asyncio.Semaphore(0)

    async def answer(self, asked: Mapping[str, object]) -> Mapping[str, object]:
        if asked["ask"] != "act":
            return {"sees": [True, None]} if asked["ask"] == "sees_many" else {"sees": True}
        self.begun.release()
        await self.go.wait()
        return {"words": "It is done.", "done": True}


async def nowhere(_: str) -> None:
    return None


@asynccontextmanager
async def talking(bot: SlowBot, home: Path) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """The console's end of a channel."""
    host, (ours, theirs) = ConsoleHost(Settings(home=home), ConsoleLinks(), bot.answer, nowhere), socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    there, back = await asyncio.open_connection(sock=theirs)
    talk = asyncio.create_task(host._talk(there, back))  # pyright: ignore[reportPrivateUsage]
    async with asyncio.timeout(60):
        yield reader, writer
        bot.go.set()
        writer.close()
        await talk
        back.close()


async def test_pages_open_while_slow_acts_take_all_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (bot_channel, console_host):
        monkeypatch.setattr(module, "AT_ONCE", 2)
    bot, viewer = SlowBot(), Viewer(logs.ANN, False, "")
    async with talking(bot, tmp_path) as (reader, writer):
        channel = BotChannel()
        channel._writer = writer  # pyright: ignore[reportPrivateUsage]
        channel._reading = asyncio.create_task(channel._read(reader))  # pyright: ignore[reportPrivateUsage]
        acts = [asyncio.create_task(channel.act(Deed(str(n), "1", "x", "fork"), viewer)) for n in range(4)]
        for _ in range(2):
            await bot.begun.acquire()
        assert await channel.sees(logs.ANN, "1")
        assert await channel.sees_many(logs.ANN, [("1", "2", "3"), ("4", "5", "6")]) == [True, None]
        bot.go.set()
        assert await asyncio.gather(*acts) == [Done("It is done.", done=True)] * 4
        await channel.close()


async def test_acts_that_the_console_gave_up_do_not_keep_the_bot_from_answering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console_host, "AT_ONCE", 2)
    bot = SlowBot()
    async with talking(bot, tmp_path) as (reader, writer):
        for number, ask in enumerate(("act", "act", "act", "sees")):
            writer.write(orjson.dumps({"id": number, "ask": ask}) + b"\n")
        told = [orjson.loads(await reader.readline()) for _ in range(2)]
        assert told == [{"id": 2, "words": BUSY}, {"id": 3, "sees": True}]
