"""Everything that is not a plain text: polls, forwards, voice, stickers, webhooks, and what the system says."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import aiohttp
import discord
import pytest

from bot.local_discord import (
    ApiError,
    LocalGuild,
    Permission,
    Upload,
)
from tests.integration.local_discord.harness import Client, Raw
from tests.integration.local_discord.shapes import keeps_to
from tests.integration.local_discord.wires import ALL_INTENTS, Wire, Wires


async def refused(act: Any) -> int:
    """The code with which an act is refused."""
    with pytest.raises(ApiError) as error:
        await act
    return error.value.code


async def test_a_poll_is_asked_voted_on_and_ended(guild: LocalGuild, client: Client, wires: Wires) -> None:
    wire = await wires.open()
    await wire.identify(ALL_INTENTS | 1 << 24)
    ana = guild.add_member("ana")
    poll = await guild.ask_poll(guild.channel().id, "Tabs?", ["yes", "no"])
    assert keeps_to(await wire.event("MESSAGE_CREATE"), "message_create")
    heard = await client.message()
    assert heard.poll is not None
    assert (heard.content, heard.poll.question, [a.text for a in heard.poll.answers]) == ("", "Tabs?", ["yes", "no"])
    await guild.vote(poll.id, 1, author=ana)
    vote = await wire.event("MESSAGE_POLL_VOTE_ADD")
    assert keeps_to(vote, "poll_vote")
    await guild.vote(poll.id, 2, author=ana)  # only one counts
    assert (await wire.event("MESSAGE_POLL_VOTE_REMOVE"))["answer_id"] == 1
    seen = await heard.channel.fetch_message(poll.id)
    assert seen.poll is not None
    assert [a.vote_count for a in seen.poll.answers] == [0, 1]
    assert [u.name async for u in seen.poll.answers[1].voters()] == ["ana"]
    assert await refused(guild.vote(poll.id, 1, author=guild.bot)) == 520000
    assert await refused(guild.edit(poll.id, "x")) == 520003
    await guild.end_poll(poll.id)
    ended = await wire.event("MESSAGE_UPDATE")
    assert ended["poll"]["results"]["is_finalized"] is True
    assert await refused(guild.vote(poll.id, 1, author=ana)) == 520001


async def test_a_poll_of_the_bots(guild: LocalGuild, channel: discord.TextChannel, raw: Raw) -> None:
    poll = discord.Poll("Which?", datetime.timedelta(hours=2), multiple=True)
    poll.add_answer(text="one", emoji="1️⃣")
    poll.add_answer(text="two")
    sent = await channel.send(poll=poll)
    await guild.vote(sent.id, 1)
    await guild.vote(sent.id, 2)
    assert sent.poll is not None
    assert (await sent.poll.end()).is_finalized()
    question = {"text": "q"}
    for bad in (
        {"question": question, "answers": []},
        {"question": {"text": "q" * 301}, "answers": [{"poll_media": {"text": "a"}}]},
        {"question": question, "answers": [{"poll_media": {"text": "a" * 56}}]},
        {"question": question, "answers": [{"poll_media": {"text": "a"}}], "duration": 769},
    ):
        assert (await raw("POST", raw.messages, {"poll": bad}))[1]["code"] == 50035
    plain = await raw.post(content="x")
    assert (await raw("POST", f"/channels/{channel.id}/polls/{plain['id']}/expire"))[1]["code"] == 520006


async def test_a_forward_is_a_snapshot_without_its_author(guild: LocalGuild, client: Client, wire: Wire) -> None:
    ana, elsewhere = guild.add_member("ana"), guild.add_channel("elsewhere")
    said = await guild.post(elsewhere.id, "the secret is 42", author=ana, files=[("a.txt", b"data")])
    await wire.event("MESSAGE_CREATE")
    passed_on = await guild.forward(said.id, guild.channel().id)
    body = await wire.event("MESSAGE_CREATE")
    assert keeps_to(body, "message_create")
    assert (body["content"], body["flags"] & 1 << 14) == ("", 1 << 14)
    assert body["message_reference"]["type"] == 1
    _, heard = await client.hears("message", 2)
    assert isinstance(heard, discord.Message)
    (snapshot,) = heard.message_snapshots
    assert snapshot.content == "the secret is 42"
    assert await snapshot.attachments[0].read() == b"data"
    await guild.edit(said.id, "changed")
    await guild.delete(said.id, author=ana)
    again = await heard.channel.fetch_message(passed_on.id)
    assert again.message_snapshots[0].content == "the secret is 42", "it is what it was"
    assert await again.message_snapshots[0].attachments[0].read() == b"data"


async def test_what_cannot_be_forwarded(guild: LocalGuild, channel: discord.TextChannel, raw: Raw) -> None:
    hidden = guild.add_channel("hidden")
    said = await guild.post(hidden.id, "private")
    reference = {"type": 1, "channel_id": str(hidden.id), "message_id": str(said.id)}
    sent = await raw.post(message_reference=reference)
    assert sent["message_snapshots"][0]["message"]["content"] == "private"
    guild.deny(hidden.id, Permission.VIEW_CHANNEL)
    assert (await raw("POST", raw.messages, {"message_reference": reference}))[1]["code"] == 50001
    guild.allow(hidden.id, Permission.VIEW_CHANNEL)
    guild.grant_intents(message_content=False)
    assert (await raw("POST", raw.messages, {"message_reference": reference}))[1]["code"] == 160014
    guild.grant_intents()
    poll = await guild.ask_poll(channel.id, "q", ["a"])
    assert await refused(guild.forward(poll.id, hidden.id)) == 50035
    assert (await raw("POST", raw.messages, {"message_reference": {"type": 1, "message_id": "1"}}))[1]["code"] == 50035


async def test_a_voice_message_is_one_sound_and_nothing_else(guild: LocalGuild, client: Client, raw: Raw) -> None:
    spoken = await guild.say_aloud(guild.channel().id, b"OggS....", 2.5)
    heard = await client.message()
    assert heard.flags.voice
    (sound,) = heard.attachments
    assert sound.is_voice_message()
    assert (heard.content, sound.duration, sound.filename) == ("", 2.5, "voice-message.ogg")
    assert sound.waveform
    assert await sound.read() == b"OggS...."
    assert await refused(guild.edit(spoken.id, "x")) == 50162
    assert (await raw("POST", raw.messages, {"content": "x", "flags": 1 << 13}))[1]["code"] == 50160
    form = aiohttp.FormData()
    form.add_field("payload_json", '{"flags": 8192, "attachments": [{"id": 0, "filename": "a.ogg"}]}')
    form.add_field("files[0]", b"OggS", filename="a.ogg")
    assert (await raw("POST", raw.messages, data=form))[1]["code"] == 50161


async def test_a_sticker_alone_is_a_message(guild: LocalGuild, client: Client, wire: Wire) -> None:
    await guild.post(guild.channel().id, stickers=["wave"])
    assert keeps_to(await wire.event("MESSAGE_CREATE"), "message_create")
    heard = await client.message()
    assert (heard.content, [s.name for s in heard.stickers]) == ("", ["wave"])
    assert await refused(guild.post(guild.channel().id, "")) == 50006


async def test_a_webhook_posts_under_a_name_that_is_no_members(
    guild: LocalGuild, client: Client, channel: discord.TextChannel, raw: Raw
) -> None:
    hook = await guild.add_webhook(channel.id, "ci")
    await guild.post_as(hook, f"{guild.bot.mention} build failed")
    heard = await client.message()
    assert heard.webhook_id == hook.id
    assert (heard.author.name, heard.author.bot) == ("ci", True)
    assert isinstance(heard.author, discord.User), "no member"
    assert heard.mentions[0].id == guild.bot_user_id
    mine = await channel.create_webhook(name="mine")
    thread = await guild.create_thread((await guild.post(channel.id, "topic")).id, "talk")
    sent = await mine.send("in the thread", thread=discord.Object(thread.id), wait=True, username="other")
    assert (sent.author.name, guild.messages(thread.id)[-1].content) == ("other", "in the thread")
    assert [w.name for w in await channel.webhooks()] == ["ci", "mine"]
    assert keeps_to((await raw("GET", f"/channels/{channel.id}/webhooks"))[1][0], "webhook")
    assert (await raw("POST", f"/webhooks/{hook.id}/wrong", {"content": "x"}))[1]["code"] == 50027
    from_webhook = await guild.create_thread(guild.messages(channel.id)[0].id, "about the build")
    assert (await raw("GET", f"/channels/{from_webhook.id}/messages"))[1][0]["author"]["username"] == "ci"


async def test_what_the_system_says_in_a_thread(guild: LocalGuild, client: Client, wire: Wire, raw: Raw) -> None:
    ana = guild.add_member("ana")
    thread = await guild.create_thread(guild.channel().id, "talk")
    announced = await wire.event("MESSAGE_CREATE")
    assert (announced["type"], announced["content"]) == (18, "talk")
    assert announced["message_reference"]["channel_id"] == str(thread.id)
    await guild.change_thread(thread.id, name="talk more")
    await guild.add_to_thread(thread.id, ana)
    await guild.remove_from_thread(thread.id, ana)
    said = [await wire.event("MESSAGE_CREATE") for _ in range(3)]
    assert [m["type"] for m in said] == [4, 1, 2]
    assert said[0]["content"] == "talk more"
    assert [u["username"] for u in said[1]["mentions"]] == ["ana"]
    for message in said:
        assert keeps_to(message, "message_create")
        path = f"/channels/{thread.id}/messages/{message['id']}"
        assert (await raw("DELETE", path))[1]["code"] == 50021
    heard = await client.hears("message", 4)
    assert isinstance(heard[1], discord.Message)
    assert heard[1].is_system()


async def test_a_thread_from_an_old_message_is_announced_in_its_channel(guild: LocalGuild) -> None:
    channel = guild.channel().id
    young = await guild.post(channel, "new")
    await guild.create_thread(young.id, "first")
    old = await guild.post(channel, "old")
    guild.pass_time(minutes=10)
    await guild.create_thread(old.id, "second")
    assert [(int(m.type), m.content) for m in guild.messages(channel)] == [(0, "new"), (0, "old"), (18, "second")]


async def test_thread_members_are_listed_and_a_lock_holds(guild: LocalGuild, raw: Raw, wire: Wire) -> None:
    ana = guild.add_member("ana")
    thread = await guild.create_thread((await guild.post(guild.channel().id, "x")).id, "talk")
    said = await guild.post(thread.id, "mine", author=ana)
    base = f"/channels/{thread.id}/thread-members"
    (one, two) = (await raw("GET", base, None, params={"with_member": "true"}))[1]
    assert keeps_to(one, "thread_member")
    assert two["member"]["user"]["username"] == "ana"
    assert (await raw("GET", f"{base}/{ana.id}"))[0] == 200
    assert (await raw("GET", f"{base}/{guild.bot_user_id}"))[1]["code"] == 10007
    assert (await raw("GET", f"/channels/{guild.channel().id}/thread-members"))[1]["code"] == 50024
    await guild.change_thread(thread.id, locked=True)
    assert await refused(guild.post(thread.id, "more", author=ana)) == 160005
    assert await refused(guild.edit(said.id, "other", author=ana)) == 160005
    await guild.react(said.id, "👀", author=ana)  # that is allowed while it is active
    await guild.archive(thread.id)
    assert await refused(guild.post(thread.id, "more", author=ana)) == 50083
    assert await refused(guild.delete(said.id, author=ana)) == 50083
    await guild.change_thread(thread.id, archived=False)
    await guild.change_thread(thread.id, locked=False)
    await guild.archive(thread.id)
    await guild.delete(said.id, author=ana)


async def test_many_messages_go_with_one_event_and_none_that_is_too_old(
    guild: LocalGuild, raw: Raw, wire: Wire
) -> None:
    ids = [(await raw.post(content=str(n)))["id"] for n in range(3)]
    path = raw.messages + "/bulk-delete"
    assert (await raw("POST", path, {"messages": ids[:1]}))[1]["code"] == 50016
    assert (await raw("POST", path, {"messages": ids[:2]}))[0] == 204
    body = await wire.event("MESSAGE_DELETE_BULK")
    assert keeps_to(body, "message_delete_bulk")
    assert body["ids"] == ids[:2]
    assert (await raw("POST", path, {"messages": ids[:2]}))[0] == 204, "who is not there any more is passed over"
    more = (await raw.post(content="later"))["id"]
    guild.pass_time(hours=15 * 24)
    assert (await raw("POST", path, {"messages": [ids[2], more]}))[1]["code"] == 50034


async def test_the_address_of_an_attachment_expires_and_is_renewed(guild: LocalGuild, raw: Raw) -> None:
    said = await guild.post(guild.channel().id, "a file", files=[("a.txt", b"data")])
    path = f"{raw.messages}/{said.id}"

    async def address() -> str:
        return (await raw("GET", path))[1]["attachments"][0]["url"]

    async def status(url: str) -> int:
        async with raw.session.get(url) as answer:
            return answer.status

    first = await address()
    assert await status(first) == 200
    assert await status(first.split("?", maxsplit=1)[0]) == 404, "unsigned"
    assert await status(first.replace("is=", "is=f")) == 404, "changed"
    guild.expire_links()
    assert await status(first) == 404
    assert await status(await address()) == 200
    answer = (await raw("POST", "/attachments/refresh-urls", {"attachment_urls": [first]}))[1]["refreshed_urls"]
    assert (answer[0]["original"], await status(answer[0]["refreshed"])) == (first, 200)
    second = await address()
    guild.pass_time(hours=25)
    assert await status(second) == 404, "a day is over"


async def test_an_attachment_may_lie_about_its_size(guild: LocalGuild, client: Client) -> None:
    lie = Upload("small.bin", b"x" * 5_000, "application/octet-stream", stated_size=10)
    await guild.post(guild.channel().id, "look", files=[lie])
    heard = await client.message()
    assert heard.attachments[0].size == 10
    assert len(await heard.attachments[0].read()) == 5_000


async def test_roles_change_and_go(guild: LocalGuild, client: Client) -> None:
    role = guild.add_role("helper")
    ana = guild.add_member("ana", [role.id])
    hidden = guild.add_channel("hidden")
    guild.deny(hidden.id, Permission.VIEW_CHANNEL, role=guild.guild_id)
    assert await refused(guild.post(hidden.id, "x", author=ana)) == 50001
    guild.change_role(role.id, Permission.ADMINISTRATOR)
    await guild.post(hidden.id, "x", author=ana)
    guild.remove_role(role.id)
    assert await refused(guild.post(hidden.id, "x", author=ana)) == 50001
    await client.hears("guild_role_update")
    await client.hears("guild_role_delete")
    (after,) = [m for m in client.guilds[0].members if m.name == "ana"]
    assert [r.name for r in after.roles] == ["@everyone"]


async def test_all_of_it_outlives_a_restart(tmp_path: Path) -> None:
    async with await LocalGuild.start(state=tmp_path) as before:
        here = before.channel().id
        poll = await before.ask_poll(here, "Tabs?", ["yes", "no"])
        await before.vote(poll.id, 2)
        first = await before.post(here, "first", stickers=["wave"])
        await before.forward(first.id, here)
        await before.say_aloud(here)
        await before.post_as(await before.add_webhook(here, "ci"), "red")
        told = [before.as_sent(m) for m in before.messages(here)]
    async with await LocalGuild.start(state=tmp_path) as after:
        kept = [after.as_sent(m) for m in after.messages(here)]
    for old, new in zip(told, kept, strict=True):
        for body in (old, new):
            body.pop("attachments")  # whose addresses are new
        assert old == new


async def test_a_post_of_a_forum_has_a_first_message_of_its_id_and_tags_that_there_are(
    guild: LocalGuild, client: Client
) -> None:
    forum = guild.add_forum("help", ("Bug", "Done", *map(str, range(4))))
    await client.hears("guild_channel_create")
    place = client.get_channel(forum.id)
    assert isinstance(place, discord.ForumChannel)
    made = await place.create_thread(name="Of the bot", content="Hello", applied_tags=list(place.available_tags[:2]))
    assert made.message.id == made.thread.id
    assert [tag.name for tag in made.thread.applied_tags] == ["Bug", "Done"]
    edit = place._state.http.edit_channel
    refused = {
        10087: edit(made.thread.id, applied_tags=["1"]),
        50035: edit(made.thread.id, applied_tags=[str(tag.id) for tag in place.available_tags]),
        50008: client.get_partial_messageable(forum.id).send("Hello"),
    }
    for code, asked in refused.items():
        with pytest.raises(discord.HTTPException) as raised:
            await asked
        assert raised.value.code == code
