"""Questions: buttons, lists and plain text, also after a restart and a crash, only by those who may."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    Envelope,
    InputReceived,
    Option,
    OutboxItem,
    OwnerChanged,
    Part,
    Person,
)
from bot.local_discord.faults.rules import ErrorAnswer, Rule
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from bot.messages.question_text import Standing
from tests.integration.bot.talking import SECONDS, Scenery, running_bot
from tests.stores import fresh_store

QUESTION = Asked(
    question="q1",
    text="Which database?",
    options=(Option(id="1", label="SQLite", description="a file"), Option(id="2", label="Postgres")),
)
SEVERAL = Asked(
    question="q2",
    text="Before I begin:",
    parts=(
        Part(
            id="db", text="Which database?", options=(Option(id="1", label="SQLite"), Option(id="2", label="Postgres"))
        ),
        Part(id="os", text="Which system?", options=tuple(Option(id=str(n), label=f"System {n}") for n in range(1, 9))),
        Part(id="why", text="Why at all?"),
    ),
)
ANN = Person(id="1", name="Ann")


async def asking(scenery: Scenery, asked: Asked = QUESTION) -> tuple[int, Message]:
    """A thread in which the agent asks, and the question's message."""
    thread = await scenery.mention("go")
    await scenery.talk.add(scenery.talk.newest(thread), asked)
    question = await scenery.says(thread, asked.text)
    await scenery.until_delivered()
    return thread, question


async def told(scenery: Scenery, thread: int, words: str, viewer: str | None = None) -> Message:
    """A private answer."""
    found = await scenery.guild.wait_for(
        lambda g: next((m for m in g.messages(thread, viewer=viewer) if words in m.content and m.ephemeral), None)
    )
    assert found.author_id == scenery.guild.bot_user_id
    return found


async def test_a_question_notifies_and_shows_the_recommended_option_first(scenery: Scenery) -> None:
    _, question = await asking(scenery)
    assert not question.silent
    assert "**1.** SQLite (recommended) – a file" in question.content
    assert [button["label"] for button in question.interactive()] == ["SQLite", "Postgres", "Stop the task"]
    assert [button["style"] for button in question.interactive()] == [1, 2, 2]


def decided(choice: str, text: str) -> Decided:
    return Decided(question="q1", by=ANN, choice=choice, text=text)


async def closed(scenery: Scenery, question: Message) -> Message:
    """The question once all of its buttons are disabled."""
    return await scenery.guild.wait_for(
        lambda g: (m := g.state.find_message(question.id)) and all(b.get("disabled") for b in m.interactive()) and m
    )


