"""``python -m bench.screening_set.fit``: fit the screen of lessons and write its weights; needs ``make embeddings``.

Ridge regression in its dual form, so that it has one answer and no draw of chance; it counts in doubles, so that another
order of adding changes no byte.  A line is given by the forms of its words and by the sum of its words' vectors in the
model of meaning; what comes of the second is folded into a weight for each word of the vocabulary, so that the model is
not needed when lessons are read.  It takes three minutes, most of them for the vectors, and says in the end what is held
of examples that a fit has not seen.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import zlib
from array import array
from base64 import encodebytes
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reflexion.retrieval.embedding import MiniLM
from reflexion.text import resemblance
from reflexion.text.hidden_text import as_read
from reflexion.text.resemblance import (
    ABILITIES,
    BORDER,
    BUCKETS,
    FEW_FORMS,
    FEW_WORDS,
    buckets,
    known_words,
    lines_of,
    vocabulary,
)

HERE = Path(__file__).parent
SETS = HERE.parents[1] / "tests" / "walls" / "sets" / "lessons"
RETRIEVAL = HERE.parent / "retrieval_set" / "lessons.tsv"
WRITTEN = Path(resemblance.__file__).parent.parent / "vocabulary" / "harmful-advice.txt"
RIDGE = 0.5
STRETCH = 2 / 3
"""How far the sum of vectors counts beside the forms."""
ALWAYS = 1.0
"""How far it counts that a line is one at all: most words stand in harmless advice, and those nobody knows say nothing."""
FOLDS = 5
NEIGHBOURS = 4
UNHEARD = (
    "the", "a", "an", "of", "to", "in", "is", "it", "and", "for", "that", "be", "are", "on", "with", "by", "as", "at", "this",
    "which",
)  # fmt: skip
"""Words too common to mean anything."""
KINDS = {
    "accounts, permissions": "accounts", "CI": "checks", "hiding": "reports", "other people's data": "people",
    "persistence": "lasting", "other": "destroying",
}  # fmt: skip
_HEAD = re.compile(r"\[(\w+)\]")
Matrix = NDArray[np.float64]


def examples() -> list[tuple[str, str]]:
    """Each example as it is read, with the ability it touches; "none" for harmless ones."""
    told = [*_own("harmful.txt"), *_own("harmless.txt")]
    for part in ("tuning", "spent"):
        told += [*_set(part, "harmful"), *_set(part, "harmless")]
    with RETRIEVAL.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            told += [(row[field], "none") for field in ("trigger", "action", "signature") if row[field]]
    return [(as_read(text), touches) for text, touches in told]


def checksum(told: Sequence[tuple[str, str]]) -> bytes:
    """What the weights begin with: whether they were fitted to these examples is seen without a fit."""
    return zlib.crc32(json.dumps(told).encode()).to_bytes(4, "big")


class Fit:
    """The lines of some examples and what they have in common, from which weights follow."""

    def __init__(self, told: Sequence[tuple[str, str]], vectors: Matrix) -> None:
        self.told, self.vectors = told, vectors
        lines = [(number, words) for number, (text, _) in enumerate(told) for words in lines_of(text)]
        self.example = np.array([number for number, _ in lines])
        self.touches = [told[number][1] for number, _ in lines]
        self.harmful = np.array([touches != "none" for touches in self.touches])
        self.held = [sorted(buckets(words)) for _, words in lines]
        known = [known_words(words) for _, words in lines]
        self.of_form = 1 / np.sqrt([len(each) + FEW_FORMS for each in self.held])
        of_word = STRETCH / np.sqrt([len(each) + FEW_WORDS for each in known])
        self.meant = np.array([vectors[each].sum(axis=0) for each in known]) * of_word[:, None]
        forms = np.zeros((len(lines), BUCKETS), np.float32)
        for row, held in enumerate(self.held):
            forms[row, held] = 1
        self.forms = (forms @ forms.T) * np.outer(self.of_form, self.of_form)
        self.alike = self.forms + self.meant @ self.meant.T + ALWAYS

    def shares(self, among: NDArray[np.bool_]) -> Matrix:
        """How much each of these lines says of the harm in another one; harmful and harmless ones weigh the same."""
        harmful = self.harmful[among]
        weight = np.where(harmful, (~harmful).sum() / harmful.sum(), 1.0)
        return _ridge(self.alike[np.ix_(among, among)], np.where(harmful, 1.0, -1.0), weight)

    def crossed(self) -> tuple[float, float]:
        """The shares of harmful and of harmless examples that are held by a fit which has not seen them.

        What stands together is often alike, so a fifth of the examples is left out four neighbours at a time.
        """
        harm = np.full(len(self.told), -np.inf)
        for part in range(FOLDS):
            left_out = self.example // NEIGHBOURS % FOLDS == part
            said = self.alike[np.ix_(left_out, ~left_out)] @ self.shares(~left_out)
            np.maximum.at(harm, self.example[left_out], said)
        harmful = np.array([touches != "none" for _, touches in self.told])
        return float((harm[harmful] > BORDER).mean()), float((harm[~harmful] > BORDER).mean())

    def written(self) -> bytes:
        """The weights as the screen reads them."""
        shares = self.shares(np.ones(len(self.example), np.bool_))
        of_forms, form_scale = _bytes(self._by_form(shares[:, None])[0])
        of_words, word_scale = _bytes(self.vectors @ (self.meant.T @ shares) * STRETCH)
        numbers = array("f", (form_scale, word_scale, ALWAYS * shares.sum())).tobytes()
        weights = (of_words, of_forms, self._of_abilities())
        return encodebytes(b"".join((checksum(self.told), numbers, *(each.tobytes() for each in weights))))

    def _of_abilities(self) -> NDArray[np.int8]:
        kinds = np.array([touches if touches in ABILITIES else "" for touches in self.touches])
        wanted = np.where(kinds[:, None] == np.array(ABILITIES), 1.0, -1.0 / (len(ABILITIES) - 1))
        shares = np.zeros(wanted.shape)
        alike = self.forms[np.ix_(self.harmful, self.harmful)]
        shares[self.harmful] = _ridge(alike, wanted[self.harmful], np.ones(len(alike)))
        return _bytes(self._by_form(shares))[0]

    def _by_form(self, shares: Matrix) -> Matrix:
        weights = np.zeros((shares.shape[1], BUCKETS))
        for held, share in zip(self.held, shares * self.of_form[:, None], strict=True):
            weights[:, held] += share[:, None]
        return weights


def word_vectors() -> Matrix:
    """What each word of the vocabulary means, centred; nothing for words that mean nothing by themselves."""
    import asyncio

    places = {word: place for word, place in vocabulary().items() if len(word) > 1}
    raw = asyncio.run(MiniLM().embed(tuple(places)))
    known = np.frombuffer(b"".join(raw), np.int8).reshape(len(places), -1).astype(np.float64)
    known -= known.mean(axis=0)
    known /= np.linalg.norm(known, axis=1, keepdims=True)
    vectors = np.zeros((max(places.values()) + 1, known.shape[1]))
    vectors[list(places.values())] = known
    vectors[[places[word] for word in UNHEARD if word in places]] = 0
    return vectors


def _own(name: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    touches = ""
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        head = _HEAD.match(line)
        if head:
            touches = head[1]
        elif line:
            found.append((line, touches))
    return found


def _set(part: str, name: str) -> list[tuple[str, str]]:
    lines = (SETS / part / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    return [(each["text"], KINDS.get(each["kind"], each["kind"]) if name == "harmful" else "none") for each in told]


def _ridge(products: Matrix, wanted: Matrix, weight: Matrix) -> Matrix:
    return np.linalg.solve(products + RIDGE * np.diag(1 / weight), wanted)


def _bytes(weights: Matrix) -> tuple[NDArray[np.int8], float]:
    scale = float(np.abs(weights).max()) / 127
    return (weights / scale).round().astype(np.int8), scale


if __name__ == "__main__":
    fit = Fit(examples(), word_vectors())
    WRITTEN.write_bytes(fit.written())
    harmful, harmless = fit.crossed()
    sys.stdout.write(f"{WRITTEN}\nheld unseen: {harmful:.1%} of the harmful, {harmless:.1%} of the harmless examples\n")
