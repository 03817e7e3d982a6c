"""Which check says whether the work is right, and what its last run said.

It is looked for in three places, and the first one that has an answer counts:

1. the task: a command that it quotes, "the tests in X pass", "make the tests pass";
2. the repository, as far as the log shows it: the test command that its files declare (``declared_tests.py``);
3. what the agent ran: tests before type checks and builds.

The last run of that check counts.  Without a run there is no verdict, and a pass of something else is none: a check that
the task names and that never ran is told by the flag ``check_not_run``; what failed instead of it still failed.  A pass
that is older than a change of what it checked proves nothing any more: ``check_stale``.  Where a runner had counted tests
that failed, only a run of it that counts again lifts that: an exit code without counts may come of a run that ran none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentic.bash.steps import Step, read
from reflexion.evaluation.checks import (
    CheckRun,
    Verdict,
    is_runner,
    named_checks,
    runner_of,
)
from reflexion.text.secrets import redact

NOT_RUN: Final = "check_not_run"
STALE: Final = "check_stale"
CHARACTERS: Final = 200
_NOISE = frozenset(("-q", "-qq", "-v", "-vv", "-s", "-x", "--quiet", "--verbose", "--silent", "--no-header"))
_SENTENCE = re.compile(r"""(?:`[^`\n]*`|"[^"\n]*"|[^.!?;\n]|[.!?;](?!\s))+""")
_UNWANTED = re.compile(r"(?i)\b(?:do not|don't|never|without|no need to|skip|instead of|not)\b")
_PASSES = re.compile(r"(?i)\b(?:pass(?:es|ing)?|green|succeeds?|works?|clean(?:ly)?|exits? (?:with )?0|status 0)\b")
_TESTS = re.compile(r"(?i)\b(?:unit ?tests?|tests?|specs?|test ?suite)\b|\btest_\w+")
_TO_RUN = re.compile(r"(?i)\b(?:run|fix|repair|mend|unbreak)\b|\b(?:failing|broken|red) (?:\w+ )?tests?\b")
_PATH = re.compile(
    r"(?<![\w./-])(?:[\w.-]+/)+[\w.-]*|\btest_\w+(?:\.py)?\b|\b[\w-]{1,250}[._](?:test|spec)\.\w+\b|\b\w+_test\.\w+\b"
)
_ENDING = re.compile(r"\.(?:py|js|jsx|ts|tsx|mjs|cjs|go|rs|rb|php|sh)$")
_BEFORE_PATH = re.compile(r"(?i)\b(?:in|of|under|for|from|below)\s+[`'\"]?$")
_LOOKS_LIKE_PATH = re.compile(r"/|\.(?:py|js|jsx|ts|tsx|mjs|cjs|go|rs|rb|php|sh)(?:$|::)|::|^tests?\b|^test_|^specs?$")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A check that somebody names, as people read it.

    A run answers to it by its words (``commands``, one of them); where there are none, by being a run of tests which
    covers these ``paths``.
    """

    name: str
    commands: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verified:
    """What the check said, which it was, and what a reader should know of it."""

    verdict: Verdict = "none"
    check: str = ""
    flags: tuple[str, ...] = ()


def verified_by(task: str, declared: Sequence[Wanted], runs: Sequence[CheckRun]) -> Verified:
    """The verdict on an execution's work."""
    tests = [run for run in runs if run.tests]
    otherwise = _last(tests) or _last(runs) or Verified()
    for wanted in declared:
        answered = _last([run for run in runs if _answers(run, wanted)])
        if answered is not None:
            otherwise = answered
            break
    else:
        if not runs and declared:
            otherwise = Verified("none", declared[0].name, (NOT_RUN,))
    named = [_of(wanted, runs) for wanted in wanted_by(task, runs)]
    if not named:
        return otherwise
    worst = min(named, key=lambda each: ("fail", "none", "pass").index(each.verdict))
    return otherwise if NOT_RUN in worst.flags and otherwise.verdict == "fail" else worst


