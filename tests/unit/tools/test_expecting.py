"""What was expected of a command against what came: by exit code, counted tests and quoted words, else left open."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.bash.runner_summaries import TestCount
from agentic.tools.shell.expectations import compare

GREEN, RED = TestCount(5, 0), TestCount(4, 1)


@pytest.mark.parametrize(
    ("expectation", "exit_code", "tests", "output", "verdict"),
    [
        ("", 1, None, "", ""),
        ("all tests pass", 0, GREEN, "", "met"),
        ("all tests pass", 1, RED, "", "missed"),
        ("all tests pass", 0, TestCount(0, 0), "", "missed"),
        ("5 tests pass", 0, GREEN, "", "met"),
        ("6 tests should pass", 0, GREEN, "", "missed"),
        ("1 test fails", 1, RED, "", "met"),
        ("the new test fails", 1, RED, "", "met"),
        ("the new test fails", 0, GREEN, "", "missed"),
        ("it fails, piped", 0, RED, "", "met"),
        ("no errors", 0, None, "", "met"),
        ("no errors", 2, None, "", "missed"),
        ("it does not fail", 0, None, "", "met"),
        ("exit code 2", 2, None, "", "met"),
        ("exits with 0", 1, None, "", "missed"),
        ("a non-zero exit", 3, None, "", "met"),
        ("a non-zero exit", None, None, "", "missed"),
        ("prints 'hello'", 0, None, "hello world", "met"),
        ('prints "bye"', 0, None, "hello world", "missed"),
        ("exit 1 and `KeyError`", 1, None, "KeyError: 3", "met"),
        ("the build succeeds", 2, None, "", "missed"),
        ("a list of files", 0, None, "a b", "unclear"),
        ("a list of files", 1, None, "", "missed"),
        ("it doesn't compile", 1, None, "", "met"),
    ],
)
def test_what_can_be_told_is_told(
    expectation: str, exit_code: int | None, tests: TestCount | None, output: str, verdict: str
) -> None:
    came = compare(expectation, ok=exit_code == 0, exit_code=exit_code, tests=tests, output=output)
    assert came.verdict == verdict
    assert bool(came.because) == (verdict in ("met", "missed"))


@given(st.text(max_size=200), st.text(max_size=50))
def test_any_expectation_can_be_read(expectation: str, output: str) -> None:
    compare(expectation, ok=True, exit_code=0, tests=None, output=output)
