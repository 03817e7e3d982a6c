"""Escapes such as ``\\n`` and ``\\x41``, as ``$'…'``, ``printf`` and ``echo -e`` read them."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|0?([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


def unescaped(text: str) -> str:
    """The text with its escapes replaced."""

    def one(found: re.Match[str]) -> str:
        if found[4]:
            return _LETTERS.get(found[4], found[4] if found[4] in "\\'\"?" else found[0])
        code = int(found[1] or found[2], 16) if found[1] or found[2] else int(found[3], 8)
        return chr(code) if code else ""

    return _ESCAPE.sub(one, text)
