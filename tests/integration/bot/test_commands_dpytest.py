"""Prefix commands, hybrid commands by prefix, embeds and files, through dpytest's backend."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path

import discord
import pytest

from agentic.core.events.execution_events import OutboxItem
from bot.app.client import COGS, ThreadwrightBot, create_bot
from bot.outbound.discord_api import Post
from bot.progress.feed import Feed
from bot.rendering.discord_text import Attached
from tests.integration.bot.talking import Talk
from tests.stores import fresh_store
from tests.waiting import eventually

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # where nothing was compiled yet, Python warns of its escapes
    import discord.ext.test as dpytest


@pytest.fixture
async def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ThreadwrightBot]:
    """The bot with its cogs, on dpytest's fake connection."""
    monkeypatch.chdir(tmp_path)  # dpytest writes what is uploaded into the working directory
    store, feed = fresh_store(), Feed()

    async def fetch(thread: str, path: str) -> bytes | None:
        return b"a,b\n1,2\n" if path == "out/data.csv" else None

    bot = create_bot(Talk(store, feed), store, feed, fetch)
    bot._connection._intents.members = True  # dpytest reads members from the cache, which the bot does not keep
    bot._connection.member_cache_flags = discord.MemberCacheFlags(joined=True, voice=False)
    await bot._async_setup_hook()
    for cog in COGS:
        await import_module(cog).setup(bot)
    dpytest.configure(bot, members=2)
    yield bot
    await dpytest.empty_queue()


async def test_help_by_prefix_is_a_card_with_every_command(bot: ThreadwrightBot) -> None:
    await dpytest.message("!help")
    embed = dpytest.get_embed()
    assert embed.title == "Threadwright"
    assert all(f"`{name}`" in str(embed.to_dict()) for name in ("status", "stop", "workspace get"))


async def test_status_by_prefix_says_that_a_channel_is_no_thread(bot: ThreadwrightBot) -> None:
    await dpytest.message("!status")
    embed = dpytest.get_embed()
    assert embed.title == "Status"
    assert "No task here" in (embed.description or "")


async def test_stop_by_prefix_in_a_plain_channel_says_where_it_works(bot: ThreadwrightBot) -> None:
    with pytest.raises(discord.ext.commands.CommandInvokeError):
        await dpytest.message("!stop")
    assert dpytest.verify().message().contains().content("works only inside a task's thread")


async def test_stop_by_prefix_of_a_viewer_is_refused(bot: ThreadwrightBot) -> None:
    everyone = dpytest.get_config().guilds[0].default_role
    bot.options.roles[str(everyone.id)] = "viewer"  # type: ignore[index]
    with pytest.raises(discord.ext.commands.CommandInvokeError):
        await dpytest.message("!stop", member=1)
    assert dpytest.verify().message().contains().content("You're a viewer here")


async def test_an_unknown_command_and_a_plain_message_are_left_alone(bot: ThreadwrightBot) -> None:
    with pytest.raises(discord.ext.commands.CommandNotFound):
        await dpytest.message("!nonsense")
    await dpytest.message("helpful")
    assert dpytest.verify().message().nothing()


async def test_a_file_is_posted_with_its_content(bot: ThreadwrightBot) -> None:
    channel = dpytest.get_config().channels[0]
    await bot.desk.post(Post(str(channel.id), "look", "n1", files=(Attached("a.txt", b"hello"),)))
    message = dpytest.get_message()
    assert [file.filename for file in message.attachments] == ["a.txt"]
    assert uploaded() == [b"hello"]


async def test_a_file_of_the_workspace_is_attached_to_what_the_outbox_posts(bot: ThreadwrightBot) -> None:
    channel = dpytest.get_config().channels[0]
    await dpytest.message("hello")  # dpytest has no history of a channel in which nothing was said
    item = OutboxItem(
        key="x1.1.0", thread=str(channel.id), execution="x1", sort="notice", text="see", files=("out/data.csv",)
    )
    await bot.store.put_outbox([item])

    async def delivered() -> bool:
        return not await bot.store.undelivered()

    delivering = asyncio.create_task(bot.outbox.run())
    await eventually(delivered, "the outbox is empty")
    delivering.cancel()
    message = dpytest.get_message()
    assert [file.filename for file in message.attachments] == ["data.csv"]
    assert uploaded() == [b"a,b\n1,2\n"]


def uploaded() -> list[bytes]:
    """What dpytest wrote into the working directory."""
    return [path.read_bytes() for path in sorted(Path().glob("dpytest_*.dat"))]
