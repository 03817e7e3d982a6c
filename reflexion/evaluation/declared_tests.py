"""The test command that a repository declares, as far as the log of an execution shows its files.

Read are the names in listings, the paths of changes, and the text of the few files that declare one: ``package.json``, a
``Makefile``, ``pyproject.toml`` and the like.  What such a file says is data: it decides which run counts as *the* check,
never what a run came to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agentic.bash.runners import RUNNERS, SCRIPT_RUNNERS
from agentic.bash.steps import Step, read, run_by
from agentic.bash.workspace_paths import inside
from agentic.core.events.execution_events import FileChange
from reflexion.evaluation.verifier import Wanted

_LISTS = (("ls",), ("find",), ("tree",), ("fd",), ("git", "ls-files"), ("rg", "--files"))
_SHOWS = (("cat",), ("head",), ("less",), ("bat",), ("sed", "-n"))
"""How commands begin that list files, and that show one."""
_NUMBERED = re.compile(r"^\d+\t", re.MULTILINE)
_SCRIPT = re.compile(r'"test"\s*:\s*"((?:[^"\\\n]|\\.)+)"')
_NO_SCRIPT = re.compile(r"no test specified|^\s*(?:true|:|exit 0|echo\b[^&|;]*)\s*$")
_TARGET = re.compile(r"^(tests?|check|verify)\s*:(?!=)", re.MULTILINE)
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$|(?:^|/)conftest\.py$")
_PYTEST_ROOT: Final = ("pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml")
_SCRIPTED: Final = tuple(f"{runner} {said}" for runner in SCRIPT_RUNNERS for said in ("test", "t", "run test"))


@dataclass(frozen=True, slots=True)
class Seen:
    """A call, by what it shows of the workspace."""

    tool: str
    asked: str
    said: str
    changes: tuple[FileChange, ...] = ()


def declared(seen: Sequence[Seen], perceived: Iterable[str] = ()) -> tuple[Wanted, ...]:
    """The test commands that the files declare, the plainest first; ``perceived``: what others changed, in words."""
    texts = {name: text for each in seen if (shown := _shown(each)) is not None for name, text in (shown,)}
    names = {name for each in seen for name in _names(each)} | {word for line in perceived for word in line.split()}
    roots = {name.removeprefix("./") for name in (*names, *texts)}
    found: list[Wanted] = []
    if target := _TARGET.search(texts.get("Makefile", "")):
        found.append(Wanted(f"make {target[1]}", (f"make {target[1]}",)))
    script = _SCRIPT.search(texts.get("package.json", ""))
    if script is not None and not _NO_SCRIPT.search(script[1]):
        found.append(Wanted("npm test", (*_SCRIPTED, script[1])))
    if "[tool.pytest" in texts.get("pyproject.toml", "") or "pytest.ini" in roots or _tests_in(roots):
        found.append(Wanted("pytest", ("pytest",)))
    for name, runner in RUNNERS.items():
        if runner.project and runner.project in roots:
            told = [word for word, kind in runner.words.items() if kind == "tests"]
            found.append(Wanted(f"{name} {told[0]}", tuple(f"{name} {word}" for word in told)))
    return tuple(found)


def _tests_in(names: set[str]) -> bool:
    return any(root in names for root in _PYTEST_ROOT) and any(_TEST_FILE.search(name) for name in names)


def _shown(each: Seen) -> tuple[str, str] | None:
    """A file whose text a call showed; those that declare something lie at the root, so their path is their name."""
    path = each.asked if each.tool == "read" else ""
    line = read(each.asked) if each.tool == "shell" else None
    if line is not None and len(line.steps) == 1 and (start := _start(line.steps[0], _SHOWS)):
        script = 1 if start[0] == "sed" else 0
        files = [word for word in line.steps[0].words[len(start) :] if not word.startswith("-")][script:]
        path = inside(line.steps[0].cwd, files[0]) if len(files) == 1 else ""
    path = path.removeprefix("/workspace/").removeprefix("./")
    return (path, _NUMBERED.sub("", each.said)) if path else None


def _names(each: Seen) -> Iterable[str]:
    for change in each.changes:
        if change.kind != "deleted":
            yield change.path
    step = next(iter(run_by(each.asked).steps), None) if each.tool == "shell" else None
    if each.tool in ("list", "glob") or (step is not None and _start(step, _LISTS)):
        listed = step.cwd if step is not None else each.asked if each.tool == "list" else ""
        base = "" if listed in ("", ".", "/workspace") or "=" in listed else f"{listed.rstrip('/')}/"
        for line in each.said.splitlines():
            yield from (base + word.removeprefix("./") for word in line.split())


def _start(step: Step, known: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """Which of the known beginnings a step has."""
    return next((start for start in known if step.words[: len(start)] == start), ())
