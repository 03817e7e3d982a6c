"""Which files any call may destroy without anybody being asked: scratch, what builds derive, an execution's own."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from typing import Literal

from agentic.bash.command_output import UNKNOWN
from agentic.bash.workspace_paths import SCRATCHES
from agentic.core.events.values import Act
from agentic.core.prompt.roles import looks
from agentic.core.rules.approvals import is_within
from agentic.ports.runtime import Prepared
from agentic.tools.approval.named_paths import deleted_by, targets, written_by
from agentic.workspace.savepoints import Excuses
from agentic.workspace.snapshots.losses import MayGo, Place, Shown

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
_WAITING = frozenset(
    ("sleep", "date", "printf", "seq", "test", "[", "false", "hostname", "id", "whoami", "ps", "uptime", "free")
)
"""Programs that change nothing of files, besides those that look."""
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


def shown_to_a_person(prepared: Prepared) -> Shown | None:
    """What whoever approved a call saw that it destroys: when it ran before, or by name in the command; None without that."""
    if prepared.shown is None:
        return None
    acts = (act for finding in prepared.findings for act in finding.acts)
    named = (f"{act.path}/**" if act.kind == "delete" else act.path for act in acts)
    patterns = (each for each in _named(prepared, deleted_by) if not is_disposable(each, prepared.created, frozenset()))
    return Shown(prepared.shown, (*named, *patterns))


def only_looks(prepared: Prepared) -> bool:
    """Whether a call is a command that changes nothing, and is waited for."""
    command = prepared.arguments.get("command")
    alone = not (prepared.arguments.get("background") or prepared.arguments.get("fallback"))
    return alone and isinstance(command, str) and looks(command, _WAITING)


def excuses(prepared: Prepared) -> Excuses:
    """What a call may destroy without anybody being asked."""
    return Excuses(own_to_destroy(prepared), _is_derived_file, prepared.created, only_looks(prepared))


def own_to_destroy(prepared: Prepared) -> MayGo:
    """Whether a file, or a folder with a slash at its end, is named in the command, or allowed for the whole task.

    That one is named covers that it is deleted, and that another is written there where the command says so; not that it is
    emptied: whoever means that deletes it.  What may be deleted may also stand there anew, with nothing in it.
    """
    allowed = prepared.allowed.acts if prepared.allowed is not None else ()
    named, onto = frozenset(_named(prepared)), frozenset(_named(prepared, written_by))

    def may_go(path: str, place: Place) -> bool:
        if path in {"": named, "empty": frozenset[str](), "other": onto}[place]:
            return True
        kinds: tuple[Literal["delete", "empty"], ...] = ("delete", "empty") if place else ("delete",)
        return any(is_within(Act(kind=kind, path=path.rstrip("/")), allowed) for kind in kinds)

    return may_go


def _named(prepared: Prepared, of: Callable[[str, str], tuple[str, ...]] = targets) -> tuple[str, ...]:
    command, cwd = prepared.arguments.get("command"), prepared.arguments.get("cwd", ".")
    return of(command, cwd) if isinstance(command, str) and isinstance(cwd, str) else ()


def _is_derived_file(path: str, place: Place) -> bool:
    *folders, name = path.split("/")
    return _is_derived(folders, name)


def _is_derived(folders: list[str], name: str) -> bool:
    return not DERIVED_FOLDERS.isdisjoint(folders) or _DERIVED_FILE.fullmatch(name) is not None
