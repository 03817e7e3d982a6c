"""A log as people read it."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Asked,
    DeadlinePassed,
    Decided,
    Evaluated,
    Event,
    Intervened,
    ModelAnswered,
    Option,
    Person,
    Reflected,
    Reported,
    TextBlock,
    ToolStarted,
    Usage,
)
from bot.messages.log_text import story, told
from tests.unit.bot.test_views import logged

ANN = Person(id="1", name="Ann")


def called(tool: str, **arguments: JsonValue) -> ToolStarted:
    """A call that began."""
    return ToolStarted(call="c", provider_id="p", tool=tool, effect="read", arguments=arguments, args_sha="s")


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (called("shell", command="pytest -q"), "started shell: pytest -q"),
        (called("finish", answer="It works.", confidence=90), "started finish: It works."),
        (called("look", deep=True), "started look"),
        (
            Intervened(rule="snapshot", text="[Note from Threadwright] So far: nothing"),
            "note to the model: So far: nothing",
        ),
        (Evaluated(score=64, parts={}), "scored 64 of 100: no check was run on it"),
        (Reported(status="stuck", confidence=20, note="no way on"), "it says: stuck, 20% sure: no way on"),
        (DeadlinePassed(ref="minutes"), "the time for this task is up"),
        (DeadlinePassed(ref="wdd4df"), "nobody answered in time"),
        (Reflected(reflection="", problem="no JSON"), "nothing learned: no JSON"),
        (Reflected(reflection="r1"), "learned from this task"),
        (ModelAnswered(request="r", blocks=(TextBlock(text="Hi."),), usage=Usage(), stop="end"), "it answered: Hi."),
        (ModelAnswered(request="r", blocks=(), usage=Usage(), stop="end"), "it answered nothing"),
    ],
)
def test_a_line_says_it_in_words(event: Event, line: str) -> None:
    assert told(event) == line


def test_a_choice_is_told_by_its_label() -> None:
    options = (Option(id="1", label="English"), Option(id="2", label="German"))
    log = logged(
        Asked(question="q", text="Which?", options=options), Decided(question="q", by=ANN, choice="2"),
        Decided(question="q", by=ANN, choice="", answers={"a": "1"}),
        Decided(question="q", by=ANN, choice="2", text="German"), Decided(question="q", by=ANN, choice="text", text="Latin"),
        Decided(question="q", by=ANN, choice="deny", text="Ann denied it and said: no"),
    )  # fmt: skip
    assert [line for _, line in story(log)][1:] == [
        "Ann chose: German", "Ann chose: English", "Ann chose: German", "Ann answered: Latin", "Ann chose: deny",
    ]  # fmt: skip
    assert told(log[3].event) == "Ann chose: German", "without the options, by its words and not by its number"
