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
    return tuple(Chunk(piece.first, piece.last) for piece in _cut_by_lines(1, lines, 0)) if lines else ()


def by_syntax(root: Node, lines: int, definitions: Sequence[Definition]) -> tuple[Chunk, ...]:
    """The chunks of a file with this tree of syntax."""
    if not lines:
        return ()
    return tuple(_named(piece, definitions) for piece in _together(_cut(root, 1, lines, 0)))


def _cut(node: Node, first: int, last: int, level: int) -> Iterator[_Piece]:
    """Cut the lines that a node takes part in."""
    if last - first < MOST_LINES:
        yield _Piece(first, last, level)
        return
    children = [child for child in node.children if child.end_point.row + 1 >= first and child.start_point.row < last]
    if level >= DEPTH or not children:
        yield from _cut_by_lines(first, last, level)
        return
    begins = _beginnings(children, first, last)
    for begin, end in zip(begins, (*(begin - 1 for begin in begins[1:]), last), strict=True):
        if end - begin < MOST_LINES:
            yield _Piece(begin, end, level)
        else:
            largest = max(children, key=lambda child: _lines_in(child, begin, end))
            yield from _cut(largest, begin, end, level + 1)


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


def _cut_by_lines(first: int, last: int, level: int) -> Iterator[_Piece]:
    while last - first >= MOST_LINES:
        yield _Piece(first, first + MOST_LINES - 1, level)
        first += MOST_LINES - OVERLAP
    yield _Piece(first, last, level)


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


def _named(piece: _Piece, definitions: Sequence[Definition]) -> Chunk:
    names = dict.fromkeys(each.name for each in definitions if piece.first <= each.first <= piece.last)
    within = dict.fromkeys(each.name for each in definitions if each.first < piece.first <= each.last)
    return Chunk(piece.first, piece.last, tuple(names), tuple(within))
