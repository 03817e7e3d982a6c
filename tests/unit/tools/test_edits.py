"""Replacements are made all or not at all, and a misfit says how to write it again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentic.tools.files.edit import Misfit, Replacement, replace_all

TEXT = "def total(items):\n    value = 0\n    for item in items:\n        value += item\n    return value\n"


def reason(text: str, *replacements: Replacement) -> str:
    found = replace_all(text, replacements)
    assert isinstance(found, Misfit)
    return found.reason


def test_a_unique_text_is_replaced() -> None:
    assert replace_all(TEXT, [Replacement("value = 0", "value = 1")]) == TEXT.replace("value = 0", "value = 1")


def test_a_text_that_stands_there_often_is_refused_with_its_lines() -> None:
    said = reason(TEXT, Replacement("value", "sum"))
    assert "found 3 times (lines 2, 4, 5)" in said
    assert "replace_all" in said


def test_every_place_is_replaced_when_asked() -> None:
    assert replace_all(TEXT, [Replacement("value", "sum", every=True)]) == TEXT.replace("value", "sum")


def test_one_misfit_undoes_all() -> None:
    found = replace_all(TEXT, [Replacement("value = 0", "value = 1"), Replacement("nowhere to be seen", "x")])
    assert isinstance(found, Misfit)
    assert found.number == 2


def test_later_edits_see_the_earlier_ones() -> None:
    assert replace_all("a", [Replacement("a", "b"), Replacement("b", "c")]) == "c"


def test_a_text_that_differs_in_blanks_is_shown_as_it_stands() -> None:
    said = reason(TEXT, Replacement("for item in items:\n    value += item", "pass"))
    assert "Line 3 differs only in blanks" in said
    assert "        value += item" in said


def test_near_lines_are_shown_where_nothing_matches() -> None:
    assert "4\t        value += item" in reason(TEXT, Replacement("        value += itemz", "x"))


def test_copied_line_numbers_are_named() -> None:
    assert "line numbers" in reason(TEXT, Replacement("2\t    value = 0", "x"))


def test_the_same_text_is_no_edit() -> None:
    assert "nothing to change" in reason(TEXT, Replacement("value = 0", "value = 0"))


def test_a_text_with_crlf_keeps_its_line_ends() -> None:
    crlf = TEXT.replace("\n", "\r\n")
    edited = replace_all(crlf, [Replacement("value = 0\n    for", "value = 1\n    for")])
    assert edited == crlf.replace("value = 0", "value = 1")


@given(st.text("ab\n", max_size=40), st.text("ab\n", min_size=1, max_size=4), st.text("abc\n", max_size=4))
def test_an_edit_replaces_exactly_one_place_or_nothing(text: str, old: str, new: str) -> None:
    edited = replace_all(text, [Replacement(old, new)])
    if isinstance(edited, str):
        before, after = text.split(old)
        assert edited == before + new + after
    else:
        assert old == new or text.count(old) != 1


def test_a_search_in_a_large_text_ends() -> None:
    assert "was not found" in reason("some line of code here\n" * 100_000, Replacement("another line of text", "x"))
