"""The gateway spoken to without a library: handshake, resuming, close codes.

https://discord.com/developers/docs/events/gateway
https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes
"""

from __future__ import annotations

import asyncio
import json
import zlib
from typing import Any

import pytest

from bot.local_discord import LocalGuild, Rule, SessionLost
from bot.local_discord.gateway.gateway import ACK_SECONDS
from tests.integration.local_discord.wires import Wire, Wires


async def test_a_heartbeat_is_never_answered_while_it_is_still_being_sent(wires: Wires) -> None:
    wire = await wires.open()
    loop = asyncio.get_running_loop()
    sent = loop.time()
    await wire.send(1, None)
    assert (await wire.receive())["op"] == 11
    assert loop.time() - sent >= ACK_SECONDS * 0.9


async def test_a_resumed_session_gets_what_it_missed_then_resumed(wires: Wires, guild: LocalGuild) -> None:
    """events/gateway#resuming"""
    wire, session = await wires.begun()
    seen = wire.sequence
    await wire.ws.close(code=4000)
    await guild.wait_for(lambda g: not g.online)
    await guild.post(guild.channel().id, "missed 1")
    await guild.post(guild.channel().id, "missed 2")
    again = await wires.resume(session, seen)
    frames = [await again.receive() for _ in range(3)]
    assert [f["d"].get("content") for f in frames] == ["missed 1", "missed 2", None]
    assert [f["s"] for f in frames] == [seen + 1, seen + 2, seen + 3]
    assert frames[2]["t"] == "RESUMED"


async def test_an_unknown_session_is_invalid_and_a_seq_from_the_future_4007(wires: Wires, guild: LocalGuild) -> None:
    wire = await wires.resume("none", 1)
    assert await wire.receive() == {"op": 9, "d": False, "s": None, "t": None}
    session = (await wire.identify())["session_id"]
    other = await wires.resume(session, 999)
    assert await other.close_code() == 4007


@pytest.mark.parametrize(
    ("op", "data", "code"),
    [
        (2, {"token": "wrong", "intents": 0, "properties": {}}, 4004),
        (6, {"token": "wrong", "session_id": "x", "seq": 0}, 4004),
        (2, {"token": "{token}", "intents": 1 << 60, "properties": {}}, 4013),
        (2, {"token": "{token}", "intents": 0, "properties": {}, "shard": [2, 2]}, 4010),
        (8, {"guild_id": "1"}, 4003),
        (99, None, 4001),
        (2, "nonsense", 4002),
    ],
)
async def test_what_a_client_does_wrong_closes_with_its_code(wires: Wires, op: int, data: Any, code: int) -> None:
    wire = await wires.open()
    if isinstance(data, dict) and data.get("token") == "{token}":
        data = data | {"token": wires.guild.bot_token}
    await wire.send(op, data)
    assert await wire.close_code() == code


async def test_text_that_is_no_json_closes_with_4002_and_a_wrong_version_with_4012(wires: Wires) -> None:
    wire = await wires.open()
    await wire.ws.send_str("{")
    assert await wire.close_code() == 4002
    async with wires.session.ws_connect(wires.guild.gateway_url + "?v=6") as ws:
        assert await Wire(ws, "").close_code() == 4012


async def test_identifying_twice_closes_with_4005(wire: Wire) -> None:
    await wire.send(2, {"token": wire.token, "intents": 0, "properties": {}})
    assert await wire.close_code() == 4005


@pytest.mark.parametrize(("intent", "granted"), [(1 << 1, {"members": False}), (1 << 15, {"message_content": False})])
async def test_an_intent_that_was_not_granted_closes_with_4014(
    wires: Wires, guild: LocalGuild, intent: int, granted: dict[str, bool]
) -> None:
    guild.grant_intents(**granted)
    wire = await wires.open()
    await wire.send(2, {"token": wire.token, "intents": 1 | intent, "properties": {}})
    assert await wire.close_code() == 4014


async def test_zlib_stream_is_one_stream_flushed_after_each_frame(wires: Wires, guild: LocalGuild) -> None:
    """events/gateway#transport-compression"""
    async with wires.session.ws_connect(guild.gateway_url + "?v=10&encoding=json&compress=zlib-stream") as ws:
        inflate = zlib.decompressobj()

        async def frame() -> Any:
            raw = await ws.receive_bytes(timeout=5)
            assert raw.endswith(b"\x00\x00\xff\xff")
            return json.loads(inflate.decompress(raw))

        assert (await frame())["op"] == 10
        await ws.send_json({"op": 2, "d": {"token": guild.bot_token, "intents": 1, "properties": {}}})
        assert [(await frame())["t"] for _ in range(2)] == ["READY", "GUILD_CREATE"]


async def test_a_shard_without_the_guild_gets_none(wires: Wires, guild: LocalGuild) -> None:
    """events/gateway#sharding"""
    mine = (guild.guild_id >> 22) % 2
    other = await wires.open()
    ready = await other.identify(shard=[1 - mine, 2])
    assert (ready["guilds"], ready["shard"]) == ([], [1 - mine, 2])
    same = await wires.open()
    ready = await same.identify(shard=[mine, 2])
    assert len(ready["guilds"]) == 1


async def test_told_to_lose_the_session_it_asks_to_reconnect_or_closes(wires: Wires, guild: LocalGuild) -> None:
    channel = guild.channel().id
    wire = await wires.open()
    session = (await wire.identify())["session_id"]
    guild.misbehave(Rule("MESSAGE_CREATE", SessionLost(op=7)))
    await guild.post(channel, "kept for the resumed session")
    async with asyncio.timeout(60):
        while (await wire.receive())["op"] != 7:
            pass
    again = await wires.resume(session, wire.sequence)
    assert (await again.event("MESSAGE_CREATE"))["content"].startswith("kept")
    guild.invalidate_sessions()
    async with asyncio.timeout(60):
        while (frame := await again.receive())["op"] != 9:
            pass
    assert frame["d"] is False
    guild.disconnect(4000)
    assert await again.close_code() == 4000
