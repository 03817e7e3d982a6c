"""The words of code and of questions about it; pure, in time linear in the text.

FTS5 cuts at every sign and at ``_``, folds capitals and accents, and takes English endings off.  What it does not see are
the words inside of ``readConfigFile``: they are handed to it beside the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST_WORDS = 40
"""Of a question; the rest is not looked for."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile(r"[A-Za-z_]\w*+")
_SAY_NOTHING = frozenset(
    _WORD.findall(
        "a an and are as at be but by can do does for from has have how i if in into is it its me my no not of on or our"
        " please so that the their them then there these this to too use used uses using was we what when where which who"
        " why will with you your code find implemented implementation file function method class"
    )
)
"""Words of questions that stand in all code, or in none because of what it does."""


def split_names(names: Iterable[str]) -> str:
    """Names with a blank between their words."""
    return _HUMP.sub(" ", " ".join(names))


def inner_words(text: str) -> str:
    """The words inside of the names of a text that are written with humps, of each name once."""
    names = [name for name in dict.fromkeys(_NAME.findall(text)) if not name.islower()]
    return " ".join(words for name in names if (words := _HUMP.sub(" ", name)) != name)


def asked_words(question: str) -> tuple[str, ...]:
    """The words to look for: those that say something, or all where none does; names of several words also whole."""
    whole = [name for name in _NAME.findall(question) if "_" in name.strip("_") or _HUMP.search(name)]
    words = [word.lower() for word in (*_WORD.findall(_HUMP.sub(" ", question)), *whole)]
    distinct = tuple(dict.fromkeys(words))
    return (tuple(word for word in distinct if word not in _SAY_NOTHING) or distinct)[:MOST_WORDS]
