"""What counts as a check of the work, and what its last run said.

A check is a command that can fail because of the work: a test runner, a type checker, a build, or a command the task
names.  Its verdict is read from exit codes and typed counts alone; no words of the transcript take part.  A command
that hides the exit code of its check (``mypy . | tail``, ``make lint || true``, ``pytest & wait``) proves nothing by its exit
code; only the counts its tool read can still speak.  One that only asks about a runner (``pytest --version``, ``make -n
test``) is no check at all (``agentic/bash/runners.py``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from agentic.bash.runners import is_lenient, kind_of, runs_nothing
from agentic.bash.steps import Line, Step, run_by
from agentic.core.claims.proof import is_test_run
from agentic.core.state.facts import Ran

Verdict = Literal["pass", "fail", "none"]

_QUIET = frozenset((
    "echo", "printf", "cat", "head", "tail", "grep", "rg", "ls", "true", ":", "sleep", "wc", "sed", "awk", "find", "rm",
    "mkdir", "touch", "cp", "mv", "tee",
))  # fmt: skip
_QUOTED_IN_TASK = re.compile(r"`([^`\n]+)`|\"([^\"\n]{3,})\"")


@dataclass(frozen=True, slots=True)
class CheckRun:
    """One run of a check: which command, in which turn, and what it said."""

    command: str
    turn: int
    verdict: Verdict
    passed: int | None = None
    failed: int | None = None
    tests: bool = False
    """It ran tests, and was not a type check or a build alone."""
    stale: bool = False
    """What it may have been about changed afterwards."""


def named_checks(task: str) -> tuple[str, ...]:
    """Commands that the task itself quotes: running one of them is a check, whatever it is called."""
    return tuple(first or second for first, second in _QUOTED_IN_TASK.findall(task))


def read_check(
    command: str,
    turn: int,
    exit_code: int | None,
    counts: tuple[int, int] | None,
    ran: bool,
    named: tuple[str, ...] = (),
) -> CheckRun | None:
    """What a command said of the work, or None if it is no check.

    ``counts`` are tests passed and failed where the tool read them; ``ran`` is False for a call that was denied,
    refused or cancelled.
    """
    line = run_by(command)
    if not ran or not _is_check(command, line, counts, named):
        return None
    passed, failed = counts if counts is not None else (None, None)
    verdict = _verdict(line, exit_code, counts, named)
    tests = is_test_run(Ran(command, exit_code, tests=(passed or 0, failed or 0, 0) if counts is not None else None))
    return CheckRun(command, turn, verdict, passed, failed, tests)


def is_runner(command: str) -> bool:
    """Whether the first step of a command line is known to check something."""
    steps = run_by(command).steps
    return bool(steps) and _is_known(steps[0])


def runner_of(command: str) -> str:
    """The program that runs the tests of a command line, by its common name; '' where it runs none that is known."""
    return next((step.program for step in run_by(command).steps if is_test_run(Ran(" ".join(step.words)))), "")


def _is_known(step: Step) -> bool:
    return kind_of(step.words) not in (None, "format")


def _is_check(command: str, line: Line, counts: tuple[int, int] | None, named: tuple[str, ...]) -> bool:
    if any(_checks(step, named) for step in line.steps):
        return True
    if command.strip() in named:
        return not any(runs_nothing(step.words) for step in line.steps)
    # Counts in the output of `cat report.txt` or `echo "3 passed"` were not produced by a test run.
    silent = (step.program in _QUIET or runs_nothing(step.words) for step in line.steps)
    return counts is not None and (not line.steps or not all(silent))


def _checks(step: Step, named: tuple[str, ...]) -> bool:
    known = _is_known(step) or (step.program not in _QUIET and " ".join(step.words) in named)
    return known and not runs_nothing(step.words)


def _verdict(line: Line, exit_code: int | None, counts: tuple[int, int] | None, named: tuple[str, ...]) -> Verdict:
    checks = [at for at, step in enumerate(line.steps) if _checks(step, named)]
    hidden = bool(line.hidden_by(checks[-1] if checks else len(line.steps) - 1))
    if counts is not None and sum(counts) > 0:
        if counts[1] or (exit_code != 0 and not hidden):
            return "fail"
        return "pass"
    if exit_code is None or counts == (0, 0) or hidden:
        return "none"
    if exit_code == 0 and any(is_lenient(line.steps[at].words) for at in checks):
        return "none"
    return "pass" if exit_code == 0 else "fail"