async def test_a_thumb_on_a_question_is_told_how_to_answer_it(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    await scenery.guild.react(question.id, "👍")
    await scenery.says(thread, "👍 and 👎 don't answer a question")
    assert scenery.talk.state(str(thread)) == "asking"


async def test_a_click_is_the_answer_by_its_number(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    await scenery.guild.click(question.id, question.custom_ids()[1])
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    answer = scenery.talk.got[1]
    assert (answer.sort, answer.text, answer.target, answer.thread) == ("answer", "2", "q1", str(thread))


async def test_the_buttons_close_with_the_wait_and_show_the_choice_and_who_chose(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    await scenery.talk.add(scenery.talk.newest(thread), decided("2", "Postgres"))
    shown = await closed(scenery, question)
    assert [button["style"] for button in shown.interactive()] == [2, 3, 2]
    assert shown.custom_ids() == question.custom_ids()
    assert "**Postgres** – chosen by Ann" in shown.content
    assert "Choose below" not in shown.content


async def test_a_fault_with_one_question_leaves_the_others_cared_for(
    scenery: Scenery, monkeypatch: pytest.MonkeyPatch
) -> None:
    (thread, broken), (other, question) = await asking(scenery), await asking(scenery)
    show, met = scenery.bot.desk.show_question, asyncio.Event()

    async def breaks(item: OutboxItem, message: str, content: str | None, standing: Standing) -> None:
        if message == str(broken.id):
            met.set()
            raise ValueError("a fault of ours")
        await show(item, message, content, standing)

    monkeypatch.setattr(scenery.bot.desk, "show_question", breaks)
    await scenery.talk.add(scenery.talk.newest(thread), decided("2", "Postgres"))
    async with asyncio.timeout(SECONDS):
        await met.wait()
    await scenery.talk.add(scenery.talk.newest(other), decided("2", "Postgres"))
    assert "**Postgres** – chosen by Ann" in (await closed(scenery, question)).content


async def test_the_buttons_close_also_after_words_a_stop_and_a_restart(guild: LocalGuild) -> None:
    async with running_bot(guild) as before:
        stopped, first = await asking(before)
        await before.talk.finish(before.talk.newest(stopped), reason="stopped")
        shown = await closed(before, first)
        assert [button["style"] for button in shown.interactive()] == [2, 2, 2]
        assert "the task was stopped" in shown.content
        thread, question = await asking(before)
    async with running_bot(guild, before.store, after=before.talk) as scenery:
        await scenery.talk.add(scenery.talk.newest(thread), decided("text", "neither"))
        shown = await closed(scenery, question)
        assert "Answered by Ann: neither" in shown.content


async def test_a_crash_between_the_decision_and_the_edit_leaves_no_open_buttons(guild: LocalGuild) -> None:
    async with running_bot(guild) as before:
        thread, question = await asking(before)
    talk, execution = before.talk, before.talk.newest(thread)
    state = talk.logs[execution]
    event = decided("1", "SQLite")
    lease = talk.leases[execution]
    envelope = Envelope(execution=execution, seq=state.seq + 1, at=datetime.now(UTC), fence=lease.fence, event=event)
    await talk.store.append(execution, state.seq, lease, [envelope], [])
    async with running_bot(guild, before.store) as scenery:
        assert "**SQLite** – chosen by Ann" in (await closed(scenery, question)).content


async def test_a_process_that_takes_a_task_over_closes_what_was_answered_elsewhere(scenery: Scenery) -> None:
    """It ran already, so it read the open questions long before this one was asked."""
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    await scenery.talk.add(execution, QUESTION, decided("1", "SQLite"), unseen=True)
    scenery.bot.outbox.poke()
    question = await scenery.says(thread, QUESTION.text)
    await scenery.until_delivered()
    await scenery.talk.add(execution, OwnerChanged(worker="this"))
    assert "**SQLite** – chosen by Ann" in (await closed(scenery, question)).content


async def test_buttons_live_through_a_restart(guild: LocalGuild) -> None:
    store = fresh_store()
    async with running_bot(guild, store) as before:
        _, question = await asking(before)
    async with running_bot(guild, store, after=before.talk) as scenery:
        await guild.click(question.id, question.custom_ids()[0])
        await scenery.until(lambda: len(scenery.talk.got) == 1)
        assert (scenery.talk.got[0].sort, scenery.talk.got[0].text) == ("answer", "1")


async def test_somebody_elses_question_is_not_theirs_to_answer(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    scenery.guild.add_member("bob")
    await scenery.guild.click(question.id, question.custom_ids()[0], author="bob")
    await told(scenery, thread, "someone else's task", "bob")
    assert len(scenery.talk.got) == 1


async def test_who_comes_too_late_is_told_what_was_decided_and_by_whom(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    scenery.guild.misbehave(Rule("PATCH */messages/*", ErrorAnswer(403, 50013, "Missing Permissions"), times=None))
    await scenery.talk.add(scenery.talk.newest(thread), decided("1", "SQLite"))
    await scenery.guild.click(question.id, question.custom_ids()[1])
    words = await told(scenery, thread, "no longer open")
    assert "**SQLite** – chosen by Ann" in words.content
    assert len(scenery.talk.got) == 1


async def test_a_double_click_and_a_second_choice_in_the_same_moment_act_once(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    first, second = question.custom_ids()[:2]
    for custom_id in (first, first, second):
        await scenery.guild.click(question.id, custom_id)
    await told(scenery, thread, "no longer open")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert [item.text for item in scenery.talk.got[1:]] == ["1"]


async def test_a_vote_button_under_the_answer_is_feedback_once(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    await scenery.talk.finish(execution)
    answer = await scenery.says(thread, "All done.")
    await scenery.until_delivered()
    up, down = answer.custom_ids()[:2]
    for presses, custom_id in ((1, up), (1, up), (2, down), (3, up)):
        await scenery.guild.click(answer.id, custom_id)
        await scenery.until(lambda presses=presses: len(scenery.talk.got) == presses + 1)
    await told(scenery, thread, "Thanks, rating saved.")
    votes = [(item.sort, item.text, item.target) for item in scenery.talk.got[1:]]
    assert votes == [("feedback", vote, f"{execution}/result") for vote in ("up", "down", "up")]


@pytest.mark.parametrize("options", [(), QUESTION.options], ids=["words only", "with options"])
async def test_every_question_has_a_button_that_stops_the_task(scenery: Scenery, options: tuple[Option, ...]) -> None:
    thread, question = await asking(scenery, QUESTION.model_copy(update={"options": options}))
    assert question.custom_ids()[-1] == f"tw:halt:{scenery.talk.newest(thread)}.3.0"
    await scenery.guild.click(question.id, question.custom_ids()[-1])
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert scenery.talk.got[1].sort == "stop"


# --- what does not fit a button -------------------------------------------------------------------------------------


async def test_long_and_repeated_labels_stand_whole_in_the_text_and_map_to_the_right_option(scenery: Scenery) -> None:
    long = "the same long beginning of a label that goes on and on, well over eighty characters, until "
    options = tuple(Option(id=str(n), label=f"{long}{n}") for n in range(1, 4))
    _, question = await asking(scenery, QUESTION.model_copy(update={"options": options}))
    for number, option in enumerate(options, 1):
        assert f"**{number}.** {option.label}" in question.content
        assert str(question.interactive()[number - 1]["label"]).startswith(f"{number}. ")
    await scenery.guild.click(question.id, question.custom_ids()[2])
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert scenery.talk.got[1].text == "3"


async def test_more_than_a_message_has_buttons_for_becomes_lists(scenery: Scenery) -> None:
    options = tuple(Option(id=f"o{n}", label=f"Option {n}") for n in range(1, 31))
    _, question = await asking(scenery, QUESTION.model_copy(update={"options": options}))
    first, second, stop = question.interactive()
    assert (first["type"], second["type"], stop["type"]) == (3, 3, 2)
    await scenery.guild.click(question.id, str(second["custom_id"]), values=["29"])
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert (scenery.talk.got[1].text, scenery.talk.got[1].target) == ("30", "q1")


# --- several questions in one ---------------------------------------------------------------------------------------


async def test_several_questions_have_a_row_each_and_an_answer_names_its_part(scenery: Scenery) -> None:
    _, question = await asking(scenery, SEVERAL)
    for text in ("**1. Which database?**", "**2. Which system?**", "**3. Why at all?**", "in your own words"):
        assert text in question.content
    assert [control.get("label") for control in question.interactive()] == [
        "1 · SQLite",
        "1 · Postgres",
        None,
        "Stop the task",
    ]
    ids = question.custom_ids()
    await scenery.guild.click(question.id, ids[1])
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    await scenery.guild.click(question.id, ids[2], values=["7"])
    await scenery.until(lambda: len(scenery.talk.got) == 3)
    assert [(i.sort, i.text, i.target) for i in scenery.talk.got[1:]] == [
        ("answer", "2", "q2#db"),
        ("answer", "8", "q2#os"),
    ]


async def test_what_is_already_answered_is_shown_without_a_sound_and_can_be_changed(scenery: Scenery) -> None:
    thread, question = await asking(scenery, SEVERAL)
    execution = scenery.talk.newest(thread)
    given = InputReceived(inbox="i1", sort="answer", author=ANN, text="2", target="q2#db")
    await scenery.talk.add(execution, given)
    shown = await scenery.guild.wait_for(
        lambda g: (m := g.state.find_message(question.id)) and "✔ **Postgres** – Ann" in m.content and m
    )
    assert [button["style"] for button in shown.interactive()[:2]] == [2, 3]
    assert not any(control.get("disabled") for control in shown.interactive())
    assert all(message.silent for message in scenery.of_bot(thread)[2:])
    await scenery.guild.click(question.id, shown.custom_ids()[0])
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    answers = {"db": "SQLite", "os": "System 3", "why": "because"}
    await scenery.talk.add(execution, Decided(question="q2", by=ANN, choice="text", answers=answers))
    end = await closed(scenery, question)
    for text in ("✔ **SQLite**", "✔ **System 3**", "✔ **because**", "Answered by Ann"):
        assert text in end.content


async def test_of_more_questions_than_rows_those_without_an_answer_are_shown(scenery: Scenery) -> None:
    parts = tuple(Part(id=f"p{n}", text=f"Part {n}?", options=QUESTION.options) for n in range(1, 8))
    thread, question = await asking(scenery, SEVERAL.model_copy(update={"parts": parts}))
    assert [custom.split(":")[3][0] for custom in question.custom_ids()[:-1]] == list("11223344")
    given = InputReceived(inbox="i1", sort="answer", author=ANN, text="1", target="q2#p2")
    await scenery.talk.add(scenery.talk.newest(thread), given)
    shown = await scenery.guild.wait_for(
        lambda g: (m := g.state.find_message(question.id)) and m.custom_ids() != question.custom_ids() and m
    )
    assert [custom.split(":")[3][0] for custom in shown.custom_ids()[:-1]] == list("11334455")


# --- undo and offered branches --------------------------------------------------------------------------------------


async def test_plain_text_is_the_answer_too(scenery: Scenery) -> None:
    thread, _ = await asking(scenery)
    await scenery.guild.post(thread, "neither, use a list")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    answer = scenery.talk.got[1]
    assert (answer.sort, answer.text, answer.target) == ("answer", "neither, use a list", "q1")
