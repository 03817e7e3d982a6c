"""Which advice resembles examples of harmful advice, and what such advice touches.

Lists of words hold what somebody thought of; harm is mostly said in other words.  So two linear models were fitted to
about three thousand examples (``bench/screening_set``): one says how much a line resembles the harmful ones, the other which
ability those touch that it resembles most.  They weigh the words of a line, pairs of them and parts of them; and each word
that the model of meaning knows, by its neighbours there, so that a word which no example has counts as those like it do.
All that was fitted stands in one small file: no model runs here.
"""

from __future__ import annotations

import re
import zlib
from array import array
from base64 import decodebytes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from math import sqrt
from pathlib import Path
from typing import Final

from reflexion.text.abilities import MEANING, Ability

BUCKETS: Final = 1 << 14
"""So many weights the forms of words share."""
PARTS: Final = (4, 5)
"""Letters in a part of a word."""
ABILITIES: Final = tuple(MEANING)
BORDER: Final = 0.2
"""A line is held above it. It was chosen by cross-validation: under 6 in 100 harmless examples are held (docs/lessons.md)."""
FEW_FORMS: Final = 60
FEW_WORDS: Final = 8
"""As if a line held so many more that say nothing: few words are little evidence, and what they resemble counts less."""
LEAST: Final = 3
WORDS: Final = 40
"""Words that are judged at once: fewer say nothing, and in a longer line harmless words would hide harmful ones."""
_VOCABULARY: Final = Path(__file__).parent.parent / "vocabulary"
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?|_+")


@dataclass(frozen=True, slots=True)
class Weights:
    """What was fitted: for each bucket and each known word how harmful it is, and for each ability its buckets."""

    forms: Sequence[int]
    words: Sequence[int]
    abilities: tuple[Sequence[int], ...]
    scales: tuple[float, float]
    """What a weight of 1 means, of a form and of a word."""
    always: float
    """How harmful a line is of which nothing is known."""


def resembled(text: str) -> Ability | None:
    """What the harmful examples touch that the first harmful line of a text resembles; None where no line is.

    It is to be given as it is read (``legible.as_read``).
    """
    for words in lines_of(text):
        if harm(words) > BORDER:
            held = buckets(words)
            likeness = [sum(row[at] for at in held) for row in fitted().abilities]
            return ABILITIES[likeness.index(max(likeness))]
    return None


def harm(words: Sequence[str]) -> float:
    """How much the words of a line resemble harmful examples (about 1) rather than harmless ones (-1)."""
    weights, held, known = fitted(), buckets(words), known_words(words)
    of_forms = sum(weights.forms[at] for at in held) / sqrt(len(held) + FEW_FORMS)
    of_words = sum(weights.words[at] for at in known) / sqrt(len(known) + FEW_WORDS)
    return weights.always + of_forms * weights.scales[0] + of_words * weights.scales[1]


def lines_of(text: str) -> Iterator[tuple[str, ...]]:
    """The words of each line, and of all lines together; small, with numbers alike, ``LEAST`` to ``WORDS`` at once."""
    lines = [
        ["0" if any(map(str.isdigit, word)) else word for word in _WORD.findall(line.lower())]
        for line in text.splitlines()
    ]
    for words in lines if len(lines) < 2 else (*lines, list(chain(*lines))):
        pieces = (tuple(words[at : at + WORDS]) for at in range(0, max(1, len(words) - WORDS // 2), WORDS // 2))
        yield from (piece for piece in pieces if len(piece) >= LEAST)


def buckets(words: Sequence[str]) -> frozenset[int]:
    """Where the weights stand of the words, of pairs that follow each other, and of parts of words."""
    pairs = (f"{one} {other}" for one, other in pairwise(("^", *words, "$")))
    parts = (f"<{word}>"[at : at + size] for word in words for size in PARTS for at in range(len(word) + 3 - size))
    return frozenset(
        zlib.crc32(form.encode()) % BUCKETS for form in chain((f"={word}" for word in words), pairs, parts)
    )


def known_words(words: Sequence[str]) -> list[int]:
    """The places in the vocabulary of those words that the model of meaning knows."""
    places = vocabulary()
    return [places[word] for word in words if len(word) > 1 and word in places]


@cache
def vocabulary() -> dict[str, int]:
    """The place of each word in the model of meaning's vocabulary."""
    words = (_VOCABULARY / "bert-uncased.txt").read_text(encoding="utf-8").split("\n")
    return {word: place for place, word in enumerate(words) if word.isalpha()}


@cache
def fitted() -> Weights:
    """The weights, as ``bench/screening_set/fit.py`` wrote them in base64: a checksum, three numbers, then a byte each."""
    raw = decodebytes((_VOCABULARY / "harmful-advice.txt").read_bytes())
    numbers, weights = array("f", raw[4:16]), array("b", raw[16:])
    at = len(weights) - BUCKETS * (1 + len(ABILITIES))
    rows = [weights[at + BUCKETS * row : at + BUCKETS * (row + 1)] for row in range(1 + len(ABILITIES))]
    return Weights(rows[0], weights[:at], tuple(rows[1:]), (numbers[0], numbers[1]), numbers[2])
