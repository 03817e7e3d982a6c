"""What outlives the process, and how one waits for what is to come."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import aiohttp
import apsw
import discord
import pytest
from discord.http import Route

from bot.local_discord import LocalGuild, UnusableFolder
from tests.integration.local_discord.harness import Raw, logged_in
from tests.integration.local_discord.wires import Wire


async def test_a_folder_keeps_the_conversation_the_commands_and_the_files(tmp_path: Path) -> None:
    async with await LocalGuild.start(state=tmp_path) as first:
        ana = first.add_member("ana")
        posted = await first.post(first.channel().id, "hello", author=ana, files=[("a.txt", b"content")])
        await first.react(posted.id, "👍")
        thread = await first.create_thread(posted.id, "a thread")
        await first.post(thread.id, "inside")
        gone = await first.post(thread.id, "deleted")
        await first.delete(gone.id)
        before = (first.guild_id, first.messages(first.channel().id), first.threads())
        inside = first.messages(thread.id)
    async with await LocalGuild.start(state=tmp_path) as second:
        assert before == (second.guild_id, second.messages(second.channel().id), second.threads())
        assert second.messages(thread.id) == inside
        assert second.file(posted.attachments[0].id) == b"content"
        second.attach()
        async with logged_in(second) as client:
            channel = client.get_channel(thread.id)
            assert channel is not None, "the thread is open"
        fresh = await second.post(thread.id, "new")
        assert fresh.id > inside[-1].id


async def test_registered_commands_outlive_the_process(tmp_path: Path) -> None:
    async with await LocalGuild.start(state=tmp_path) as first, aiohttp.ClientSession() as session:
        raw = Raw(session, first)
        commands = f"/applications/{first.bot_user_id}/commands"
        await raw("PUT", commands, [{"name": "status", "description": "d"}])
        _, before, _ = await raw("GET", commands)
    async with await LocalGuild.start(state=tmp_path) as second, aiohttp.ClientSession() as session:
        _, after, _ = await Raw(session, second)("GET", commands)
        assert after == before
        assert await second.slash(second.channel().id, "status")


@pytest.mark.wall("keys")
async def test_a_bot_token_is_good_for_one_start(tmp_path: Path) -> None:
    async with await LocalGuild.start(state=tmp_path) as first:
        old = first.bot_token
    async with await LocalGuild.start(state=tmp_path) as second, aiohttp.ClientSession() as session:
        assert (await Raw(session, second)("GET", "/users/@me", token=old))[0] == 401
        assert (await Raw(session, second)("GET", "/users/@me"))[0] == 200
        wire = Wire(await session.ws_connect(second.gateway_url), old)
        await wire.send(2, {"token": old, "intents": 1, "properties": {}})
        assert await wire.close_code() == 4004


async def test_waiting_ends_at_the_change_and_not_by_polling(guild: LocalGuild) -> None:
    asked = 0

    def look(one: LocalGuild) -> bool:
        nonlocal asked
        asked += 1
        return len(one.messages(one.channel().id)) == 2

    waiting = asyncio.create_task(guild.wait_for(look))
    for _ in range(50):
        await asyncio.sleep(0)
    assert asked == 1
    for _ in range(2):
        await guild.post(guild.channel().id, "x")
        await asyncio.sleep(0)
    assert await waiting is True
    with pytest.raises(TimeoutError):
        await guild.wait_for(lambda g: None, timeout=0)


async def test_two_guilds_stand_side_by_side_and_attach_is_undone(guild: LocalGuild) -> None:
    mine = Route.BASE
    assert mine == guild.rest_base
    async with await LocalGuild.start() as other:
        other.attach()
        assert other.rest_base != mine
        assert other.rest_base == Route.BASE
    assert mine == Route.BASE
    guild.restore()
    assert Route.BASE == "https://discord.com/api/v10"


async def test_a_thread_archived_before_the_restart_is_heard_again_when_somebody_posts(tmp_path: Path) -> None:
    async with await LocalGuild.start(state=tmp_path) as first:
        thread = await first.create_thread(first.channel().id, "old")
        await first.archive(thread.id)
    async with await LocalGuild.start(state=tmp_path) as second:
        second.attach()
        async with logged_in(second) as client:
            assert client.get_channel(thread.id) is None
            await second.post(thread.id, "again")
            message = await client.message()
            assert isinstance(message.channel, discord.Thread)
            assert not message.channel.archived


async def test_what_cannot_be_kept_now_is_said_once_and_kept_when_it_can_be(tmp_path: Path) -> None:
    """As on a full disk: one that answered with an error, and had shown the message, would get it a second time."""
    async with await LocalGuild.start(state=tmp_path) as one:
        general = one.channel().id
        with closing(apsw.Connection(str(tmp_path / "guild.sqlite3"))) as other:
            other.execute("BEGIN IMMEDIATE")  # nobody else can write
            async with aiohttp.ClientSession() as session:
                auth = {"Authorization": f"Bot {one.bot_token}"}
                url = f"{one.rest_base}/channels/{general}/messages"
                answer = await session.post(url, headers=auth, json={"content": "done", "nonce": "1"})
                assert answer.status == 200
            first = await one.post(general, "changed afterwards")
            gone = await one.post(general, "deleted")
            await one.edit(first.id, "changed")
            await one.delete(gone.id)
            await one.react(first.id, "🛑")
            assert [m.content for m in one.messages(general)] == ["done", "changed"]
            other.execute("ROLLBACK")
        await one.post(general, "there is room again")
    async with await LocalGuild.start(state=tmp_path) as again:
        messages = again.messages(general)
        assert [m.content for m in messages] == ["done", "changed", "there is room again"]
        assert messages[1].reactions


async def test_a_damaged_or_newer_folder_is_named_and_never_silently_begun_anew(tmp_path: Path) -> None:
    async with await LocalGuild.start(state=tmp_path) as one:
        await one.post(one.channel().id, "x")
    path = tmp_path / "guild.sqlite3"
    kept = path.read_bytes()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(UnusableFolder, match="newer version"):
        await LocalGuild.start(state=tmp_path)
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(UnusableFolder, match="Move it away"):
        await LocalGuild.start(state=tmp_path)
    path.write_bytes(kept)
    with closing(apsw.Connection(str(path))) as database:
        database.execute("UPDATE records SET body = replace(body, 'created_at', 'lost') WHERE kind = 'message'")
    with pytest.raises(UnusableFolder, match="A message in"):
        await LocalGuild.start(state=tmp_path)
    path.write_bytes(kept)
    async with await LocalGuild.start(state=tmp_path) as again:
        assert [m.content for m in again.messages(again.channel().id)] == ["x"]


async def test_the_page_keeps_its_port_where_it_is_free(tmp_path: Path) -> None:
    async with await LocalGuild.start(state=tmp_path) as first:
        port = first.url.rpartition(":")[2]
        async with await LocalGuild.start(state=tmp_path) as beside:
            other = beside.url.rpartition(":")[2]
    assert other != port
    async with await LocalGuild.start(state=tmp_path) as again:
        assert again.url.rpartition(":")[2] == other
