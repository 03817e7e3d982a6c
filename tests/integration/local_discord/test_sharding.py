"""Shards: which of them hears what, and discord.py's AutoShardedClient.

https://discord.com/developers/docs/events/gateway#sharding
"""

from __future__ import annotations

import asyncio

import discord

from bot.local_discord import LocalGuild
from tests.integration.local_discord.harness import TIMEOUT, Client, Raw, wanted_intents
from tests.integration.local_discord.wires import ALL_INTENTS, Wires

DIRECT = 1 << 12


class Sharded(Client, discord.AutoShardedClient):
    """discord.py with as many shards as it is told to use."""


async def test_the_guild_is_on_one_shard_and_direct_messages_on_the_first(wires: Wires, guild: LocalGuild) -> None:
    home = (guild.guild_id >> 22) % 3
    shards = [await wires.open() for _ in range(3)]
    for n, shard in enumerate(shards):
        await shard.identify(ALL_INTENTS | DIRECT, shard=[n, 3])
    await shards[home].event("GUILD_CREATE")
    direct = await guild.open_dm()
    await guild.post(direct.id, "in private")
    await guild.post(guild.channel().id, "in the guild")
    heard: dict[int, list[str]] = {}
    for n, shard in enumerate(shards):
        await shard.send(1, None)
        heard[n] = []
        while (frame := await shard.receive())["op"] != 11:
            if frame["t"] == "MESSAGE_CREATE":
                heard[n].append(frame["d"]["content"])
    expected: dict[int, list[str]] = {0: ["in private"], 1: [], 2: []}
    expected[home] = [*expected[home], "in the guild"]
    assert heard == expected


async def test_an_application_that_must_shard_is_closed_without_and_told_how_many(
    wires: Wires, guild: LocalGuild, raw: Raw
) -> None:
    guild.recommend_shards(2, required=True)
    assert (await raw("GET", "/gateway/bot"))[1]["shards"] == 2
    wire = await wires.open()
    await wire.send(2, {"token": guild.bot_token, "intents": 1, "properties": {}})
    assert await wire.close_code() == 4011
    other = await wires.open()
    await other.identify(shard=[1, 2])


async def test_discord_py_with_two_shards_hears_each_message_once_and_resumes_one_of_them(guild: LocalGuild) -> None:
    guild.recommend_shards(2, required=True)
    client = Sharded(wanted_intents())
    await client.login(guild.bot_token)
    running = asyncio.create_task(client.connect())
    try:
        await asyncio.wait_for(client.wait_until_ready(), 2 * TIMEOUT)
        assert sorted(client.shards) == [0, 1]
        assert client.guilds[0].shard_id == (guild.guild_id >> 22) % 2
        await guild.post(guild.channel().id, "once")
        await guild.post((await guild.open_dm()).id, "in private")
        messages = await client.hears("message", 2)
        assert {m.content for m in messages if isinstance(m, discord.Message)} == {"once", "in private"}
        guild.disconnect()
        await client.hears("shard_resumed", 2, timeout=3 * TIMEOUT)
        await guild.post(guild.channel().id, "after")
        messages = await client.hears("message", 3)
        assert [m.content for m in messages if isinstance(m, discord.Message)][2:] == ["after"]
    finally:
        await client.close()
        await asyncio.wait_for(asyncio.gather(running, return_exceptions=True), TIMEOUT)
