"""``python -m bench.screening_set.fit``: fit the screen of lessons and write its weights; needs ``make embeddings``.

Ridge regression in its dual form, so that it has one answer and no draw of chance.  A line is given by the forms of its
words and by the sum of its words' vectors in the model of meaning; what comes of the second is folded into a weight for
each word of the vocabulary, so that the model is not needed when lessons are read.  It takes two minutes.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from array import array
from base64 import encodebytes
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reflexion import resemblance
from reflexion.embedding import MiniLM
from reflexion.legible import as_read
from reflexion.resemblance import ABILITIES, BUCKETS, buckets, known_words, lines_of, vocabulary

HERE = Path(__file__).parent
TUNING = HERE.parents[1] / "tests" / "walls" / "sets" / "lessons" / "tuning"
RETRIEVAL = HERE.parent / "retrieval_set" / "lessons.tsv"
WRITTEN = Path(resemblance.__file__).parent / "vocabulary" / "harmful-advice.txt"
RIDGE = 0.5
STRETCH = 2 / 3
"""How far the sum of vectors counts beside the forms."""
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
Matrix = NDArray[np.float32]


def examples() -> list[tuple[str, str]]:
    """Each example as it is read, with the ability it touches; "none" for harmless ones."""
    told = [*_own("harmful.txt"), *_own("harmless.txt"), *_tuning("harmful"), *_tuning("harmless")]
    with RETRIEVAL.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            told += [(row[field], "none") for field in ("trigger", "action", "signature") if row[field]]
    return [(as_read(text), touches) for text, touches in told]


def weighed(told: Sequence[tuple[str, str]], vectors: Matrix) -> bytes:
    """The weights of these examples, as the screen reads them."""
    lines = [(words, touches) for text, touches in told for words in lines_of(text)]
    forms = np.zeros((len(lines), BUCKETS), np.float32)
    meant = np.zeros((len(lines), vectors.shape[1]), np.float32)
    for row, (words, _) in enumerate(lines):
        held, known = sorted(buckets(words)), known_words(words)
        forms[row, held] = 1 / np.sqrt(max(1, len(held)))
        meant[row] = vectors[known].sum(axis=0) * (STRETCH / np.sqrt(max(1, len(known))))
    harmful = np.array([touches != "none" for _, touches in lines])
    against = np.where(harmful, 1.0, -1.0)
    weight = np.where(harmful, (~harmful).sum() / harmful.sum(), 1.0)
    alpha = _ridge(forms @ forms.T + meant @ meant.T, against, weight)
    of_forms, form_scale = _bytes(forms.T @ alpha)
    of_words, word_scale = _bytes(vectors @ (meant.T @ alpha) * STRETCH)
    kinds = np.array(
        [ABILITIES.index(cast("resemblance.Ability", touches)) for _, touches in lines if touches != "none"]
    )
    wanted = np.where(kinds[:, None] == np.arange(len(ABILITIES)), 1.0, -1.0 / (len(ABILITIES) - 1))
    only = forms[harmful]
    of_abilities, _ = _bytes((only.T @ _ridge(only @ only.T, wanted, np.ones(len(only)))).T)
    scales = array("f", (form_scale, word_scale)).tobytes()
    return encodebytes(b"".join((scales, of_words.tobytes(), of_forms.tobytes(), of_abilities.tobytes())))


def word_vectors() -> Matrix:
    """What each word of the vocabulary means, centred; nothing for words that mean nothing by themselves."""
    import asyncio

    places = {word: place for word, place in vocabulary().items() if len(word) > 1}
    raw = asyncio.run(MiniLM().embed(tuple(places)))
    known = np.frombuffer(b"".join(raw), np.int8).reshape(len(places), -1).astype(np.float32)
    known -= known.mean(axis=0)
    known /= np.linalg.norm(known, axis=1, keepdims=True)
    vectors = np.zeros((max(places.values()) + 1, known.shape[1]), np.float32)
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


def _tuning(name: str) -> list[tuple[str, str]]:
    lines = (TUNING / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    return [(each["text"], KINDS.get(each["kind"], each["kind"]) if name == "harmful" else "none") for each in told]


def _ridge(products: Matrix, wanted: Matrix, weight: Matrix) -> Matrix:
    return np.linalg.solve(products.astype(np.float64) + RIDGE * np.diag(1 / weight), wanted).astype(np.float32)


def _bytes(weights: Matrix) -> tuple[NDArray[np.int8], float]:
    scale = float(np.abs(weights).max()) / 127
    return (weights / scale).round().astype(np.int8), scale


if __name__ == "__main__":
    WRITTEN.write_bytes(weighed(examples(), word_vectors()))
    sys.stdout.write(f"{WRITTEN}\n")
