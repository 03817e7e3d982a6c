"""Code fences as Discord reads them: a mark counts anywhere in a line; pure."""

from __future__ import annotations

import re

FENCE = "```"
_LANGUAGE = re.compile(r"[A-Za-z0-9+#._-]{1,20}")


def fence_after(fence: str, line: str) -> str:
    """The fence that is open after ``line``, as one would reopen it, or ''.  For Discord a mark counts anywhere."""
    if line.count(FENCE) % 2 == 0:
        return fence
    if fence:
        return ""
    language = line.rpartition(FENCE)[2]
    return FENCE + (language if _LANGUAGE.fullmatch(language) else "")
