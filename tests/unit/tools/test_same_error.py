"""Failures that differ only in numbers, addresses and times are the same error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.tools.base.error_fingerprint import LAST_LINES, normal_error


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("failed after 1.25s (pid 4711)", "failed after 0.9s (pid 12)"),
        ("<Cart object at 0x7f3a2b>", "<Cart object at 0x10ffee>"),
        ("no file /tmp/pytest-of-me/x1/a.txt", "no file /tmp/tmpab12cd/b.txt"),
        ("2026-11-21T10:00:00Z error", "2026-11-22T11:30:59Z error"),
        ("=== 1 failed in 0.01s ===", "===== 1 failed in 12.3s ====="),
        ("job 3f2a9c1d8e failed", "job 77aa01bc9f failed"),
        ("request 123e4567-e89b-12d3-a456-426614174000", "request 00000000-e89b-12d3-a456-426614174fff"),
    ],
)
def test_what_differs_from_run_to_run_is_left_out(one: str, other: str) -> None:
    assert normal_error(one) == normal_error(other)


def test_different_errors_stay_different() -> None:
    assert normal_error("NameError: name 'total' is not defined") != normal_error(
        "NameError: name 'sum' is not defined"
    )
    assert normal_error("no", "exit 1") != normal_error("no", "exit 2")


def test_only_the_last_lines_count() -> None:
    assert normal_error("noise\n" * 100 + "end") == normal_error("noise\n" * 50 + "end")


@given(st.text())
def test_any_text_is_normalised_to_a_bounded_one(text: str) -> None:
    said = normal_error(text)
    assert len(said.splitlines()) <= LAST_LINES
    assert len(said) <= 3_000
