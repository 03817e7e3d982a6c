"""Show a command as what it is: a character that hides, reorders or only looks like a space is written as its number;
pure.

A person approves what they read. There must be no line that reads "ls" and runs something else.
"""

from __future__ import annotations

import unicodedata

from bot.rendering.code_blocks import FENCE

_KEPT = frozenset("\n\t ")
_HIDING = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"))
"""Controls, format and tag characters, unassigned or private ones, separators."""
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that show nothing."""


def revealed(text: str) -> str:
    """Return the text with every invisible character written as ⟨U+202E⟩."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _is_plain(char) else f"⟨U+{ord(char):04X}⟩" for char in text)


def hides(text: str) -> bool:
    """Whether the text holds an invisible character."""
    return not all(map(_is_plain, text))


def boxed(text: str, language: str = "") -> str:
    """Return the text in a code block that it cannot leave: a fence inside is written with marks that only look like
    it.
    """
    inner = revealed(text).replace(FENCE, "ˋˋˋ")
    return f"{FENCE}{language}\n{inner}\n{FENCE}"


def _is_plain(char: str) -> bool:
    if char in _KEPT or char.isascii():
        return char in _KEPT or char.isprintable()
    variation = "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    return not variation and char not in _BLANK and unicodedata.category(char) not in _HIDING
