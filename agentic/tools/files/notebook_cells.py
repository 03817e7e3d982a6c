"""A Jupyter notebook as its cells, and changes of single cells that leave every other byte of the file as it is; pure.

A notebook is JSON that other programs write in their own order and indentation.  So it is never written anew: the places
of the cells in the text are found, and only what is changed there is replaced, indented as the file is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from pydantic import JsonValue

from agentic.tools.base.terminal_text import clean

CellKind = Literal["code", "markdown", "raw"]
KINDS: tuple[CellKind, ...] = ("code", "markdown", "raw")
OUTPUT_LINES, OUTPUT_CHARACTERS = 8, 600
"""Shown of what one cell printed."""
_MARK = "\ufeff"
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(strict=False)


class NoNotebook(ValueError):
    """It is no notebook that can be read; the message says why, and what to do."""


class NoCell(ValueError):
    """There is no such cell; the message says which there are."""


@dataclass(frozen=True, slots=True)
class Member:
    """A key of an object, and where its value stands in the text."""

    key: str
    begins: int
    start: int
    end: int
    value: JsonValue


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell, and where it stands in the text."""

    start: int
    end: int
    kind: CellKind
    source: str
    value: Mapping[str, JsonValue]

    @property
    def id(self) -> str:
        """'' where it has none, as before nbformat 4.5."""
        id = self.value.get("id")
        return id if isinstance(id, str) else ""


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook's text and its cells; ``start`` and ``end`` are where the list of them stands."""

    text: str
    cells: tuple[Cell, ...]
    start: int
    end: int
    indent: str | None
    """What one level is indented by; None where all stands on one line."""
    minor: int
    language: str

    def numbered(self, cell: int | str) -> int:
        """The place of a cell, from 0, by its number from 1 or its id.  Raises ``NoCell``."""
        ids = [each.id for each in self.cells]
        if isinstance(cell, str) and cell in ids:
            if ids.count(cell) > 1:
                raise NoCell(f"the id {cell!r} stands at {ids.count(cell)} cells; give the number")
            return ids.index(cell)
        number = int(cell) if str(cell).isascii() and str(cell).isdigit() and len(str(cell)) < 9 else 0
        if not 1 <= number <= len(self.cells):
            there = f"cells 1 to {len(self.cells)}" if self.cells else "no cell"
            raise NoCell(f"there is no cell {cell!r}; it has {there}")
        return number - 1


def parsed(text: str) -> Notebook:
    """Read a notebook.  Raises ``NoNotebook``."""
    try:
        json.loads(text.removeprefix(_MARK), strict=False)
        members = {
            member.key: member for member in _members(text, _skip(text, len(_MARK) if text.startswith(_MARK) else 0))
        }
        listed = members.get("cells")
        major, minor = (members[name].value if name in members else 0 for name in ("nbformat", "nbformat_minor"))
        if listed is None or not isinstance(listed.value, list) or major != 4:
            raise NoNotebook(_unlike(major))
        cells = tuple(_cell(number, *place) for number, place in enumerate(_elements(text, listed.start), 1))
    except json.JSONDecodeError as wrong:
        raise NoNotebook(f"it is no JSON: line {wrong.lineno}, column {wrong.colno}: {wrong.msg}") from None
    except RecursionError:
        raise NoNotebook("it is nested too deep") from None
    space = text[: listed.begins].rpartition("\n")[2]
    indent = space if "\n" in text[: listed.begins] and not space.strip() else None
    return Notebook(
        text, cells, listed.start, listed.end, indent, minor if isinstance(minor, int) else 0, _language(members)
    )


def replaced(book: Notebook, at: int, source: str, kind: CellKind | None) -> str:
    """The text with a cell's source replaced; what it printed is of the old one, and goes."""
    cell = book.cells[at]
    if kind not in (None, cell.kind):
        kept = {name: cell.value[name] for name in ("id", "metadata") if name in cell.value}
        return _spliced(book, [(cell.start, cell.end, _rendered(book, _new(kind, kept, source), 2))])
    new: dict[str, JsonValue] = {"source": source if isinstance(cell.value["source"], str) else _lines(source)}
    if cell.kind == "code":
        new |= {"outputs": [], "execution_count": None}
    members = _members(book.text, cell.start)
    return _spliced(
        book,
        [
            (member.start, member.end, _rendered(book, new[member.key], 3))
            for member in members
            if member.key in new and member.value != new[member.key]
        ],
    )


def inserted(book: Notebook, after: int, source: str, kind: CellKind) -> str:
    """The text with a new cell after so many others."""
    named = book.minor >= 5 or any(cell.id for cell in book.cells)
    id: dict[str, JsonValue] = {"id": _id(book, after, source)} if named else {}
    cell = _rendered(book, _new(kind, {**id, "metadata": {}}, source), 2)
    blank = " " if _spaced(book) else ""
    between = "" if book.indent is None else f"{_newline(book)}{book.indent * 2}"
    if not book.cells:
        ends = "" if book.indent is None else f"{_newline(book)}{book.indent}"
        return _spliced(book, [(book.start, book.end, f"[{between}{cell}{ends}]")])
    if after:
        place = book.cells[after - 1].end
        return _spliced(book, [(place, place, f",{between or blank}{cell}")])
    place = book.cells[0].start
    return _spliced(book, [(place, place, f"{cell},{between or blank}")])


def deleted(book: Notebook, at: int) -> str:
    """The text without a cell."""
    cells = book.cells
    if len(cells) == 1:
        return _spliced(book, [(book.start, book.end, "[]")])
    if at + 1 < len(cells):
        return _spliced(book, [(cells[at].start, cells[at + 1].start, "")])
    return _spliced(book, [(cells[at - 1].end, cells[at].end, "")])


