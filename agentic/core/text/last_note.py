"""The last note: what a model said last in a task that is not done, as people read it. Nobody checked it."""

from __future__ import annotations

import re

LAST_NOTE = "**Last note** (the model's own words, not checked)"
_SHOWN_ELSEWHERE = re.compile(r"^[^\S\n]*`?(?:confidence|status|title)`?:[^\n]{0,100}$", re.IGNORECASE | re.MULTILINE)


def without_own_fields(said: str) -> str:
    """The words without lines in which a model says what is shown elsewhere: ``title:``, ``status:``, ``confidence:``."""
    return _SHOWN_ELSEWHERE.sub("", said)
