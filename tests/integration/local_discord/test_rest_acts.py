"""Further endpoints: what they change, what they answer, what they refuse."""

from __future__ import annotations

import errno

import aiohttp
import pytest

from bot.local_discord import (
    ApiError,
    Delayed,
    LocalGuild,
    Permission,
    Reset,
    Rule,
)
from tests.integration.local_discord.harness import Raw
from tests.integration.local_discord.shapes import keeps_to
from tests.integration.local_discord.wires import Wire

NOBODY = 1_000_000_000_000_000_000


async def test_members_join_and_leave_threads(raw: Raw, guild: LocalGuild, wire: Wire) -> None:
    """resources/channel#join-thread, #add-thread-member, #leave-thread, #remove-thread-member"""
    thread = await guild.create_thread(guild.channel().id, "t")
    ana = guild.add_member("ana")
    base = f"/channels/{thread.id}/thread-members"
    assert (await raw("PUT", base + "/@me"))[0] == 204
    assert (await raw("PUT", f"{base}/{ana.id}"))[0] == 204
    assert (await raw("PUT", f"{base}/{NOBODY}"))[1]["code"] == 10007
    assert guild.threads()[0].member_ids == (guild.you.id, guild.bot_user_id, ana.id)
    assert (await raw("DELETE", f"{base}/{ana.id}"))[0] == 204
    assert (await raw("DELETE", base + "/@me"))[0] == 204
    assert guild.threads()[0].member_ids == (guild.you.id,)
    changes = [await wire.event("THREAD_MEMBERS_UPDATE") for _ in range(4)]
    assert all(keeps_to(c, "thread_members_update") for c in changes)
    assert [c.get("removed_member_ids") for c in changes[2:]] == [[str(ana.id)], [str(guild.bot_user_id)]]
    await guild.archive(thread.id)
    assert (await raw("PUT", base + "/@me"))[1]["code"] == 50083


async def test_archived_threads_are_listed_and_channels_deleted_with_their_threads(
    raw: Raw, guild: LocalGuild, wire: Wire
) -> None:
    """resources/channel#list-public-archived-threads, #deleteclose-channel"""
    other = guild.add_channel("other")
    thread = await guild.create_thread(other.id, "old")
    await guild.archive(thread.id)
    _, listed, _ = await raw("GET", f"/channels/{other.id}/threads/archived/public")
    assert ([t["id"] for t in listed["threads"]], listed["has_more"]) == ([str(thread.id)], False)
    status, gone, _ = await raw("DELETE", f"/channels/{other.id}")
    assert (status, gone["id"]) == (200, str(other.id))
    assert (await wire.event("THREAD_DELETE"))["id"] == str(thread.id)
    keeps_to(await wire.event("CHANNEL_DELETE"), "channel")
    assert (await raw("GET", f"/channels/{thread.id}"))[1]["code"] == 10003
    with pytest.raises(LookupError, match="other"):
        guild.channel("other")


async def test_a_private_thread_needs_its_own_right_and_is_not_announced(raw: Raw, guild: LocalGuild) -> None:
    """resources/channel#start-thread-without-message"""
    path = f"/channels/{guild.channel().id}/threads"
    _, thread, _ = await raw("POST", path, {"name": "hidden", "type": 12})
    keeps_to(thread, "channel")
    assert thread["type"] == 12
    assert guild.messages(guild.channel().id) == []
    guild.deny(guild.channel().id, Permission.CREATE_PRIVATE_THREADS)
    assert (await raw("POST", path, {"name": "hidden", "type": 12}))[1]["code"] == 50013