def wanted_by(task: str, runs: Sequence[CheckRun] = ()) -> tuple[Wanted, ...]:
    """The checks that a task names; a quoted command of which nothing says that it checks counts where it ran."""
    found: list[Wanted] = []
    for sentence in _SENTENCE.findall(task):
        quoted = [each for each in named_checks(sentence) if _is_command(each)]
        for command in quoted:
            before, _, after = sentence.partition(command)
            wanted = Wanted(command, (command,))
            ran = any(_answers(run, wanted) for run in runs)
            meant = not _UNWANTED.search(before[-40:]) and (is_runner(command) or _PASSES.search(after[:40]))
            if ran or meant:
                found.append(wanted)
        if not found and not any(is_runner(command) for command in quoted):
            found.extend(_tests_of(sentence))
    return tuple(dict.fromkeys(found))


def _tests_of(sentence: str) -> list[Wanted]:
    tests = _TESTS.search(sentence)
    if tests is None or not (_PASSES.search(sentence) or _TO_RUN.search(sentence)):
        return []
    if _UNWANTED.search(sentence):
        return []
    named = tuple(
        found[0].rstrip("/.") for found in _PATH.finditer(sentence)
        if _TESTS.search(found[0]) or "test" in found[0].lower() or _BEFORE_PATH.search(sentence[: found.start()])
    )  # fmt: skip
    return [Wanted(f"the tests in {', '.join(named)}" if named else "the tests", (), named)]


def _of(wanted: Wanted, runs: Sequence[CheckRun]) -> Verified:
    return _last([run for run in runs if _answers(run, wanted)]) or Verified("none", _shown(wanted.name), (NOT_RUN,))


def _last(runs: Sequence[CheckRun]) -> Verified | None:
    """The last run that says something; where none does, the last one."""
    if not runs:
        return None
    last = next((run for run in reversed(runs) if run.verdict != "none"), runs[-1])
    if last.verdict == "pass" and last.stale:
        return Verified("none", _shown(last.command), (STALE,))
    failed = _counted_failure(last, runs)
    if failed is not None:  # after a change it may be mended, which nothing shows
        return Verified("none" if failed.stale else "fail", _shown(failed.command))
    return Verified(last.verdict, _shown(last.command))


def _counted_failure(last: CheckRun, runs: Sequence[CheckRun]) -> CheckRun | None:
    """The failed tests that its runner counted before, and that a passing run without counts would hide."""
    runner = runner_of(last.command)
    if last.verdict != "pass" or last.passed is not None or not runner:
        return None
    before = [run for run in runs[: runs.index(last)] if run.passed is not None and runner_of(run.command) == runner]
    return before[-1] if before and before[-1].failed else None


def _answers(run: CheckRun, wanted: Wanted) -> bool:
    if not wanted.commands:
        return run.tests and all(_covers(run, path) for path in wanted.paths)
    if run.command.strip() in wanted.commands:
        return True
    did = [_words(step) for step in _steps(run.command)]
    for command in wanted.commands:
        said = [_words(step) for step in _steps(command)]
        if said and all(any(one[:1] == other[:1] and set(one) <= set(other) for other in did) for one in said):
            return True
    return False


def _covers(run: CheckRun, path: str) -> bool:
    """Whether tests below a path were among those that ran: named, within what was named, or nothing was."""
    named = [_plain(word) for step in _steps(run.command) for word in step.words[1:] if _LOOKS_LIKE_PATH.search(word)]
    wanted = _plain(path)
    return not named or any(
        each in (".", wanted)
        or wanted.startswith(f"{each}/")
        or each.startswith(f"{wanted}/")
        or each.rpartition("/")[2] == wanted.rpartition("/")[2]
        for each in named
    )


def _plain(path: str) -> str:
    """A path, or a module's name, as one writes a path without its ending."""
    path = path.partition("::")[0].removeprefix("./").rstrip("/")
    stem = _ENDING.sub("", path)
    return stem if "/" in stem or stem == "." else stem.replace(".", "/")


def _is_command(text: str) -> bool:
    return bool(_steps(text)) and not text.rstrip().endswith(":")


def _steps(command: str) -> tuple[Step, ...]:
    line = read(command)
    return line.steps if line is not None else ()


def _words(step: Step) -> tuple[str, ...]:
    return tuple(word for word in step.words if word not in _NOISE)


def _shown(command: str) -> str:
    return redact(" ".join(command.split()))[:CHARACTERS]
