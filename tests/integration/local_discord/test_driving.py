"""What a test can make people, the guild's owner and the network do."""

from __future__ import annotations

import discord
import pytest

from bot.local_discord import LocalGuild
from bot.local_discord.model.errors import ApiError
from bot.local_discord.model.permission_flags import Permission
from tests.integration.local_discord.harness import Client, Raw, logged_in


async def test_roles_are_given_and_taken_and_the_bot_hears_of_it(guild: LocalGuild, client: Client) -> None:
    role = guild.add_role("operators", Permission.MANAGE_MESSAGES, mentionable=True)
    ana = guild.add_member("ana", [role.id])
    [joined] = await client.hears("member_join")
    assert isinstance(joined, discord.Member)
    assert [r.name for r in joined.roles] == ["@everyone", "operators"]
    assert joined.guild_permissions.manage_messages
    guild.set_roles(ana, [])
    await client.hears("member_update")
    assert not joined.guild_permissions.manage_messages


async def test_people_have_only_their_own_rights(guild: LocalGuild) -> None:
    channel = guild.channel().id
    posted = await guild.post(channel, "mine")
    ana = guild.add_member("ana")
    with pytest.raises(ApiError, match="50013"):
        await guild.delete(posted.id, author=ana)
    with pytest.raises(ApiError, match="50005"):
        await guild.edit(posted.id, "hers", author=ana)
    guild.deny(channel, Permission.SEND_MESSAGES, member=ana)
    with pytest.raises(ApiError, match="50013"):
        await guild.post(channel, "x", author="ana")
    with pytest.raises(LookupError, match="bob"):
        await guild.post(channel, "x", author="bob")


async def test_overwrites_apply_in_discords_order_everyone_then_roles_then_the_member(guild: LocalGuild) -> None:
    """topics/permissions#permission-overwrites"""
    channel = guild.channel().id
    role = guild.add_role("helpers")
    ana = guild.add_member("ana", [role.id])
    guild.deny(channel, Permission.SEND_MESSAGES, role=guild.guild_id)
    with pytest.raises(ApiError, match="50013"):
        await guild.post(channel, "x", author=ana)
    guild.allow(channel, Permission.SEND_MESSAGES, role=role.id)
    await guild.post(channel, "x", author=ana)
    guild.deny(channel, Permission.SEND_MESSAGES, member=ana)
    with pytest.raises(ApiError, match="50013"):
        await guild.post(channel, "x", author=ana)
    await guild.post(channel, "the owner may always")
    administrator = guild.add_role("administrators", Permission.ADMINISTRATOR)
    guild.set_roles(ana, [administrator.id])
    await guild.post(channel, "x", author=ana)


async def test_a_mentionable_role_is_pinged_and_another_is_not(guild: LocalGuild, raw: Raw) -> None:
    loud = guild.add_role("loud", mentionable=True)
    quiet = guild.add_role("quiet")
    sent = await raw.post(content=f"<@&{loud.id}> <@&{quiet.id}>")
    assert sent["mention_roles"] == [str(loud.id)]
    silenced = await raw.post(content=f"<@&{loud.id}>", allowed_mentions={"parse": []})
    assert silenced["mention_roles"] == []
    in_code = await raw.post(content=f"`<@&{loud.id}>` ```\n<@{guild.you.id}>\n```")
    assert (in_code["mention_roles"], in_code["mentions"]) == ([], [])
    asked = await guild.post(guild.channel().id, "?")
    answer = {"content": "!", "message_reference": {"message_id": str(asked.id)}}
    assert [u["id"] for u in (await raw.post(**answer))["mentions"]] == [str(guild.you.id)]
    quietly = answer | {"allowed_mentions": {"parse": ["users"], "replied_user": False}}
    assert (await raw.post(**quietly))["mentions"] == []


async def test_a_kicked_bot_is_told_and_sees_nothing_until_it_is_invited_again(
    guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    guild.remove_bot()
    await client.hears("guild_remove")
    with pytest.raises(discord.Forbidden) as refused:
        await channel.send("x")
    assert refused.value.code == 50001
    await guild.post(channel.id, "unheard")
    guild.readmit_bot()
    await client.hears("guild_join")
    await guild.post(channel.id, "heard")
    message = await client.message()
    assert message.content == "heard"


async def test_a_connection_whose_heartbeats_go_unanswered_is_given_up_and_resumed(guild: LocalGuild) -> None:
    guild.heartbeats(seconds=0.1, answered=False)
    intents = discord.Intents(guilds=True)
    client = Client(intents, heartbeat_timeout=0.5)
    async with logged_in(guild, client=client):
        guild.heartbeats(seconds=41, answered=True)
        await client.hears("resumed", timeout=30)


async def test_a_person_may_write_4000_characters_and_no_more(guild: LocalGuild, client: Client) -> None:
    await guild.post(guild.channel().id, "x" * 4000)
    message = await client.message()
    assert len(message.content) == 4000
    with pytest.raises(ApiError, match="50035"):
        await guild.post(guild.channel().id, "x" * 4001)


async def test_a_taken_port_is_named_with_what_to_do(guild: LocalGuild) -> None:
    port = int(guild.url.rpartition(":")[2])
    with pytest.raises(OSError, match=f"Port {port} .* another port"):
        await LocalGuild.start(port=port)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "a\x00b.txt", "n" * 300, "a b#c?d%2e.txt", "ünï.txt"]
)
async def test_a_file_of_any_name_can_be_fetched(guild: LocalGuild, client: Client, name: str) -> None:
    """As people's own programs may name files; what the bot makes of the name is the bot's affair."""
    await guild.post(guild.channel().id, "", files=[(name, b"content")])
    message = await client.message()
    assert message.attachments[0].filename == name
    assert await message.attachments[0].read() == b"content"
