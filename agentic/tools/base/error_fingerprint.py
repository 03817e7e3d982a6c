"""Recognise equal failures: their output is the same except for what differs from run to run."""

from __future__ import annotations

import re
from collections.abc import Callable

LAST_LINES = 5
LINE_CHARACTERS = 200

_RULES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"(?:/private)?(?:/var)?/tmp/[^\s'\":;,)]*"), "<tmp>"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b0[xX][0-9a-fA-F]+\b"), "<hex>"),
    (re.compile(r"\b(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{7,}\b"), "<hex>"),
    (re.compile(r"\b\d+(?:[.:,\-/T]\d+)*Z?(?: ?(?:ns|µs|us|ms|s|sec|secs|seconds?|minutes?|min|m|h))?\b"), "<n>"),
    (re.compile(r"[=\-_~*.]{3,}"), "—"),
    (re.compile(r"[ \t]+"), " "),
)


_PROGRESS = re.compile(r"\d ?%.{0,200}(?:[█▏▎▍▌▋▊▉░▒▓■#=>|]|\bETA\b)|[█▏▎▍▌▋▊▉░▒▓■#=>|].{0,200}\d ?%")
"""A progress line, which says nothing about why something failed."""


def normal_error(text: str, prefix: str = "") -> str:
    """Return the last lines of a failure's output without numbers, addresses, durations and temporary names.

    ``prefix`` (an exit code, say) is kept as it is.
    """
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not _PROGRESS.search(line[:LINE_CHARACTERS])
    ]
    lines = lines[-LAST_LINES:]
    said = "\n".join(_normal_line(line[:LINE_CHARACTERS]) for line in lines)
    return "\n".join(part for part in (prefix, said) if part)


def _normal_line(line: str) -> str:
    for pattern, replacement in _RULES:
        line = pattern.sub(replacement, line)
    return line.strip()
