"""Counts are read from the summaries that test runners really print."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.bash.runner_summaries import TestCount
from agentic.bash.runners import count_tests

PYTEST = """\
FAILED test_a.py::test_bad - assert 1 == 2
ERROR test_a.py::test_err - RuntimeError: no
========== 1 failed, 2 passed, 1 skipped, 1 xfailed, 1 error in 1.02s ==========
"""
PYTEST_QUIET = "..                                       [100%]\n2 passed, 4 deselected in 0.90s\n"
PYTEST_LONG = "=========== 1500 passed, 3 warnings in 125.21s (0:02:05) ===========\n"
UNITTEST = """\
----------------------------------------------------------------------
Ran 6 tests in 0.001s

FAILED (failures=1, errors=1, skipped=1, expected failures=1)
"""
UNITTEST_OK = "Ran 1 test in 0.000s\n\nOK\n"
JEST = """\
Test Suites: 1 failed, 1 passed, 2 total
Tests:       22 failed, 1 skipped, 943 passed, 966 total
Snapshots:   0 total
Time:        1.2 s
"""
VITEST = " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 3 passed (4)\n   Start at  10:00:00\n"
MOCHA = "\n  3 passing (12ms)\n  1 pending\n  2 failing\n\n  1) adds\n"
NODE = "1..3\n# tests 3\n# suites 0\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 1\n"
CARGO = """\
test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.09s
   Doc-tests c
test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
"""
NEXTEST = "     Summary [   0.005s] 5 tests run: 4 passed (1 slow), 1 failed, 0 skipped\n"
GO_VERBOSE = """\
=== RUN   TestA
--- PASS: TestA (0.00s)
=== RUN   TestB
    b_test.go:7: want 2
    --- FAIL: TestB/sub (0.00s)
--- FAIL: TestB (0.00s)
FAIL
FAIL\texample.com/pkg\t0.003s
"""
GO_QUIET = "ok  \texample.com/a\t0.011s\nok  \texample.com/b\t(cached)\n?   \texample.com/c\t[no test files]\n"
GO_BROKEN = "FAIL\texample.com/a [build failed]\n"


@pytest.mark.parametrize(
    ("output", "passed", "failed"),
    [
        pytest.param(PYTEST, 2, 2, id="pytest"),
        pytest.param(PYTEST_QUIET, 2, 0, id="pytest-q"),
        pytest.param(PYTEST_LONG, 1500, 0, id="pytest-minutes"),
        pytest.param("=== 1 error in 0.10s ===", 0, 1, id="pytest-collection"),
        pytest.param(UNITTEST, 2, 2, id="unittest"),
        pytest.param(UNITTEST_OK, 1, 0, id="unittest-ok"),
        pytest.param(JEST, 943, 22, id="jest"),
        pytest.param(VITEST, 3, 1, id="vitest"),
        pytest.param(MOCHA, 3, 2, id="mocha"),
        pytest.param(NODE, 1, 1, id="node"),
        pytest.param(CARGO, 6, 1, id="cargo"),
        pytest.param(NEXTEST, 4, 1, id="nextest"),
        pytest.param(GO_VERBOSE, 1, 1, id="go-v"),
        pytest.param(GO_QUIET, 2, 0, id="go"),
        pytest.param(GO_BROKEN, 0, 1, id="go-build"),
        pytest.param(PYTEST + PYTEST_QUIET, 2, 0, id="the last run counts"),
        pytest.param(PYTEST_QUIET + JEST, 945, 22, id="two runners add up"),
    ],
)
def test_a_runners_summary_is_counted(output: str, passed: int, failed: int) -> None:
    counted = count_tests(output)
    assert counted is not None
    assert (counted.passed, counted.failed) == (passed, failed)


def test_skipped_tests_are_counted_apart() -> None:
    assert count_tests("== 2 passed, 3 skipped in 0.1s ==") == TestCount(2, 0, 3)
    assert count_tests("Ran 3 tests in 0.1s\n\nOK (skipped=2)\n") == TestCount(1, 0, 2)


@pytest.mark.parametrize(
    "output",
    [
        "no tests ran in 0.01s", "6 deselected in 0.82s", "Ran 0 tests in 0.000s\n\nOK\n",
        "?   \texample.org/x\t[no test files]\n", "No tests found, exiting with code 1\n",
        "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored;\n",
    ],
)  # fmt: skip
def test_a_runner_that_finds_no_test_says_so(output: str) -> None:
    assert count_tests(output) == TestCount(0, 0)


@pytest.mark.parametrize(
    "output",
    ["", "I think 3 tests passed", "3 passed", "Ran 5 miles", "ok\n"],
)
def test_where_no_test_ran_nothing_is_counted(output: str) -> None:
    assert count_tests(output) is None


@given(st.text(max_size=300))
def test_any_output_is_read_without_an_error(output: str) -> None:
    count_tests(output)
