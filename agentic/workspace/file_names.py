"""Names of files: those that people give, made safe (one base name, distinct, short enough), and those that are told."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set as AbstractSet
from pathlib import PurePosixPath

MAX_BYTES = 120
_UNWANTED = re.compile(r"[^\w.\-+@() ]+")


def safe_name(name: str, taken: AbstractSet[str] = frozenset()) -> str:
    """A base name without separators, control characters or leading dots, and not among ``taken``."""
    base = unicodedata.normalize("NFC", name).replace("\\", "/").rsplit("/", 1)[-1]
    base = _UNWANTED.sub("_", base).strip(". ") or "file"
    suffix = PurePosixPath(base).suffix[:20]
    stem = _cut(base[: len(base) - len(suffix)] if suffix else base, MAX_BYTES - len(suffix.encode())) or "file"
    lowered = {other.casefold() for other in taken}
    candidate, number = stem + suffix, 2
    while candidate.casefold() in lowered:
        candidate, number = f"{stem}-{number}{suffix}", number + 1
    return candidate


def readable(path: str) -> str:
    """A path as logs and people get it: bytes that are no UTF-8, which the system hands on as they are, are U+FFFD.

    The same as a sandbox tells it.
    """
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode("utf-8", "ignore").strip(". ")
