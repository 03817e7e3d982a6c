"""Code fences and other markup as Discord reads them: a fence counts anywhere in a line; pure."""

from __future__ import annotations

import re

FENCE = "```"
_LANGUAGE = re.compile(r"[A-Za-z0-9+#._-]{1,20}")


def fence_after(fence: str, line: str) -> str:
    """Return the fence that is open after ``line``, as one would reopen it, or ''."""
    if line.count(FENCE) % 2 == 0:
        return fence
    if fence:
        return ""
    language = line.rpartition(FENCE)[2]
    return FENCE + (language if _LANGUAGE.fullmatch(language) else "")


_RUN = re.compile(r"`{4,}")
_OURS = frozenset(("what i changed", "how i know"))
"""Headings of the card (``bot/messages/final_card.py``)."""


def kept_apart(text: str) -> str:
    """Return an answer that cannot change the look of what follows it in a message, nor imitate it.

    Code, spoilers and quotations are closed; small print and the card's headings become plain words.
    """
    *closed, last = _RUN.sub(FENCE, text.replace("\r", "\n")).split(FENCE)
    shown: list[str] = []
    for place, part in enumerate(closed):
        inside = place % 2
        if inside and not part.strip("\n"):  # Discord would look for its end further on
            part = f" {part}"
        shown.append(part if inside else _open(part))
    shown.append(last if len(closed) % 2 else _open(last))
    if len(closed) % 2:
        shown[-1] = f"{last or ' '}\n"
        shown.append("")
    return FENCE.join(shown)


def _open(text: str) -> str:
    """Apply that to text outside of fences, line by line."""
    shown = "\n".join(map(_line, text.split("\n")))
    return f"{shown} " if shown.endswith("\\") else shown


def _line(line: str) -> str:
    words = line.lstrip(" \t>")
    if words.startswith("-#"):
        line = line.replace("-#", "\\-#", 1)
    if line.lstrip().startswith(">>>"):
        line = line.replace(">>>", ">", 1)
    if words.strip("*_~#|:- ").casefold() in _OURS:
        return f"“{words.strip('*_~#|:- ')}”"
    parts = line.split("`")
    if len(parts) % 2 == 0 or "``" in line or any(part.endswith("\\") for part in parts[:-1]):
        parts = [line.replace("`", "ˋ")]
    return "`".join(part if place % 2 else part.replace("||", "ǀǀ") for place, part in enumerate(parts))
