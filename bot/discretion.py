"""No secret leaves through a message: known forms, and the values this process holds itself; pure.

Whatever is posted passes here last, after everything else was put into words: answers, notices, names of files, the
files made of text.  A file that is no text is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from reflexion.redaction import REDACTED, redact_known

LEAST = 8
"""A shorter value is too likely to be an ordinary word."""
_NAMES = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|DSN)(?:_|$)", re.IGNORECASE)
_ASSIGNED = re.compile(
    r"""(?ix)\b([\w-]*(?:password|passwd|passphrase|api[_-]?key|secret|token))(["']?\s*[:=]\s*["']?)
        (?=[\w+/=.-]*\d)(?=[\w+/=.-]*[a-z])([\w+/=.-]{16,})"""
)
_PATHLIKE = re.compile(r"[./]")


def secrets_of(environment: Mapping[str, str]) -> frozenset[str]:
    """The values of an environment whose names say that they are secret."""
    return frozenset(
        value for name, value in environment.items() if _NAMES.search(name) and len(value.strip()) >= LEAST
    )


class Discretion:
    """Takes secrets out of what is shown."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        longest_first = sorted({value for value in values if len(value) >= LEAST}, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """The text, with ``[redacted]`` in the place of each secret."""
        if self._values is not None:
            text = self._values.sub(REDACTED, text)
        return _ASSIGNED.sub(_hidden, redact_known(text))

    def content(self, content: bytes) -> bytes:
        """A file's content, if it is text."""
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return content
        shown = self.text(text)
        return content if shown == text else shown.encode()


def _hidden(found: re.Match[str]) -> str:
    """Code that hands a secret on by name (``token=settings.api_token_2``) is no secret."""
    return found[0] if _PATHLIKE.search(found[3]) else f"{found[1]}{found[2]}{REDACTED}"