async def test_reactions_are_listed_and_taken_away_one_kind_or_all(raw: Raw, guild: LocalGuild, wire: Wire) -> None:
    """resources/message#get-reactions, #delete-user-reaction, #delete-all-reactions"""
    sent = await raw.post(content="x")
    base = f"{raw.messages}/{sent['id']}/reactions"
    for emoji in ("👍", "👎", "🛑"):
        await guild.react(int(sent["id"]), emoji)
    _, users, _ = await raw("GET", base + "/👍")
    assert [keeps_to(u, "user") and u["id"] for u in users] == [str(guild.you.id)]
    assert (await raw("DELETE", f"{base}/👍/{guild.you.id}"))[0] == 204
    assert (await raw("DELETE", f"{base}/👍/{guild.you.id}"))[1]["code"] == 10014
    assert (await raw("DELETE", f"{base}/👍/@me"))[0] == 204, "taking back what is not there is no error"
    assert (await raw("DELETE", f"{base}/👎"))[0] == 204
    cleared = await wire.event("MESSAGE_REACTION_REMOVE_EMOJI")
    assert cleared["emoji"] == {"id": None, "name": "👎"}
    assert (await raw("DELETE", base))[0] == 204
    assert set(await wire.event("MESSAGE_REACTION_REMOVE_ALL")) == {"channel_id", "message_id", "guild_id"}
    assert guild.messages(guild.channel().id)[0].reactions == ()
    guild.deny(guild.channel().id, Permission.MANAGE_MESSAGES)
    await guild.react(int(sent["id"]), "👍")
    assert (await raw("DELETE", f"{base}/👍/{guild.you.id}"))[1]["code"] == 50013


async def test_history_around_a_message(raw: Raw, guild: LocalGuild) -> None:
    """resources/message#get-channel-messages"""
    posted = [await guild.post(guild.channel().id, str(n)) for n in range(9)]
    _, found, _ = await raw("GET", f"{raw.messages}?around={posted[4].id}&limit=4")
    assert [m["content"] for m in found] == ["6", "5", "4", "3", "2"]
    guild.deny(guild.channel().id, Permission.READ_MESSAGE_HISTORY)
    assert (await raw("GET", raw.messages))[:2] == (200, [])
    reply = {"content": "x", "message_reference": {"message_id": str(posted[0].id)}}
    assert (await raw("POST", raw.messages, reply))[1]["code"] == 160002


async def test_a_reply_to_a_deleted_message_may_be_allowed(raw: Raw) -> None:
    """resources/message#message-reference-structure: fail_if_not_exists"""
    reference = {"message_id": str(NOBODY), "fail_if_not_exists": False}
    sent = await raw.post(content="x", message_reference=reference)
    assert (sent["type"], "message_reference" in sent) == (0, False)


async def test_suppressing_embeds_of_anothers_message_needs_the_right_only(raw: Raw, guild: LocalGuild) -> None:
    """resources/message#edit-message: flags"""
    posted = await guild.post(guild.channel().id, "https://example.com")
    guild.unfurl(posted.id)
    path = f"{raw.messages}/{posted.id}"
    _, edited, _ = await raw("PATCH", path, {"flags": 4})
    assert (edited["embeds"], edited["flags"]) == ([], 4)
    guild.deny(guild.channel().id, Permission.MANAGE_MESSAGES)
    assert (await raw("PATCH", path, {"flags": 0}))[1]["code"] == 50013
    mine = await raw.post(content="x")
    assert (await raw("PATCH", f"{raw.messages}/{mine['id']}", {"content": ""}))[1]["code"] == 50006


async def test_one_command_is_read_and_changed(raw: Raw, guild: LocalGuild) -> None:
    """interactions/application-commands#edit-global-application-command"""
    path = f"/applications/{guild.bot_user_id}/commands"
    _, made, _ = await raw("POST", path, {"name": "a", "description": "old"})
    one = f"{path}/{made['id']}"
    _, changed, _ = await raw("PATCH", one, {"description": "new"})
    assert (changed["id"], changed["description"]) == (made["id"], "new")
    assert changed["version"] != made["version"]
    assert (await raw("GET", one))[1] == changed
    _, again, _ = await raw("POST", path, {"name": "a", "description": "newer"})
    assert again["id"] == made["id"]
    assert (await raw("GET", f"{path}/{NOBODY}"))[1]["code"] == 10063
    assert (await raw("GET", f"/applications/{guild.bot_user_id}/guilds/{NOBODY}/commands"))[1]["code"] == 10004


