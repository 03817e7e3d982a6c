"""The gateway's events, field by field against Discord's published structures.

https://discord.com/developers/docs/events/gateway-events
"""

from __future__ import annotations

from bot.local_discord import (
    LocalGuild,
)
from bot.local_discord.model.permission_flags import Permission
from tests.integration.local_discord.harness import Raw
from tests.integration.local_discord.shapes import keeps_to
from tests.integration.local_discord.wires import Wire, Wires


async def test_ready_and_the_guild_keep_to_the_published_fields(wires: Wires, guild: LocalGuild) -> None:
    """events/gateway-events#ready, #guild-create"""
    thread = await guild.create_thread(guild.channel().id, "open")
    old = await guild.create_thread(guild.channel().id, "old")
    await guild.archive(old.id)
    wire = await wires.open()
    ready = await wire.identify()
    keeps_to(ready, "ready")
    assert ready["v"] == 10
    assert ready["guilds"] == [{"id": str(guild.guild_id), "unavailable": True}]
    assert ready["application"]["id"] == str(guild.bot_user_id)
    created = await wire.event("GUILD_CREATE")
    keeps_to(created, "guild_create")
    assert [t["id"] for t in created["threads"]] == [str(thread.id)], "archived ones are left out"
    assert len(created["members"]) == 2
    assert wire.sequence == 2


async def test_without_the_members_intent_only_the_bot_is_listed(wires: Wires, guild: LocalGuild) -> None:
    wire = await wires.open()
    await wire.identify(1)
    created = await wire.event("GUILD_CREATE")
    assert [m["user"]["id"] for m in created["members"]] == [str(guild.bot_user_id)]


async def test_message_events_keep_to_the_published_fields(wire: Wire, guild: LocalGuild) -> None:
    """events/gateway-events#message-create, #message-update, #message-delete, #typing-start"""
    channel = guild.channel().id
    posted = await guild.post(channel, f"{guild.bot.mention} x", files=[("a.txt", b"a")])
    created = await wire.event("MESSAGE_CREATE")
    keeps_to(created, "message_create")
    assert created["guild_id"] == str(guild.guild_id)
    assert "user" not in created["member"]
    assert created["mentions"][0]["member"]["roles"] == [str(guild.bot.roles[0])]
    await guild.edit(posted.id, "y")
    updated = await wire.event("MESSAGE_UPDATE")
    keeps_to(updated, "message_create")
    assert updated["edited_timestamp"] is not None
    await guild.typing(channel)
    keeps_to(await wire.event("TYPING_START"), "typing_start")
    await guild.delete(posted.id)
    deleted = await wire.event("MESSAGE_DELETE")
    keeps_to(deleted, "message_delete")
    assert deleted["id"] == str(posted.id)


async def test_thread_events_keep_to_the_published_fields(wire: Wire, guild: LocalGuild) -> None:
    """events/gateway-events#thread-create, #thread-members-update, #thread-update, #thread-delete"""
    posted = await guild.post(guild.channel().id, "x")
    thread = await guild.create_thread(posted.id, "t")
    created = await wire.event("THREAD_CREATE")
    keeps_to(created, "thread_create")
    assert created["newly_created"] is True
    updated = await wire.event("MESSAGE_UPDATE")
    assert updated["edited_timestamp"] is None, "a thread is no edit"
    starter = await wire.event("MESSAGE_CREATE")
    keeps_to(starter, "message_create")
    assert (starter["type"], starter["referenced_message"]["id"]) == (21, str(posted.id))
    await guild.post(thread.id, guild.bot.mention)
    joined = await wire.event("THREAD_MEMBERS_UPDATE")
    keeps_to(joined, "thread_members_update")
    assert [m["user_id"] for m in joined["added_members"]] == [str(guild.bot_user_id)], "a mention adds to the thread"
    await guild.archive(thread.id)
    archived = await wire.event("THREAD_UPDATE")
    keeps_to(archived, "channel")
    assert archived["thread_metadata"]["archived"] is True
    await guild.delete_channel(thread.id)
    assert set(await wire.event("THREAD_DELETE")) == {"id", "guild_id", "parent_id", "type"}


async def test_reaction_events_keep_to_the_published_fields(wire: Wire, guild: LocalGuild) -> None:
    """events/gateway-events#message-reaction-add, #message-reaction-remove"""
    posted = await guild.post(guild.channel().id, "x")
    await guild.react(posted.id, "stop:1234567890123456789")
    added = await wire.event("MESSAGE_REACTION_ADD")
    keeps_to(added, "reaction_add")
    assert added["emoji"] == {"id": "1234567890123456789", "name": "stop"}
    assert (added["type"], added["burst"]) == (0, False)
    assert added["member"]["user"]["id"] == added["user_id"] == added["message_author_id"] == str(guild.you.id)
    await guild.unreact(posted.id, "stop:1234567890123456789")
    keeps_to(await wire.event("MESSAGE_REACTION_REMOVE"), "reaction_remove")


