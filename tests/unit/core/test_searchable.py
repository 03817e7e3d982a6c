"""What of an event can be found by its words."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    Event,
    FileChange,
    Finished,
    InputReceived,
    Noted,
    Option,
    Part,
    Person,
    Started,
    ToolFinished,
    ToolStarted,
)
from agentic.core.text.searchable import KINDS, MOST, Searchable, searchable

ANNA = Person(id="7", name="Anna")
NOTHING = "nothing"
CALL = {"call": "c", "provider_id": "p", "tool": "shell", "effect": "unkeyed", "args_sha": "s"}
EVENTS: list[tuple[Event, Searchable | None]] = [
    (Started(thread="t", task=" fix it ", requester=ANNA), Searchable("task", "Anna", "fix it")),
    (InputReceived(inbox="i", sort="guidance", author=ANNA, text="faster"), Searchable("message", "Anna", "faster")),
    (InputReceived(inbox="i", sort="stop", author=ANNA), None),
    (InputReceived(inbox="i", sort="feedback", author=ANNA, text="up"), None),
    (InputReceived(inbox="i", sort="answer", author=ANNA, text="red"), None),
    (Decided(question="q", by=ANNA, choice="red", answers={"1": "big"}), Searchable("choice", "Anna", "red big")),
    (
        Asked(question="q", text="How?", parts=(Part(id="1", text="Which?", options=(Option(id="o", label="Red"),)),)),
        Searchable("question", "", "How?\nWhich?\nRed"),
    ),
    (ToolStarted.model_validate({**CALL, "arguments": {"command": "ls", "code": 1}}), Searchable("command", "", "ls")),
    (ToolStarted.model_validate({**CALL, "arguments": {"path": "a"}}), None),
    (
        ToolFinished(call="c", outcome="ok", preview="x", changes=(FileChange(path="a.py", kind="added"),)),
        Searchable("files", "", "a.py"),
    ),
    (ToolFinished(call="c", outcome="ok", preview="x"), None),
    (Finished(reason="done", answer="It is done."), Searchable("answer", "", "It is done.")),
    (Noted(text="a note"), None),
]


@pytest.mark.parametrize(("event", "words"), EVENTS)
def test_what_people_and_the_agent_said_and_did_is_found_and_nothing_else(
    event: Event, words: Searchable | None
) -> None:
    assert searchable(event) == words
    assert words is None or event.kind in KINDS


def test_a_long_text_is_cut() -> None:
    found = searchable(Finished(reason="done", answer="x" * (MOST + 5)))
    assert found is not None
    assert len(found.text) == MOST
