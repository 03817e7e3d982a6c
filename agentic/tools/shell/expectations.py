"""Compare a model's expectation of a command with its result: exit code, counted tests and quoted words.

Only what can be decided without judgement counts. An expectation that mentions none of these is left open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentic.bash.runner_summaries import TestCount
from agentic.core.events.execution_events import Expected

_EXIT = re.compile(
    r"\b(?:exit(?:s|ed)?(?: with)?(?: code| status)?|code|status)"
    r"(?: of| is|:| =)? ?(\d{1,3})\b",
    re.IGNORECASE,
)
_NONZERO = re.compile(r"\bnon-?zero\b", re.IGNORECASE)
_COUNTED = re.compile(r"\b(\d+)(?: of \d+)?(?: tests?| specs?)? (?:should |to |will )?(pass|fail)", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|(?<!\w)'([^'\n]+)'(?!\w)")
_NO_TROUBLE = re.compile(
    r"\b(?:no|not|without(?: any)?|zero|0|never|nothing) (?:\w+ )?(?:errors?|fail\w*|warnings?|problems?|issues?)\b|"
    r"\b(?:doesn't|does not|won't|will not|should not|shouldn't) (?:fail|crash|break)\b",
    re.IGNORECASE,
)
_TROUBLE = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure)?|errors?|crash(?:es)?|breaks?|raises?|refused|denied|not found|missing|traceback|"
    r"(?:does not|doesn't|will not|won't|should not|cannot) (?:work|pass|compile|build|start))\b",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\b(?:pass(?:es|ed)?|succe\w+|works?|ok|green|clean|builds?|compiles?|installs?|runs|without problems)\b",
    re.IGNORECASE,
)
_TESTS = re.compile(r"\b(?:tests?|specs?|suite)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether the result was as expected, and what shows it."""

    verdict: Expected
    because: str = ""


def compare(expectation: str, *, ok: bool, exit_code: int | None, tests: TestCount | None, output: str) -> Comparison:
    """Check each sign that the expectation mentions; one that is missing decides."""
    said = expectation.strip()
    if not said:
        return Comparison("")
    signs = [*_by_exit(said, exit_code), *_by_tests(said, tests), *_by_words(said, output)]
    if not any(sign.startswith("exit") for sign, _ in signs):
        signs += _by_end(said, ok=ok, tests=tests)
    missed = [sign for sign, good in signs if not good]
    if missed:
        return Comparison("missed", ", ".join(missed))
    return Comparison("met", ", ".join(sign for sign, _ in signs)) if signs else Comparison("unclear")


def _by_exit(said: str, exit_code: int | None) -> list[tuple[str, bool]]:
    if _NONZERO.search(said):
        return [("exit code", exit_code not in (None, 0))]
    found = _EXIT.search(said)
    return [("exit code", exit_code == int(found[1]))] if found else []


def _by_tests(said: str, tests: TestCount | None) -> list[tuple[str, bool]]:
    """Check the numbers of tests it mentions; "tests pass" needs one that ran."""
    counts = {"pass": tests.passed if tests else 0, "fail": tests.failed if tests else 0}
    named = [(f"tests that {word}", counts[word.lower()] == int(count)) for count, word in _COUNTED.findall(said)]
    if not named and _TESTS.search(said) and tests is not None and _GOOD.search(said) and not _bad(said):
        named = [("tests", not tests.failed and bool(tests.passed))]
    return named


def _by_words(said: str, output: str) -> list[tuple[str, bool]]:
    quoted = [next(word for word in found if word) for found in _QUOTED.findall(said)]
    return [(f"the words {word!r}", word in output) for word in quoted[:3]]


def _by_end(said: str, *, ok: bool, tests: TestCount | None) -> list[tuple[str, bool]]:
    """Expect success where it mentions success or nothing bad, and failure only where it says so."""
    if _bad(said):
        return [("that it fails", not ok or bool(tests and tests.failed))]
    if _GOOD.search(said) or _NO_TROUBLE.search(said):
        return [("that it succeeds", ok)]
    return [] if ok else [("that it succeeds", False)]


def _bad(said: str) -> bool:
    return bool(_TROUBLE.search(_NO_TROUBLE.sub(" ", said)))
