"""An answer in words names an option as people name it: by label, number or place."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    Asked,
    InputReceived,
    Option,
    Part,
    Person,
)
from agentic.core.text.answers import in_parts, option_of

OPTIONS = tuple(Option(id=name, label=label) for name, label in (("a", "SQLite"), ("b", "Postgres"), ("c", "My SQL")))


@pytest.mark.parametrize(
    "said",
    ["2", "2.", "(2)", "#2", "b", "Postgres", "postgres!", "“Postgres”", "option 2", "number 2", "no. 2", "the second",
     "The second one, please.", "second", "2nd", "I'd take the second", "let's go with option 2", "use the 2nd one"],
)  # fmt: skip
def test_natural_forms_name_the_second_option(said: str) -> None:
    option = option_of(OPTIONS, said)
    assert option is not None
    assert option.label == "Postgres"


def test_the_last_is_the_last() -> None:
    assert option_of(OPTIONS, "the last one") == OPTIONS[-1]


@pytest.mark.parametrize(
    "said", ["", "4", "0", "the fourth", "either", "Postgres or SQLite", "the second thought I had", "12 tables"]
)
def test_what_names_none_is_words(said: str) -> None:
    assert option_of(OPTIONS, said) is None


def test_a_label_that_is_a_number_is_that_label() -> None:
    options = (Option(id="x", label="3"), Option(id="y", label="2"))
    assert option_of(options, "3") == options[0]


@pytest.mark.parametrize("text", ["1: the second, 2: last", "Postgres\nMy SQL", "2\n3", "1) b; 2) c"])
def test_several_questions_are_answered_in_one_message(text: str) -> None:
    parts = (Part(id="p", text="?", options=OPTIONS), Part(id="q", text="?", options=OPTIONS))
    given = InputReceived(inbox="i", sort="answer", author=Person(id="1", name="Ann"), text=text, target="q1")
    assert in_parts(Asked(question="q1", parts=parts), {}, given) == {"p": "Postgres", "q": "My SQL"}
