"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from agentic.core.patterns import later


def test_it_is_compiled_when_it_is_first_used_and_then_it_is_as_quick_as_any_other() -> None:
    pattern = later(r"(?P<number>\d+)", re.IGNORECASE)
    assert vars(pattern).keys() == {"_text", "_flags"}
    found = pattern.search("a 12 b")
    assert found is not None
    assert found["number"] == "12"
    assert "search" in vars(pattern)
    assert pattern.sub("x", "1 and 2") == "x and x"
    assert pattern.pattern == r"(?P<number>\d+)"
    assert pattern.flags & re.IGNORECASE


def test_one_that_is_wrong_says_so_when_it_is_used() -> None:
    wrong = later("(")
    with pytest.raises(re.error):
        wrong.search("x")


def test_what_python_asks_of_every_object_compiles_nothing() -> None:
    pattern = later("(")
    assert not hasattr(pattern, "__wrapped__")
    assert vars(pattern).keys() == {"_text", "_flags"}
