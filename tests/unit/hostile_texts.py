"""Texts that make a pattern without a bound run for long, made from the pattern itself.

What costs more than linear time is a part that may be repeated without end, begun again at each place of the text or
given back character by character.  So each text is a beginning that the pattern accepts, then one of its repeated parts
over and over, then an ending that it does not accept.
"""

from __future__ import annotations

import re._constants as codes  # pyright: ignore[reportMissingModuleSource, reportMissingTypeStubs]
import re._parser as parser  # pyright: ignore[reportMissingModuleSource, reportMissingTypeStubs]
from collections.abc import Iterator
from typing import Any, NamedTuple

ALPHABET = "a7 .\n-A_\0\t,/"
CATEGORIES = {
    codes.CATEGORY_DIGIT: "7",
    codes.CATEGORY_NOT_DIGIT: "a ",
    codes.CATEGORY_SPACE: " \n",
    codes.CATEGORY_NOT_SPACE: "a.",
    codes.CATEGORY_WORD: "a7",
    codes.CATEGORY_NOT_WORD: " .\n",
}
MANY = 20
"""A part repeated so often at least counts as one without a bound."""
CLASS = 4
"""So many characters stand for a class of them."""


class Text(NamedTuple):
    """A text of any length: its beginning once, its middle over and over, its ending once."""

    begins: str
    again: str
    ends: str

    def of(self, length: int) -> str:
        """The text with a middle of so many characters."""
        return self.begins + (self.again * (length // len(self.again) + 1))[:length] + self.ends


class _Part(NamedTuple):
    """What a part of a pattern accepts (one example), the characters in it, and (beginning, repeated part) of each repeat."""

    example: str
    characters: list[str]
    repeats: list[tuple[str, str]]


def hostile_texts(pattern: str, flags: int = 0) -> list[Text]:
    """Texts that this pattern may take long over."""
    part = _part(parser.parse(pattern, flags))
    units = [*part.characters, " ", "\n", "a", "a ", "a\n", "\n ", part.example, part.example[:-1], part.example + "\n"]
    texts = [Text("", unit, end) for unit in units for end in ("", "\0", "\n!")]
    for begins, again in part.repeats:
        texts += [Text(begins, again, "\0"), Text(begins, again + " ", "")]
        texts += [Text("", before + begins + again, "\0") for before in ("", "-", " ")]
    return [text for text in dict.fromkeys(texts) if text.again]


def _part(tree: Any) -> _Part:
    example, characters, repeats = "", [], []
    for code, given in tree:
        one, more = _piece(code, given)
        repeats += [(example + begins, again) for begins, again in one.repeats]
        if more:
            repeats += [
                (example, again) for again in dict.fromkeys([one.example, *one.characters, "".join(one.characters)])
            ]
        characters += one.characters
        example += one.example
    return _Part(example, characters, repeats)


def _piece(code: Any, given: Any) -> tuple[_Part, bool]:
    """One piece of a pattern, and whether it may be repeated without end."""
    match code:
        case codes.LITERAL:
            return _Part(chr(given), [chr(given)], []), False
        case codes.NOT_LITERAL:
            other = next(each for each in ALPHABET if ord(each) != given)
            return _Part(other, [other], []), False
        case codes.ANY:
            return _Part("a", ["a", "\n"], []), False
        case codes.IN:
            members = list(dict.fromkeys(_members(given))) or ["a"]
            members = [*members[:CLASS], *[each for each in members[CLASS:] if not each.isalnum()][:CLASS]]
            return _Part(members[0], members, []), False
        case codes.BRANCH:
            ways = [_part(way) for way in given[1]]
            characters = [each for way in ways for each in way.characters]
            repeats = [each for way in ways for each in [*way.repeats, ("", way.example)]]
            return _Part(ways[0].example, characters, repeats), False
        case codes.SUBPATTERN:
            return _part(given[3]), False
        case codes.ATOMIC_GROUP:
            return _part(given), False
        case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
            least, most, inside = given
            one = _part(inside)
            return one._replace(example=one.example * max(int(least), int(most) > 1)), int(most) >= MANY
        case codes.ASSERT | codes.ASSERT_NOT:
            return _part(given[1])._replace(example=""), False
        case _:
            return _Part("", [], []), False


def _members(items: Any) -> Iterator[str]:
    """Some characters that a class holds."""
    held = "".join(_held(code, given) for code, given in items)
    if items and items[0][0] is codes.NEGATE:
        yield from (each for each in ALPHABET if each not in held)
    else:
        yield from held


def _held(code: Any, given: Any) -> str:
    if code is codes.LITERAL:
        return chr(given)
    if code is codes.RANGE:
        return chr(given[0]) + chr(given[1])
    return CATEGORIES.get(given, "") if code is codes.CATEGORY else ""
