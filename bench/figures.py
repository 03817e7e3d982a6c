"""A figure: what was measured, beside what was aimed at."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

Op = Literal["<=", ">="]
N = TypeVar("N", int, float)
SMALL = bool(os.environ.get("BENCH_SMALL"))
"""Run in seconds, to see that the benches still work; the figures then say nothing."""


def size(name: str, usual: N, small: N) -> N:
    """How much is measured: ``BENCH_<NAME>`` of the environment, else ``small`` in a small run, else ``usual``."""
    given = os.environ.get(f"BENCH_{name}")
    return type(usual)(given) if given else small if SMALL else usual


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the bench; without a target it is only reported."""

    name: str
    value: float
    unit: str
    op: Op = "<="
    target: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """ok, short, or reported where nothing was aimed at."""
        if self.target is None:
            return "reported"
        good = self.value <= self.target if self.op == "<=" else self.value >= self.target
        return "ok" if good else "short"

    def line(self) -> str:
        """``figure NAME VALUE UNIT target OP VALUE ok|short``, and what it was measured with after a #."""
        aim = "" if self.target is None else f" target {self.op} {_number(self.target)}"
        note = f"  # {self.note}" if self.note else ""
        return f"figure {self.name} {_number(self.value)} {self.unit}{aim} {self.verdict}{note}"


Figures = Iterator[Figure] | AsyncIterator[Figure]
"""What ``figures()`` of each bench module gives."""


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1_000 else f"{value:.0f}"
