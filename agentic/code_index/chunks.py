"""A file in chunks of at most 50 lines, along its syntax: nothing is left out, and nothing stands in two chunks but overlaps.

A tree of syntax is cut where its children begin, each with the comments and decorators above it; what is longer is cut
below it in the same way.  Neighbours are put together again as long as they fit.  What cannot be cut along its syntax (a
long text, a list without lines of its own, a file of no known language) is cut by lines, and there each piece begins with
the last lines of the piece before it.

Lines are numbered from 1 and end at a line feed alone, as the tool that reads files counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_LINES = 50
OVERLAP = 10
FULL_LINES = 40
"""Up to so many lines neighbours are put together."""
DEPTH = 60
"""Below that the lines are cut."""
HEADING = 5
"""So few lines, as those that a class begins with, go with what follows them, also where that stands a level deeper."""
_LEADING = frozenset(("comment", "line_comment", "block_comment", "decorator", "attribute_item", "annotation"))
"""What belongs to the thing below it."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A name, and the lines of what it is defined as."""

    first: int
    last: int
    name: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines ``first`` to ``last``; the names that are defined in them, and of what they are a part."""

    first: int
    last: int
    names: tuple[str, ...] = ()
    within: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    first: int
    last: int
    level: int
    """How deep in the tree it was cut; pieces of one level are parts of the same."""


def line_count(source: bytes) -> int:
    """How many lines a file has."""
    return source.count(b"\n") + (not source.endswith(b"\n")) if source else 0


def by_lines(lines: int) -> tuple[Chunk, ...]:
    """The chunks of a file whose syntax is not known."""
    pieces: list[_Piece] = []
    if lines:
        _cut_by_lines(1, lines, 0, pieces)
    return tuple(Chunk(piece.first, piece.last) for piece in pieces)


def by_syntax(root: Node, lines: int, definitions: Sequence[Definition]) -> tuple[Chunk, ...]:
    """The chunks of a file with this tree of syntax; ``definitions`` in the order of their first lines."""
    pieces: list[_Piece] = []
    if lines:
        _cut(root, 1, lines, 0, pieces)
    chunks: list[Chunk] = []
    open_ones: list[Definition] = []
    at = 0
    for piece in _together(pieces):
        open_ones = [each for each in open_ones if each.last >= piece.first]
        begun = at
        while at < len(definitions) and definitions[at].first <= piece.last:
            at += 1
        own = definitions[begun:at]
        names, within = dict.fromkeys(each.name for each in own), dict.fromkeys(each.name for each in open_ones)
        chunks.append(Chunk(piece.first, piece.last, tuple(names), tuple(within)))
        open_ones += own
    return tuple(chunks)


def _cut(node: Node, first: int, last: int, level: int, pieces: list[_Piece]) -> None:
    """Cut the lines that a node takes part in."""
    children = node.children
    if node.start_point.row + 1 < first or node.end_point.row >= last:
        children = [child for child in children if child.end_point.row + 1 >= first and child.start_point.row < last]
    if level >= DEPTH or not children:
        _cut_by_lines(first, last, level, pieces)
        return
    begins = _beginnings(children, first, last)
    for begin, end in zip(begins, (*(begin - 1 for begin in begins[1:]), last), strict=True):
        if end - begin < MOST_LINES:
            pieces.append(_Piece(begin, end, level))
        else:
            largest = max(children, key=lambda child: _lines_in(child, begin, end))
            _cut(largest, begin, end, level + 1, pieces)


def _beginnings(children: Iterable[Node], first: int, last: int) -> list[int]:
    """The lines on which children begin and none ends, with what leads them; the first line always is one."""
    found, lead, ended = [first], 0, 0
    for child in children:
        line = child.start_point.row + 1
        if child.type in _LEADING:
            lead = lead or line
            continue
        begin, lead = lead or line, 0
        if max(found[-1], ended) < begin <= last:
            found.append(begin)
        ended = child.end_point.row + bool(child.end_point.column)
    return found


def _lines_in(node: Node, first: int, last: int) -> int:
    return min(node.end_point.row + 1, last) - max(node.start_point.row + 1, first)


def _cut_by_lines(first: int, last: int, level: int, pieces: list[_Piece]) -> None:
    while last - first >= MOST_LINES:
        pieces.append(_Piece(first, first + MOST_LINES - 1, level))
        first += MOST_LINES - OVERLAP
    pieces.append(_Piece(first, last, level))


def _together(pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """Put neighbours together that are parts of the same, and what is short with what follows it."""
    held: _Piece | None = None
    for piece in pieces:
        if held is not None and _belong(held, piece):
            held = _Piece(held.first, piece.last, piece.level)
            continue
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield held


def _belong(one: _Piece, next_one: _Piece) -> bool:
    lines = next_one.last - one.first + 1
    if one.last - one.first < HEADING:
        return lines <= MOST_LINES
    return one.level == next_one.level and lines <= FULL_LINES
