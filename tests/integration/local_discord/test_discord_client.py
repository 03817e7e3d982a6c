"""The unmodified discord.py over real sockets: what a bot does all day."""

from __future__ import annotations

import asyncio
import io
from dataclasses import replace

import discord
import pytest

from bot.local_discord import (
    DISCORD,
    ErrorAnswer,
    Limit,
    LocalGuild,
    RateLimited,
    Rule,
)
from tests.integration.local_discord.harness import Client


async def test_login_brings_the_guild_with_its_channel_and_the_bots_rights(guild: LocalGuild, client: Client) -> None:
    [here] = client.guilds
    assert here.id == guild.guild_id
    assert [c.name for c in here.text_channels] == ["general"]
    assert here.me.id == guild.bot_user_id
    assert here.text_channels[0].permissions_for(here.me).send_messages_in_threads
    assert not here.me.guild_permissions.mention_everyone
    assert client.application_flags.gateway_message_content_limited


async def test_what_the_bot_posts_stands_in_the_channel(guild: LocalGuild, channel: discord.TextChannel) -> None:
    sent = await channel.send("**done**", embed=discord.Embed(title="t", description="d"), silent=True)
    [message] = guild.messages(channel.id)
    assert (message.id, message.content) == (sent.id, "**done**")
    assert message.embeds[0]["title"] == "t"
    assert message.silent
    assert message.author_id == guild.bot_user_id


async def test_the_bot_reacts_and_takes_it_back(
    guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    posted = await guild.post(channel.id, "hi")
    message = await channel.fetch_message(posted.id)
    await message.add_reaction("👀")
    assert guild.messages(channel.id)[0].reactors("👀") == (guild.bot_user_id,)
    assert client.user is not None
    await message.remove_reaction("👀", client.user)
    assert guild.messages(channel.id)[0].reactions == ()


async def test_files_travel_both_ways_with_name_and_content_type(
    guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    await channel.send("log", file=discord.File(io.BytesIO(b"\x00\x01result"), "out put.bin", description="the log"))
    [attachment] = guild.messages(channel.id)[0].attachments
    assert (attachment.filename, attachment.description) == ("out_put.bin", "the log")
    assert guild.file(attachment.id) == b"\x00\x01result"
    await guild.post(channel.id, "", files=[("data.csv", b"a,b\n1,2\n")])
    messages = await client.hears("message", 2)
    assert isinstance(messages[1], discord.Message)
    [received] = messages[1].attachments
    assert (received.filename, received.size) == ("data.csv", 8)
    assert (received.content_type or "").startswith("text/csv")
    assert await received.read() == b"a,b\n1,2\n"


async def test_an_archived_thread_takes_nothing_until_it_is_unarchived(
    guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    thread = await channel.create_thread(name="old", type=discord.ChannelType.public_thread)
    sent = await thread.send("before")
    await guild.archive(thread.id)
    for act in (thread.send("after"), sent.edit(content="x"), sent.add_reaction("👍")):
        with pytest.raises(discord.HTTPException) as refused:
            await act
        assert refused.value.code == 50083
    await thread.edit(archived=False)
    await thread.send("after")
    assert guild.messages(thread.id)[-1].content == "after"


async def test_over_2000_characters_is_refused_in_discords_words(channel: discord.TextChannel) -> None:
    await channel.send("x" * 2000)
    with pytest.raises(discord.HTTPException) as refused:
        await channel.send("x" * 2001)
    assert refused.value.code == 50035
    assert "Must be 2000 or fewer in length." in refused.value.text


async def test_nobody_is_pinged_unless_allowed_also_on_edit(guild: LocalGuild, channel: discord.TextChannel) -> None:
    everyone = f"@everyone {guild.you.mention}"
    sent = await channel.send(everyone, allowed_mentions=discord.AllowedMentions.none())
    assert not guild.messages(channel.id)[0].ever_pinged
    await sent.edit(content=everyone + "!", allowed_mentions=discord.AllowedMentions.none())
    assert not guild.messages(channel.id)[0].ever_pinged
    await sent.edit(content=everyone + "?", allowed_mentions=discord.AllowedMentions(users=True))
    pings = guild.messages(channel.id)[0].ever_pinged
    assert pings.users == (guild.you.id,)
    assert not pings.everyone, "the bot may not mention everyone"


async def test_a_reply_shows_what_it_answers(guild: LocalGuild, client: Client, channel: discord.TextChannel) -> None:
    posted = await guild.post(channel.id, "question")
    message = await channel.fetch_message(posted.id)
    await message.reply("answer", mention_author=False)
    reply = guild.messages(channel.id)[1]
    assert reply.reply_to == posted.id
    assert not reply.pings
    await guild.post(channel.id, "thanks", reply_to=reply.id)
    messages = await client.hears("message", 3)
    assert isinstance(messages[2], discord.Message)
    assert messages[2].reference is not None
    assert isinstance(messages[2].reference.resolved, discord.Message)
    assert messages[2].reference.resolved.content == "answer"


async def test_history_pages_back_and_forth(guild: LocalGuild, channel: discord.TextChannel) -> None:
    for n in range(130):
        await guild.post(channel.id, str(n))
    newest_first = [m.content async for m in channel.history(limit=None)]
    assert newest_first == [str(n) for n in reversed(range(130))]
    since = guild.messages(channel.id)[119].id
    assert [m.content async for m in channel.history(after=discord.Object(since))] == [str(n) for n in range(120, 130)]


async def test_a_rate_limit_is_waited_for_and_a_server_error_tried_again(
    guild: LocalGuild, channel: discord.TextChannel
) -> None:
    guild.misbehave(Rule("POST */messages", RateLimited(retry_after=0.05)))
    await channel.send("late but there")
    guild.misbehave(Rule("POST */messages", ErrorAnswer(503, 0, "Service Unavailable")))
    with pytest.raises(discord.DiscordServerError) as refused:
        await channel.send("not there")
    assert refused.value.status == 503, "discord.py does not try 503 again"
    assert [m.content for m in guild.messages(channel.id)] == ["late but there"]


async def test_told_of_a_bucket_in_the_headers_discord_py_keeps_to_it(
    guild: LocalGuild, channel: discord.TextChannel
) -> None:
    messages = replace(DISCORD.routes[0], limit=Limit(3, 0.6))
    guild.allow_requests(replace(DISCORD, routes=(messages, *DISCORD.routes[1:])))
    before = len(guild.asked)
    await asyncio.gather(*(channel.send(str(n)) for n in range(8)))
    assert {m.content for m in guild.messages(channel.id)} == {str(n) for n in range(8)}
    posts = [a for a in guild.asked[before:] if a.what.startswith("POST")]
    assert len(posts) == 8, "nothing was refused, so nothing was sent again"
