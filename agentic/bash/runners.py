"""Programs that check work: what a step of a command line checks, whether it can say anything by it, and what it prints.

``pytest --version`` and ``make -n test`` end with 0 whatever the code is like, and so does ``ruff check --exit-zero``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agentic.bash.runner_summaries import (
    CARGO,
    GO,
    JEST,
    MOCHA,
    NODE,
    PYTEST,
    UNITTEST,
    SummaryFormat,
    TestCount,
    total,
)

Kind = Literal["tests", "types", "style", "format", "build", "checks"]


@dataclass(frozen=True, slots=True)
class Runner:
    """A program that checks; ``words``: what it checks by the word that it is told, where that is not always the same."""

    kind: Kind | None = None
    words: Mapping[str, Kind] = field(default_factory=dict[str, Kind])
    anywhere: bool = False
    """The word may stand behind others."""
    asked: tuple[str, ...] | None = None
    """What it calls to be asked about itself, besides ``-h`` and what all call so; None where ``-h`` means something else."""
    lenient: tuple[str, ...] = ()
    """What it calls to end with 0 although something is wrong."""
    summary: SummaryFormat | None = None
    """Where the tests are counted in what it prints."""
    project: str = ""
    """The file at the root of the projects whose tests it runs."""


_SCRIPTS: dict[str, Kind] = {"test": "tests", "t": "tests", "check": "checks", "lint": "style", "build": "build"}
_MAKE: dict[str, Kind] = {
    "test": "tests", "tests": "tests", "check": "tests", "lint": "style", "verify": "checks", "build": "build",
}  # fmt: skip
_GRADLE: dict[str, Kind] = {"test": "tests", "check": "tests", "build": "build"}
SCRIPT_RUNNERS = ("npm", "pnpm", "yarn", "bun")
"""They run the scripts of a ``package.json``."""
RUNNERS: dict[str, Runner] = {
    "pytest": Runner(
        "tests", asked=("-V", "--fixtures", "--fixtures-per-test", "--markers", "--cache-show"), summary=PYTEST
    ),
    "unittest": Runner("tests", asked=(), summary=UNITTEST),
    "doctest": Runner("tests"),
    "nose2": Runner("tests"),
    "tox": Runner("tests", asked=("-l", "-a", "list", "config")),
    "nox": Runner("tests", asked=("-l",)),
    "jest": Runner("tests", asked=("-v", "--init"), summary=JEST),
    "vitest": Runner("tests", asked=("-v", "list"), summary=JEST),
    "mocha": Runner("tests", asked=("-V",), summary=MOCHA),
    "playwright": Runner(words={"test": "tests"}, asked=("-V",)),
    "node": Runner(words={"--test": "tests"}, summary=NODE),
    "deno": Runner(words={"test": "tests", "lint": "style", "check": "types"}, asked=("-V",)),
    **dict.fromkeys(SCRIPT_RUNNERS, Runner(words=_SCRIPTS, asked=())),
    "cargo": Runner(
        words={
            "test": "tests",
            "nextest": "tests",
            "check": "types",
            "clippy": "style",
            "fmt": "format",
            "build": "build",
        },
        asked=("-V",),
        summary=CARGO,
        project="Cargo.toml",
    ),
    "go": Runner(
        words={"test": "tests", "vet": "style", "build": "build"},
        asked=("-list", "-n", "-c"),
        summary=GO,
        project="go.mod",
    ),
    "dotnet": Runner(words={"test": "tests", "build": "build"}, asked=("-t",)),
    "swift": Runner(words={"test": "tests", "build": "build"}),
    "make": Runner(words=_MAKE, anywhere=True, asked=("--question", "--touch")),
    "just": Runner(words=_MAKE),
    "ctest": Runner("tests", asked=("-N",)),
    "bats": Runner("tests", asked=("-c", "--count", "-v")),
    "rspec": Runner("tests", asked=("-v",)),
    "phpunit": Runner("tests", asked=("--list-suites", "--list-groups", "--check-version")),
    "mvn": Runner(
        words={"test": "tests", "verify": "tests", "package": "build"},
        anywhere=True,
        asked=("-v", "-DskipTests", "-Dmaven.test.skip"),
        lenient=("-fn",),
    ),
    "gradle": Runner(words=_GRADLE, anywhere=True, asked=("-v", "-m", "tasks")),
    "gradlew": Runner(words=_GRADLE, anywhere=True, asked=("-v", "-m", "tasks")),
    "mypy": Runner("types", asked=("-V",)),
    "pyright": Runner("types", asked=()),
    "basedpyright": Runner("types", asked=()),
    "tsc": Runner("types", asked=("-v", "--init")),
    "ruff": Runner(words={"check": "style", "format": "format"}, asked=(), lenient=("-e",)),
    "flake8": Runner("style", asked=()),
    "pylint": Runner("style", asked=()),
    "eslint": Runner("style", asked=("-v", "--init", "--env-info")),
    "shellcheck": Runner("style", asked=("-V",)),
    "bash": Runner(words={"-n": "checks"}),
    "sh": Runner(words={"-n": "checks"}),
    "compileall": Runner("build"),
    **dict.fromkeys(("black", "isort", "prettier", "golangci-lint", "rustfmt", "gofmt"), Runner("format")),
}
"""By the common name of the program."""
_SUMMARIES = tuple(dict.fromkeys(runner.summary for runner in RUNNERS.values() if runner.summary is not None))
_NO_TESTS = re.compile(
    r"^(?:=+ )?no tests ran in |^\?\s+\S+\s+\[no test files\]$|^No tests? (?:found|files found)\b", re.MULTILINE
)
_INTERPRETERS = frozenset(("bash", "sh", "zsh", "python", "node"))
_SCRIPT = re.compile(r"(?:run[_-]?)?(?:(tests?)|checks?|verify)(?:[_-]\w+)?\.(?:sh|py|js)")
_NOTHING = frozenset((
    "--version", "--help", "--collect-only", "--co", "--setup-plan", "--setup-only", "--listTests", "--list-tests", "--list",
    "--list-files", "--list-sessions", "--listenvs", "--notest", "--dry-run", "--just-print", "--recon", "--no-run",
    "--show-only", "--showConfig", "--show-files", "--show-settings", "--print-config", "--listFilesOnly", "--clearCache",
))  # fmt: skip
"""They mean the same to whatever runner knows them."""
_LENIENT = frozenset(("--exit-zero", "--if-present", "--ignore-errors", "--fail-never", "-Dmaven.test.failure.ignore"))
_MAKE_DRY = re.compile(r"-[BdeikLrRsSw]*[nqt][BdeikLnqrRsStw]*(?:j\d*)?$")
_MAKE_LENIENT = re.compile(r"-[BdekLrRsSw]*i[BdeikLrRsSw]*(?:j\d*)?$")
_OFF = ("false", "0", "no")


def kind_of(words: Sequence[str]) -> Kind | None:
    """What a step checks; None where it checks nothing, or nobody knows what."""
    words = _named(words)
    runner = RUNNERS.get(words[0]) if words else None
    if runner is not None and runner.kind is not None:
        return runner.kind
    if runner is not None and (kind := _told(runner, words[1:])) is not None:
        return kind
    script = next((word for word in words[1:] if not word.startswith("-")), "") if words[:1] else ""
    path = script if words and words[0] in _INTERPRETERS else "".join(words[:1])
    found = _SCRIPT.fullmatch(path.rpartition("/")[2])
    if found is None:
        return None
    return "tests" if found[1] else "checks"


def runs_nothing(words: Sequence[str]) -> bool:
    """Whether a runner is only asked about itself, or what it would do."""
    program, given = _runner(words)
    own = given[: given.index("--")] if "--" in given else given
    runner = RUNNERS.get(program)
    said = (*runner.asked, "-h") if runner is not None and runner.asked is not None else ()
    if any(word in _NOTHING for word in given) or any(
        word in said for word in own if word[:1] == "-" or word == own[0]
    ):
        return True
    return program == "make" and any(_MAKE_DRY.match(word) for word in given)


def is_lenient(words: Sequence[str]) -> bool:
    """Whether it ends with 0 also where what it checks is wrong, or is not there."""
    program, given = _runner(words)
    lenient = RUNNERS[program].lenient if program in RUNNERS else ()
    if any(word in _LENIENT or word in lenient for word in given):
        return True
    return program == "make" and any(_MAKE_LENIENT.match(word) for word in given)


def count_tests(output: str) -> TestCount | None:
    """The tests that ran according to a command's cleaned output; all 0 where a runner says that it ran none.

    None where no runner spoke.
    """
    possible = (summary for summary in _SUMMARIES if any(sign in output for sign in summary.signs))
    counts = [count for summary in possible if (count := summary.read(output)) is not None]
    if counts:
        return total(counts)
    return TestCount(0, 0) if _NO_TESTS.search(output) else None


def _told(runner: Runner, words: Sequence[str]) -> Kind | None:
    """What it checks by the words that it knows."""
    words = words[1:] if "".join(words[:1]) == "run" else words
    told = [each for word in (words if runner.anywhere else words[:1]) for each in (word, *_parts(word))]
    kinds: list[Kind] = [runner.words[each] for each in told if each in runner.words]
    if "tests" in kinds:
        return "tests"
    return kinds[0] if kinds else None


def _parts(word: str) -> list[str]:
    """The parts of ``:app:test`` or ``test:unit``."""
    return word.split(":") if ":" in word and not word.startswith("-") else []


def _named(words: Sequence[str]) -> Sequence[str]:
    """The words from the program on that checks: ``python -m mypy`` is mypy."""
    return words[2:] if tuple(words[:2]) in (("python", "-m"), ("bundle", "exec")) else words


def _runner(words: Sequence[str]) -> tuple[str, list[str]]:
    """The runner's name, and what it is told, a switch without its value; what is switched off is not told."""
    words = _named(words)
    told = (word.partition("=") for word in words[1:])
    return "".join(words[:1]), [name for name, _, value in told if value.lower() not in _OFF]