def shown(book: Notebook) -> str:
    """The cells as a model reads them, outputs shortened."""
    what = f" ({book.language})" if book.language else ""
    parts = [f"A notebook{what}: {len(book.cells)} cells, each under its number. notebook_edit changes them."]
    for number, cell in enumerate(book.cells, 1):
        id = f" id={cell.id}" if cell.id else ""
        parts.append(f"[{number}] {cell.kind}{id}\n{cell.source}")
        outputs = cell.value.get("outputs")
        parts += map(_output, outputs if isinstance(outputs, list) else ())
    return "\n".join(parts)


# --- reading ------------------------------------------------------------------------------------------------------


def _value(text: str, at: int) -> tuple[JsonValue, int]:
    return cast("tuple[JsonValue, int]", _DECODER.raw_decode(text, at))


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _members(text: str, at: int) -> list[Member]:
    """The members of the object that begins there."""
    if text[at : at + 1] != "{":
        raise NoNotebook("it is no JSON object")
    _, end = _value(text, at)
    members: list[Member] = []
    at = _skip(text, at + 1)
    while at < end - 1:
        key, after = _value(text, at)
        start = _skip(text, _skip(text, after) + 1)
        value, stop = _value(text, start)
        members.append(Member(str(key), at, start, stop, value))
        at = _skip(text, stop)
        at = _skip(text, at + 1) if text[at] == "," else at
    if len({member.key for member in members}) < len(members):
        raise NoNotebook("it names a key twice, so that it can be read in more than one way")
    return members


def _elements(text: str, at: int) -> list[tuple[int, int, JsonValue]]:
    """The elements of the list that begins there."""
    found: list[tuple[int, int, JsonValue]] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        value, end = _value(text, at)
        found.append((at, end, value))
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def _cell(number: int, start: int, end: int, value: JsonValue) -> Cell:
    if not isinstance(value, dict):
        raise NoNotebook(f"its cell {number} is no JSON object")
    source, kind = value.get("source"), value.get("cell_type")
    if kind not in KINDS:
        raise NoNotebook(f"its cell {number} has the cell_type {kind!r}; it must be code, markdown or raw")
    text = _joined(source)
    if text is None:
        raise NoNotebook(f"its cell {number} has no source that is text or a list of lines")
    return Cell(start, end, kind, text, value)


def _joined(source: JsonValue) -> str | None:
    if isinstance(source, str):
        return source
    lines = [line for line in source if isinstance(line, str)] if isinstance(source, list) else []
    return "".join(lines) if isinstance(source, list) and len(lines) == len(source) else None


def _unlike(major: JsonValue) -> str:
    if isinstance(major, int) and 0 < major < 4:
        return f"it is of nbformat {major}; convert it with `jupyter nbconvert --to notebook --inplace`"
    return "it has no list of cells of nbformat 4"


def _language(members: Mapping[str, Member]) -> str:
    metadata = members["metadata"].value if "metadata" in members else None
    spec = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    name = spec.get("name") if isinstance(spec, dict) else None
    return name[:40] if isinstance(name, str) else ""


def _output(output: JsonValue) -> str:
    if not isinstance(output, dict):
        return ""
    data = output.get("data")
    kinds = data if isinstance(data, dict) else {}
    trace = output.get("traceback")
    lines = [line for line in trace if isinstance(line, str)] if isinstance(trace, list) else []
    text = clean(_joined(output.get("text")) or _joined(kinds.get("text/plain")) or "\n".join(lines))
    others = [kind for kind in kinds if kind != "text/plain"]
    first = text.splitlines()[:OUTPUT_LINES]
    cut = "\n".join(first)[:OUTPUT_CHARACTERS]
    more = f" … ({len(text):,} characters in all)" if len(cut) < len(text.rstrip("\n")) else ""
    also = f" ({', '.join(others[:4])})" if others else ""
    body = "".join(f"\n    {line}" for line in cut.splitlines())
    return f"  printed{also}:{body}{more}"


# --- writing ------------------------------------------------------------------------------------------------------


def _new(kind: CellKind | None, kept: Mapping[str, JsonValue], source: str) -> dict[str, JsonValue]:
    cell: dict[str, JsonValue] = {"cell_type": kind, **kept, "source": _lines(source)}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return {name: cell[name] for name in sorted(cell)}


def _lines(source: str) -> list[JsonValue]:
    """As notebooks keep text: a line each, with its end."""
    *lines, last = source.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def _newline(book: Notebook) -> str:
    return "\r\n" if "\r\n" in book.text else "\n"


def _spaced(book: Notebook) -> bool:
    """Whether a file on one line is written with blanks behind its signs."""
    return '": ' in book.text


def _rendered(book: Notebook, value: JsonValue, depth: int) -> str:
    """A value as the file writes its values, ``depth`` levels deep."""
    escapes = book.text.isascii() and "\\u" in book.text
    if book.indent is None:
        separators = (", ", ": ") if _spaced(book) else (",", ":")
        return json.dumps(value, ensure_ascii=escapes, separators=separators)
    text = json.dumps(value, ensure_ascii=escapes, indent=book.indent)
    return text.replace("\n", f"{_newline(book)}{book.indent * depth}")


def _spliced(book: Notebook, pieces: Sequence[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, text in sorted(pieces):
        parts += [book.text[at:start], text]
        at = end
    return "".join((*parts, book.text[at:]))


def _id(book: Notebook, after: int, source: str) -> str:
    taken = {cell.id for cell in book.cells}
    for number in range(len(taken) + 1):
        id = hashlib.sha256(f"{after} {number} {source}".encode("utf-8", "replace")).hexdigest()[:8]
        if id not in taken:
            return id
    raise AssertionError("one of them is free")
