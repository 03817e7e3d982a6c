"""A task as a chat: what people answered is told once and in words, and what waits for them is no tool time."""

from __future__ import annotations

from agentic.core.events.execution_events import (
    Asked,
    CallBlock,
    Decided,
    Event,
    InputReceived,
    ModelAnswered,
    ModelRequested,
    Option,
    Part,
    ToolFinished,
    ToolStarted,
    Usage,
)
from agentic.core.events.ids import call_id
from agentic.core.fold.people import MACHINE
from bot.console.exports.transcript import Utterance, transcript
from bot.console.views.story import Item, Story, about
from tests.integration.console import logs

CALL = call_id("r", 0)
WHEN = (Option(id="1", label="weekly"), Option(id="2", label="monthly"))


def told(*log: Event) -> tuple[list[Item], list[str]]:
    """What the page shows of a turn with one call, and what a file of the task has of all but the model."""
    block = CallBlock(provider_id="p", tool="ask_user", arguments={"question": "How often?"})
    events = logs.enveloped(
        "e",
        [
            logs.started(), ModelRequested(request="r", turn=1, tier=2, model="m"),
            ModelAnswered(request="r", blocks=(block,), usage=Usage()), began(), *log,
        ],
    )  # fmt: skip
    story = Story()
    for envelope in events:
        story.take(envelope)
    said = [entry for turn in transcript(events) for entry in turn.entries if isinstance(entry, Utterance)]
    return story.turns[-1].items, [entry.text for entry in said[1:]]


def began() -> Event:
    return ToolStarted(call=CALL, provider_id="p", tool="ask_user", effect="keyed", arguments={}, args_sha="")


def ended(outcome: str = "ok") -> Event:
    return ToolFinished.model_validate({"call": CALL, "outcome": outcome, "preview": "weekly"})


def answer(text: str, target: str = "q", inbox: str = "i") -> Event:
    return InputReceived(inbox=inbox, sort="answer", author=logs.ANN, text=text, target=target)


def texts(items: list[Item]) -> list[tuple[str, str]]:
    return [(item.who, item.text) for item in items if item.sort != "call"]


def test_an_answer_is_told_once_in_the_words_that_were_chosen() -> None:
    asked = Asked(question="q", text="How often?", options=WHEN, call=CALL)
    items, files = told(asked, answer("1"), Decided(question="q", by=logs.ANN, choice="1", text="weekly"), ended())
    assert texts(items) == [("question", "How often? (weekly / monthly)"), ("Ann", "weekly")]
    assert files == ["How often? (weekly / monthly)", "weekly"]
    items, _ = told(asked, answer("never"), Decided(question="q", by=logs.ANN, choice="text", text="never"), ended())
    assert texts(items)[1:] == [("Ann", "never")]


def test_each_part_of_a_question_is_shown_with_its_answer() -> None:
    parts = (Part(id="1", text="How often?", options=WHEN), Part(id="2", text="In what colour?"))
    decided = Decided(question="q", by=logs.ANN, choice="text", text="red", answers={"1": "weekly", "2": "red"})
    asked = Asked(question="q", text="Two things", parts=parts, call=CALL)
    items, files = told(asked, answer("1", "q#1"), answer("red", "q#2", "j"), decided, ended())
    assert [text for _, text in texts(items)] == files == [
        "Two things\n1. How often? (weekly / monthly)\n2. In what colour?", "How often? weekly", "In what colour? red",
    ]  # fmt: skip


def test_what_nobody_answered_and_what_is_more_than_an_answer_is_told() -> None:
    asked = Asked(question="q", sort="approval", text="May I?", options=(Option(id="deny", label="Deny"),), call=CALL)
    late = Decided(question="q", by=MACHINE, choice="deny", text="nobody approved it in time")
    items, files = told(asked, late, ended("denied"))
    assert texts(items)[1][1] == files[1] == f"{MACHINE.name} chose: Deny, nobody approved it in time"


def test_a_call_that_asks_waits_for_a_person_and_takes_no_time_of_its_own() -> None:
    asked = Asked(question="q", sort="approval", text="May I?", call=CALL)
    (call, *_), _ = told(asked)
    assert call.state == "asks"
    (call, *_), _ = told(asked, answer("yes"), Decided(question="q", by=logs.ANN, choice="yes"), ended())
    assert (call.state, call.waited, call.seconds) == ("ok", 6, 0)  # an event each two seconds
    (call, *_), _ = told(asked, answer("yes"), Decided(question="q", by=logs.ANN, choice="yes"), began(), ended())
    assert (call.state, call.waited, call.seconds) == ("ok", 0, 2), "it ran after the approval"


def test_a_list_of_questions_is_told_by_their_words() -> None:
    arguments: dict[str, object] = {"questions": [{"text": "Colour?", "options": ["red"]}, {"text": "Size?"}]}
    assert about(arguments.items()) == "Colour?, Size?"
    assert about({"edits": [{"old": "a", "new": "b"}]}.items()) == '[{"old":"a","new":"b"}]'