async def test_an_answer_that_does_not_fit_is_refused_and_may_be_given_again(
    raw: Raw, guild: LocalGuild, wire: Wire
) -> None:
    button = {"type": 2, "style": 1, "label": "b", "custom_id": "go", "disabled": False}
    sent = await raw.post(content="x", components=[{"type": 1, "components": [button]}])
    await guild.click(int(sent["id"]), "go")
    click = await wire.event("INTERACTION_CREATE")
    path = f"/interactions/{click['id']}/{click['token']}/callback"
    for body in ({"type": 99}, {"type": 4, "data": {"content": "x" * 2001}}, {"type": 4, "data": {}}, {}):
        status, refused, _ = await raw("POST", path, body)
        assert (status, keeps_to(refused, "error")) == (400, True)
    update = {"type": 7, "data": {"content": "chosen", "components": []}}
    _, answered, _ = await raw("POST", path + "?with_response=true", update)
    assert answered["resource"]["message"]["content"] == "chosen"
    hook = f"/webhooks/{guild.bot_user_id}/{click['token']}"
    assert (await raw("GET", hook + "/messages/@original"))[1]["id"] == sent["id"]
    assert (await raw("POST", hook, {}))[1]["code"] == 50006
    with pytest.raises(Exception, match="10008"):
        await guild.click(int(sent["id"]), "go")


async def test_a_disabled_button_and_a_missing_option_cannot_be_used(raw: Raw, guild: LocalGuild) -> None:
    button = {"type": 2, "style": 1, "label": "b", "custom_id": "go", "disabled": True}
    sent = await raw.post(content="x", components=[{"type": 1, "components": [button]}])
    with pytest.raises(ValueError, match="disabled"):
        await guild.click(int(sent["id"]), "go")
    option = {"name": "n", "description": "d", "type": 4, "required": True}
    await raw(
        "PUT", f"/applications/{guild.bot_user_id}/commands", [{"name": "a", "description": "d", "options": [option]}]
    )
    with pytest.raises(ApiError, match="50035"):
        await guild.slash(guild.channel().id, "a")
    with pytest.raises(LookupError, match="subcommand"):
        await guild.slash(guild.channel().id, "a b", {"n": 1})


async def test_an_interaction_that_nobody_answers_fails_after_three_seconds(
    raw: Raw, guild: LocalGuild, wire: Wire
) -> None:
    failures: list[str] = []
    guild.state.feed.subscribe(lambda e: failures.append(str(e.data["reason"])) if "FAILURE" in e.name else None)
    await raw("PUT", f"/applications/{guild.bot_user_id}/commands", [{"name": "slow", "description": "d"}])
    guild.misbehave(Rule("POST /interactions/*", Delayed(3.2)))
    await guild.slash(guild.channel().id, "slow")
    used = await wire.event("INTERACTION_CREATE")
    path = f"/interactions/{used['id']}/{used['token']}/callback"
    assert (await raw("POST", path, {"type": 5}))[1]["code"] == 10062
    assert failures == ["The application did not respond"]


async def test_a_reset_before_it_landed_leaves_nothing(raw: Raw, guild: LocalGuild) -> None:
    guild.misbehave(Rule("POST */messages", Reset()))
    with pytest.raises(aiohttp.ClientOSError) as reset:
        await raw("POST", raw.messages, {"content": "x"})
    assert reset.value.errno == errno.ECONNRESET
    assert guild.messages(guild.channel().id) == []
    guild.misbehave(Rule("POST */messages", Reset(), times=None))
    guild.misbehaviour.clear()
    await raw.post(content="y")
