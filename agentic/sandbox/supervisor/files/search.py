"""Glob and grep.  They run in a forked child (``jobs``), because a hostile pattern can keep Python busy for hours."""
# ruff: noqa: PTH208

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Generator

from ..frames import Fault, Json, Request
from .confined_paths import PLAIN, Confined
from .operations import kind_of

MAX_FILE = 4 * 1024 * 1024
MAX_LINE = 400
SAMPLE = 8192
PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".ruff_cache"})


def translate(pattern: str) -> re.Pattern[str]:
    """A glob as a regular expression over whole paths: ``**/`` any folders, ``*`` and ``?`` within one name."""
    out, at = "", 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            out, at = out + "(?:[^/]+/)*", at + 3
        elif pattern.startswith("**", at):
            out, at = out + ".*", at + 2
        elif pattern[at] == "*":
            out, at = out + "[^/]*", at + 1
        elif pattern[at] == "?":
            out, at = out + "[^/]", at + 1
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            inside = pattern[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out, at = out + "[" + ("^" + inside[1:] if inside.startswith("!") else inside) + "]", end + 1
        elif pattern[at] == "{" and (end := pattern.find("}", at)) > 0:
            out, at = out + "(?:" + "|".join(re.escape(p) for p in pattern[at + 1 : end].split(",")) + ")", end + 1
        else:
            out, at = out + re.escape(pattern[at]), at + 1
    return _compiled(out + r"\Z", 0)


def _compiled(pattern: str, flags: int) -> re.Pattern[str]:
    try:
        return re.compile(pattern, flags)
    except re.error as error:
        raise Fault("failed", f"the pattern is not a valid regular expression: {error}") from None


def walk(confined: Confined, path: str) -> Generator[tuple[str, int, str, os.stat_result]]:
    """Every file and folder below ``path``: path from the root, descriptor of its folder, name, status.  Sorted, no links."""
    with confined.open_folder(path) as (descriptor, relative):
        waiting: deque[str] = deque([relative])
    while waiting:
        folder = waiting.popleft()
        try:
            with confined.open_folder(folder or ".") as (descriptor, _):
                below: list[str] = []
                for name in sorted(os.listdir(descriptor)):
                    path_here = f"{folder}/{name}" if folder else name
                    status = _status(descriptor, name)
                    if status is None or confined.is_hidden(path_here):
                        continue
                    yield path_here, descriptor, name, status
                    if stat.S_ISDIR(status.st_mode) and name not in PASSED_OVER:
                        below.append(path_here)
                waiting.extendleft(reversed(below))
        except (Fault, OSError):
            continue  # it went away, or turned into something else, while we walked


def _status(descriptor: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except OSError:
        return None


def glob(confined: Confined, request: Request) -> tuple[dict[str, Json], bytes]:
    """Paths below a folder that match."""
    base, limit = request.text("path", "."), request.integer("limit", 1000)
    pattern = translate(request.text("pattern"))
    with confined.open_folder(base) as (_, root):
        skip = len(root) + 1 if root else 0
    rows: list[Json] = []
    for path, _, _, status in walk(confined, base):
        if pattern.match(path[skip:]):
            if len(rows) >= limit:
                return {"entries": rows, "more": True}, b""
            rows.append([_text(path), kind_of(status.st_mode), status.st_size])
    return {"entries": rows, "more": False}, b""


def grep(confined: Confined, request: Request) -> tuple[dict[str, Json], bytes]:
    """Lines of text files that match, with their context."""
    expression = _compiled(request.text("pattern"), re.IGNORECASE if request.flag("ignore_case") else 0)
    finder = Finder(expression, request.integer("context"), request.integer("limit", 200))
    wanted = request.text("glob")
    names = translate(wanted if "/" in wanted else f"**/{wanted}") if wanted else None
    searched = 0
    for path, content in _texts(confined, request.text("path", ".")):
        if names is not None and not names.match(path):
            continue
        searched += 1
        finder.search(_text(path), content)
        if finder.full:
            break
    return {"hits": finder.hits, "files": searched, "more": finder.full}, b""


def _texts(confined: Confined, path: str) -> Generator[tuple[str, str]]:
    with confined.locate(path) as at:
        status = at.status()
    if status is None:
        raise Fault("missing", f"{path}: there is no such file or folder", path)
    if not stat.S_ISDIR(status.st_mode):
        with confined.open_file(path) as (descriptor, _, relative):
            content = os.read(descriptor, MAX_FILE)
        yield relative, content.decode("utf-8", "replace")
        return
    for relative, folder, name, status in walk(confined, path):
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE:
            content = _read(folder, name)
            if b"\0" not in content[:SAMPLE]:
                yield relative, content.decode("utf-8", "replace")


def _read(folder: int, name: str) -> bytes:
    try:
        descriptor = os.open(name, PLAIN, dir_fd=folder)
    except OSError:
        return b"\0"
    try:
        return os.read(descriptor, MAX_FILE) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b"\0"
    finally:
        os.close(descriptor)


class Finder:
    """Collects matching lines as rows of (path, line from 1, text, is context), up to a limit."""

    def __init__(self, expression: re.Pattern[str], context: int, limit: int) -> None:
        self.hits: list[Json] = []
        self.full = False
        self._expression = expression
        self._context = max(0, min(context, 20))
        self._limit = limit
        self._found = 0

    def search(self, path: str, content: str) -> None:
        """Take the matching lines of one text in."""
        lines = content.splitlines()
        shown = 0
        for number, line in enumerate(lines):
            if not self._expression.search(line):
                continue
            if self._found >= self._limit:
                self.full = True
                return
            self._found += 1
            first = max(shown, number - self._context)
            for near in range(first, min(len(lines), number + self._context + 1)):
                matches = near == number or (near > number and bool(self._expression.search(lines[near])))
                if near > number and matches:
                    break
                self.hits.append([path, near + 1, lines[near][:MAX_LINE], not matches])
                shown = near + 1

    def search_line(self, path: str, number: int, line: str) -> None:
        """Take one line in."""
        if self._expression.search(line):
            self.full = self._found >= self._limit
            if not self.full:
                self._found += 1
                self.hits.append([path, number, line.rstrip("\n")[:MAX_LINE], False])


def _text(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def output_lines(descriptor: int, request: Request) -> tuple[dict[str, Json], bytes]:
    """The lines of a saved output that match."""
    finder = Finder(_compiled(request.text("pattern"), 0), 0, request.integer("max_hits", 200))
    with os.fdopen(os.dup(descriptor), "r", encoding="utf-8", errors="replace", newline="\n") as lines:
        number = 0
        while not finder.full and (line := lines.readline(1 << 16)):
            number += 1
            finder.search_line(request.text("ref"), number, line)
    return {"hits": finder.hits, "more": finder.full, "size": os.fstat(descriptor).st_size}, b""
