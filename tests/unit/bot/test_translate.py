"""What people do in Discord, and what it means."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.events.execution_events import FileRef, InboxItem
from bot.access.permissions import Speaker
from bot.inbound.emoji import STOP
from bot.inbound.events import (
    BotIdentity,
    ClickEvent,
    Ignore,
    MessageEvent,
    ReactionEvent,
    Reply,
    ShowCommand,
    ThreadView,
)
from bot.inbound.interpret_message import (
    title_of,
    translate_edit,
    translate_message,
    without_mentions,
)
from bot.inbound.interpret_reaction import translate_click, translate_reaction
from bot.ports.conversation import ThreadState

AT = datetime(2026, 1, 2, tzinfo=UTC)
ANN = Speaker("7", "Ann")
HOUSE = BotIdentity(mentions=("99",), custom_emoji={"555": STOP})
BUSY, IDLE, ASKING = ThreadView("busy", requester="7"), ThreadView("idle"), ThreadView("asking", "q1", "7")


def said(text: str, *, thread: str = "50", speaker: Speaker = ANN, **more: object) -> MessageEvent:
    base = MessageEvent(id="60", channel="40", thread=thread, text=text, at=AT, speaker=speaker)
    return replace(base, **more)  # type: ignore[arg-type]


def reacted(emoji: str, *, speaker: Speaker = ANN, custom_id: str = "", added: bool = True) -> ReactionEvent:
    return ReactionEvent("r1", "61", "50", emoji, AT, speaker, custom_id, "x1/turn:3", added)


def test_a_mention_in_a_channel_is_a_task_whose_thread_has_the_messages_id() -> None:
    item = translate_message(said("<@99> fix it", thread="", addressed=True), ThreadView("unknown"), HOUSE)
    assert isinstance(item, InboxItem)
    assert (item.sort, item.text, item.thread, item.channel, item.id) == ("task", "fix it", "60", "40", "60")


def test_a_mention_in_a_thread_people_made_makes_that_thread_a_session() -> None:
    item = translate_message(said("hey <@!99> fix it", addressed=True), ThreadView("unknown"), HOUSE)
    assert isinstance(item, InboxItem)
    assert (item.sort, item.thread, item.channel, item.text) == ("task", "50", "", "hey fix it")


@pytest.mark.parametrize(
    ("scene", "sort", "target"), [(IDLE, "task", ""), (BUSY, "guidance", ""), (ASKING, "answer", "q1")]
)
def test_a_plain_message_means_what_the_state_says(scene: ThreadView, sort: str, target: str) -> None:
    item = translate_message(said("use tabs"), scene, HOUSE)
    assert isinstance(item, InboxItem)
    assert (item.sort, item.target, item.text) == (sort, target, "use tabs")


@pytest.mark.parametrize("mark", [". ", ". btw "])
def test_an_edit_is_read_without_the_mark_of_the_queue(mark: str) -> None:
    item = translate_edit(said(f"{mark}use spaces"), "e1", "50", "use tabs", HOUSE)
    assert isinstance(item, InboxItem)
    assert item.text == "use spaces"
    assert isinstance(translate_edit(said(f"{mark}use tabs"), "e1", "50", "use tabs", HOUSE), Ignore)


def test_what_is_not_addressed_is_ignored_outside_of_sessions() -> None:
    assert isinstance(translate_message(said("hello"), ThreadView("unknown"), HOUSE), Ignore)
    assert isinstance(translate_message(said("hello", thread=""), ThreadView("unknown"), HOUSE), Ignore)


@pytest.mark.parametrize("words", ["stop", "Stop!", " STOP. ", "abort", "🛑", "🛑\ufe0f"])
def test_a_stop_alone_stops(words: str) -> None:
    item = translate_message(said(words), BUSY, HOUSE)
    assert isinstance(item, InboxItem)
    assert item.sort == "stop"


@pytest.mark.parametrize(
    "words", ["stopwatch", "stop it there", "do not stop", "please stop", "st\u200bop", "stop stop"]
)
def test_a_stop_inside_other_words_is_guidance(words: str) -> None:
    item = translate_message(said(words), BUSY, HOUSE)
    assert isinstance(item, InboxItem)
    assert item.sort == "guidance"


def test_a_stop_where_nothing_runs_is_delivered_for_what_is_still_to_come_and_told_where_no_agent_is() -> None:
    quiet = translate_message(said("stop"), IDLE, HOUSE)
    assert isinstance(quiet, InboxItem)
    assert quiet.sort == "stop"
    assert isinstance(
        translate_message(said("<@99> stop", thread="", addressed=True), ThreadView("unknown"), HOUSE), Reply
    )


@pytest.mark.parametrize("words", ["escalate", "🚀"])
def test_a_stronger_model_is_asked_for_where_something_runs(words: str) -> None:
    item = translate_message(said(words), BUSY, HOUSE)
    assert isinstance(item, InboxItem)
    assert item.sort == "escalate"
    told = translate_message(said(words), IDLE, HOUSE)
    assert isinstance(told, Reply)
    assert "nothing to hand over" in told.text


@pytest.mark.parametrize("words", ["retry", "🔄", "try again"])
def test_a_task_is_run_again_only_where_nothing_runs(words: str) -> None:
    item = translate_message(said(words), IDLE, HOUSE)
    assert isinstance(item, InboxItem)
    assert (item.sort, item.text, item.target) == ("retry", "", "")
    told = translate_message(said(words), BUSY, HOUSE)
    assert isinstance(told, Reply)
    assert "Stop it with 🛑" in told.text


@pytest.mark.parametrize(("words", "sort"), [("pause", "pause"), ("⏸", "pause"), ("ask me", "ask"), ("👎", "feedback")])
def test_words_and_signs_that_are_the_whole_message_mean_what_the_reaction_means(words: str, sort: str) -> None:
    for text in (words, f"<@99> {words}"):
        item = translate_message(said(text), BUSY, HOUSE)
        assert isinstance(item, InboxItem)
        assert item.sort == sort


@pytest.mark.parametrize("words", ["continue", "retry", "resume"])
def test_a_command_word_is_an_answer_where_a_question_is_open(words: str) -> None:
    item = translate_message(said(words), ASKING, HOUSE)
    assert isinstance(item, InboxItem)
    assert (item.sort, item.text) == ("answer", words)
    stop = translate_message(said("stop"), ASKING, HOUSE)
    assert isinstance(stop, InboxItem)
    assert stop.sort == "stop"


def test_a_dot_queues_a_task_while_another_runs() -> None:
    item = translate_message(said(". then the docs"), BUSY, HOUSE)
    assert isinstance(item, InboxItem)
    assert (item.sort, item.text) == ("queue", "then the docs")
    idle = translate_message(said(". then the docs"), IDLE, HOUSE)
    assert isinstance(idle, InboxItem)
    assert idle.sort == "task"


@pytest.mark.parametrize("speaker", [Speaker("99", "me", itself=True), Speaker("8", "other", bot=True)])
def test_bots_webhooks_and_itself_are_ignored(speaker: Speaker) -> None:
    assert isinstance(translate_message(said("<@99> hi", addressed=True, speaker=speaker), BUSY, HOUSE), Ignore)
    assert isinstance(translate_reaction(reacted(STOP, speaker=speaker), BUSY, HOUSE), Ignore)


def test_a_configured_bot_may_speak() -> None:
    house = replace(HOUSE, speaking_bots=frozenset({"8"}))
    item = translate_message(said("<@99> hi", addressed=True, speaker=Speaker("8", "ci", bot=True)), IDLE, house)
    assert isinstance(item, InboxItem)


def test_a_viewer_is_told_when_addressing_the_bot_and_ignored_otherwise() -> None:
    viewer = Speaker("9", "Vic", level="viewer")
    assert isinstance(translate_message(said("<@99> go", addressed=True, speaker=viewer), IDLE, HOUSE), Reply)
    assert isinstance(translate_message(said("go", speaker=viewer), IDLE, HOUSE), Ignore)
    assert isinstance(translate_reaction(reacted(STOP, speaker=viewer), BUSY, HOUSE), Ignore)
    assert isinstance(translate_click(ClickEvent("c", "61", "50", AT, viewer, "q1"), ASKING), Reply)


def test_an_executor_steers_only_their_own_but_may_stop_anything() -> None:
    bob = Speaker("8", "Bob")
    assert isinstance(translate_message(said("use tabs", speaker=bob), BUSY, HOUSE), Reply)
    assert isinstance(translate_message(said("yes", speaker=bob), ASKING, HOUSE), Reply)
    stop = translate_reaction(reacted(STOP, speaker=bob), BUSY, HOUSE)
    assert isinstance(stop, InboxItem)
    operator = translate_message(said("use tabs", speaker=replace(bob, level="operator")), BUSY, HOUSE)
    assert isinstance(operator, InboxItem)


@pytest.mark.parametrize("kind", ["voice", "poll", "forwarded", "sticker"])
def test_what_cannot_be_read_is_told(kind: str) -> None:
    assert isinstance(translate_message(said("", kind=kind), IDLE, HOUSE), Reply)
    assert isinstance(translate_message(said("", kind=kind), ThreadView("unknown"), HOUSE), Ignore)


def test_empty_and_file_only_messages_are_told() -> None:
    assert isinstance(translate_message(said("<@99>", addressed=True), IDLE, HOUSE), Reply)
    told = translate_message(said("", files=(FileRef(name="a.csv"),)), IDLE, HOUSE)
    assert isinstance(told, Reply)
    assert "a.csv" in told.text


def test_a_long_message_is_kept_whole() -> None:
    text = "x" * 4_000
    item = translate_message(said(text), IDLE, HOUSE)
    assert isinstance(item, InboxItem)
    assert item.text == text


@pytest.mark.parametrize("words", ["status", "help", "Status"])
def test_status_and_help_can_be_asked_by_mention(words: str) -> None:
    assert isinstance(translate_message(said(f"<@99> {words}", addressed=True), BUSY, HOUSE), ShowCommand)
    assert isinstance(translate_message(said(words), BUSY, HOUSE), InboxItem)


def test_a_custom_emoji_counts_by_its_configured_id_and_never_by_its_name() -> None:
    assert isinstance(translate_reaction(reacted("stop", custom_id="444"), BUSY, HOUSE), Ignore)
    item = translate_reaction(reacted("whatever", custom_id="555"), BUSY, HOUSE)
    assert isinstance(item, InboxItem)
    assert item.sort == "stop"


def test_taking_back_undoes_a_vote_and_no_stop() -> None:
    vote = translate_reaction(reacted("👍", added=False), IDLE, HOUSE)
    assert isinstance(vote, InboxItem)
    assert vote.text == "none"
    assert isinstance(translate_reaction(reacted(STOP, added=False), BUSY, HOUSE), Ignore)


def test_a_click_answers_the_open_question_only() -> None:
    click = ClickEvent("c", "61", "50", AT, ANN, "q1", 1)
    item = translate_click(click, ASKING)
    assert isinstance(item, InboxItem)
    assert (item.sort, item.target, item.text) == ("answer", "q1", "2")
    assert isinstance(translate_click(click, BUSY), Reply)
    assert isinstance(translate_click(click, ThreadView("asking", "q2", "7")), Reply)


def test_only_the_bots_own_mention_is_stripped() -> None:
    assert without_mentions("<@99> ask <@7> and <@&98>", ("99", "98")) == "ask <@7> and"
    assert title_of("<@99>   Fix\n the\u202e build ") == "Fix the build"
    assert title_of("") == "A task"


STATES: list[ThreadState] = ["unknown", "idle", "busy", "asking"]


@given(st.text(max_size=60), st.sampled_from(STATES), st.booleans(), st.sampled_from(["", "50"]))
def test_every_message_has_a_defined_outcome(text: str, state: ThreadState, addressed: bool, thread: str) -> None:
    outcome = translate_message(said(text, thread=thread, addressed=addressed), ThreadView(state), HOUSE)
    assert isinstance(outcome, InboxItem | Reply | ShowCommand | Ignore)
    assert 1 <= len(title_of(text)) <= 100
