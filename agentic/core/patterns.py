"""Regular expressions that are compiled when they are first used.

After a crash the first turn waits for everything that is imported, and compiling all that the product looks for in words
was a sixteenth of that; most of it is needed much later, or never.
"""

from __future__ import annotations

import re
from typing import cast


class Later:
    """Stands for a pattern; what was once asked of it stands in it, so that it costs nothing the next time."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> object:
        """What the compiled pattern has.  Raises ``re.error`` where it cannot be compiled."""
        if name.startswith("__"):
            raise AttributeError(name)
        found: object = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found


def later(text: str, flags: int = 0) -> re.Pattern[str]:
    """As ``re.compile``, of which nothing is done yet."""
    return cast(re.Pattern[str], Later(text, flags))
