"""Remove secrets from messages: known forms, and the values this process holds itself; pure.

Everything that is posted passes here last: answers, notices, names of files, files made of text. A text that is
shortened before it is shown passes here before that, too, since half a secret has no known form. A binary file is not
changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Literal, cast

from agentic.text.first_look import ANY_I, DARK, SPACE, FirstLook
from reflexion.text.secrets import REDACTED, redact_known

LEAST = 8
"""Minimum length of a secret value; a shorter one is too likely to be an ordinary word."""
_NAMES = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|DSN)(?:_|$)", re.IGNORECASE)
_ASSIGNS = re.compile(
    r"""(?ix)(?:password|passwd|passphrase|api[_-]?key|secret|token)s?
        (?: ["']?\s*[:=]\s*(\[\s*)?["']? | ["']\s*,\s*(?:["']value["']\s*:\s*)?["'] )"""
)
"""A name and what stands before its value, also where that is a list's first item, or stands beside the name."""
_MAY_ASSIGN = FirstLook(
    rf"(?i)(?:password|passwd|passphrase|ap{ANY_I}[_-]?key|secret|token)s?"
    rf"(?:[\"']?{SPACE}*[:=]{SPACE}*(?:\[{SPACE}*)?[\"']?|[\"']{SPACE}*,{SPACE}*(?:[\"']value[\"']{SPACE}*:{SPACE}*)?[\"'])"
    rf"{DARK}{{16}}"
)
_NEXT = re.compile(r"""["']\s*,\s*["']""")
"""Between two items of a list."""
_VALUE = re.compile(r"[\w+/=.-]{16,}")
_TELLS = re.compile(
    r"(?:passw(?:or)?d|passphrase|passcode|(authorization)|(secret|token|credential|cookie"
    r"|(?:api|access|account|secret|private|signing|encryption)[ _-]?key))s?$",
    re.IGNORECASE,
)
"""How a name in a nested value ends that tells of a secret: any value of it, one with its scheme, or what looks like one."""
NAME_CHARACTERS = 60
"""Of a longer name the end is read."""
_NO_PASSWORD = re.compile(
    r"(?i)\W*|.{1,3}|true|false|none|null|required|optional|hidden|string|text|password|\$.*|<.*>|\{\{.*\}\}|\[redacted\]"
)
"""What stands for a password in forms, settings and documentation."""
_NEIGHBOURS = (("name", "value"), ("key", "value"), ("Name", "Value"), ("Key", "Value"), ("header", "value"))
"""Keys of a map that names a value beside it, as lists of variables and headers have."""
APART = "\n\x00\n"
"""Between texts that are looked through together: nothing of one is read as part of another."""
TELLING = 4
"""Characters of a value that already reveal something of it."""
_BEGINS = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-|[srp]k_|gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|AIza|xox[abeoprs]-|hf_|npm_|pypi-|eyJ)"
)
_PATHLIKE = re.compile(r"[./]")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[a-z]", re.IGNORECASE)


