"""Every limit of the gateway, and everything that ends a session, met by a client that is not a library.

https://discord.com/developers/docs/events/gateway
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.local_discord import (
    DISCORD,
    WIDE,
    Limit,
    LocalGuild,
)
from bot.local_discord.gateway.sessions import REPLAYABLE
from tests.integration.local_discord.harness import Raw
from tests.integration.local_discord.shapes import keeps_to
from tests.integration.local_discord.wires import Wire, Wires

INVALID = {"op": 9, "d": False, "s": None, "t": None}


def start(wire: Wire, **more: object) -> dict[str, object]:
    return {"token": wire.token, "intents": 1, "properties": {"os": "l", "browser": "t", "device": "t"}} | more


async def test_a_payload_of_4096_bytes_is_taken_and_one_more_closes_with_4002(wire: Wire) -> None:
    """#sending-events"""
    frame = '{"op":3,"d":{"since":null,"activities":[],"status":"online","afk":false,"pad":""}}'
    await wire.ws.send_str(frame.replace('""', f'"{"x" * (4096 - len(frame))}"'))
    await wire.send(1, None)
    assert (await wire.receive())["op"] == 11
    await wire.ws.send_str(frame.replace('""', f'"{"x" * (4097 - len(frame))}"'))
    assert await wire.close_code() == 4002


async def test_the_121st_send_of_a_minute_closes_with_4008_and_the_session_may_be_resumed(
    wires: Wires, guild: LocalGuild
) -> None:
    """#rate-limiting"""
    wire, session = await wires.begun()
    for _ in range(119):
        await wire.send(3, {"since": None, "activities": [], "status": "idle", "afk": False})
    await guild.post(guild.channel().id, "still here")
    await wire.event("MESSAGE_CREATE")
    await wire.send(3, {"since": None, "activities": [], "status": "idle", "afk": False})
    assert await wire.close_code() == 4008
    again = await wires.resume(session, wire.sequence)
    assert (await again.receive())["t"] == "RESUMED"


async def test_a_second_start_within_five_seconds_gets_an_invalid_session(
    wires: Wires, guild: LocalGuild, raw: Raw
) -> None:
    """#sharding-max-concurrency: one start for each group of shards and five seconds"""
    assert DISCORD.identifies == Limit(1, 5.0)
    guild.allow_requests(replace(DISCORD, max_concurrency=2))
    _, told, _ = await raw("GET", "/gateway/bot")
    keeps_to(told, "gateway_bot")
    assert told["session_start_limit"] == {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 2}
    first, second, third = [await wires.open() for _ in range(3)]
    await first.identify(shard=[0, 4])
    await second.identify(shard=[1, 4])
    await third.send(2, start(third, shard=[2, 4]))
    assert await third.receive() == INVALID, "shard 2 is of the group of shard 0"
    guild.pass_time(seconds=5)
    assert (await third.identify(shard=[2, 4]))["shard"] == [2, 4]
    assert (await raw("GET", "/gateway/bot"))[1]["session_start_limit"]["remaining"] == 997


async def test_when_no_start_is_left_all_sessions_end_and_the_token_is_reset(
    wires: Wires, guild: LocalGuild, raw: Raw
) -> None:
    """#identifying: 1,000 a day; resuming is not counted"""
    assert WIDE.session_starts == DISCORD.session_starts == Limit(1_000, 86_400.0)
    guild.allow_requests(replace(WIDE, session_starts=Limit(2, 86_400.0)))
    old = guild.bot_token
    first, session = await wires.begun()
    await first.ws.close(code=4000)
    again = await wires.resume(session, 2)
    await again.event("RESUMED")
    await (await wires.open()).identify()
    _, told, _ = await raw("GET", "/gateway/bot")
    assert told["session_start_limit"]["remaining"] == 0
    assert 86_000_000 < told["session_start_limit"]["reset_after"] <= 86_400_000
    last = await wires.open()
    await last.send(2, start(last))
    assert await last.close_code() == await again.close_code() == 4004
    assert (await raw("GET", "/users/@me", token=old))[0] == 401
    assert guild.bot_token != old


async def test_a_client_that_does_not_beat_is_closed_and_may_resume(wires: Wires, guild: LocalGuild) -> None:
    """#heartbeat-interval"""
    guild.heartbeats(seconds=0.1, patience=0.4)
    wire = Wire(await wires.session.ws_connect(guild.gateway_url), guild.bot_token)
    assert (await wire.receive())["d"]["heartbeat_interval"] == 100
    session = (await wire.identify())["session_id"]
    assert await wire.close_code() == 4009
    again = Wire(await wires.session.ws_connect(guild.gateway_url), guild.bot_token)
    await again.send(6, {"token": guild.bot_token, "session_id": session, "seq": wire.sequence})
    await again.event("RESUMED")


async def test_a_client_that_beats_stays_and_is_asked_for_a_beat(wires: Wires, guild: LocalGuild) -> None:
    """#heartbeat-requests"""
    wire = await wires.open()
    guild.request_heartbeat()
    assert (await wire.receive())["op"] == 1
    await wire.send(1, None)
    assert (await wire.receive())["op"] == 11


