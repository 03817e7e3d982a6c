"""Faults that a forge has on demand: what real ones do on a bad day."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

Kind = Literal[
    "fails", "fails_after", "drops_after", "refuses_token", "lacks_right", "gone", "limited", "slow", "moved"
]
"""``…_after``: the request is done, and then answered with 500, or not at all."""


@dataclass(slots=True)
class Misbehaviour:
    """The next ``times`` requests whose ``METHOD /path`` fits ``pattern`` (``*`` for anything) go wrong in this way."""

    kind: Kind
    pattern: str = "*"
    times: int = 1
    seconds: float = 0.0

    def hits(self, method: str, path: str) -> bool:
        """Whether it is about this request; counts it."""
        if self.times <= 0 or not fnmatchcase(f"{method} {path}", self.pattern):
            return False
        self.times -= 1
        return True
