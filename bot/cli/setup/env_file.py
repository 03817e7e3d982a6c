"""Change single settings of a ``.env`` file and keep everything else in it.

Comments, other keys, their order and the line ends stay. A new key is put behind the comment that shows its default,
if there is one, else at the end. The file is replaced as a whole by one that only its owner can read, so that after
a crash there is either the old or the new one.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dotenv import dotenv_values

MODE = 0o600
_ASSIGNED = re.compile(r"^\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=")
_DEFAULT = re.compile(r"^#\s?(?P<name>[A-Z_][A-Z0-9_]*)=")
_ENDS = {mark: re.compile(rf"(?<!\\)(?:\\\\)*{mark}") for mark in "'\""}
_BARE = re.compile(r"[A-Za-z0-9_./:@%+,=~*?-]*")


def read(path: Path) -> dict[str, str]:
    """Return the settings in the file; {} where there is none."""
    if not path.is_file():
        return {}
    return {name: value or "" for name, value in dotenv_values(path, interpolate=False).items()}


def changed(text: str, values: Mapping[str, str]) -> str:
    """Return the file's text with these settings; of a repeated key the last one counts, and is changed."""
    lines = text.splitlines(keepends=True)
    for name, value in values.items():
        line = f"{name}={quoted(value)}\n"
        start, end = _where(lines, name)
        if end > start:
            line = line[:-1] + _line_end(lines[end - 1])
        elif start and not lines[start - 1].endswith(("\n", "\r")):
            lines[start - 1] += "\n"
        lines[start:end] = [line]
    return "".join(lines)


def write(path: Path, values: Mapping[str, str]) -> None:
    """Write these settings atomically, readable by the owner alone. Raises ``OSError`` and leaves the old file."""
    target = path.resolve()  # a link stays a link
    text = target.read_bytes().decode("utf-8") if target.exists() else ""  # with its line ends as they are
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".env-", suffix=".new")
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(changed(text, values))
            file.flush()
            os.fchmod(file.fileno(), MODE)
            os.fsync(file.fileno())
        fresh.replace(target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def is_private(path: Path) -> bool:
    """Whether nobody but the owner can read it."""
    return not path.exists() or not stat.S_IMODE(path.stat().st_mode) & 0o077


def quoted(value: str) -> str:
    """Return the value as written in the file; raises ``ValueError`` for what no line can hold."""
    if "\n" in value or "\r" in value or "\0" in value:
        raise ValueError("a setting is one line")
    if _BARE.fullmatch(value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _where(lines: list[str], name: str) -> tuple[int, int]:
    """Return the lines of the key, or an empty range where it belongs."""
    found = [at for at, line in enumerate(lines) if (match := _ASSIGNED.match(line)) and match["name"] == name]
    if found:
        return found[-1], _end(lines, found[-1])
    shown = [at for at, line in enumerate(lines) if (match := _DEFAULT.match(line)) and match["name"] == name]
    at = shown[-1] + 1 if shown else len(lines)
    return at, at


def _end(lines: list[str], start: int) -> int:
    """Return the end of a value; a quoted one may have several lines."""
    value = lines[start].partition("=")[2].lstrip()
    if not value or value[0] not in "'\"":
        return start + 1
    mark = value[0]
    for end in range(start, len(lines)):
        body = value[1:] if end == start else lines[end]
        if _ENDS[mark].search(body):
            return end + 1
    return start + 1


def _line_end(line: str) -> str:
    return "\r\n" if line.endswith("\r\n") else "\n"
