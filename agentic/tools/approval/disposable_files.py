"""Which files any call may destroy without anybody being asked: scratch, what builds derive, an execution's own."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from typing import Literal

from agentic.bash.command_output import UNKNOWN
from agentic.bash.workspace_paths import SCRATCHES
from agentic.core.events.values import Act
from agentic.core.rules.approvals import is_within
from agentic.ports.runtime import Prepared
from agentic.tools.approval.named_paths import targets

DERIVED_FOLDERS = frozenset((
    "node_modules", "bower_components", "build", "dist", "target", "out", "_build", ".next", ".nuxt", ".turbo",
    ".parcel-cache", "coverage", "htmlcov", ".nyc_output", ".tox", ".nox", ".venv", "venv", ".cache", ".gradle",
    ".terraform", "tmp", "temp", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".eggs",
    "cmake-build-debug", "cmake-build-release", "CMakeFiles", "site", "scratch", ".svelte-kit", ".vite", ".angular",
    ".docusaurus", ".ipynb_checkpoints", "storybook-static", "test-results", "playwright-report", "lcov-report", "_cacache",
))  # fmt: skip
DERIVED_FILES = (
    "*.pyc", "*.pyo", "*.o", "*.obj", "*.a", "*.so", "*.class", "*.log", "*.tmp", "*.bak", "*.orig", "*.rej", "*.swp", "*~",
    "*.egg-info", ".coverage*", ".DS_Store", "core", "core.*", "*.out", "*.tsbuildinfo", "*.pid", "CMakeCache.txt",
    "*.dist-info", "*.egg", "*.gcda", "*.gcno", "*.profraw", "lcov.info", "coverage.xml", "coverage.json", "junit.xml",
    "*.log.*", ".eslintcache", ".stylelintcache", "*.swo", "*.stamp", "*.prof", "perf.data", "Thumbs.db", "desktop.ini",
    "npm-debug.log*",
)  # fmt: skip
_DERIVED_FILE = re.compile("|".join(map(fnmatch.translate, DERIVED_FILES)))
_CACHES = ("/var/lib/apt/lists/", "/var/cache/", "~/.npm/_cacache", "~/.cache")


def is_disposable(path: str, created: frozenset[str], made: frozenset[str]) -> bool:
    """Whether a path, as seen from the workspace, may be destroyed.

    ``created`` are files that this execution made, ``made`` folders that were made on the same command line.
    """
    if path in created or path in made or any(path.startswith(f"{folder}/") for folder in made):
        return True
    if path.startswith((*SCRATCHES, *_CACHES)):
        return True
    if path.startswith(("/", "~", "..")) or ".git" in path.split("/") or UNKNOWN in path.partition("/")[0]:
        return False
    *folders, name = path.split("/")
    return name in DERIVED_FOLDERS or _is_derived(folders, name)


def own_to_destroy(prepared: Prepared) -> Callable[[str, bool], bool]:
    """Whether a file, or a folder with a slash at its end, is derived, named in the command, or allowed for the whole task.

    That one is named does not cover that it is emptied, the second argument: whoever means that deletes it.  What may be
    deleted may also stand there anew, with nothing in it.
    """
    allowed = prepared.allowed.acts if prepared.allowed is not None else ()
    arguments = prepared.arguments
    command, cwd = arguments.get("command"), arguments.get("cwd", ".")
    named = frozenset(targets(command, cwd)) if isinstance(command, str) and isinstance(cwd, str) else frozenset[str]()

    def may_go(path: str, emptied: bool) -> bool:
        if path in named and not emptied:
            return True
        kinds: tuple[Literal["delete", "empty"], ...] = ("delete", "empty") if emptied else ("delete",)
        if any(is_within(Act(kind=kind, path=path.rstrip("/")), allowed) for kind in kinds):
            return True
        *folders, name = path.split("/")
        return _is_derived(folders, name)

    return may_go


def _is_derived(folders: list[str], name: str) -> bool:
    return not DERIVED_FOLDERS.isdisjoint(folders) or _DERIVED_FILE.fullmatch(name) is not None
