"""Takes out what looks like a secret, before anything is sent to a model or stored.

Only forms that are known to be secrets are replaced: a long random word in an error message is evidence, and
evidence has to survive word for word.
"""

from __future__ import annotations

import re

from agentic.text.first_look import ANY_I, DARK, SPACE, FirstLook
from agentic.text.secret_patterns import tokens_in

REDACTED = "[redacted]"

_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_MAY_BE_IN_URL = FirstLook(r"://[^/\s:@]+:[^/\s@]+@")
_IN_URL = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")
_MAY_BEAR = FirstLook(rf"(?i)b(?:earer|as{ANY_I}c){SPACE}+{DARK}{{16}}")
_BEARER = re.compile(
    r"""(?ix)\b(bearer|basic)\s+
        (?: (?=[A-Z._~+/=-]*[0-9]) | (?=[A-Z0-9._~+/-]*=) | (?=(?-i:(?:[A-Za-z._~+/-]*?[a-z][A-Z]){3})) )  # no mere words
        [A-Z0-9._~+/=-]{16,}"""
)
_MAY_BE_HEADER = FirstLook(rf"(?i)author{ANY_I}zat{ANY_I}on[\"']?{SPACE}*[:=]")
_HEADER = re.compile(
    r"""(?i)\b(authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+)(?!\[redacted\])[^\s"'<>{}$]{6,}"""
)
_ASSIGNED = re.compile(
    r"""(?ix)(password|passwd|passphrase|api[_-]?key|secret[_-]?key|access[_-]?key|client[_-]?secret)
        (["']?\s*[:=]\s*)(?!["']?\[redacted\])("[^"\n]+"|'[^'\n]+'|[^\s"',;]{4,})"""
)


def redact_known(text: str) -> str:
    """The text without what has the form of a certain kind of key or token, wherever it stands."""
    text = _KEY_BLOCK.sub(REDACTED, text)
    text = _without_tokens(text)
    if _MAY_BE_IN_URL.finds(text):
        text = _IN_URL.sub(REDACTED, text)
    if _MAY_BEAR.finds(text):
        text = _BEARER.sub(lambda found: f"{found[1]} {REDACTED}", text)
    if _MAY_BE_HEADER.finds(text):
        text = _HEADER.sub(lambda found: f"{found[1]}{REDACTED}", text)
    return text


def _without_tokens(text: str) -> str:
    shown: list[str] = []
    at = 0
    for token in tokens_in(text):
        shown += [text[at : token.start], REDACTED]
        at = token.end
    return "".join([*shown, text[at:]]) if shown else text


def redact(text: str) -> str:
    """The text without anything that looks like a key, a token or a password."""
    text = redact_known(text)
    return _ASSIGNED.sub(lambda found: f"{found[1]}{found[2]}{REDACTED}", text)


def holds_secret(text: str) -> bool:
    """Whether ``redact`` would take something out, or already did."""
    return REDACTED in text or redact(text) != text
