"""Long outputs are shown by their head and tail."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentic.tools.base.truncation import (
    DEFAULT,
    FILES,
    SHELL,
    Limit,
    show,
)

TEXTS = st.lists(st.text("ab \n", max_size=80), max_size=60).map("".join)
LIMITS = st.builds(Limit, characters=st.integers(400, 2_000), lines=st.integers(5, 40))


def test_the_limits_are_those_of_the_policy() -> None:
    assert (DEFAULT.characters, DEFAULT.lines) == (30_000, 750)
    assert (FILES.characters, FILES.lines) == (50_000, 1_000)
    assert (SHELL.characters, SHELL.lines) == (20_000, 500)


@given(TEXTS, LIMITS)
def test_what_is_shown_stays_within_the_limit_and_what_fits_is_shown_whole(text: str, limit: Limit) -> None:
    shown = show(text, limit, how="See the rest with read_output")
    fits = len(text) <= limit.characters and text.count("\n") < limit.lines
    assert shown.cut is not fits
    if fits:
        assert shown.text == text
    assert len(shown.text) <= limit.characters
    assert shown.text.count("\n") < limit.lines


@given(TEXTS, LIMITS)
def test_what_is_shown_begins_and_ends_as_the_text_does(text: str, limit: Limit) -> None:
    shown = show(text, limit)
    if not shown.cut:
        return
    head, rest = shown.text.split("… ", 1)
    tail = rest.split(" …\n", 1)[1]
    assert text.startswith(head.removesuffix("\n"))
    assert text.endswith(tail)
    left_out = int(rest.split(" ", 1)[0])
    assert left_out == len(text) - len(tail) - (len(head) if text.startswith(head) else len(head) - 1)


def test_one_line_without_an_end_is_cut_in_the_middle() -> None:
    shown = show("x" * 1_000_000, SHELL, how="See it")
    assert len(shown.text) <= SHELL.characters
    assert "left out here. See it" in shown.text
    assert shown.text.startswith("xxx")
    assert shown.text.endswith("xxx")


def test_a_text_cut_nearer_to_its_source_is_cut_in_its_middle_and_counts_what_was_left_out_there() -> None:
    shown = show("head\n" * 10 + "tail\n" * 10, SHELL, missing=1_000)
    assert shown.text.count("head") == 10
    assert "… 1000 characters" in shown.text
    assert shown.text.index("1000") < shown.text.index("tail")
