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
from bot.local_discord.model.permission_flags import Permission
from tests.integration.local_discord.harness import TIMEOUT, Client, logged_in


async def test_login_brings_the_guild_with_its_channel_and_the_bots_rights(guild: LocalGuild, client: Client) -> None:
    [here] = client.guilds
    assert here.id == guild.guild_id
    assert [c.name for c in here.text_channels] == ["general"]
    assert here.me.id == guild.bot_user_id
    assert here.text_channels[0].permissions_for(here.me).send_messages_in_threads
    assert not here.me.guild_permissions.mention_everyone
    assert client.application_flags.gateway_message_content_limited


async def test_a_mention_arrives_as_one(guild: LocalGuild, client: Client) -> None:
    posted = await guild.post(guild.channel().id, f"{guild.bot.mention} hello")
    [message] = await client.hears("message")
    assert isinstance(message, discord.Message)
    assert (message.id, message.content) == (posted.id, f"<@{guild.bot_user_id}> hello")
    assert client.user in message.mentions
    assert message.author.name == "you"
    assert isinstance(message.author, discord.Member)


async def test_what_the_bot_posts_stands_in_the_channel(guild: LocalGuild, channel: discord.TextChannel) -> None:
    sent = await channel.send("**done**", embed=discord.Embed(title="t", description="d"), silent=True)
    [message] = guild.messages(channel.id)
    assert (message.id, message.content) == (sent.id, "**done**")
    assert message.embeds[0]["title"] == "t"
    assert message.silent
    assert message.author_id == guild.bot_user_id


async def test_a_thread_from_a_message_has_its_id_and_a_second_one_is_refused(
    guild: LocalGuild, channel: discord.TextChannel
) -> None:
    posted = await guild.post(channel.id, "task")
    message = await channel.fetch_message(posted.id)
    thread = await message.create_thread(name="the task")
    assert thread.id == message.id
    assert thread.parent_id == channel.id
    again = await channel.fetch_message(posted.id)
    with pytest.raises(discord.HTTPException) as refused:
        await again.create_thread(name="second")
    assert refused.value.code == 160004
    await thread.send("inside")
    starter, inside = guild.messages(thread.id)
    assert starter.reply_to == posted.id
    assert inside.content == "inside"
    assert [t.name for t in guild.threads()] == ["the task"]


