"""How many tokens a text takes in a prompt, counted without a tokenizer and rather too high than too low.  Pure.

Which tokenizer reads a prompt depends on the model, and loading one takes a second and 100 MB.  They have enough in
common for a bound: all were made from prose, so English words are cheap; whatever is not prose (digits, hex, paths,
punctuation, other scripts) falls into pieces of one to three characters.

Measured against tokenizers (``tests/unit/reflexion/test_tokens.py``): of texts of 23 kinds GPT-4o's reads none into more
than is counted, and English prose into 0.80 of that; a single sentence of rare words can come to 1.2.  The tokenizer
before it comes to 1.31 for Amharic, 1.2 for Hebrew; characters in no order, of Chinese or Korean, to 1.8.
"""

from __future__ import annotations

import math
import re

_PIECES = re.compile(
    r"( ?[A-Za-z]{0,100}[0-9][A-Za-z0-9]*)|([A-Z]?[a-z]+)|([A-Z]+)|([\t ]+)|([\r\n]+)|([^\x00-\x7f])|(.)", re.ASCII
)
_CODE_SIGNS = 0.75
"""Each sign of a word with digits in it, which is no word: hex, keys, versions."""

_WORD = 20
"""Letters of a long word; what is longer is a compound, or none."""
_LETTER = 0.6
"""Each letter of what is none."""


def tokens_of(text: str) -> int:
    """At least as many as a model reads, as far as that can be said of all of them."""
    return math.ceil(sum(_of_piece(match.lastindex or 0, match[0]) for match in _PIECES.finditer(text)))


def cut_to(text: str, tokens: int) -> str:
    """The text within so many tokens, with a sign where it was cut."""
    if tokens_of(text) <= tokens:
        return text
    least, most = 0, len(text)
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if tokens_of(text[:middle] + "…") <= tokens else (least, middle - 1)
    return text[:least] + "…" if least or tokens_of("…") <= tokens else ""


def _of_piece(kind: int, piece: str) -> float:
    match kind:
        case 1:
            return (
                (piece[0] == " ") - (-len(piece) // 3) if piece.strip().isdigit() else max(2, _CODE_SIGNS * len(piece))
            )
        case 2:
            return 1 + (len(piece) - 1) // 6 if len(piece) <= _WORD else _LETTER * len(piece)
        case 3:
            return 1 + (len(piece) - 1) // 3
        case 4:
            return (len(piece) - 1) / 2  # one alone belongs to the word after it
        case 6:
            return _of_sign(piece)
        case _:
            return 1


def _of_sign(sign: str) -> float:
    """A letter of another script than English has, or a sign that is none."""
    code = ord(sign)
    if code < 0x250:
        return 2
    if code < 0x800:
        return 1
    if 0x3000 <= code < 0xA000 or 0xAC00 <= code < 0xD7B0:
        return 1.5
    return 2.25 if code < 0x10000 else 3
