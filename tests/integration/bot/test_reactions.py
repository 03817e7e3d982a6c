"""Reactions from raw events: on any message of the bot, on a task's own message, by people who may, each answered once."""

from __future__ import annotations

from datetime import timedelta

import discord
import pytest

from agentic.core.events.execution_events import (
    Confidence,
    ConfidenceParts,
    InputReceived,
    ModelRequested,
    TurnEnded,
)
from agentic.ports.errors import StoreError
from agentic.runtime.inbox_drain import received
from bot.inbound.interpret_reaction import CONTINUE
from bot.inbound.message_target import Showing
from bot.local_discord.faults.rules import Duplicated, Rule
from tests.integration.bot.talking import Scenery
from tests.integration.bot.test_questions import asking


async def after(scenery: Scenery, thread: int) -> list[tuple[str, str, str]]:
    """(sort, text, target) of what was taken in after the task, once a later sign of the same person was."""
    await scenery.guild.react(thread, "❌")
    await scenery.until(
        lambda: (scenery.talk.got[-1].sort, scenery.talk.got[-1].message) == ("correction", str(thread))
    )
    return [(item.sort, item.text, item.target) for item in scenery.talk.got[1:-1]]


async def test_a_stop_on_the_tasks_own_message_in_the_parent_channel_stops(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    await scenery.guild.react(thread, "🛑")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    stop = scenery.talk.got[1]
    assert (stop.sort, stop.thread, stop.author.name) == ("stop", str(thread), scenery.guild.you.name)


async def test_a_vote_on_the_progress_message_is_for_the_turn_it_shows(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    await scenery.guild.react(scenery.of_bot(thread)[0].id, "👍")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    vote = scenery.talk.got[1]
    assert (vote.sort, vote.text, vote.target) == ("feedback", "up", f"{scenery.talk.newest(thread)}/turn:0")
    await scenery.says(thread, "Thanks, rating saved.")


async def test_a_vote_on_the_answer_is_for_the_result_and_can_be_taken_back(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    await scenery.talk.finish(execution)
    answer = await scenery.says(thread, "All done.")
    await scenery.until_delivered()
    await scenery.guild.react(answer.id, "👎🏿")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    await scenery.guild.unreact(answer.id, "👎🏿")
    await scenery.says(thread, "Your rating was removed.")
    assert not [message for message in scenery.guild.messages(thread) if "rating saved" in message.content]
    votes = [(item.text, item.target) for item in scenery.talk.got[1:]]
    assert votes == [("down", f"{execution}/result"), ("none", f"{execution}/result")]


async def test_of_two_votes_the_last_counts_and_taking_the_other_back_changes_nothing(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    await scenery.talk.finish(scenery.talk.newest(thread))
    answer = await scenery.says(thread, "All done.")
    await scenery.until_delivered()
    for sign in ("👍", "👎"):
        await scenery.guild.react(answer.id, sign)
    await scenery.guild.unreact(answer.id, "👍")
    assert [text for _, text, _ in await after(scenery, thread)] == ["up", "down"]


async def test_a_vote_on_a_turn_is_taken_back_from_that_turn_though_the_message_shows_a_later_one(
    scenery: Scenery,
) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    progress = scenery.of_bot(thread)[0]
    await scenery.guild.react(progress.id, "👍")
    await scenery.says(thread, "Thanks, rating saved.")
    vote = scenery.talk.got[1]
    taken = InputReceived(
        inbox=vote.id, sort="feedback", author=vote.author, text="up", target=vote.target, message=vote.message
    )
    await scenery.store.discard([vote.id])
    await scenery.talk.add(execution, taken, ModelRequested(request="r1", turn=3, tier=2, model="m"))
    await scenery.says(thread, "turn 3")
    await scenery.guild.unreact(progress.id, "👍")
    await scenery.says(thread, "Your rating was removed.")


async def test_a_judgement_of_an_older_result_is_about_that_one_while_a_stop_ends_what_runs(scenery: Scenery) -> None:
    thread = await scenery.mention("one")
    first = scenery.talk.newest(thread)
    await scenery.talk.finish(first)
    answer = await scenery.says(thread, "All done.")
    await scenery.until_delivered()
    await scenery.guild.post(thread, "two")
    await scenery.until(lambda: scenery.talk.newest(thread) != first)
    for sign in ("👎", "❌", "⏸", "🛑"):
        await scenery.guild.react(answer.id, sign)
    done = (await after(scenery, thread))[1:]
    assert [sort for sort, _, _ in done] == ["feedback", "correction", "pause", "stop"]
    assert [target for _, _, target in done[:2]] == [f"{first}/result"] * 2

    def receipts() -> list[str]:
        return [m.content for m in scenery.of_bot(thread) if "❌ Noted" in m.content]

    await scenery.until(lambda: len(receipts()) >= 2)
    await scenery.until_delivered()
    assert len(receipts()) == 2, "one for the answer, one for the sign that came after the others"


async def test_a_message_of_the_bot_that_no_outbox_knows_is_about_what_ran_when_it_was_posted(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    own = await scenery.bot.get_partial_messageable(thread).send("continued below")
    await scenery.guild.react(own.id, "👎")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert scenery.talk.got[1].target == f"{execution}/result"
    row = await scenery.store.execution(execution)
    assert row is not None
    assert row.started_at is not None
    assert discord.utils.snowflake_time(own.id) > row.started_at - timedelta(seconds=1)


async def test_a_later_task_in_the_thread_can_be_stopped_on_its_own_message(scenery: Scenery) -> None:
    thread = await scenery.mention("one")
    await scenery.talk.finish(scenery.talk.newest(thread))
    await scenery.says(thread, "All done.")
    second = await scenery.guild.post(thread, "two")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    chat = await scenery.guild.post(thread, "nice")
    await scenery.until(lambda: len(scenery.talk.got) == 3)
    await scenery.guild.react(chat.id, "🛑")
    await scenery.guild.react(second.id, "🛑")
    await scenery.until(lambda: len(scenery.talk.got) == 4)
    assert (scenery.talk.got[3].sort, scenery.talk.got[3].message) == ("stop", str(second.id))


@pytest.mark.parametrize(("sign", "words"), [("✅", "I'm on it"), ("🔄", "Stop it with 🛑, then 🔄 starts it over")])
async def test_a_sign_that_changes_nothing_now_is_answered_plainly_and_once(
    scenery: Scenery, sign: str, words: str
) -> None:
    thread = await scenery.mention("go")
    await scenery.guild.react(thread, sign)
    await scenery.says(thread, words)
    assert await after(scenery, thread) == []
    assert sum(words in message.content for message in scenery.of_bot(thread)) == 1


async def test_pause_resume_and_ask_change_what_runs_and_say_where_they_cannot(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    progress = scenery.of_bot(thread)[0]
    await scenery.guild.react(progress.id, "▶️")
    await scenery.says(thread, "Nothing is paused here")
    await scenery.guild.react(progress.id, "⏸️")
    await scenery.until(lambda: scenery.talk.state(str(thread)) == "paused")
    await scenery.guild.unreact(progress.id, "⏸️")
    await scenery.guild.unreact(progress.id, "▶️")
    await scenery.guild.react(progress.id, "▶️")
    await scenery.until(lambda: scenery.talk.state(str(thread)) == "busy")
    await scenery.guild.react(progress.id, "💬")
    assert [sort for sort, _, _ in await after(scenery, thread)] == ["pause", "resume", "ask"]


async def test_continue_takes_the_advice_of_a_question_begins_anew_where_nothing_runs_and_else_says_so(
    scenery: Scenery,
) -> None:
    thread, question = await asking(scenery)
    await scenery.guild.react(question.id, "✅")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert (scenery.talk.got[1].sort, scenery.talk.got[1].text, scenery.talk.got[1].target) == ("answer", "1", "q1")
    await scenery.talk.finish(scenery.talk.newest(thread))
    answer = await scenery.says(thread, "All done.")
    await scenery.until_delivered()
    await scenery.guild.react(answer.id, "✅")
    await scenery.until(lambda: len(scenery.talk.got) == 3)
    assert (scenery.talk.got[2].sort, scenery.talk.got[2].text) == ("task", CONTINUE)
    assert scenery.talk.state(str(thread)) == "busy"
    await scenery.guild.unreact(answer.id, "✅")
    await scenery.guild.react(answer.id, "✅")
    await scenery.says(thread, "I'm on it")
    assert len(scenery.talk.got) == 3


async def test_a_message_shows_nothing_in_a_thread_that_it_does_not_stand_in(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    other = await scenery.mention("elsewhere")
    showing = Showing(scenery.store, scenery.talk, scenery.bot.board)
    shown = await showing.on(str(question.id), str(thread), own=True)
    assert shown is not None
    assert (shown.thread, shown.question) == (str(thread), "q1")
    for message in (question.id, scenery.of_bot(thread)[0].id, thread):
        assert await showing.on(str(message), str(other), own=False) is None


async def test_an_event_that_the_gateway_sends_twice_is_one_act_with_one_receipt(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    scenery.guild.misbehave(Rule("MESSAGE_REACTION_ADD", Duplicated(), times=None))
    await scenery.guild.react(scenery.of_bot(thread)[0].id, "👍")
    assert [sort for sort, _, _ in await after(scenery, thread)] == ["feedback"]
    await scenery.says(thread, "Thanks, rating saved.")
    assert sum("Thanks, rating saved." in message.content for message in scenery.of_bot(thread)) == 1


async def test_an_executor_rates_only_results_of_their_own_tasks(scenery: Scenery) -> None:
    scenery.guild.add_member("bob")
    thread = await scenery.mention("go")
    await scenery.talk.finish(scenery.talk.newest(thread))
    answer = await scenery.says(thread, "All done.")
    await scenery.until_delivered()
    await scenery.guild.react(answer.id, "👍", author="bob")
    await scenery.guild.react(answer.id, "👍")
    await scenery.says(thread, "Thanks, rating saved.")
    assert [item.author.name for item in scenery.talk.got[1:]] == [scenery.guild.you.name]


async def test_a_reaction_that_could_not_be_kept_is_said(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    scenery.talk.refuse = StoreError("the disk is full")
    await scenery.guild.react(scenery.of_bot(thread)[0].id, "👎")
    await scenery.says(thread, "I couldn't save that")


async def test_a_vote_while_it_works_is_seen_to_move_its_confidence(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    parts = ConfidenceParts(self_report=70, tool_ok=1, same_error=0, tests=0.5, progress=1, corrections=0)
    turn = ModelRequested(request="r", turn=1, tier=2, model="m")
    ended = TurnEnded(turn=1, confidence=Confidence(shown=64, heuristic=64, parts=parts))
    await scenery.talk.add(execution, turn, ended)
    await scenery.guild.react(scenery.of_bot(thread)[0].id, "👎")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    await scenery.talk.add(execution, received(scenery.talk.got[1]))
    assert (sure := scenery.talk.logs[execution].confidence) is not None
    assert sure.heuristic == 44
    await scenery.until(lambda: "confidence 44 (64 before votes, estimate)" in scenery.of_bot(thread)[0].content)
