"""Words that somebody looks for, and where they stand in a text; pure, in time linear in the text.

A query is phrases: each word, and what stands in quotation marks.  A phrase is found where its words follow each other;
the last of them may be the beginning of a longer one.  Capitals and accents make no difference, and between words stands
whatever is neither a letter nor a digit, so ``src/main.py`` is a phrase of three.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST = 200
"""Characters of a query that are read."""

_ACCENTS = 200
"""The lowest of Unicode's combining classes of signs above, below and through a letter."""
_WORD = re.compile(r"[^\W_]+")
_PHRASE = re.compile(r'"([^"]*)"|(\S+)')

Phrase = tuple[str, ...]
Span = tuple[int, int]
"""Beginning and end in a text."""


@dataclass(frozen=True, slots=True)
class WordQuery:
    """What is looked for: a text has it if it has every phrase."""

    phrases: tuple[Phrase, ...]

    @classmethod
    def of(cls, text: str) -> WordQuery:
        """Read what somebody typed; without any letter or digit there are no phrases."""
        typed = composed(text[:LONGEST])
        phrases = (words_in(found[1] or found[2] or "") for found in _PHRASE.finditer(typed))
        return cls(tuple(dict.fromkeys(phrase for phrase in phrases if phrase)))

    def places(self, text: str) -> list[Span]:
        """Where the phrases stand in a text in its composed form (``composed``), in order; [] if it lacks one of them."""
        words = [(folded(found[0]), found.start(), found.end()) for found in _WORD.finditer(text)]
        places: list[Span] = []
        for phrase in self.phrases:
            here = [(words[at][1], words[at + len(phrase) - 1][2]) for at in _beginnings(words, phrase)]
            if not here:
                return []
            places += here
        return sorted(places)


def composed(text: str) -> str:
    """The text with each accent in its letter, as ``WordQuery.places`` reads it."""
    return unicodedata.normalize("NFC", text)


def words_in(text: str) -> Phrase:
    """The words of a text in its composed form, folded."""
    return tuple(folded(word) for word in _WORD.findall(text))


def folded(word: str) -> str:
    """A word in small letters without accents; marks that make another letter, as of Japanese ``ga``, stay."""
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFD", word.lower())
    return composed("".join(letter for letter in apart if unicodedata.combining(letter) < _ACCENTS))


def _beginnings(words: Sequence[tuple[str, int, int]], phrase: Phrase) -> list[int]:
    *whole, last = phrase
    return [
        at
        for at in range(len(words) - len(whole))
        if words[at + len(whole)][0].startswith(last) and all(words[at + n][0] == word for n, word in enumerate(whole))
    ]
