"""What counts as a check, and what a run of it proves."""

from __future__ import annotations

import pytest

from agentic.core.claims.proof import is_test_run
from agentic.core.state.facts import Ran
from reflexion.evaluation.checks import named_checks, read_check


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
        ("./run_tests.sh", 0, None, "pass"),
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


NO_RUN = [
    "pytest --version", "python3 -m pytest --version", "pytest -V", "pytest --help", "pytest -h",
    "pytest --collect-only -q",
    "cd app && uv run pytest --co", "pytest --fixtures", "python -m unittest -h", "make -n test", "make -nk test",
    "make --dry-run check",
    "make -qj4 test", "cargo build --version", "cargo test --no-run", "cargo test -- --list", "npm test -- --listTests",
    "npx jest --listTests", "go test -list . ./...", "tox -l", "tox -e py311 --notest", "nox --list", "ctest -N",
    "tsc -v",
    "./gradlew test --dry-run", "mvn -DskipTests verify", "ruff check --show-files",
    "pytest --version && pytest --help",
]  # fmt: skip
NOTHING_SAID = [
    "ruff check --exit-zero", "ruff check . -e", "pylint --exit-zero app", "npm test --if-present",
    "npm run build --if-present",
    "make -i test", "make -ki test", "mvn -fn verify", "pytest -q & wait", "pytest -q &", "pytest -q || true",
    "pytest -q 2>&1 & sleep 90",
]  # fmt: skip
ORDINARY = [
    "cd x && pytest -q tests/a.py", "python -m pytest", "make test", "npm test -- --watch=false", "poetry run pytest",
    "tox -e py311", "pytest -q -n 4 -v", "pytest -q 2>&1", "pytest -q &> out.txt", "pytest -k 'a & b'",
    'pytest -k "x; y | z"',
    "make -j4 test", "make -k -C lib check", "go test -v ./...", "ctest -V", "tox -e py311 -- -l", "vitest run list",
    "mvn -DskipTests=false verify", "set -o pipefail; pytest -q | tail -3", "cargo test --all", "jest --coverage",
    "ruff check -q .",
    "PYTHONPATH=. pytest --durations=3 --tb=short", "bash tests/run_tests.sh -v", "node --test -v",
    "pytest tests/test_version.py",
    "mypy --strict .", "tsc --noEmit -p .", "gradle test -i", "npm run test:unit", "yarn test --ci",
]  # fmt: skip


@pytest.mark.parametrize("command", NO_RUN)
def test_a_runner_that_is_only_asked_about_itself_checks_nothing(command: str) -> None:
    assert verdict(command, 0) is None
    assert verdict(command, 0, task=f"Make `{command}` pass.") is None
    assert not is_test_run(Ran(command, 0))


@pytest.mark.parametrize("command", NOTHING_SAID)
def test_an_exit_code_that_is_always_0_proves_nothing(command: str) -> None:
    assert verdict(command, 0) == "none"
    assert verdict(command, 0, (3, 1)) == "fail"


@pytest.mark.parametrize("command", ORDINARY)
def test_ordinary_commands_are_checks(command: str) -> None:
    assert verdict(command, 0) == "pass"
    assert verdict(command, 1) == "fail"
