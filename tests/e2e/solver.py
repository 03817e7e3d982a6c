"""A model's part in repairing a repository, played from what the request holds and from nothing else.

It knows no file, no function and no number before a tool's result has told it: it reads the failing tests' output,
greps for the function, reads the file, tries small changes until the expectations in the output hold, edits, runs the
tests again and finishes with what it saw.  Where a result is missing or says nothing, it raises, and the test fails.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Reply

TESTS = "python3 -m unittest"
_FAILED = re.compile(r"self\.assertEqual\((\w+)\.(\w+)\((.*)\), (.*)\)\s*$", re.MULTILINE)
_CHANGES = (
    (" + ", " - "), (" - ", " + "), ("min(", "max("), ("max(", "min("), (" > ", " >= "), (" < ", " <= "),
    (" >= ", " > "), ("range(1,", "range(0,"), ("range(0,", "range(1,"), ('"+"', '"-"'), ('"-"', '"+"'),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a failing test asked for, as its output shows it."""

    module: str
    function: str
    arguments: tuple[object, ...]
    expected: object


def repair(request: CapturedRequest) -> Reply:
    """The next step, from the results in the request."""
    results = [answer.text for answer in request.answers]
    calls = [call for said in request.messages for call in said.calls]
    assert len(results) == len(calls), "each call has its one result"
    step = len(results)
    if step == 0:
        return _call("shell", command=TESTS, expectation="the failing tests")
    wanted = _expectations(results[0])
    if step == 1:
        return _call("grep", pattern=rf"def {wanted[0].function}\(")
    place = re.match(r"(\S+?):(\d+): ", results[1])
    assert place, f"grep found nothing: {results[1]}"
    if step == 2:
        return _call("read", path=place[1])
    old, new = _repaired(_source(results[2]), wanted)
    if step == 3:
        return _call("edit", path=place[1], old=old, new=new)
    if step == 4:
        assert place[1] in results[3], f"the edit says nothing of its file: {results[3]}"
        return _call("shell", command=TESTS, expectation="all tests pass")
    assert re.search(r"^OK", results[4], re.MULTILINE), f"the tests do not pass: {results[4]}"
    claims = [
        {"text": "All tests pass.", "command": TESTS, "exit_code": 0},
        {"text": f"The bug was in {place[1]}.", "file": place[1]},
    ]
    return _call("finish", answer=f"Fixed {wanted[0].function} in {place[1]}.", claims=claims, files=[place[1]])


def _call(tool: str, **arguments: object) -> Reply:
    return Reply(text=f"Next: {tool}.", calls=((tool, arguments),))  # pyright: ignore[reportArgumentType]


def _expectations(output: str) -> list[Expectation]:
    found = [
        Expectation(module, function, ast.literal_eval(f"({arguments},)"), ast.literal_eval(expected))
        for module, function, arguments, expected in _FAILED.findall(output)
    ]
    assert found, f"the output shows no failing test: {output}"
    return found


def _source(shown: str) -> str:
    """The file as the tool ``read`` shows it, without its line numbers."""
    lines = [line.split("\t", 1)[1] for line in shown.splitlines() if re.match(r"\d+\t", line)]
    assert lines, f"the file was not shown: {shown}"
    return "\n".join(lines)


def _repaired(source: str, wanted: list[Expectation]) -> tuple[str, str]:
    """The line that is wrong, and what should stand there."""
    for old, new in _candidates(source, wanted[0].function):
        names: dict[str, object] = {}
        exec(source.replace(old, new), names)
        if all(_holds(names, each) for each in wanted):
            return old, new
    raise AssertionError(f"no small change makes the expectations hold in: {source}")


def _candidates(source: str, function: str) -> Iterator[tuple[str, str]]:
    inside = False
    for line in source.splitlines():
        inside = line.startswith(f"def {function}(") or (inside and not line.startswith("def "))
        if inside:
            yield from ((line, line.replace(have, want)) for have, want in _CHANGES if have in line)


def _holds(names: dict[str, object], wanted: Expectation) -> bool:
    function = names[wanted.function]
    assert callable(function)
    return bool(function(*wanted.arguments) == wanted.expected)
