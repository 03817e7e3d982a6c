"""The head of a file: each field is checked, and every mistake is told at once, with its line and what to do."""

from __future__ import annotations

import pytest

from agentic.text.head_fields import HeadFields, HeadMistakes

KNOWN = ("name", "about", "words", "level", "levels", "sure")


def mistakes(head: str) -> tuple[str, ...]:
    fields = HeadFields(f"---\n{head}\n---\nText", KNOWN)
    fields.name()
    fields.line("about", 10)
    fields.words("words")
    fields.number("level", 1, 4)
    fields.numbers("levels", 1, 4)
    fields.flag("sure")
    with pytest.raises(HeadMistakes) as raised:
        fields.done()
    return raised.value.mistakes


def test_all_mistakes_are_told_at_once() -> None:
    assert mistakes(
        "name: Big Name\nabout: far too long a line\nwords: [[a]]\nlevel: 9\nlevels: [1, two]\nsure: 7\nnam: x"
    ) == (
        "line 8: nam: there is no such field; did you mean “name”?",
        "line 2: name: “Big Name” is not a name; write 1 to 40 small letters, digits and hyphens, such as `house-style`",
        "line 3: about: write one line of at most 10 characters",
        "line 4: words: write names only, such as [one, two]",
        "line 5: level: 9 is no whole number from 1 to 4",
        "line 6: levels: “two” is no whole number from 1 to 4",
        "line 7: sure: write true or false",
    )


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("about: x", "name: it is missing"),
        ("name: a\nwords:", "words: it is empty"),
        ("name: a\nwords: {a: b}", "words: write a list"),
        ("name: a\nlevels: []", "levels: it is empty"),
        ("name: a\nlevel: true", "level: True is no whole number"),
        ("name: a\nzebra: 1", "zebra: there is no such field; there is: name, about"),
    ],
)
def test_a_mistake_says_what_to_do(head: str, said: str) -> None:
    (mistake,) = mistakes(head)
    assert said in mistake


def test_what_is_right_is_read() -> None:
    fields = HeadFields("---\nname: a-1\nwords: one, two one\nlevels: 3\nlevel: 2\nsure: true\n---\n\nText\n", KNOWN)
    assert (fields.name(), fields.words("words"), fields.names("words")) == ("a-1", ("one", "two"), ("one", "two"))
    assert (fields.numbers("levels", 1, 4), fields.number("level", 1, 4), fields.flag("sure")) == ((3,), 2, True)
    assert (fields.words("x"), fields.numbers("y", 1, 4), fields.line("about", 9), fields.body) == (
        None,
        (),
        "",
        "Text",
    )
    fields.done()


def test_names_in_a_list_are_names() -> None:
    fields = HeadFields("---\nwords: [One]\n---\n", KNOWN)
    fields.names("words")
    with pytest.raises(HeadMistakes, match="“One” is not a name"):
        fields.done()


def test_a_head_that_cannot_be_read_says_where() -> None:
    with pytest.raises(HeadMistakes, match="line 3"):
        HeadFields("---\nname: a\nname: b\n---\n", KNOWN)