async def test_interactions_keep_to_the_published_fields(wire: Wire, guild: LocalGuild, raw: Raw) -> None:
    """interactions/receiving-and-responding"""
    button = {"type": 2, "style": 1, "label": "b", "custom_id": "go"}
    sent = await raw.post(content="x", components=[{"type": 1, "components": [button]}])
    await guild.click(int(sent["id"]), "go")
    click = await wire.event("INTERACTION_CREATE")
    keeps_to(click, "interaction")
    keeps_to(click["data"], "component_data")
    assert (click["type"], click["message"]["id"]) == (3, sent["id"])
    assert click["member"]["permissions"].isdigit()
    answer = {"type": 4, "data": {"content": "ok", "flags": 64}}
    path = f"/interactions/{click['id']}/{click['token']}/callback"
    status, answered, _ = await raw("POST", path + "?with_response=true", answer)
    assert status == 200
    keeps_to(answered, "callback_response")
    assert answered["interaction"]["response_message_ephemeral"] is True
    assert answered["resource"]["message"]["interaction_metadata"]["interacted_message_id"] == sent["id"]
    assert (await raw("POST", path, answer))[1]["code"] == 40060
    private = answered["resource"]["message"]["id"]
    assert (await raw("PATCH", f"{raw.messages}/{private}", {"content": "x"}))[1]["code"] == 10008
    hook = f"/webhooks/{guild.bot_user_id}/{click['token']}"
    _, followed, _ = await raw("POST", hook, {"content": "more"})
    keeps_to(followed, "message")
    assert (await raw("PATCH", hook + "/messages/@original", {"content": "ok!"}))[1]["content"] == "ok!"
    assert (await raw("DELETE", f"{hook}/messages/{followed['id']}"))[0] == 204
    assert (await raw("GET", f"{hook}/messages/{followed['id']}"))[1]["code"] == 10008
    commands = f"/applications/{guild.bot_user_id}/commands"
    await raw("PUT", commands, [{"name": "status", "description": "d"}])
    await guild.slash(guild.channel().id, "status")
    used = await wire.event("INTERACTION_CREATE")
    keeps_to(used, "interaction")
    keeps_to(used["data"], "command_data")
    path = f"/interactions/{used['id']}/{used['token']}/callback"
    assert (await raw("POST", path, {"type": 5}))[0] == 204, "nothing comes back unless asked for"


async def test_events_that_were_not_asked_for_or_may_not_be_seen_are_not_sent(wires: Wires, guild: LocalGuild) -> None:
    wire = await wires.open()
    await wire.identify(1 << 0 | 1 << 9)
    hidden = guild.add_channel("hidden")
    guild.deny(hidden.id, Permission.VIEW_CHANNEL)
    posted = await guild.post(guild.channel().id, "no content without the intent", files=[("a.txt", b"x")])
    await guild.react(posted.id, "👍")
    await guild.post(hidden.id, "unseen")
    await guild.post(guild.channel().id, guild.bot.mention)
    created = [await wire.event("MESSAGE_CREATE") for _ in range(2)]
    assert [(m["content"], m["attachments"]) for m in created] == [("", []), (guild.bot.mention, [])]
    assert wire.sequence == 6, "READY, GUILD_CREATE, the new channel twice, two messages"


async def test_who_gains_sight_of_a_channel_is_sent_its_threads(wire: Wire, guild: LocalGuild) -> None:
    """topics/threads#gaining-access-to-channels"""
    channel = guild.add_channel("hidden")
    guild.deny(channel.id, Permission.VIEW_CHANNEL)
    thread = await guild.create_thread(channel.id, "inside")
    old = await guild.create_thread(channel.id, "old")
    await guild.archive(old.id)
    guild.deny(channel.id)
    synced = await wire.event("THREAD_LIST_SYNC")
    keeps_to(synced, "thread_list_sync")
    assert ([t["id"] for t in synced["threads"]], synced["channel_ids"]) == ([str(thread.id)], [str(channel.id)])
    guild.deny(channel.id, Permission.EMBED_LINKS)
    await guild.post(channel.id, "seen before, seen now")
    names = [(await wire.receive())["t"] for _ in range(2)]
    assert names == ["CHANNEL_UPDATE", "MESSAGE_CREATE"], "nothing to sync"
