"""What the guild does wrong when told to, seen by a client that is not a library."""

from __future__ import annotations

import time

import aiohttp
import pytest

from bot.local_discord import (
    AnswerFirst,
    Delayed,
    Dropped,
    Duplicated,
    ErrorAnswer,
    EventsFirst,
    LocalGuild,
    RateLimited,
    Reordered,
    Reset,
    Rule,
    SessionLost,
)
from tests.integration.local_discord.harness import Raw
from tests.integration.local_discord.wires import Wire, Wires


async def contents(wire: Wire, count: int) -> list[str]:
    return [(await wire.event("MESSAGE_CREATE"))["content"] for _ in range(count)]


async def test_a_request_that_landed_may_be_answered_with_500(raw: Raw, guild: LocalGuild, wire: Wire) -> None:
    guild.misbehave(Rule("POST */messages", ErrorAnswer(500, landed=True)))
    status, answer, _ = await raw("POST", raw.messages, {"content": "landed", "nonce": "1", "enforce_nonce": True})
    assert (status, answer["code"]) == (500, 0)
    assert await contents(wire, 1) == ["landed"]
    _, again, _ = await raw("POST", raw.messages, {"content": "landed", "nonce": "1", "enforce_nonce": True})
    assert [str(m.id) for m in guild.messages(guild.channel().id)] == [again["id"]]
    await raw.post(content="next")
    assert await contents(wire, 1) == ["next"], "no second event"


async def test_events_may_be_made_to_leave_before_the_answer(raw: Raw, guild: LocalGuild, wire: Wire) -> None:
    guild.misbehave(Rule("POST */messages", EventsFirst()))
    guild.misbehave(Rule("MESSAGE_CREATE", Delayed(1.0)))
    begun = time.monotonic()
    await raw.post(content="heard by now")
    assert time.monotonic() - begun >= 1.0, "the answer waited for the event"
    assert await contents(wire, 1) == ["heard by now"]


async def test_events_may_be_made_to_leave_after_the_answer(raw: Raw, guild: LocalGuild, wire: Wire) -> None:
    guild.misbehave(Rule("POST */messages", AnswerFirst(1.5)))
    sent = await raw.post(content="answered first")
    with pytest.raises(TimeoutError):
        await wire.ws.receive_json(timeout=0.2)
    assert (await wire.event("MESSAGE_CREATE"))["id"] == sent["id"]


async def test_a_delayed_event_holds_up_what_comes_after_it(wire: Wire, guild: LocalGuild) -> None:
    guild.misbehave(Rule("MESSAGE_CREATE", Delayed(1.0)))
    await guild.post(guild.channel().id, "late")
    await guild.post(guild.channel().id, "and then")
    with pytest.raises(TimeoutError):
        await wire.ws.receive_json(timeout=0.2)
    assert await contents(wire, 2) == ["late", "and then"]


@pytest.mark.parametrize("landed", [False, True])
async def test_a_connection_that_is_reset_at_an_event_is_resumed_and_misses_nothing(
    wires: Wires, guild: LocalGuild, landed: bool
) -> None:
    wire, session = await wires.begun()
    guild.misbehave(Rule("MESSAGE_CREATE", Reset(landed=landed)))
    await guild.post(guild.channel().id, "at the reset")
    heard: list[str] = []
    while (message := await wire.ws.receive(timeout=5)).type is aiohttp.WSMsgType.TEXT:
        heard.append(message.json()["d"]["content"])
    assert wire.ws.close_code in (None, 1006), "no closing handshake"
    assert len(heard) <= landed
    await guild.wait_for(lambda g: not g.online)
    again = await wires.resume(session, wire.sequence)
    assert await contents(again, 1) == ["at the reset"]


async def test_dropped_events_come_with_resuming(wires: Wires, guild: LocalGuild) -> None:
    wire, session = await wires.begun()
    guild.misbehave(Rule("MESSAGE_CREATE", Dropped()))
    await guild.post(guild.channel().id, "dropped")
    guild.misbehave(Rule("MESSAGE_CREATE", SessionLost(close_code=4000)))
    await guild.post(guild.channel().id, "closed")
    assert await wire.close_code() == 4000
    again = await wires.resume(session, 2)
    assert await contents(again, 2) == ["dropped", "closed"]


async def test_an_event_twice_has_the_same_number_and_a_swapped_one_the_lower(wire: Wire, guild: LocalGuild) -> None:
    guild.misbehave(Rule("MESSAGE_CREATE", Duplicated()))
    guild.misbehave(Rule("MESSAGE_CREATE", Reordered()))
    for n in range(3):
        await guild.post(guild.channel().id, str(n))
    frames = [await wire.receive() for _ in range(4)]
    assert [f["d"]["content"] for f in frames] == ["0", "0", "2", "1"]
    assert frames[0]["s"] == frames[1]["s"] < frames[3]["s"] < frames[2]["s"]


async def test_a_session_is_lost_with_a_word_on_whether_it_may_be_resumed(wires: Wires, guild: LocalGuild) -> None:
    for resumable in (True, False):
        wire, session = await wires.begun()
        guild.misbehave(Rule("MESSAGE_CREATE", SessionLost(op=9, resumable=resumable)))
        await guild.post(guild.channel().id, "x")
        assert await wire.receive() == {"op": 9, "d": resumable, "s": None, "t": None}
        await wire.send(6, {"token": guild.bot_token, "session_id": session, "seq": wire.sequence})
        frame = await wire.receive()
        assert (frame["t"], frame["d"]) == ("MESSAGE_CREATE", frame["d"]) if resumable else frame["op"] == 9
        await wire.ws.close()


async def test_a_slow_answer_takes_effect_at_once_or_at_its_end(raw: Raw, guild: LocalGuild) -> None:
    guild.misbehave(Rule("POST */messages", Delayed(5.0, landed=True)))
    with pytest.raises(TimeoutError):
        await raw("POST", raw.messages, {"content": "landed"}, timeout=aiohttp.ClientTimeout(0.3))
    guild.misbehave(Rule("POST */messages", Delayed(5.0)))
    with pytest.raises(TimeoutError):
        await raw("POST", raw.messages, {"content": "not yet"}, timeout=aiohttp.ClientTimeout(0.3))
    assert [m.content for m in guild.messages(guild.channel().id)] == ["landed"]


async def test_rules_hold_for_as_many_matches_as_they_say_and_after_as_many(raw: Raw, guild: LocalGuild) -> None:
    guild.misbehave(Rule("GET /users/@me", RateLimited(retry_after=0.01), times=2, skip=1))
    assert [(await raw("GET", "/users/@me"))[0] for _ in range(4)] == [200, 429, 429, 200]
    guild.misbehave(Rule("GET /users/*", ErrorAnswer(502), times=None))
    assert [(await raw("GET", "/users/@me"))[0] for _ in range(3)] == [502] * 3
    guild.misbehaviour.clear()
    assert (await raw("GET", "/users/@me"))[0] == 200
    assert len(guild.misbehaviour.applied) == 5


async def test_a_thread_and_a_link_preview_are_updates_that_are_no_edits(wire: Wire, guild: LocalGuild) -> None:
    posted = await guild.post(guild.channel().id, "https://example.com/")
    guild.unfurl(posted.id)
    preview = await wire.event("MESSAGE_UPDATE")
    assert (len(preview["embeds"]), preview["edited_timestamp"]) == (1, None)
    await guild.create_thread(posted.id, "t")
    started = await wire.event("MESSAGE_UPDATE")
    assert (started["flags"] & 1 << 5, started["edited_timestamp"]) == (1 << 5, None)
    assert started["thread"]["id"] == str(posted.id)