async def test_a_zombie_answers_no_heartbeat_and_sends_all_the_rest(wires: Wires, guild: LocalGuild) -> None:
    guild.heartbeats(answered=False)
    wire = await wires.open()
    await wire.identify()
    await wire.event("GUILD_CREATE")
    await wire.send(1, wire.sequence)
    await guild.post(guild.channel().id, "x")
    assert (await wire.receive())["t"] == "MESSAGE_CREATE"


@pytest.mark.parametrize("code", [1000, 1001])
async def test_who_closes_with_1000_or_1001_ends_the_session(wires: Wires, guild: LocalGuild, code: int) -> None:
    """#initiating-a-disconnect"""
    wire, session = await wires.begun()
    await wire.ws.close(code=code)
    await guild.wait_for(lambda g: not g.online)
    again = await wires.resume(session, 2)
    assert await again.receive() == INVALID


async def test_a_session_is_forgotten_after_some_minutes_and_when_too_much_was_missed(
    wires: Wires, guild: LocalGuild
) -> None:
    wire, session = await wires.begun()
    await wire.ws.close(code=4000)
    await guild.wait_for(lambda g: not g.online)
    late = await wires.open()
    for _ in range(REPLAYABLE):
        await guild.typing(guild.channel().id)
    await late.send(6, {"token": guild.bot_token, "session_id": session, "seq": 1})
    assert await late.receive() == INVALID, "the first of what was missed is gone"
    guild.pass_time(minutes=10)
    await (await wires.open()).identify()
    await late.send(6, {"token": guild.bot_token, "session_id": session, "seq": REPLAYABLE + 2})
    assert await late.receive() == INVALID


async def test_after_an_invalid_session_only_a_new_start_or_resuming_is_taken(wire: Wire, guild: LocalGuild) -> None:
    """topics/opcodes-and-status-codes: 4003 also when the session has been invalidated"""
    guild.invalidate_sessions()
    assert await wire.receive() == INVALID
    await wire.send(8, {"guild_id": str(guild.guild_id), "query": "", "limit": 0})
    assert await wire.close_code() == 4003


async def test_a_session_that_is_invalid_but_resumable_is_resumed_on_the_same_connection(
    wires: Wires, guild: LocalGuild
) -> None:
    wire, session = await wires.begun()
    guild.invalidate_sessions(resumable=True)
    assert await wire.receive() == INVALID | {"d": True}
    await guild.post(guild.channel().id, "missed")
    await wire.send(6, {"token": guild.bot_token, "session_id": session, "seq": wire.sequence})
    assert (await wire.event("MESSAGE_CREATE"))["content"] == "missed"


async def test_members_come_in_chunks_of_a_thousand_and_searches_find_a_hundred(wire: Wire, guild: LocalGuild) -> None:
    """events/gateway-events#request-guild-members"""
    for n in range(1_000):
        guild.add_member(f"m{n}")
    ask: dict[str, object] = {"guild_id": str(guild.guild_id), "limit": 0}
    await wire.send(8, ask | {"query": "", "nonce": "n" * 33})
    chunks = [await wire.event("GUILD_MEMBERS_CHUNK") for _ in range(2)]
    assert all(keeps_to(c, "members_chunk") for c in chunks)
    assert [(c["chunk_index"], c["chunk_count"], len(c["members"])) for c in chunks] == [(0, 2, 1000), (1, 2, 2)]
    assert "nonce" not in chunks[0], "a nonce over 32 bytes is left out"
    await wire.send(8, ask | {"query": "m", "limit": 500})
    assert len((await wire.event("GUILD_MEMBERS_CHUNK"))["members"]) == 100
    await wire.send(8, ask | {"user_ids": [str(guild.you.id), str(10**18)], "nonce": "two"})
    found = await wire.event("GUILD_MEMBERS_CHUNK")
    assert ([m["user"]["id"] for m in found["members"]], found["not_found"]) == ([str(guild.you.id)], [str(10**18)])
    assert found["nonce"] == "two"


async def test_all_members_are_sent_once_in_thirty_seconds(wire: Wire, guild: LocalGuild) -> None:
    """events/gateway-events#rate-limited"""
    guild.allow_requests(DISCORD)
    ask: dict[str, object] = {"guild_id": str(guild.guild_id), "query": "", "limit": 0, "nonce": "n"}
    await wire.send(8, ask)
    await wire.event("GUILD_MEMBERS_CHUNK")
    await wire.send(8, ask)
    limited = await wire.event("RATE_LIMITED")
    keeps_to(limited, "gateway_limited")
    assert (limited["opcode"], limited["meta"]) == (8, {"guild_id": str(guild.guild_id), "nonce": "n"})
    assert 25 < limited["retry_after"] <= 30
    await wire.send(8, ask | {"query": "you", "limit": 1})
    assert len((await wire.event("GUILD_MEMBERS_CHUNK"))["members"]) == 1, "searches are not limited"
    guild.pass_time(seconds=30)
    await wire.send(8, ask)
    await wire.event("GUILD_MEMBERS_CHUNK")
