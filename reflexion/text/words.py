"""How text is cut into words for search: identifiers are split, and words without meaning left out."""

from __future__ import annotations

import re
from unicodedata import combining, normalize

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_TOOL = re.compile(r"^[a-z_]+: ")
_EMPTY = frozenset(
    _WORD.findall(
        "a an and are as at be but by can do does for from has have how i if in into is it its me my no not of on or our"
        " please so that the their them then there these this to too use was we what when where which will with you your"
        " make add fix change run file files code task thing work need want should would could"
        " because were was after before used using one ones had been being just also than only each every any some such"
        " more most very via per who whose while until since though although within between other another same own both"
        " few many much too don doesn didn isn won couldn hasn haven about over under again still even ever never yet"
        " always through across along around against during toward towards upon onto here"
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


def terms_of(text: str) -> tuple[str, ...]:
    """The words as an index has them: parts of identifiers beside the whole, stems, letters without their accents."""
    plain = "".join(sign for sign in normalize("NFKD", split_identifiers(text)) if not combining(sign))
    return tuple(dict.fromkeys(stem(word) for word in words_of(plain)))


def error_text(signature: str) -> str:
    """An error signature without the name of the tool before it, which many lessons share."""
    return _TOOL.sub("", signature)


def stem(word: str) -> str:
    """A word without its commonest English endings."""
    for ending in _ENDINGS:
        shorter = ending.sub("", word)
        word = shorter if len(shorter) >= 3 else word
    return word


COMMON_WEIGHT = 0.4
_OF_THE_TRADE = frozenset(
    stem(word)
    for word in _WORD.findall(
        "test error fail failed failure function method data server client user line value type name list page build app"
        " service module object class package version process request response image table column row key python shell"
        " docker script command program project database db query number text string message new old first second time"
        " day set get create write read show find call return two three all without like now current local host port"
        " path folder directory default input output result import load save send sent none cannot given give take see"
        " look says said why got let made keep kept put long short big large small start started stop stopped end update"
        " bot api web main release production system tool library log job running step works working export did"
    )
)
"""Stems that stand in many tasks, so that sharing one says little; chosen by hand, so that it holds for small stores."""


def weight(stemmed: str) -> float:
    """How much sharing a word says."""
    return COMMON_WEIGHT if stemmed in _OF_THE_TRADE else 1.0
