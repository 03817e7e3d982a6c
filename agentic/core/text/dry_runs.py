"""Commands that name a test runner or a check and prove nothing by it: nothing is run, or nothing can fail.

``pytest --version`` and ``make -n test`` end with 0 whatever the code is like, and so does ``ruff check --exit-zero``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NOTHING = frozenset(
    (
        "--version", "--help", "--collect-only", "--co", "--setup-plan", "--setup-only", "--listTests", "--list-tests",
        "--list", "--list-files", "--list-sessions", "--listenvs", "--notest", "--dry-run", "--just-print",
        "--recon", "--no-run",
        "--show-only", "--showConfig", "--show-files", "--show-settings", "--print-config", "--listFilesOnly",
        "--clearCache",
    )
)  # fmt: skip
"""They mean the same to whatever runner knows them."""
_NOTHING_OF = {
    "pytest": ("-V", "--fixtures", "--fixtures-per-test", "--markers", "--cache-show"),
    "tox": ("-l", "-a", "list", "config"), "nox": ("-l",), "mypy": ("-V",), "shellcheck": ("-V",),
    "jest": ("-v", "--init"), "vitest": ("-v", "list"), "mocha": ("-V",), "playwright": ("-V",), "tsc": ("-v",
    "--init"),
    "eslint": ("-v", "--init", "--env-info"), "cargo": ("-V",), "go": ("-list", "-n", "-c"), "deno": ("-V",),
    "make": ("--question", "--touch"), "ctest": ("-N",), "bats": ("-c", "--count",
    "-v"), "rspec": ("-v",), "dotnet": ("-t",),
    "mvn": ("-v", "-DskipTests", "-Dmaven.test.skip"), "gradle": ("-v", "-m", "tasks"), "gradlew": ("-v", "-m",
    "tasks"),
    "phpunit": ("--list-suites", "--list-groups", "--check-version"), "ruff": (), "flake8": (), "pylint": (),
    "pyright": (), "basedpyright": (), "unittest": (), "npm": (), "pnpm": (), "yarn": (), "bun": (),
}  # fmt: skip
"""What a runner calls it; those that are named here know ``-h`` too."""
_LENIENT = frozenset(("--exit-zero", "--if-present", "--ignore-errors", "--fail-never", "-Dmaven.test.failure.ignore"))
_LENIENT_OF = {"ruff": ("-e",), "mvn": ("-fn",)}
_MAKE_DRY = re.compile(r"-[BdeikLrRsSw]*[nqt][BdeikLnqrRsStw]*(?:j\d*)?$")
_MAKE_LENIENT = re.compile(r"-[BdekLrRsSw]*i[BdeikLrRsSw]*(?:j\d*)?$")
_OFF = ("false", "0", "no")


def runs_nothing(words: Sequence[str]) -> bool:
    """Whether a runner is only asked about itself, or what it would do."""
    program, given = _runner(words)
    own = given[: given.index("--")] if "--" in given else given
    said = (*_NOTHING_OF[program], "-h") if program in _NOTHING_OF else ()
    if any(word in _NOTHING for word in given) or any(
        word in said for word in own if word[:1] == "-" or word == own[0]
    ):
        return True
    return program == "make" and any(_MAKE_DRY.match(word) for word in given)


def is_lenient(words: Sequence[str]) -> bool:
    """Whether it ends with 0 also where what it checks is wrong, or is not there."""
    program, given = _runner(words)
    if any(word in _LENIENT or word in _LENIENT_OF.get(program, ()) for word in given):
        return True
    return program == "make" and any(_MAKE_LENIENT.match(word) for word in given)


def _runner(words: Sequence[str]) -> tuple[str, list[str]]:
    """The runner's name, and what it is told, a switch without its value; what is switched off is not told."""
    words = words[2:] if tuple(words[:2]) in (("python", "-m"), ("bundle", "exec")) else words
    told = (word.partition("=") for word in words[1:])
    return "".join(words[:1]), [name for name, _, value in told if value.lower() not in _OFF]
