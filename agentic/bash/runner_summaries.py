"""What test runners print: their summaries with the tests they counted, and the names of failed tests.

Each runner has a summary of its own; a reader answers None where its runner did not run.  Runners that print one summary a
package (cargo, go) are summed, those that print one a run count with their last.  Whether a command succeeded is read
from its exit code, never here.  Which runner prints which summary stands in ``runners.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_FAILED = re.compile(
    r"^_{3,} (?:ERROR at \w+ of )?(?P<pytest>\S+) _{3,}$|^---- (?P<cargo>\S+) stdout ----|^\s*--- FAIL: (?P<go>\S+)"
    r"|^(?:FAIL|ERROR): (?P<unittest>\S+) \(|^\s*● (?P<jest>.*\S)|^\s*FAIL\s+\S+ > (?P<vitest>.*\S)"
    r"|^\s*not ok \d+ -? ?(?P<tap>.*\S)|^\s{2,}\d+\) (?P<mocha>[^:]+):?$|^\s*✖ (?P<node>.+?)(?: \([\d.]+ms\))?$"
)
"""How runners name a failed test."""


@dataclass(frozen=True, slots=True)
class TestCount:
    """Tests that passed, and tests that failed or could not run."""

    __test__ = False

    passed: int
    failed: int
    skipped: int = 0


_PYTEST = re.compile(
    r"^(?:=+ )?((?:\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests passed)(?:, )?)+)"
    r" in [\d.]+s",
    re.MULTILINE,
)
_COUNT = re.compile(r"(?<!\d)(\d{1,9}) ([a-z]+)")
_UNITTEST = re.compile(r"^Ran (\d{1,9}) tests? in [\d.]+s\n+(OK|FAILED|NO TESTS RAN)(?: \(([^)\n]*)\))?", re.MULTILINE)
_NAMED = re.compile(r"(?<![a-z ])([a-z ]+)=(\d{1,9})")
_JEST = re.compile(r"^Tests:? +((?:\d+ [a-z]+, )+\d+ total)$", re.MULTILINE)
_VITEST = re.compile(r"^ *Tests +((?:\d+ [a-z]+(?: \| )?)+) \(\d+\)$", re.MULTILINE)
_MOCHA = re.compile(r"^ +(\d{1,9}) passing\b.*(?:\n+ +\d+ pending)?(?:\n+ +(\d{1,9}) failing)?", re.MULTILINE)
_CARGO = re.compile(r"^test result: (?:ok|FAILED)\. (\d{1,9}) passed; (\d{1,9}) failed;", re.MULTILINE)
_NEXTEST = re.compile(r"^ *Summary \[.*\] +\d+(?:/\d+)? tests? run: (.*)$", re.MULTILINE)
_NOTES = re.compile(r"\([^()]*\)")
_NODE_PASS = re.compile(r"^(?:#|ℹ) pass (\d{1,9})$", re.MULTILINE)
_NODE_FAIL = re.compile(r"^(?:#|ℹ) fail (\d{1,9})$", re.MULTILINE)
_GO_TEST = re.compile(r"^--- (PASS|FAIL): ", re.MULTILINE)
_GO_PACKAGE = re.compile(
    r"^(?:(ok)\s+\S+\s+(?:[\d.]+s|\(cached\))|(FAIL)\s+\S+\s+(?:[\d.]+s|\[[^\]]+\]))", re.MULTILINE
)


def failed_test(line: str) -> str:
    """The name of a failed test, where a runner begins to tell of it with this line; '' else."""
    found = _FAILED.match(line)
    return next((name for name in found.groups() if name), "") if found else ""


def total(counts: Iterable[TestCount]) -> TestCount:
    """The sum of several counts."""
    kept = list(counts)
    return TestCount(sum(c.passed for c in kept), sum(c.failed for c in kept), sum(c.skipped for c in kept))


def _last(pattern: re.Pattern[str], output: str) -> re.Match[str] | None:
    return max(pattern.finditer(output), key=lambda found: found.start(), default=None)


def _by_words(summary: str) -> TestCount:
    counts = {word: int(number) for number, word in _COUNT.findall(summary)}
    failed = sum(counts.get(word, 0) for word in ("failed", "error", "errors"))
    skipped = sum(counts.get(word, 0) for word in ("skipped", "pending", "todo"))
    return TestCount(counts.get("passed", 0), failed, skipped)


def _pytest(output: str) -> TestCount | None:
    found = _last(_PYTEST, output)
    return _by_words(found[1]) if found else None


def _unittest(output: str) -> TestCount | None:
    found = _last(_UNITTEST, output)
    if found is None:
        return None
    details = {name.strip(): int(number) for name, number in _NAMED.findall(found[3] or "")}
    failed = sum(details.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
    apart = failed + details.get("skipped", 0) + details.get("expected failures", 0)
    return TestCount(max(0, int(found[1]) - apart), failed, details.get("skipped", 0))


def _jest(output: str) -> TestCount | None:
    found = _last(_JEST, output) or _last(_VITEST, output)
    return _by_words(found[1]) if found else None


def _mocha(output: str) -> TestCount | None:
    found = _last(_MOCHA, output)
    return TestCount(int(found[1]), int(found[2] or 0)) if found else None


def _node(output: str) -> TestCount | None:
    passed, failed = _last(_NODE_PASS, output), _last(_NODE_FAIL, output)
    return TestCount(int(passed[1]), int(failed[1])) if passed and failed else None


def _cargo(output: str) -> TestCount | None:
    found = [TestCount(int(passed), int(failed)) for passed, failed in _CARGO.findall(output)]
    found += [_by_words(_without_notes(summary)) for summary in _NEXTEST.findall(output)]
    return total(found) if found else None


def _without_notes(summary: str) -> str:
    return _NOTES.sub("", summary)


def _go(output: str) -> TestCount | None:
    """Tests where they are named (-v, and each failure); of a package without names, the package counts as one."""
    packages = _GO_PACKAGE.findall(output)
    if not packages:
        return None
    verdicts = _GO_TEST.findall(output)
    passed, failed = verdicts.count("PASS"), verdicts.count("FAIL")
    good, bad = sum(bool(ok) for ok, _ in packages), sum(bool(no) for _, no in packages)
    return TestCount(passed or good, failed or bad)


@dataclass(frozen=True, slots=True)
class SummaryFormat:
    """How a summary is read; in every one stands one of the ``signs``: most output holds none, and is not searched."""

    signs: tuple[str, ...]
    read: Callable[[str], TestCount | None]


PYTEST = SummaryFormat((" in ",), _pytest)
UNITTEST = SummaryFormat(("Ran ",), _unittest)
JEST = SummaryFormat(("Tests",), _jest)
MOCHA = SummaryFormat((" passing",), _mocha)
NODE = SummaryFormat((" pass ",), _node)
CARGO = SummaryFormat(("test result: ", "Summary ["), _cargo)
GO = SummaryFormat(("ok", "FAIL"), _go)
