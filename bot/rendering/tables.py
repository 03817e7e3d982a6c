"""Tables of Markdown, which Discord does not draw: narrow ones aligned in a code block, wide ones as files; pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from bot.rendering.code_blocks import FENCE, fence_after

COLUMNS = 42
"""Wider tables become a file: that is what a phone shows in a code block."""
FILES_AT_MOST = 5
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_RULE = re.compile(r":?-+:?")
_MARKS = re.compile(r"(`|\*\*|__)(\S(?:.{0,500}?\S)?)\1")
_BAR = re.compile(r"(?<!\\)\|")


def with_tables(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with its tables as code blocks, and those that are too wide, in order; ``table-1.md`` names the first."""
    if "|" not in text:
        return text, ()
    kept: list[str] = []
    wide: list[str] = []
    for rows, lines in _runs(text):
        if len(rows) < 2 or len(wide) >= FILES_AT_MOST:
            kept += rows
        elif (shown := aligned(rows)) and max(map(width, shown)) <= COLUMNS:
            kept += [FENCE, *(line.replace(FENCE, "ˋˋˋ") for line in shown), FENCE]
        else:
            wide.append("\n".join([*rows, ""]))
            kept.append(f"*(table: see `table-{len(wide)}.md`)*")
        kept += lines
    return "\n".join(kept), tuple(wide)


def _runs(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """The rows of a table, perhaps none, and the other lines up to the next one."""
    rows: list[str] = []
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        if not fence and _ROW.match(line):
            if lines:
                yield rows, lines
                rows, lines = [], []
            rows.append(line)
        else:
            lines.append(line)
            fence = fence_after(fence, line)
    yield rows, lines


def aligned(rows: list[str]) -> list[str]:
    """The rows with their cells one under the other, and a line under the head."""
    cells = [[_bare(cell.strip()) for cell in _BAR.split(row.strip()[1:-1])] for row in rows]
    rules = [all(_RULE.fullmatch(cell) for cell in row) for row in cells]
    columns = max(map(len, cells))
    body = [row + [""] * (columns - len(row)) for row, rule in zip(cells, rules, strict=True) if not rule]
    widths = [max((width(row[column]) for row in body), default=0) for column in range(columns)]
    lines = ["  ".join(_padded(cell, room) for cell, room in zip(row, widths, strict=True)).rstrip() for row in body]
    if len(rules) > 1 and rules[1]:
        lines.insert(1, "  ".join("─" * room for room in widths))
    return lines


def _bare(cell: str) -> str:
    """A cell without marks that a code block would show as they are."""
    return _MARKS.sub(r"\2", cell.replace("\\|", "|"))


def width(text: str) -> int:
    """Columns a text takes in a fixed font: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _padded(cell: str, room: int) -> str:
    return cell + " " * (room - width(cell))
