"""What counts as a check of the work, and what its last run said.

A check is a command that can fail because of the work: a test runner, a type checker, a build, or a command the task
names.  Its verdict is read from exit codes and typed counts alone; no words of the transcript take part.  A command
that hides the exit code of its check (``mypy . | tail``, ``make lint || true``, ``pytest & wait``) proves nothing by its exit
code; only the counts its tool read can still speak.  One that only asks about a runner (``pytest --version``, ``make -n
test``) is no check at all (``agentic/core/text/dry_runs.py``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from agentic.bash.steps import read
from agentic.core.claims.proof import is_test_run
from agentic.core.state.facts import Ran
from agentic.core.text.dry_runs import is_lenient, runs_nothing

Verdict = Literal["pass", "fail", "none"]

_RUNNER = re.compile(
    r"""(?x)^(?:
        (?:python3?(?:\.\d+)?\s+(?:-\w\s+)*-m\s+)?
          (?:pytest|py\.test|unittest|tox|nox|nose2|mypy|doctest|compileall)\b
      | (?:based)?pyright\b | ruff\s+check\b | flake8\b | pylint\b
      | (?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:test|t|check|lint|build)\b
      | (?:npx\s+)?(?:jest|vitest|mocha|tsc|eslint|playwright\s+test)\b | node\s+--test\b | deno\s+test\b
      | cargo\s+(?:test|check|clippy|build)\b | go\s+(?:test|vet|build)\b | dotnet\s+test\b
      | mvn\b.*\b(?:test|verify)\b | (?:\./)?gradlew?\b.*\b(?:test|check|build)\b
      | make\s+(?:\S+\s+)*(?:test|tests|check|lint|verify|build)\b | ctest\b
      | bats\b | (?:bundle\s+exec\s+)?rspec\b | phpunit\b | (?:bash|sh)\s+-n\b | shellcheck\b
      | (?:(?:bash|sh|python3?|node)\s+)?(?:\./|[\w./-]*/)?(?:run[_-]?)?
          (?:tests?|checks?|verify)(?:[_-]\w+)?\.(?:sh|py|js)\b
    )"""
)
_QUIET = re.compile(
    r"^(?:echo|printf|cat|head|tail|grep|rg|ls|cd|export|set|true|:|sleep|wc|sed|awk|find|rm|mkdir|touch|cp|mv|tee)\b"
)
_PREFIX = re.compile(
    r"^(?:(?:[A-Za-z_]\w*=\S*|env|time|timeout\s+\S+|nice|xvfb-run|uv\s+run|poetry\s+run|pipenv\s+run)\s+)+"
)
_BETWEEN = re.compile(r"""\\["']|'[^']*'|"(?:\\.|[^"\\])*"|(\|\||&&|;|\n|\|&?|(?<![<>&|])&(?![>&]))""")
_PIPEFAIL = re.compile(r"^set\s.*\bpipefail\b")
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
    steps, joints = _parted(command)
    words = [_PREFIX.sub("", step.strip()) for step in steps]
    if not ran or not _is_check(command, words, counts, named):
        return None
    passed, failed = counts if counts is not None else (None, None)
    verdict = _verdict(words, joints, exit_code, counts, named)
    tests = is_test_run(Ran(command, exit_code, tests=(passed or 0, failed or 0, 0) if counts is not None else None))
    return CheckRun(command, turn, verdict, passed, failed, tests)


def is_runner(command: str) -> bool:
    """Whether the first step of a command line is known to check something."""
    return bool(_RUNNER.match(_PREFIX.sub("", _parted(command.strip())[0][0].strip())))


def runner_of(command: str) -> str:
    """The program that runs the tests of a command line, by its common name; '' where it runs none that is known."""
    line = read(command)
    steps = line.steps if line is not None else ()
    return next((step.program for step in steps if is_test_run(Ran(" ".join(step.words)))), "")


def _parted(command: str) -> tuple[list[str], list[str]]:
    """The steps of a command line, and what joins them; what is quoted joins none."""
    steps, joints, at = list[str](), list[str](), 0
    for found in _BETWEEN.finditer(command):
        if found[1]:
            steps.append(command[at : found.start()])
            joints.append(found[1])
            at = found.end()
    return [*steps, command[at:]], joints


def _is_check(command: str, words: list[str], counts: tuple[int, int] | None, named: tuple[str, ...]) -> bool:
    if any(_checks(word, named) for word in words):
        return True
    if command.strip() in named:
        return not any(runs_nothing(_plain(word)) for word in words)
    # Counts in the output of `cat report.txt` or `echo "3 passed"` were not produced by a test run.
    return counts is not None and not all(
        _QUIET.match(word) or not word or runs_nothing(_plain(word)) for word in words
    )


def _checks(word: str, named: tuple[str, ...]) -> bool:
    known = bool(_RUNNER.match(word)) or (word in named and not _QUIET.match(word))
    return known and not runs_nothing(_plain(word))


def _plain(word: str) -> tuple[str, ...]:
    """The words of one step, with the program's common name."""
    line = read(word)
    return line.steps[0].words if line is not None else tuple(word.split())


def _verdict(
    words: list[str], joints: list[str], exit_code: int | None, counts: tuple[int, int] | None, named: tuple[str, ...]
) -> Verdict:
    hidden = _hidden(words, joints, named)
    if counts is not None and sum(counts) > 0:
        if counts[1] or (exit_code != 0 and not hidden):
            return "fail"
        return "pass"
    if exit_code is None or counts == (0, 0) or hidden:
        return "none"
    if exit_code == 0 and any(is_lenient(_plain(word)) for word in words if _checks(word, named)):
        return "none"
    return "pass" if exit_code == 0 else "fail"


def _hidden(words: list[str], joints: list[str], named: tuple[str, ...]) -> bool:
    """Whether something after the last check decides the exit code instead of it."""
    last = max((at for at, word in enumerate(words) if _checks(word, named)), default=len(words) - 1)
    speaks = ("&&", "|", "|&") if any(_PIPEFAIL.match(word) for word in words[:last]) else ("&&",)
    return any(joint not in speaks and (joint == "&" or words[last + 1 + at]) for at, joint in enumerate(joints[last:]))
