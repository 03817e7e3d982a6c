"""What a run of chaos came to: the same shape for simulated executions and for killed processes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

BROKEN = ("doubled", "lost", "unkeyed_twice", "other")
"""The figures that are broken promises."""
UNKNOWN_SHARE = 0.02
"""Of the calls without a key, at most this share may end with an outcome that nobody knows."""


@dataclass
class Counts:
    """What was run and what broke; ``problems`` says each violation in a line, with the seed that shows it again."""

    executions: int = 0
    kills: int = 0
    struck: int = 0
    """Runs of a scripted execution that were struck at one of its awaits."""
    doubled: int = 0
    """Visible effects that people saw twice."""
    lost: int = 0
    """Acknowledged messages, or visible effects, that never came to anything."""
    unkeyed_twice: int = 0
    """Calls without a key whose effect happened twice."""
    unknown: int = 0
    """Calls without a key of which nobody can say whether they happened, and which are said to be so."""
    unkeyed: int = 0
    """All calls without a key that were begun."""
    other: int = 0
    """Violations of the other invariants: owners, stops, ends, budgets, secrets."""
    faults: Counter[str] = field(default_factory=Counter[str])
    """How often each class of fault happened."""
    problems: list[str] = field(default_factory=list[str])

    def __iadd__(self, other: Counts) -> Counts:
        for name in ("executions", "kills", "struck", *BROKEN, "unknown", "unkeyed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.faults += other.faults
        self.problems += other.problems
        return self

    @property
    def violations(self) -> int:
        """How many promises were broken."""
        return self.doubled + self.lost + self.unkeyed_twice + self.other

    @property
    def holds(self) -> bool:
        """No promise was broken, and few outcomes are unknown."""
        return not self.violations and self.unknown <= UNKNOWN_SHARE * self.unkeyed

    def line(self) -> str:
        """The last line of `make chaos`."""
        share = 100 * self.unknown / self.unkeyed if self.unkeyed else 0.0
        return (
            f"chaos: executions={self.executions} kills={self.kills} struck={self.struck} doubled={self.doubled} "
            f"lost={self.lost} unkeyed_twice={self.unkeyed_twice} "
            f"unknown={self.unknown} ({share:.2f} % of {self.unkeyed} unkeyed calls) other={self.other}"
        )
