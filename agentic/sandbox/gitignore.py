"""Gitignore patterns without backtracking: what git ignores is matched, in time that grows with pattern and name alone.

A pattern is walked through as an automaton whose states are the bits of a number: bit ``n`` says that the first ``n``
parts of the pattern fit what was read of the name.  One pass over the name, whatever the pattern; a pattern made to be
matched in many ways costs what any other of its length does.  Characters are compared, where git compares bytes.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass

MAX_BYTES = 64 * 1024
"""Of one file."""
MAX_PATTERNS = 2_000
MAX_PATTERN = 1_000
"""Characters of one."""

_SPECIAL = frozenset("*?[\\")
_CLASSES: dict[str, Callable[[str], bool]] = {
    "alnum": lambda c: c in string.ascii_letters + string.digits,
    "alpha": lambda c: c in string.ascii_letters,
    "blank": lambda c: c in " \t",
    "cntrl": lambda c: c < " " or c == "\x7f",
    "digit": lambda c: c in string.digits,
    "graph": lambda c: "!" <= c <= "~",
    "lower": lambda c: c in string.ascii_lowercase,
    "print": lambda c: " " <= c <= "~",
    "punct": lambda c: c in string.punctuation,
    "space": lambda c: c in " \t\n\v\f\r",
    "upper": lambda c: c in string.ascii_uppercase,
    "xdigit": lambda c: c in string.hexdigits,
}


class PatternLimit(Exception):
    """More than can be decided: patterns too many or too long, or no steps left to match them with."""


class Steps:
    """How much may still be matched: one step is a pattern that is passed over, or a character that it is held against."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, count: int) -> None:
        """Use some up.  Raises ``PatternLimit`` where none is left."""
        self.left -= count
        if self.left < 0:
            raise PatternLimit


@dataclass(frozen=True, slots=True)
class _Pattern:
    negative: bool
    folder_only: bool
    base_only: bool
    """It has no slash: it stands for a name in any folder."""
    begins: str
    """What the name has to begin with."""
    ends: str = ""
    """What it has to end with."""
    rest: _Automaton | None = None
    """What has to follow the beginning; None for nothing."""


class Ignored:
    """The patterns of one file, in its order.  Raises ``PatternLimit`` where one is too long, or all are."""

    def __init__(self, text: str) -> None:
        if len(text.encode("utf-8", "surrogateescape")) > MAX_BYTES:
            raise PatternLimit
        lines = text.removeprefix("\ufeff").split("\n")
        self._patterns = [pattern for line in lines if (pattern := _pattern(line)) is not None]
        if len(self._patterns) > MAX_PATTERNS:
            raise PatternLimit
        self._plain: dict[tuple[bool, str], list[int]] = {}
        self._wild: list[tuple[int, _Pattern, _Automaton]] = []
        for number, pattern in reversed([*enumerate(self._patterns)]):
            if pattern.rest is None:
                self._plain.setdefault((pattern.base_only, pattern.begins), []).append(number)
            else:
                self._wild.append((number, pattern, pattern.rest))

    def names(self, path: str, folder: bool, steps: Steps) -> bool:
        """Whether this very path is named (not what lies above it)."""
        return self.verdict(path, folder, steps) is True

    def verdict(self, path: str, folder: bool, steps: Steps) -> bool | None:
        """Whether this very path is named: the last pattern that matches decides; None where none does."""
        base = path.rpartition("/")[2]
        last = max(self._named_plainly(True, base, folder), self._named_plainly(False, path, folder))
        steps.take(1 + len(self._wild))
        for number, pattern, rest in self._wild:
            if number < last:
                break
            name = base if pattern.base_only else path
            fits = (
                name.startswith(pattern.begins) and name.endswith(pattern.ends) and (folder or not pattern.folder_only)
            )
            if fits and rest.accepts(name, len(pattern.begins), steps):
                last = number
                break
        return None if last < 0 else not self._patterns[last].negative

    def _named_plainly(self, base_only: bool, name: str, folder: bool) -> int:
        """The number of the last pattern without wildcards that is this name; -1 for none."""
        numbers = self._plain.get((base_only, name), ())
        return next((number for number in numbers if folder or not self._patterns[number].folder_only), -1)


