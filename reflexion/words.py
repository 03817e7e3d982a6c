"""How text is cut into words for search: identifiers are split, and words without meaning left out."""

from __future__ import annotations

import re

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_EMPTY = frozenset(
    _WORD.findall(
        "a an and are as at be but by can do does for from has have how i if in into is it its me my no not of on or our"
        " please so that the their them then there these this to too use was we what when where which will with you your"
        " make add fix change run file files code task thing work need want should would could"
    )
)
_ENDINGS = (re.compile(r"(?:(?<=[sxzh])es|(?<!s)s)$"), re.compile(r"(?:ing|edly|ed|ly|e)$"))


def split_identifiers(text: str) -> str:
    """``readConfigFile`` and ``read_config_file`` as ``read config file``, beside the whole identifiers."""
    parts = _CAMEL.sub(" ", text).replace("_", " ")
    return text if parts == text else f"{text} {parts}"


def words_of(text: str) -> tuple[str, ...]:
    """The distinct words that carry meaning, in order, lower case."""
    found = (word.lower() for word in _WORD.findall(_CAMEL.sub(" ", text)))
    return tuple(dict.fromkeys(word for word in found if len(word) > 1 and word not in _EMPTY))


def stem(word: str) -> str:
    """A word without its commonest English endings."""
    for ending in _ENDINGS:
        shorter = ending.sub("", word)
        word = shorter if len(shorter) >= 3 else word
    return word
