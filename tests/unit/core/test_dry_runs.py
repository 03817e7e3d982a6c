"""A command that names a runner and proves nothing by it; the long tables stand in tests/unit/reflexion/test_checks.py."""

from __future__ import annotations

import pytest

from agentic.bash.runners import is_lenient, runs_nothing
from agentic.core.claims.proof import (
    failure_of,
    is_test_run,
    judged,
    last_test_run,
)
from agentic.core.events.values import Claim
from agentic.core.state.facts import Deeds, Ran

RUN = Ran("pytest -q", 1, tests=(5, 3, 0))


@pytest.mark.parametrize(
    ("command", "nothing", "lenient"),
    [
        ("pytest --version", True, False),
        ("python -m unittest -h", True, False),
        ("bundle exec rspec --dry-run", True, False),
        ("vitest list", True, False),
        ("vitest run list", False, False),
        ("tox -- -l", False, False),
        ("mvn -DskipTests verify", True, False),
        ("mvn -DskipTests=false verify", False, False),
        ("make -nk test", True, False),
        ("make -j4 test", False, False),
        ("make -ki test", False, True),
        ("npm test --if-present", False, True),
        ("ruff check -e", False, True),
        ("./check.sh -h", False, False),
        ("pytest", False, False),
        ("", False, False),
    ],
)
def test_what_runs_nothing_and_what_cannot_fail(command: str, nothing: bool, lenient: bool) -> None:
    assert (runs_nothing(command.split()), is_lenient(command.split())) == (nothing, lenient)


@pytest.mark.parametrize(
    "command", ["pytest --version", "pytest --collect-only -q", "make -n test", "cd a && pytest --help"]
)
def test_what_runs_nothing_is_no_test_run_and_leaves_the_last_one_as_it_was(command: str) -> None:
    dry = Ran(command, 0)
    assert not is_test_run(dry)
    assert last_test_run(Deeds((RUN, dry))) == RUN


def test_counts_that_something_else_printed_beside_it_are_a_run() -> None:
    assert is_test_run(Ran("pytest --version && just verify", 0, tests=(3, 0, 0)))
    assert not is_test_run(Ran("pytest --co | cat report.txt", 0, tests=(3, 0, 0)))


@pytest.mark.parametrize("command", ["pytest -q & wait", "pytest -q &", "npm test --if-present"])
def test_an_exit_code_that_says_nothing_proves_no_claim(command: str) -> None:
    claim = Claim(text="the tests pass", command=command, exit_code=0)
    said = judged(claim, Deeds((Ran(command, 0),)))
    assert (said.verdict, "hidden by" in said.note) == ("unproven", True)
    assert judged(claim, Deeds((Ran(command, 0, tests=(3, 0, 0)),))).verdict == "proven"
    assert failure_of(Ran(command, 0)) == ""