async def test_a_thread_alone_is_announced_in_its_channel(
    guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    thread = await channel.create_thread(name="alone", type=discord.ChannelType.public_thread)
    assert thread.id != channel.id
    [notice] = guild.messages(channel.id)
    assert (notice.type, notice.content) == (18, "alone")
    joined = await client.hears("thread_create")
    assert [getattr(t, "id", None) for t in joined] == [thread.id]


async def test_a_thread_that_a_person_makes_is_heard_of(guild: LocalGuild, client: Client) -> None:
    made = await guild.create_thread(guild.channel().id, "by hand")
    await guild.post(made.id, f"{guild.bot.mention} here")
    [thread] = await client.hears("thread_create")
    assert isinstance(thread, discord.Thread)
    assert thread.id == made.id
    async with asyncio.timeout(TIMEOUT):
        while not any(isinstance(m, discord.Message) and m.channel.id == made.id for m in client.of("message")):
            await client.hears("message", len(client.of("message")) + 1)
    assert guild.bot_user_id in guild.threads()[0].member_ids, "a mention adds to the thread"


async def test_a_reaction_arrives_raw_with_member_type_and_burst(
    guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    sent = await channel.send("rate me")
    await guild.react(sent.id, "👍")
    [payload] = await client.hears("raw_reaction_add")
    assert isinstance(payload, discord.RawReactionActionEvent)
    assert (str(payload.emoji), payload.message_id, payload.user_id) == ("👍", sent.id, guild.you.id)
    assert payload.member is not None
    assert payload.member.name == "you"
    assert payload.type is discord.ReactionType.normal
    assert not payload.burst
    await guild.unreact(sent.id, "👍")
    [removed] = await client.hears("raw_reaction_remove")
    assert isinstance(removed, discord.RawReactionActionEvent)
    assert removed.event_type == "REACTION_REMOVE"


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


async def test_edits_by_both_sides_are_seen_by_the_other(
    guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    sent = await channel.send("1 of 3")
    await sent.edit(content="2 of 3")
    edited = guild.messages(channel.id)[0]
    assert edited.content == "2 of 3"
    assert edited.edited_at is not None
    posted = await guild.post(channel.id, "do this")
    await guild.edit(posted.id, "do that")
    async with asyncio.timeout(TIMEOUT):
        while not any(
            isinstance(e, discord.RawMessageUpdateEvent) and e.data["content"] == "do that"
            for e in client.of("raw_message_edit")
        ):
            await client.hears("raw_message_edit", len(client.of("raw_message_edit")) + 1)


async def test_deletions_by_both_sides_are_seen_by_the_other(
    guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    sent = await channel.send("mine")
    await sent.delete()
    assert guild.messages(channel.id) == []
    posted = await guild.post(channel.id, "yours")
    await guild.delete(posted.id)
    deleted = await client.hears("raw_message_delete", 2)
    assert isinstance(deleted[1], discord.RawMessageDeleteEvent)
    assert deleted[1].message_id == posted.id
    with pytest.raises(discord.NotFound) as gone:
        await channel.fetch_message(posted.id)
    assert gone.value.code == 10008


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


async def test_typing_is_seen_by_people_and_by_the_bot(
    guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    seen: list[str] = []
    guild.state.feed.subscribe(lambda event: seen.append(event.name))
    async with channel.typing():
        assert seen == ["TYPING_START"]
    await guild.typing(channel.id)
    heard = await client.hears("raw_typing", 2)
    assert isinstance(heard[1], discord.RawTypingEvent)
    assert heard[1].user_id == guild.you.id


async def test_a_nonce_sent_again_gives_the_same_message_and_no_second_event(
    guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    first = await channel.send("once", nonce="key-1")
    second = await channel.send("once", nonce="key-1")
    assert first.id == second.id
    await channel.send("other", nonce="key-2")
    await client.hears("message", 2)
    assert [m.content for m in guild.messages(channel.id)] == ["once", "other"]
    await first.delete()
    with pytest.raises(discord.HTTPException):
        await channel.send("once", nonce="key-1")
    guild.forget_nonces()
    assert (await channel.send("once", nonce="key-1")).id != first.id


async def test_a_missing_right_is_50013_and_an_unseen_channel_50001(
    guild: LocalGuild, channel: discord.TextChannel
) -> None:
    guild.deny(channel.id, Permission.SEND_MESSAGES)
    with pytest.raises(discord.Forbidden) as refused:
        await channel.send("no")
    assert refused.value.code == 50013
    guild.deny(channel.id, Permission.VIEW_CHANNEL)
    with pytest.raises(discord.Forbidden) as unseen:
        await channel.fetch_message(1)
    assert unseen.value.code == 50001


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


async def test_a_person_who_posts_reopens_an_archived_thread(guild: LocalGuild, client: Client) -> None:
    thread = await guild.create_thread(guild.channel().id, "old")
    await guild.archive(thread.id)
    await guild.post(thread.id, "again")
    assert not guild.threads()[0].archived


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


async def test_without_the_content_intent_only_mentions_have_text(guild: LocalGuild) -> None:
    intents = discord.Intents.default()
    async with logged_in(guild, intents) as client:
        await guild.post(guild.channel().id, "secret", files=[("a.txt", b"x")])
        await guild.post(guild.channel().id, f"{guild.bot.mention} shown")
        plain, mention = await client.hears("message", 2)
        assert isinstance(plain, discord.Message)
        assert isinstance(mention, discord.Message)
        assert (plain.content, plain.attachments) == ("", [])
        assert mention.content.endswith("shown")


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


async def test_dropped_connections_resume_and_miss_nothing(guild: LocalGuild, client: Client) -> None:
    guild.disconnect()
    await guild.wait_for(lambda g: not g.online)
    await guild.post(guild.channel().id, "while away")
    await client.hears("resumed")
    [message] = await client.hears("message")
    assert isinstance(message, discord.Message)
    assert message.content == "while away"


async def test_members_are_chunked_and_a_new_one_is_heard_of(guild: LocalGuild) -> None:
    ana = guild.add_member("ana")
    async with logged_in(guild) as client:
        [here] = client.guilds
        assert {m.name for m in here.members} == {"Threadwright", "you", "ana"}
        found = await here.query_members("an", cache=False)
        assert [m.id for m in found] == [ana.id]
        guild.add_member("bob")
        [joined] = await client.hears("member_join")
        assert isinstance(joined, discord.Member)
        assert joined.name == "bob"


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
