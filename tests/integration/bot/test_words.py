"""Words and signs written as a message: a command only if they are all of it; each answered once; in direct messages too."""

from __future__ import annotations

import discord
import pytest

from agentic.core.events.execution_events import InputReceived
from bot.inbound.emoji import SIGNS, WORDS
from bot.local_discord.faults.rules import ErrorAnswer, Reset, Rule
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.talking import Scenery, running_bot
from tests.integration.bot.test_questions import QUESTION, told
from tests.integration.bot.test_tasks import eyes


@pytest.mark.parametrize(
    ("words", "sort"),
    [("{bot} stop", "stop"), ("ask me", "ask"), ("pause before the tests", "guidance")],
)
async def test_a_word_is_a_command_only_if_it_is_the_whole_message(scenery: Scenery, words: str, sort: str) -> None:
    thread = await scenery.mention("go")
    await scenery.guild.post(thread, words.format(bot=scenery.guild.bot.mention))
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert scenery.talk.got[1].sort == sort


@pytest.mark.parametrize("words", ["escalate", "🚀"])
async def test_words_for_a_stronger_model_ask_for_one(scenery: Scenery, words: str) -> None:
    thread = await scenery.mention("go")
    await scenery.guild.post(thread, words)
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert scenery.talk.got[1].sort == "escalate"


async def test_a_correction_in_words_is_about_the_newest_result_and_has_one_receipt(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    await scenery.talk.finish(scenery.talk.newest(thread))
    await scenery.says(thread, "All done.")
    await scenery.guild.post(thread, f"{scenery.guild.bot.mention} that was wrong")
    await scenery.says(thread, "❌ Noted: the result was wrong.")
    assert len(scenery.talk.got) == 2
    assert sum("Noted" in message.content for message in scenery.of_bot(thread)) == 1


@pytest.mark.parametrize("refused", [False, True])
async def test_a_vote_in_words_gets_a_sign_or_words_where_no_sign_can_be_set(scenery: Scenery, refused: bool) -> None:
    thread = await scenery.mention("go")
    await scenery.talk.finish(scenery.talk.newest(thread))
    await scenery.says(thread, "All done.")
    await scenery.until_delivered()
    if refused:
        scenery.guild.misbehave(Rule("PUT */reactions/*", ErrorAnswer(403, 50013, "Missing Permissions")))
    posted = await scenery.guild.post(thread, f"{scenery.guild.bot.mention} 👎")
    if refused:
        assert (await scenery.says(thread, "Thanks, rating saved.")).reply_to == posted.id
    else:
        await scenery.guild.wait_for(lambda g: eyes(g, posted))
    await scenery.until_delivered()
    assert sum("rating saved" in message.content for message in scenery.of_bot(thread)) == refused


async def test_words_for_the_agent_get_a_sign_once_also_after_a_crash(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    before = len(scenery.of_bot(thread))
    posted = await scenery.guild.post(thread, "use tabs")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    item = scenery.talk.got[1]
    heard = InputReceived(inbox=item.id, sort="guidance", author=item.author, text=item.text, message=item.message)
    scenery.guild.misbehave(Rule(f"PUT */messages/{posted.id}/reactions/*", Reset(landed=True)))
    await scenery.talk.add(scenery.talk.newest(thread), heard)
    await scenery.guild.wait_for(lambda g: eyes(g, posted))
    await scenery.until_delivered()
    assert len(scenery.of_bot(thread)) == before


async def test_somebody_who_may_not_is_told_at_a_plain_word(scenery: Scenery) -> None:
    scenery.guild.add_member("bob")
    thread = await scenery.mention("go")
    await scenery.guild.post(thread, "pause", author="bob")
    await scenery.says(thread, "someone else's task")
    assert len(scenery.talk.got) == 1


async def test_in_a_channel_a_command_word_says_where_it_works(scenery: Scenery) -> None:
    await scenery.guild.post(scenery.general, f"{scenery.guild.bot.mention} pause")
    await scenery.says(scenery.general, "That works in a task's thread")
    assert scenery.talk.got == []


async def test_signs_and_buttons_work_in_direct_messages(guild: LocalGuild) -> None:
    async with running_bot(guild) as scenery:
        guild.add_member("bob")
        direct = (await guild.open_dm("bob")).id
        await guild.post(direct, "count the files", author="bob")
        await scenery.until(lambda: len(scenery.talk.got) == 1)
        execution = scenery.talk.newest(direct)
        await scenery.talk.add(execution, QUESTION)
        question = await guild.wait_for(
            lambda g: next((m for m in g.messages(direct, viewer="bob") if "Which database?" in m.content), None)
        )
        await scenery.until_delivered()
        await guild.click(question.id, question.custom_ids()[1], author="bob")
        await scenery.until(lambda: len(scenery.talk.got) == 2)
        await guild.react(question.id, "🛑", author="bob")
        await scenery.until(lambda: len(scenery.talk.got) == 3)
        assert [(i.sort, i.text, i.thread) for i in scenery.talk.got[1:]] == [
            ("answer", "2", str(direct)), ("stop", "", str(direct)),
        ]  # fmt: skip


async def test_a_wish_to_undo_is_theirs_whose_task_it_was_or_an_operators(guild: LocalGuild) -> None:
    async with running_bot(guild, roles={"chiefs": "operator"}) as scenery:
        guild.add_member("ann")
        guild.add_member("bob")
        guild.add_member("chief", (guild.add_role("chiefs").id,))
        thread = await scenery.mention("go", author="ann")
        execution = scenery.talk.newest(thread)
        await scenery.talk.finish(execution, "Done it.")
        answer = await scenery.says(thread, "Done it.")
        await scenery.until_delivered()
        key = answer.custom_ids()[0].rpartition(":")[2]
        await with_undo(scenery, answer.id, thread, f"tw:undo:{execution}:{key}")
        for name in ("bob", "ann", "chief"):
            await guild.click(answer.id, f"tw:undo:{execution}:{key}", author=name)
        await told(scenery, thread, "can undo it", "bob")
        await scenery.until(lambda: len(scenery.talk.got) == 3)
        assert [(i.sort, i.target, i.author.name) for i in scenery.talk.got[1:]] == [
            ("undo", execution, "ann"), ("undo", execution, "chief"),
        ]  # fmt: skip


async def with_undo(scenery: Scenery, message: int, thread: int, custom_id: str) -> None:
    """The answer as it looks where files were changed."""
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button(label="Undo", custom_id=custom_id))
    await scenery.bot.get_partial_messageable(thread).get_partial_message(message).edit(view=view)
    view.stop()


async def test_every_word_and_every_sign_written_alone_means_what_its_reaction_does(scenery: Scenery) -> None:
    """In a thread where something runs: an act, or a plain word why there is nothing to do."""
    told_at = {
        "resume": "Nothing is paused",
        "continue": "I'm on it",
        "retry": "Stop it with 🛑, then 🔄 starts it over",
    }
    for text, (sort, vote) in {**WORDS, **SIGNS}.items():
        thread = await scenery.mention(f"go on with {text}")
        before = len(scenery.talk.got)
        await scenery.guild.post(thread, f"{text.capitalize()}." if text in WORDS else text)
        if sort in told_at:
            await scenery.says(thread, told_at[sort])
            assert len(scenery.talk.got) == before, text
        else:
            await scenery.until(lambda before=before: len(scenery.talk.got) > before)
            got = scenery.talk.got[-1]
            assert (got.sort, got.thread) == (sort, str(thread)), text
            assert not vote or got.text == vote, text
