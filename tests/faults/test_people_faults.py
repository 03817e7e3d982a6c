"""What people and other bots do, and what texts hold: rows 19-33 of the fault catalogue, over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentic.core.events.execution_events import ModelAnswered, TextBlock, ToolFinished
from agentic.stores.sqlite.store import SQLiteStore
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.json_fields import JsonObject
from bot.local_discord.model.records import Pings
from bot.rendering.code_blocks import FENCE
from bot.rendering.discord_text import (
    clean,
    storable,
)
from tests.faults.staging import REQUESTED, call, delivered, guild, nothing_more, notices, scenery
from tests.integration.bot.talking import Scenery, running_bot

__all__ = ["guild", "scenery"]

HOSTILE = "@everyone @here @every\u200bone \u202e@everyone\u202c {role} {user} <@&1> <@1>"
ESCAPES = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\ \x9b2J end"


@pytest.fixture
async def on_disk(guild: LocalGuild, tmp_path: Path) -> AsyncIterator[Scenery]:
    """A bot whose store takes its time, as a real one does."""
    store = SQLiteStore.open(tmp_path / "store.sqlite")
    async with running_bot(guild, store) as scenery:
        yield scenery
    await store.close()


async def disguised(scenery: Scenery, channel: int, text: str, **changes: object) -> str:
    """Make the gateway announce a message that only Discord could make; its id is the result."""
    guild = scenery.guild
    model = await guild.post(guild.add_channel("elsewhere").id, "not for the bot")
    body: JsonObject = {**guild.as_sent(model), "guild_id": str(guild.guild_id)}
    body |= {"id": str(model.id + 1), "channel_id": str(channel), "content": text, "member": {"roles": []}}
    body = {name: value for name, value in (body | changes).items() if value is not None}  # type: ignore[operator]
    guild.state.publish("MESSAGE_CREATE", body, channel_id=channel)
    return str(body["id"])


# --- gateway and REST ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["🛑", "🛑\ufe0f"])
async def test_f19_a_stop_is_one_with_and_without_a_variation_selector(scenery: Scenery, sign: str) -> None:
    thread = await scenery.mention("go")
    await scenery.guild.react(thread, sign)
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert scenery.talk.got[1].sort == "stop"


async def test_f19_a_skin_tone_changes_nothing(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    await scenery.guild.react(thread, "👍🏽")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert (scenery.talk.got[1].sort, scenery.talk.got[1].text) == ("feedback", "up")


async def test_f19_a_custom_emoji_counts_by_its_configured_id_only(guild: LocalGuild) -> None:
    async with running_bot(guild, custom_emoji={"777": "🛑"}) as scenery:
        thread = await scenery.mention("go")
        await guild.react(thread, "stop:778")
        await nothing_more(scenery)
        await guild.react(thread, "anything:777")
        await scenery.until(lambda: scenery.talk.got[-1].sort == "stop")


@pytest.mark.wall("rights")
async def test_f20_a_reaction_by_a_bot_or_by_itself_is_ignored(scenery: Scenery) -> None:
    guild = scenery.guild
    thread = await scenery.mention("go")
    await guild.react(thread, "🛑", author=guild.bot_user_id)
    other = {"user": {"id": "5", "username": "ci", "discriminator": "0", "avatar": None, "bot": True}, "roles": []}
    body: JsonObject = {
        "user_id": "5", "channel_id": str(scenery.general), "message_id": str(thread), "guild_id": str(guild.guild_id),
        "member": {**other, "joined_at": None, "deaf": False, "mute": False, "flags": 0}, "type": 0, "burst": False,
        "emoji": {"id": None, "name": "🛑"}, "message_author_id": str(guild.you.id),
    }  # fmt: skip
    guild.state.publish("MESSAGE_REACTION_ADD", body, channel_id=scenery.general)
    await nothing_more(scenery)


async def test_f20_a_reaction_by_somebody_without_the_right_is_ignored(guild: LocalGuild) -> None:
    async with running_bot(guild, default_level="viewer") as scenery:
        guild.add_member("vic")
        thread = await scenery.mention("go")
        for sign in ("🛑", "👎", "❌"):
            await guild.react(thread, sign, author="vic")
        await nothing_more(scenery)


async def test_f20_a_reaction_on_somebody_elses_task_is_ignored_but_for_a_stop(scenery: Scenery) -> None:
    scenery.guild.add_member("bob")
    thread = await scenery.mention("go")
    for sign in ("👎", "❌", "🚀"):
        await scenery.guild.react(thread, sign, author="bob")
    await scenery.guild.react(thread, "🛑", author="bob")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert (scenery.talk.got[1].sort, scenery.talk.got[1].author.name) == ("stop", "bob")
    assert await delivered(scenery, thread) == []


async def test_f21_a_stop_on_a_message_from_before_the_process_stays_when_it_is_taken_back(guild: LocalGuild) -> None:
    async with running_bot(guild) as before:
        thread = await before.mention("go")
        progress = before.of_bot(thread)[0]
    async with running_bot(guild, before.store, after=before.talk) as scenery:
        await guild.react(progress.id, "🛑")
        await guild.unreact(progress.id, "🛑")
        await scenery.until(lambda: len(scenery.talk.got) == 1)
        await guild.post(thread, "the last word")
        await scenery.until(lambda: scenery.talk.got[-1].text == "the last word")
        assert [item.sort for item in scenery.talk.got] == ["stop", "guidance"]


async def test_f22_a_stop_that_follows_what_it_is_to_stop_at_once_is_taken_in_after_it(on_disk: Scenery) -> None:
    """As after a short gap of the connection, when all that was missed comes at once."""
    scenery, guild, talk = on_disk, on_disk.guild, on_disk.talk
    given = [await guild.post(scenery.general, f"{guild.bot.mention} task {number}") for number in range(8)]
    for task in given:
        await guild.react(task.id, "🛑")
    await scenery.until(lambda: len(talk.got) >= 2 * len(given))
    for task in given:
        assert [item.sort for item in talk.got if item.thread == str(task.id)] == ["task", "stop"]
    thread = given[0].id
    await scenery.says(thread, "Starting")
    await talk.finish(talk.newest(thread))
    await guild.post(thread, "and this too")
    await guild.post(thread, "stop")
    await scenery.until(lambda: len(talk.got) >= 2 * len(given) + 2)
    assert [item.sort for item in talk.got if item.thread == str(thread)][2:] == ["task", "stop"]


async def test_f22_a_stop_does_not_wait_for_what_cannot_be_taken_in_yet(scenery: Scenery) -> None:
    guild, talk = scenery.guild, scenery.talk
    thread = await scenery.mention("go")
    async with scenery.bot.lanes.lane(str(thread)):  # as while a gap is closed
        await guild.post(thread, "and this")
        await guild.post(thread, "stop")
        await scenery.until(lambda: len(talk.got) == 2)
    await scenery.until(lambda: len(talk.got) == 3)
    assert [item.sort for item in talk.got] == ["task", "stop", "guidance"]


async def test_f18_a_task_that_is_edited_or_deleted_at_once_is_so_after_it_was_taken_in(on_disk: Scenery) -> None:
    scenery, guild, talk = on_disk, on_disk.guild, on_disk.talk
    edited, deleted = [await guild.post(scenery.general, f"{guild.bot.mention} task {word}") for word in ("one", "two")]
    await guild.edit(edited.id, f"{guild.bot.mention} task three")
    await guild.delete(deleted.id)
    await scenery.until(lambda: len(talk.got) == 4)
    assert [item.sort for item in talk.got if item.thread == str(edited.id)] == ["task", "edited"]
    assert [item.sort for item in talk.got if item.thread == str(deleted.id)] == ["task", "deleted"]


async def test_f24_a_webhook_another_bot_and_itself_are_ignored(scenery: Scenery) -> None:
    guild = scenery.guild
    await scenery.mention("go")
    order = f"{guild.bot.mention} obey"
    bot = {"id": "5", "username": "ci", "discriminator": "0", "avatar": None, "bot": True}
    await disguised(scenery, scenery.general, order, author=bot)
    await disguised(scenery, scenery.general, order, author={**bot, "bot": False}, webhook_id="5", member=None)
    await guild.post(scenery.general, order, author=guild.bot_user_id)
    await nothing_more(scenery)
    assert len(guild.threads()) == 1


async def test_f24_a_configured_bot_is_heard(guild: LocalGuild) -> None:
    async with running_bot(guild, speaking_bots=frozenset({"5"})) as scenery:
        bot = {"id": "5", "username": "ci", "discriminator": "0", "avatar": None, "bot": True}
        await disguised(scenery, scenery.general, f"{guild.bot.mention} the build failed", author=bot)
        await scenery.until(lambda: [item.text for item in scenery.talk.got] == ["the build failed"])


# --- content ------------------------------------------------------------------------------------------------------


async def test_f27_no_text_of_a_model_or_a_tool_pings_on_send_or_on_edit(scenery: Scenery) -> None:
    guild = scenery.guild
    asker = guild.add_member("bob").id
    thread = await scenery.mention("go", author="bob")
    execution = scenery.talk.newest(thread)
    text = HOSTILE.format(role=f"<@&{guild.guild_id}>", user=guild.you.mention)
    answered = ModelAnswered(request="r1", blocks=(TextBlock(text=text),))
    await scenery.talk.add(execution, REQUESTED, answered, call(1, f"echo {text}"))
    scenery.bot.feed.streamed(execution, text)
    await scenery.says(thread, "Running")
    await notices(scenery, thread, text)
    await scenery.talk.finish(execution, text)
    await scenery.says(thread, "**Done**")
    await scenery.until_delivered()
    for message in scenery.of_bot(thread):
        assert message.ever_pinged in (Pings(), Pings(users=(asker,))), "only whoever gave the task is called"
        assert not set(message.content) & set("\u202e\u202c\u200b")


async def test_f29_terminal_sequences_are_stripped_before_they_are_shown(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    scenery.bot.feed.streamed(execution, ESCAPES)
    await scenery.talk.add(execution, REQUESTED, call(1, f"echo {ESCAPES}"))
    await scenery.says(thread, "Running")
    await scenery.talk.finish(execution, ESCAPES)
    await scenery.says(thread, "red")
    for message in scenery.of_bot(thread):
        assert not any((ord(char) < 32 and char != "\n") or 0x7F <= ord(char) <= 0x9F for char in message.content)
        assert "evil" not in message.content
        assert "title" not in message.content


async def test_f30_nothing_breaks_out_of_the_code_it_is_shown_in(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    hostile = "` **loud** ``` ||hidden|| `\n# big"
    finished = ToolFinished(call="c1", outcome="ok", preview=hostile)
    await scenery.talk.add(execution, REQUESTED, call(1, hostile), finished, call(2, hostile))
    shown = await scenery.says(thread, "Ran")
    for line in shown.content.splitlines():
        before, code, after = line.partition("`")
        if code:
            inside, closing, rest = after.partition("`")
            assert closing
            assert "loud" in inside
            assert "hidden" in inside
            assert "loud" not in before + rest
    assert FENCE not in shown.content


@pytest.mark.parametrize("word", ["st\u200bop", "\u202epots"])
async def test_f31_what_only_looks_like_a_command_is_none_and_is_kept_as_it_was(scenery: Scenery, word: str) -> None:
    thread = await scenery.mention("go")
    await scenery.guild.post(thread, word)
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert (scenery.talk.got[1].sort, scenery.talk.got[1].text) == ("guidance", word)


async def test_f32_an_empty_message_is_asked_back(scenery: Scenery) -> None:
    await scenery.guild.post(scenery.general, scenery.guild.bot.mention)
    await scenery.says(scenery.general, "What should I do?")
    assert scenery.talk.got == []


async def test_f32_an_attachment_without_words_is_asked_back_and_reaches_what_runs(scenery: Scenery) -> None:
    guild, talk = scenery.guild, scenery.talk
    await guild.post(scenery.general, guild.bot.mention, files=[("data.csv", b"1")])
    await scenery.says(scenery.general, "I got `data.csv`")
    assert talk.got == []
    thread = await scenery.mention("go")
    await guild.post(thread, "", files=[("more.csv", b"1")])
    await scenery.until(lambda: len(talk.got) == 2)
    assert (talk.got[1].sort, [file.name for file in talk.got[1].files]) == ("guidance", ["more.csv"])
    await talk.finish(talk.newest(thread))
    await guild.post(thread, "", files=[("late.csv", b"1")])
    asked = await scenery.says(thread, "I got `late.csv`")
    await guild.post(thread, "sum it up", reply_to=asked.reply_to)
    await scenery.until(lambda: len(talk.got) == 3)
    assert (talk.got[2].text, [file.name for file in talk.got[2].files]) == ("sum it up", ["late.csv"])


async def test_f32_four_thousand_characters_are_taken_whole(scenery: Scenery) -> None:
    text = "do " + "x" * 3_970
    mention = scenery.guild.bot.mention
    await disguised(scenery, scenery.general, f"{mention} {text}")
    await scenery.until(lambda: [item.text for item in scenery.talk.got] == [text])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ({"flags": 1 << 13}, "voice"),
        ({"poll": {"question": {"text": "?"}, "answers": [], "expiry": "2027-01-01T00:00:00+00:00", "allow_multiselect": False,
                   "layout_type": 1}}, "poll"),
        ({"flags": 1 << 14, "message_snapshots": [], "message_reference": {"type": 1, "channel_id": "1",
                                                                          "message_id": "2"}}, "forwarded"),
        ({"sticker_items": [{"id": "1", "name": "wave", "format_type": 1}]}, "only read text"),
    ],
    ids=["voice", "poll", "forwarded", "sticker"],
)  # fmt: skip
async def test_f32_what_cannot_be_read_gets_a_plain_answer(scenery: Scenery, kind: JsonObject, words: str) -> None:
    thread = await scenery.mention("go")
    await disguised(scenery, thread, "", **kind)
    await scenery.says(thread, words)
    assert len(scenery.talk.got) == 1


async def test_f33_nul_and_lone_surrogates_of_a_person_are_replaced_and_stored(scenery: Scenery) -> None:
    await disguised(scenery, scenery.general, f"{scenery.guild.bot.mention} a\x00b")
    await scenery.until(lambda: [item.text for item in scenery.talk.got] == ["a\ufffdb"])
    assert storable("a\ud800b") == "a\ufffdb"


async def test_f33_nul_and_lone_surrogates_of_a_model_or_tool_are_replaced_and_shown(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    scenery.bot.feed.streamed(execution, "s\x00\udfffs")
    await scenery.says(thread, "s\ufffd\ufffds")
    await scenery.talk.finish(execution, "one\x00two")
    await scenery.says(thread, "one\ufffdtwo")
    assert clean(b"caf\xe9".decode(errors="surrogateescape")) == "caf\ufffd"
