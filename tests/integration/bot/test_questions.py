"""Questions: buttons and plain text, also after a restart, only by those who may."""

from __future__ import annotations

from agentic.core.events import Asked, Decided, Option, Person
from agentic.stores.memory import MemoryStore
from bot.guild.local import LocalGuild
from bot.guild.records import Message
from tests.integration.bot.talking import Scenery, running_bot

QUESTION = Asked(
    question="q1",
    text="Which database?",
    options=(Option(id="1", label="SQLite", description="a file"), Option(id="2", label="Postgres")),
)


async def asking(scenery: Scenery) -> tuple[int, Message]:
    """A thread in which the agent asks, and the question's message."""
    thread = await scenery.mention("go")
    await scenery.talk.add(scenery.talk.newest(thread), QUESTION)
    return thread, await scenery.says(thread, "Which database?")


async def test_a_question_notifies_and_shows_the_recommended_option_first(scenery: Scenery) -> None:
    _, question = await asking(scenery)
    assert not question.silent
    assert "**1.** SQLite (recommended) – a file" in question.content
    assert [button["label"] for button in question.interactive()] == ["SQLite", "Postgres"]
    assert [button["style"] for button in question.interactive()] == [1, 2]


def decided(choice: str, text: str) -> Decided:
    return Decided(question="q1", by=Person(id="1", name="Ann"), choice=choice, text=text)


async def closed(scenery: Scenery, question: Message) -> Message:
    """The question once all of its buttons are disabled."""
    return await scenery.guild.wait_for(
        lambda g: (m := g.state.find_message(question.id)) and all(b.get("disabled") for b in m.interactive()) and m
    )


async def test_a_click_is_the_answer(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    await scenery.guild.click(question.id, question.custom_ids()[1])
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    answer = scenery.talk.got[1]
    assert (answer.sort, answer.text, answer.target, answer.thread) == ("answer", "Postgres", "q1", str(thread))


async def test_the_buttons_close_with_the_wait_and_mark_the_choice(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    await scenery.talk.add(scenery.talk.newest(thread), decided("2", "Postgres"))
    shown = await closed(scenery, question)
    assert [button["style"] for button in shown.interactive()] == [2, 3]
    assert shown.custom_ids() == question.custom_ids()
    assert shown.content == question.content


async def test_the_buttons_close_also_after_words_a_stop_and_a_restart(guild: LocalGuild) -> None:
    async with running_bot(guild) as before:
        stopped, first = await asking(before)
        await before.talk.finish(before.talk.newest(stopped), reason="stopped")
        shown = await closed(before, first)
        assert [button["style"] for button in shown.interactive()] == [2, 2]
        thread, question = await asking(before)
        await before.until_delivered()
    async with running_bot(guild, before.store) as scenery:
        scenery.talk.take_over(before.talk)
        await scenery.talk.add(scenery.talk.newest(thread), decided("text", "neither"))
        await closed(scenery, question)


async def test_plain_text_is_the_answer_too(scenery: Scenery) -> None:
    thread, _ = await asking(scenery)
    await scenery.guild.post(thread, "neither, use a list")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    answer = scenery.talk.got[1]
    assert (answer.sort, answer.text, answer.target) == ("answer", "neither, use a list", "q1")


async def test_buttons_live_through_a_restart(guild: LocalGuild) -> None:
    store = MemoryStore()
    async with running_bot(guild, store) as before:
        _, question = await asking(before)
        await before.until_delivered()
    async with running_bot(guild, store) as scenery:
        scenery.talk.take_over(before.talk)
        await guild.click(question.id, question.custom_ids()[0])
        await scenery.until(lambda: len(scenery.talk.got) == 1)
        assert (scenery.talk.got[0].sort, scenery.talk.got[0].text) == ("answer", "SQLite")


async def test_somebody_elses_question_is_not_theirs_to_answer(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    scenery.guild.add_member("bob")
    await scenery.guild.click(question.id, question.custom_ids()[0], author="bob")
    told = await scenery.guild.wait_for(
        lambda g: next((m for m in g.messages(thread, viewer="bob") if "someone else's task" in m.content), None)
    )
    assert told.ephemeral
    assert len(scenery.talk.got) == 1


async def test_a_question_that_is_no_longer_open_says_so(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    await scenery.talk.add(scenery.talk.newest(thread), decided("1", "SQLite"))
    await scenery.guild.click(question.id, question.custom_ids()[0])
    await scenery.says(thread, "no longer open")
    assert len(scenery.talk.got) == 1


async def test_a_vote_button_under_the_answer_is_feedback(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    await scenery.talk.finish(execution)
    answer = await scenery.says(thread, "All done.")
    await scenery.guild.click(answer.id, answer.custom_ids()[0])
    told = await scenery.says(thread, "👍 Noted for the result.")
    assert told.ephemeral
    assert (scenery.talk.got[1].sort, scenery.talk.got[1].target) == ("feedback", f"{execution}/result")


async def test_a_question_without_options_can_be_answered_by_words_or_stopped(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    await scenery.talk.add(scenery.talk.newest(thread), QUESTION.model_copy(update={"options": ()}))
    question = await scenery.says(thread, "Which database?")
    assert question.custom_ids() == (f"tw:halt:{scenery.talk.newest(thread)}.2.0",)
    await scenery.guild.click(question.id, question.custom_ids()[0])
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert scenery.talk.got[1].sort == "stop"