def secrets_of(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the values of variables whose names say that they are secret."""
    return frozenset(
        value for name, value in environment.items() if _NAMES.search(name) and len(value.strip()) >= LEAST
    )


class Discretion:
    """Removes secrets from what is shown."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        longest_first = sorted({value for value in values if len(value) >= LEAST}, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        self._beginnings = frozenset(value[:n] for value in longest_first for n in range(TELLING, len(value)))
        self._longest = len(longest_first[0]) if longest_first else 0

    def text(self, text: str) -> str:
        """Replace each secret by ``[redacted]``."""
        return _without_assigned(redact_known(self._without_values(text)))

    def growing(self, text: str) -> str:
        """Do the same for a text that is being streamed: a last word that may become a secret is held back."""
        last = text.rsplit(maxsplit=1)[-1] if text and not text[-1].isspace() else ""
        ends = range(max(0, len(last) - self._longest), len(last))
        held = _BEGINS.search(last) or any(last[at:] in self._beginnings for at in ends)
        return self.text(text[: len(text) - len(last)] if held else text)

    def content(self, content: bytes, *, made: bool = True) -> bytes:
        """Redact a file's content, if it is text; of a file that was not ``made`` here, redact only what this process
        holds.

        A file of somebody's workspace that was changed in transit would be of no use, and nobody would see why.
        """
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return content
        shown = self.text(text) if made else self._without_values(text)
        return content if shown == text else shown.encode()

    def everywhere(self, value: object) -> object:
        """Redact all strings of a nested value, each by the name that tells of it there."""
        return self._shown(value, "", self._long)

    def by_names(self, value: object) -> object:
        """Redact only the strings of which a name tells; others are for who looks through them as text."""
        return self._shown(value, "", str)

    def hides(self, values: Iterable[object]) -> tuple[bool, int]:
        """Whether anything in these nested values is to be redacted, and how many characters they have.

        All of them are looked through at once, which is quicker than each by itself.
        """
        gathered = _Gathered()
        for value in values:
            gathered.take(value)
        joined = APART.join((*gathered.texts, *gathered.keys))
        return gathered.hides or self.text(joined) != joined, sum(map(len, gathered.texts))

    def _shown(self, value: object, named: _Told, plain: Callable[[str], str]) -> object:
        match value:
            case str():
                return self._named(value, named) if named else plain(value)
            case dict():
                return {
                    shown: REDACTED if shown != key and isinstance(each, str) else self._shown(each, told, plain)
                    for key, each, told in _entries(cast("dict[str, object]", value), named)
                    for shown in (self.text(key) if len(key) >= LEAST else key,)
                }
            case list():
                return [
                    [self.text(pair[0]), self._named(pair[1], told_by(pair[0]))]
                    if (pair := _pair(each)) is not None
                    else self._shown(each, told, plain)
                    for each, told in _items(cast("list[object]", value), named)
                ]
            case _:
                return value

    def _named(self, value: str, named: _Told) -> str:
        if named == "password":
            return self.text(value) if _NO_PASSWORD.fullmatch(value) else REDACTED
        whole = _assigned(value, named)
        shown, begin = self.text(whole), whole[: len(whole) - len(value)]
        return shown[len(begin) :] if shown.startswith(begin) else REDACTED

    def _long(self, text: str) -> str:
        return self.text(text) if len(text) >= LEAST else text

    def _without_values(self, text: str) -> str:
        return text if self._values is None else self._values.sub(REDACTED, text)


_Told = Literal["", "password", "authorization", "secret"]
"""What a name tells of its value."""


def told_by(name: str) -> _Told:
    """What a name tells of its value."""
    return _told_by(name[-NAME_CHARACTERS:])


@lru_cache(maxsize=2_000)
def _told_by(end: str) -> _Told:
    found = _TELLS.search(end)
    if found is None:
        return "secret" if end.isupper() and _NAMES.search(end) else ""
    if found[1]:
        return "authorization"
    return "secret" if found[2] else "password"


def _entries(value: dict[str, object], named: _Told) -> Iterator[tuple[str, object, _Told]]:
    """The entries of a map, each with what its name tells, or the name in its neighbour, or that of the map.

    A map below a password's name describes it as often as it holds it, so that only what looks like a secret counts there.
    """
    neighbour = next((each for each in _NEIGHBOURS if each[1] in value and isinstance(value.get(each[0]), str)), None)
    below: _Told = "secret" if named else ""
    for key, each in value.items():
        told = told_by(key)
        if not told and neighbour is not None and key == neighbour[1]:
            told = told_by(str(value[neighbour[0]]))
        yield key, each, told or below


def _items(value: list[object], named: _Told) -> Iterator[tuple[object, _Told]]:
    """The items of a list, each with what the list's name tells, or the flag before it."""
    before: _Told = ""
    for each in value:
        yield each, before or named
        before = told_by(each) if isinstance(each, str) and each.startswith("-") else ""


def _pair(item: object) -> tuple[str, str] | None:
    """An item of a list that is a name which tells something, and its value, as lists of headers have."""
    match item:
        case [str(name), str(value)] if told_by(name):
            return name, value
        case _:
            return None


def _assigned(value: str, named: _Told) -> str:
    """A text as it is looked through."""
    if named == "authorization" and " " not in value:  # without a scheme
        return f"secret={value}"
    return f"{named}={value}" if named else value


class _Gathered:
    """The texts of nested values that may hold a secret."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.keys = set[str]()
        self.hides = False
        """Something is hidden in any case."""

    def take(self, value: object, named: _Told = "") -> None:
        """Add the texts of a value."""
        if isinstance(value, str):
            self.hides = self.hides or (named == "password" and not _NO_PASSWORD.fullmatch(value))
            if len(value) >= LEAST:
                self.texts.append(_assigned(value, named))
        elif isinstance(value, dict):
            for key, each, told in _entries(cast("dict[str, object]", value), named):
                if len(key) >= LEAST:
                    self.keys.add(key)
                self.take(each, told)
        elif isinstance(value, list):
            for each, told in _items(cast("list[object]", value), named):
                pair = _pair(each)
                if pair:
                    self.take(pair[0])
                self.take(pair[1] if pair else each, told_by(pair[0]) if pair else told)


def _without_assigned(text: str) -> str:
    """Redact values that are assigned to a secret's name; each run of characters is read once.

    Code that passes a secret by name (``token=settings.api_token_2``) holds none, nor do mere words or numbers.
    """
    shown: list[str] = []
    at = read = plain = 0
    for found in _ASSIGNS.finditer(text) if _MAY_ASSIGN.finds(text) else ():
        begin = found.end()
        value = _VALUE.match(text, begin) if found.start() >= read and begin >= plain else None
        while value is not None:
            if not _DIGIT.search(value[0]) or not _LETTER.search(value[0]):
                plain = value.end()  # and so is what ends there too
            else:
                read = value.end()
                if not _PATHLIKE.search(value[0]):
                    shown += [text[at : value.start()], REDACTED]
                    at = read
            more = _NEXT.match(text, value.end()) if found[1] else None
            value = _VALUE.match(text, more.end()) if more else None
    return "".join([*shown, text[at:]])
