"""What counts as a check, and what a run of it proves."""

from __future__ import annotations

import pytest

from reflexion.checks import named_checks, read_check


def verdict(command: str, exit_code: int | None, counts: tuple[int, int] | None = None, task: str = "") -> str | None:
    run = read_check(command, 1, exit_code, counts, ran=True, named=named_checks(task))
    return run.verdict if run else None


@pytest.mark.parametrize(
    ("command", "exit_code", "counts", "expected"),
    [
        ("pytest -q", 0, (3, 0), "pass"),
        ("pytest -q", 1, (2, 1), "fail"),
        ("cd app && CI=1 timeout 60 python3 -m pytest", 0, None, "pass"),
        ("python -m unittest", 1, None, "fail"),
        ("npm test", 0, None, "pass"),
        ("cargo test --all", 101, None, "fail"),
        ("go test ./...", 0, None, "pass"),
        ("make -j2 check", 2, None, "fail"),
        ("./run_tests.sh", 0, None, "pass"),
        ("bash scripts/check.sh", 1, None, "fail"),
        ("pytest -q && echo fine", 0, None, "pass"),
        ("ls tests", 0, None, None),
        ("git commit -m tests", 0, None, None),
    ],
)
def test_a_check_is_read_from_its_exit_code(
    command: str, exit_code: int, counts: tuple[int, int] | None, expected: str | None
) -> None:
    assert verdict(command, exit_code, counts) == expected


@pytest.mark.parametrize("command", ["mypy . | tail -3", "make lint || true", "npm test; echo done", "pytest\ntrue"])
def test_a_check_whose_exit_code_is_hidden_proves_nothing(command: str) -> None:
    assert verdict(command, 0) == "none"


def test_counts_of_a_hidden_exit_code_still_speak() -> None:
    assert verdict("pytest -q | tail -3", 0, (4, 0)) == "pass"
    assert verdict("pytest -q | tail -3", 0, (4, 1)) == "fail"


def test_a_run_without_any_test_proves_nothing() -> None:
    assert verdict("pytest -q", 0, (0, 0)) == "none"


def test_printed_counts_are_no_test_run() -> None:
    assert verdict("echo '5 passed in 0.1s'", 0, (5, 0)) is None
    assert verdict("cat report.txt", 0, (5, 0)) is None


def test_an_unknown_runner_that_counts_tests_is_a_check() -> None:
    assert verdict("bin/spec --all", 0, (5, 0)) == "pass"


def test_a_command_that_the_task_quotes_is_a_check() -> None:
    task = "Make `node verify-all.mjs --strict` succeed."
    assert verdict("node verify-all.mjs --strict", 1, task=task) == "fail"
    assert verdict("node verify-all.mjs --strict", 0, task=task) == "pass"
    assert verdict("node verify-all.mjs --strict", 0) is None


def test_a_killed_check_has_no_verdict() -> None:
    assert verdict("pytest -q", None) == "none"


def test_a_check_that_did_not_run_says_nothing() -> None:
    assert read_check("pytest", 1, None, None, ran=False) is None
