"""Texts compared line by line: as difflib has it where they are ordinary, and never for long."""

from __future__ import annotations

import difflib
import random
import time

from hypothesis import given
from hypothesis import strategies as st

from agentic.text.line_diff import matching_blocks, nearest, unified_diff

LINES = st.lists(st.sampled_from("abcdef"), max_size=30)


@given(LINES, LINES)
def test_what_is_told_turns_the_old_into_the_new(old: list[str], new: list[str]) -> None:
    """Every line of both is in it once, in order."""
    told = [*unified_diff(old, new, context=100)][3:]
    if old != new:
        assert [line[1:] for line in told if line[0] in " -"] == old
        assert [line[1:] for line in told if line[0] in " +"] == new
    assert (not told) == (old == new)


def test_an_ordinary_change_is_told_as_difflib_tells_it() -> None:
    """Two places of a file of a thousand lines."""
    old = [f"line {number}" for number in range(1_000)]
    new = [*old[:10], "one", *old[11:900], *old[905:950], "two", "three", *old[950:]]
    assert [*unified_diff(old, new, "a", "b")] == [*difflib.unified_diff(old, new, "a", "b", n=2, lineterm="")]


def test_texts_made_to_be_compared_for_long_are_not() -> None:
    """Lines of a small alphabet in another order, none of which stands once: the time grows with them."""

    def took(lines: int) -> float:
        chance = random.Random(7)
        texts = [[str(chance.randrange(150)) for _ in range(lines)] for _ in range(2)]
        began = time.process_time()
        matching_blocks(*texts)
        return time.process_time() - began

    assert took(50_000) < 40 * max(took(5_000), 0.025)


def test_what_is_nearest_is_found_by_how_it_begins() -> None:
    """Best first."""
    assert nearest("def total(items):", ["class A", "x", "def tot(item):", "def total(item):"], 2, 0.6) == [3, 2]


def test_lines_made_to_be_compared_for_long_are_not() -> None:
    """Comparing each of them closely with what was wanted took most of an hour."""
    began = time.process_time()
    nearest("a" * 300, ["aaab" * 75] * 4_000, 5, 0.6)
    assert time.process_time() - began < 10
