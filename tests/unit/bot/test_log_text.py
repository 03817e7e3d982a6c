"""A log as people read it."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Asked,
    DeadlinePassed,
    Decided,
    Event,
    Intervened,
    ModelAnswered,
    Option,
    Person,
    Reflected,
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
    )  # fmt: skip
    assert [line for _, line in story(log)][1:] == ["Ann chose: German", "Ann chose: English"]
