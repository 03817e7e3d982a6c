"""What a text says to whoever reads it, and what it hides.  Pure.

A model reads what people do not see: letters of the block of tags, text in base64 or hex, words with signs of no width in
them, Cyrillic letters among Latin ones.  What is looked for in a text is looked for in it *as read*, and in what is
encoded in it; what is kept is kept without anything that nobody can see.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from urllib.parse import unquote

ENCODED = 60
"""So many encoded parts of a text are looked at."""
LEAST_DECODED = 10
_TAGS = range(0xE0020, 0xE007F)
_JOINERS = "\u200c\u200d"
"""Persian words and emoji are written with them."""
_BLANKS = dict.fromkeys(map(ord, "\u115f\u1160\u2800\u3164\uffa0"), " ")
_SELECTORS = range(0xE0100, 0xE01F0)
_LOOK_ALIKE = str.maketrans(
    "АВЕЅЗІЈКМНОРСТУХаеіјѕорсухѵΑΒΕΖΗΙΚΜΝΟΡΤΥΧαινορτυχ", "ABES3IJKMHOPCTYXaeijsopcyxvABEZHIKMNOPTYXaivoptux"
)
_WORD = re.compile(r"\w+")
_LATIN = re.compile(r"[A-Za-z]")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX = re.compile(r"\b(?:0x)?((?:[0-9a-fA-F]{2}){12,}|(?:[0-9a-fA-F]{2}[ :]){11,}[0-9a-fA-F]{2})\b")
_BY_NUMBER = re.compile(r"\\x([0-9a-fA-F]{2})|\\u00([0-9a-fA-F]{2})")
_APART = re.compile(r"[ :]")
_SEVERAL = re.compile(r"\w[^\w\s(/]*+[\s(/]\W*+\w")
"""Two words with something between them."""
_ESCAPED = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|&#x?[0-9a-fA-F]{2,4};)")


def visible(text: str) -> str:
    """The text without signs that nobody sees and that can carry or turn round words."""
    if text.isascii():
        return text
    return "".join(sign for sign in text.translate(_BLANKS) if sign in _JOINERS or not _unseen(sign))


def as_read(text: str) -> str:
    """The text as a model reads it: hidden letters shown, styled, wide and accented ones plain, look-alikes Latin."""
    if text.isascii():
        return text
    shown = "".join(chr(ord(sign) - 0xE0000) if ord(sign) in _TAGS else sign for sign in text)
    shown = unicodedata.normalize("NFKC", shown).translate(_BLANKS)
    plain = "".join(_base(sign) for sign in shown if not _unseen(sign) and sign not in _JOINERS)
    return _WORD.sub(lambda found: found[0].translate(_LOOK_ALIKE) if _LATIN.search(found[0]) else found[0], plain)


def decoded(text: str) -> tuple[str, ...]:
    """The texts that stand in it in base64, in hexadecimal, or in escapes."""
    found = [_from_base64(each[0]) for each in list(_BASE64.finditer(text))[:ENCODED]]
    found += [_from_hex(each[1]) for each in list(_HEX.finditer(text))[:ENCODED]]
    if len(_ESCAPED.findall(text)) >= LEAST_DECODED // 2:
        found.append(_unescaped(text))
    return tuple(dict.fromkeys(each for each in found if each))


def _unseen(sign: str) -> bool:
    return ord(sign) in _SELECTORS or unicodedata.category(sign) == "Cf"


def _base(sign: str) -> str:
    """A Latin letter without its accents; nothing for an accent alone."""
    if unicodedata.category(sign) == "Mn":
        return ""
    first = unicodedata.normalize("NFD", sign)[0]
    return first if first.isascii() else sign


def _from_base64(word: str) -> str:
    word = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return _told(base64.b64decode(word + "=" * (-len(word) % 4), validate=True))
    except binascii.Error:
        return ""


def _from_hex(digits: str) -> str:
    return _told(bytes.fromhex(_APART.sub("", digits)))


def _told(raw: bytes) -> str:
    """Bytes that are a text of several words, but for a stray one; '' for all others."""
    text = raw.decode(errors="ignore")
    if len(text.encode()) < len(raw) - 1:
        return ""
    words = len(text) >= LEAST_DECODED and all(sign.isprintable() or sign in "\n\t\r" for sign in text)
    return text if words and _SEVERAL.search(text) else ""


def _unescaped(text: str) -> str:
    text = _BY_NUMBER.sub(lambda each: chr(int(each[1] or each[2], 16)), text)
    try:
        return unquote(html.unescape(text))
    except ValueError:  # a number of thousands of digits, which is no character
        return text