class _Automaton:
    """A pattern's wildcards and what stands among them; ``accepts`` never reads a character twice."""

    def __init__(self, pattern: str, *, paths: bool) -> None:
        self._paths = paths
        self._any = 0
        self._by_character: dict[str, int] = {}
        self._sets: list[tuple[int, Callable[[str], bool]]] = []
        self._within = self._across = self._skips = 0
        """Bits of states that stay at any character but a slash, that stay at any, and that may be passed over."""
        self._leaps: list[tuple[int, int]] = []
        """States from which another is reached without a character: folders that need not be there."""
        self._length = 0
        self.possible = self._read(pattern)
        self._cost = 1 + len(pattern) // (8 if self._sets else 64) + len(self._leaps)
        self._known: dict[str, int] = {}

    def accepts(self, name: str, start: int, steps: Steps) -> bool:
        """Whether the name fits from ``start`` on."""
        steps.take((len(name) - start) * self._cost)
        if not self.possible:
            return False
        states = self._reached(1)
        for at in range(start, len(name)):
            character = name[at]
            stay = self._across if character == "/" and self._paths else self._across | self._within
            taken = states & self._takes(character)
            states = self._reached((states & stay) | (taken << 1))
            if not states:
                return False
        return bool(states >> self._length & 1)

    def _reached(self, states: int) -> int:
        """These states and those that follow without a character."""
        for begin, end in self._leaps:
            if states & begin:
                states |= end
        waiting = states & self._skips
        while waiting:
            fresh = (waiting << 1) & ~states
            states |= fresh
            waiting = fresh & self._skips
        return states

    def _takes(self, character: str) -> int:
        """Bits of the states that go on with this character."""
        known = self._known.get(character)
        if known is None:
            known = self._by_character.get(character, 0) | (0 if character == "/" and self._paths else self._any)
            for bit, fits in self._sets:
                if fits(character) and (character != "/" or not self._paths):
                    known |= bit
            if len(self._known) < 256:
                self._known[character] = known
        return known

    def _read(self, pattern: str) -> bool:
        """Take the pattern in; False if nothing can ever fit it."""
        at = 0
        while at < len(pattern):
            character = pattern[at]
            if character == "*":
                end = at
                while end < len(pattern) and pattern[end] == "*":
                    end += 1
                self._stars(pattern, at, end)
                at = end
            elif character == "?":
                self._any |= 1 << self._length
                self._length += 1
                at += 1
            elif character == "[":
                found = _bracket(pattern, at + 1)
                if found is None:
                    return False
                at, fits = found
                self._sets.append((1 << self._length, fits))
                self._length += 1
            else:
                if character == "\\":
                    at += 1
                    if at == len(pattern):
                        return False
                self._one(pattern[at])
                at += 1
        return True

    def _stars(self, pattern: str, at: int, end: int) -> None:
        rest = pattern[end:]
        alone = at == 0 or pattern[at - 1] == "/"
        folders = self._paths and end - at > 1 and alone and (not rest or rest.startswith(("/", "\\/")))
        if folders and rest.startswith("/"):
            bit = 1 << self._length
            self._leaps.append((bit, bit << 3))  # no folder at all: on behind the slash
            self._skips |= bit
            self._length += 1
        bit = 1 << self._length
        self._skips |= bit
        if folders or not self._paths:
            self._across |= bit
        else:
            self._within |= bit
        self._length += 1

    def _one(self, character: str) -> None:
        self._by_character[character] = self._by_character.get(character, 0) | 1 << self._length
        self._length += 1


def _pattern(line: str) -> _Pattern | None:
    """One line; None where there is no pattern in it."""
    text = _without_trailing_spaces(line.removesuffix("\r"))
    if not text or line.startswith("#"):
        return None
    if len(text) > MAX_PATTERN:
        raise PatternLimit
    negative = text.startswith("!")
    text = text[1:] if negative else text
    folder_only = text.endswith("/")
    text = text[:-1] if folder_only else text
    base_only = "/" not in text
    text = text if base_only else text.removeprefix("/")
    plain = next((at for at, character in enumerate(text) if character in _SPECIAL), len(text))
    if plain == len(text):
        return _Pattern(negative, folder_only, base_only, text)
    end = max(map(text.rfind, "*?[]\\")) + 1
    ends = text[end:].removeprefix("/")  # the folders before it need not be there
    return _Pattern(negative, folder_only, base_only, text[:plain], ends, _Automaton(text[plain:], paths=not base_only))


def _without_trailing_spaces(text: str) -> str:
    """As git reads a line: spaces at its end count only after a backslash."""
    kept = text.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    return kept + " " if backslashes % 2 and len(kept) < len(text) else kept


def _bracket(pattern: str, at: int) -> tuple[int, Callable[[str], bool]] | None:
    """Where a bracket that opened before ``at`` ends and what it holds; None where it does not end or names no class."""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    single: set[str] = set()
    ranges: list[tuple[str, str]] = []
    classes: list[Callable[[str], bool]] = []
    before, first = "", True
    while first or pattern[at : at + 1] != "]":
        first = False
        literal = pattern[at : at + 1] == "\\"
        at += literal
        character = pattern[at : at + 1]
        if not character:
            return None
        if character == "-" and before and not literal and pattern[at + 1 : at + 2] not in ("", "]"):
            at += 2 if pattern[at + 1] == "\\" else 1
            if at == len(pattern):
                return None
            ranges.append((before, pattern[at]))
            before = ""
        elif character == "[" and not literal and pattern[at + 1 : at + 2] == ":":
            end = pattern.find("]", at + 2)
            if end < 0:
                return None
            if end == at + 2 or pattern[end - 1] != ":":
                single.add("[")
                before = "["
            elif (name := pattern[at + 2 : end - 1]) in _CLASSES:
                classes.append(_CLASSES[name])
                at, before = end, ""
            else:
                return None
        else:
            single.add(character)
            before = character
        at += 1

    def fits(character: str) -> bool:
        held = (
            character in single
            or any(low <= character <= high for low, high in ranges)
            or any(holds(character) for holds in classes)
        )
        return held != negated

    return at + 1, fits
