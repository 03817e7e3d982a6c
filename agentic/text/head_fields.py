"""The fields of a Markdown file's head, each checked as it is read; all mistakes are told at once, with their lines."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import cast

from agentic.text.front_matter import FrontMatterError, read_front_matter

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
"""What roles and rules are called."""
A_NAME = "1 to 40 small letters, digits and hyphens, such as `house-style`"
_MOST_WORDS = 100
_SHOWN = 60


class HeadMistakes(ValueError):
    """What is wrong with a file: each mistake with its line, where it has one, and what to do."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = tuple(mistakes)


class HeadFields:
    """Reads the fields of one file.  A field that is wrong reads as its default, and ``done`` raises for all of them."""

    def __init__(self, text: str, known: Sequence[str]) -> None:
        try:
            matter = read_front_matter(text)
        except FrontMatterError as error:
            raise HeadMistakes((str(error),)) from error
        self.body = matter.body
        self._fields = matter.fields
        self._lines: dict[str, int] = {}
        for number, line in enumerate(text.splitlines()[:200], 1):
            self._lines.setdefault(line.partition(":")[0].strip().strip("\"'"), number)
        self._mistakes: list[str] = []
        for field in matter.fields:
            if field not in known:
                alike = difflib.get_close_matches(field[:_SHOWN], known, n=1)
                hint = f"did you mean “{alike[0]}”?" if alike else f"there is: {', '.join(known)}"
                self.wrong(field, f"there is no such field; {hint}")

    def wrong(self, field: str, what: str) -> None:
        """Note a mistake."""
        place = f"line {self._lines[field]}: " if field in self._lines else ""
        self._mistakes.append(f"{place}{_printable(field)}: {what}")

    def done(self) -> None:
        """Raise ``HeadMistakes`` where there was one."""
        if self._mistakes:
            raise HeadMistakes(self._mistakes)

    def name(self, field: str = "name") -> str:
        """A name that must be there."""
        value = self._fields.get(field)
        if isinstance(value, str) and NAME.fullmatch(value):
            return value
        found = "it is missing" if value is None else f"{_shown(value)} is not a name"
        self.wrong(field, f"{found}; write {A_NAME}")
        return ""

    def line(self, field: str, most: int) -> str:
        """One line of text, '' where it is left out."""
        value = self._fields.get(field, "")
        text = " ".join(str(value).split())
        if isinstance(value, list | dict) or len(text) > most:
            self.wrong(field, f"write one line of at most {most} characters")
            return ""
        return text

    def words(self, field: str) -> tuple[str, ...] | None:
        """A list of words, or words in a line; None where it is left out."""
        value = self._fields.get(field)
        if value is None:
            if field in self._fields:
                self.wrong(field, "it is empty; write a list such as [one, two], or leave it out")
            return None
        each = value.replace(",", " ").split() if isinstance(value, str) else _listed(value)
        if each is None or len(each) > _MOST_WORDS:
            self.wrong(field, f"write a list such as [one, two], of at most {_MOST_WORDS}")
            return None
        words = [word.strip() for word in each if isinstance(word, str) and len(word) <= 100]
        if len(words) < len(each):
            self.wrong(field, "write names only, such as [one, two]")
        return tuple(dict.fromkeys(filter(None, words)))

    def names(self, field: str) -> tuple[str, ...] | None:
        """A list of names; None where it is left out."""
        words = self.words(field)
        for word in words or ():
            if not NAME.fullmatch(word):
                self.wrong(field, f"{_shown(word)} is not a name; write {A_NAME}")
        return words

    def number(self, field: str, least: int, most: int) -> int:
        """A whole number within bounds, 0 where it is left out."""
        return next(iter(self._numbers(field, self._fields.get(field, 0), least, most)), 0)

    def numbers(self, field: str, least: int, most: int) -> tuple[int, ...]:
        """Whole numbers within bounds, each once and in order."""
        value = self._fields.get(field, [])
        found: list[int] = []
        for each in [value] if (several := _listed(value)) is None else several:
            found += self._numbers(field, each, least, most)
        if several == [] and field in self._fields:
            self.wrong(field, "it is empty; name at least one, or leave it out")
        return tuple(sorted(set(found)))

    def flag(self, field: str) -> bool:
        """True or false; false where it is left out."""
        value = self._fields.get(field, False)
        if isinstance(value, bool):
            return value
        self.wrong(field, "write true or false")
        return False

    def _numbers(self, field: str, value: object, least: int, most: int) -> tuple[int, ...]:
        if field not in self._fields:
            return ()
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return (value,)
        self.wrong(field, f"{_shown(value)} is no whole number from {least} to {most}")
        return ()


def _listed(value: object) -> list[object] | None:
    return cast("list[object]", value) if isinstance(value, list) else None


def _shown(value: object) -> str:
    return str(value) if isinstance(value, int | float) else f"“{_printable(str(value))}”"


def _printable(text: str) -> str:
    return "".join(character for character in text[:_SHOWN] if character.isprintable())
