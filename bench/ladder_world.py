"""The simulated tasks of the ladder's bench: docs/ladder.md in code.  Every chance derives from a hash of its names."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Literal

Difficulty = Literal["easy", "medium", "hard"]
Mode = Literal["loops", "wanders", "admits", "wrong", "drifts"]

SHARES: Final[tuple[tuple[Difficulty, float], ...]] = (("easy", 0.39), ("medium", 0.52), ("hard", 0.09))
SUCCESS: Final[dict[tuple[int, Difficulty], float]] = {
    (2, "easy"): 0.80, (2, "medium"): 0.56, (2, "hard"): 0.20,
    (3, "easy"): 0.88, (3, "medium"): 0.68, (3, "hard"): 0.34,
    (4, "easy"): 0.92, (4, "medium"): 0.78, (4, "hard"): 0.48,
}  # fmt: skip
STEPS: Final[dict[Difficulty, tuple[int, int]]] = {"easy": (3, 5), "medium": (5, 9), "hard": (9, 14)}
READING: Final[dict[Difficulty, tuple[int, int]]] = {"easy": (1, 2), "medium": (1, 4), "hard": (3, 8)}
MODES: Final[tuple[tuple[Mode, float], ...]] = (
    ("loops", 0.35), ("wanders", 0.15), ("admits", 0.10), ("wrong", 0.35), ("drifts", 0.05),
)  # fmt: skip
TOGETHER: Final = 0.75
"""How much what one tier solves goes with what another does."""
TESTED: Final = 0.70
SLIPS: Final[dict[int, float]] = {2: 0.18, 3: 0.14, 4: 0.10}
MISLED: Final = 0.08
ADVICE_HELPS: Final = 0.40
_NORMAL = NormalDist()


def chance(*names: str | int) -> float:
    """A number in (0, 1), the same for the same names."""
    digest = hashlib.sha256("/".join(map(str, names)).encode()).digest()
    return (int.from_bytes(digest[:6]) + 0.5) / 2**48


def between(low: int, high: int, *names: str | int) -> int:
    """A whole number from ``low`` to ``high``."""
    return low + int(chance(*names) * (high - low + 1))


@dataclass(frozen=True, slots=True)
class Task:
    """One task; its luck is the same whoever works on it."""

    number: int
    difficulty: Difficulty
    steps: int
    reading: int
    tested: bool
    changes_files: bool

    def able(self, tier: int) -> bool:
        """Whether this tier solves it, left alone from the beginning."""
        common = _NORMAL.inv_cdf(chance("common", self.number))
        own = _NORMAL.inv_cdf(chance("own", self.number, tier))
        drawn = TOGETHER**0.5 * common + (1 - TOGETHER) ** 0.5 * own
        return _NORMAL.cdf(drawn) < SUCCESS[tier, self.difficulty]

    def wall(self, tier: int) -> int:
        """The step at which a tier that is not able gets no further."""
        return int((0.2 + 0.7 * chance("wall", self.number, tier)) * self.steps)

    def mode(self, tier: int) -> Mode:
        """How it shows there."""
        left = chance("mode", self.number, tier)
        for mode, share in MODES:
            left -= share
            if left < 0:
                return mode
        return MODES[0][0]


def task(number: int) -> Task:
    """The task with this number."""
    left = chance("difficulty", number)
    difficulty: Difficulty = "hard"
    for name, share in SHARES:
        left -= share
        if left < 0:
            difficulty = name
            break
    return Task(
        number,
        difficulty,
        between(*STEPS[difficulty], "steps", number),
        between(*READING[difficulty], "reading", number),
        chance("tested", number) < TESTED,
        chance("changes", number) < 0.9,
    )
