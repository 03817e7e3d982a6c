"""Takes out what looks like a secret, before anything is sent to a model or stored.

Only forms that are known to be secrets are replaced: a long random word in an error message is evidence, and
evidence has to survive word for word.
"""

from __future__ import annotations

import re

from agentic.core.patterns import later

REDACTED = "[redacted]"

_KEY_BLOCK = later(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_PREFIXED = later(
    r"""(?<![A-Za-z0-9])(?:
        sk-[A-Za-z0-9_-]{16,}                                   # OpenAI, Anthropic, OpenRouter
      | (?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}             # Stripe
      | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}
      | glpat-[A-Za-z0-9_-]{16,}
      | (?:AKIA|ASIA)[A-Z0-9]{16}                               # AWS access keys
      | AIza[A-Za-z0-9_-]{30,}                                  # Google
      | xox[abeoprs]-[A-Za-z0-9-]{10,}                          # Slack
      | hf_[A-Za-z0-9]{20,} | npm_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_-]{30,}
      | eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]*  # signed web tokens
      | [MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}  # Discord bot tokens
    )""",
    re.VERBOSE,
)
_IN_URL = later(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")
_BEARER = later(
    r"""(?ix)\b(bearer|basic)\s+
        (?: (?=[A-Z._~+/=-]*[0-9]) | (?=[A-Z0-9._~+/-]*=) | (?=(?-i:(?:[A-Za-z._~+/-]*?[a-z][A-Z]){3})) )  # no mere words
        [A-Z0-9._~+/=-]{16,}"""
)
_HEADER = later(
    r"""(?i)\b(authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+)(?!\[redacted\])[^\s"'<>{}$]{6,}"""
)
_ASSIGNED = later(
    r"""(?ix)(password|passwd|passphrase|api[_-]?key|secret[_-]?key|access[_-]?key|client[_-]?secret)
        (["']?\s*[:=]\s*)(?!["']?\[redacted\])("[^"\n]+"|'[^'\n]+'|[^\s"',;]{4,})"""
)


def redact_known(text: str) -> str:
    """The text without what has the form of a certain kind of key or token, wherever it stands."""
    text = _KEY_BLOCK.sub(REDACTED, text)
    text = _PREFIXED.sub(REDACTED, text)
    text = _IN_URL.sub(REDACTED, text)
    text = _BEARER.sub(lambda found: f"{found[1]} {REDACTED}", text)
    return _HEADER.sub(lambda found: f"{found[1]}{REDACTED}", text)


def redact(text: str) -> str:
    """The text without anything that looks like a key, a token or a password."""
    text = redact_known(text)
    return _ASSIGNED.sub(lambda found: f"{found[1]}{found[2]}{REDACTED}", text)


def holds_secret(text: str) -> bool:
    """Whether ``redact`` would take something out, or already did."""
    return REDACTED in text or redact(text) != text
