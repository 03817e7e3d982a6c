"""Remove secrets from messages: known forms, and the values this process holds itself; pure.

Everything that is posted passes here last: answers, notices, names of files, files made of text. A text that is
shortened before it is shown passes here before that, too, since half a secret has no known form. A binary file is not
changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import cast

from agentic.text.first_look import ANY_I, DARK, SPACE, FirstLook
from reflexion.text.secrets import REDACTED, redact_known

LEAST = 8
"""Minimum length of a secret value; a shorter one is too likely to be an ordinary word."""
_NAMES = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|DSN)(?:_|$)", re.IGNORECASE)
_ASSIGNS = re.compile(r"""(?i)(?:password|passwd|passphrase|api[_-]?key|secret|token)["']?\s*[:=]\s*["']?""")
_MAY_ASSIGN = FirstLook(
    rf"(?i)(?:password|passwd|passphrase|ap{ANY_I}[_-]?key|secret|token)[\"']?{SPACE}*[:=]{SPACE}*[\"']?{DARK}{{16}}"
)
_VALUE = re.compile(r"[\w+/=.-]{16,}")
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
        """Redact all strings of a nested value, each as if it were assigned to the name that it has there."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {
                    self.text(key): self._named(key, each) if isinstance(each, str) else self.everywhere(each)
                    for key, each in cast("dict[str, object]", value).items()
                }
            case list():
                return [self.everywhere(each) for each in cast("list[object]", value)]
            case _:
                return value

    def _named(self, name: str, value: str) -> str:
        shown, begin = self.text(f"{name}={value}"), f"{name}="
        return shown[len(begin) :] if shown.startswith(begin) else REDACTED

    def _without_values(self, text: str) -> str:
        return text if self._values is None else self._values.sub(REDACTED, text)


def _without_assigned(text: str) -> str:
    """Redact values that are assigned to a secret's name; each run of characters is read once.

    Code that passes a secret by name (``token=settings.api_token_2``) holds none, nor do mere words or numbers.
    """
    shown: list[str] = []
    at = read = plain = 0
    for found in _ASSIGNS.finditer(text) if _MAY_ASSIGN.finds(text) else ():
        begin = found.end()
        value = _VALUE.match(text, begin) if found.start() >= read and begin >= plain else None
        if value is None:
            continue
        if not _DIGIT.search(value[0]) or not _LETTER.search(value[0]):
            plain = value.end()  # and so is what ends there too
            continue
        read = value.end()
        if not _PATHLIKE.search(value[0]):
            shown += [text[at:begin], REDACTED]
            at = read
    return "".join([*shown, text[at:]])
