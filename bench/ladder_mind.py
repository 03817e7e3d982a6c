"""What a simulated model does in a turn: works, slips, or runs against a wall and shows it (docs/ladder.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bench.ladder_world import ADVICE_HELPS, MISLED, SLIPS, Task, between, chance

Kind = Literal["look", "edit", "test", "error", "stuck", "done", "give_up"]


@dataclass(frozen=True, slots=True)
class Deed:
    """One turn: what it does, what it says of its confidence, how an error or test run reads."""

    kind: Kind
    error: str = ""
    failing: int = 0
    confidence: int | None = None


@dataclass
class Mind:
    """The models that work on one task one after another, with what they have done of it."""

    task: Task
    tier: int
    done: int = 0
    wrong: bool = False
    """All steps are done, and the result is wrong."""
    turns: int = 0
    reading: int = field(init=False)
    helped: set[int] = field(default_factory=set[int])
    """Tiers that an advice made able."""
    taken_over: bool = False
    at_wall: int = 0
    since_test: int = 0
    passed: bool = False
    last_error: str = ""

    def __post_init__(self) -> None:
        self.reading = self.task.reading

    @property
    def solved(self) -> bool:
        """The task is done, and rightly."""
        return self.done >= self.task.steps and not self.wrong

    @property
    def able(self) -> bool:
        """Whether the present tier gets to the end of it."""
        if self.tier in self.helped:
            return True
        misled = self.taken_over and chance("misled", self.task.number, self.tier) < MISLED
        return self.task.able(self.tier) and not misled

    def advised_by(self, tier: int) -> None:
        """A stronger tier gave advice."""
        if self.task.able(tier) and chance("advice", self.task.number, self.tier, tier) < ADVICE_HELPS:
            self.helped.add(self.tier)
            self._anew()

    def takes_over(self, tier: int) -> None:
        """Another tier goes on with what there is."""
        stronger = tier > self.tier
        self.tier, self.taken_over = tier, True
        if stronger:
            self.done = max(0, min(self.done, self.task.steps - 1) - between(0, 2, "again", self.task.number, tier))
            self.reading = max(self.reading, 1)
        self._anew()

    def sent_back(self) -> None:
        """The log contradicted what it claimed."""
        self.passed = False

    def _anew(self) -> None:
        self.wrong, self.passed, self.at_wall = False, False, 0
        self.done = min(self.done, self.task.steps - 1)

    def turn(self) -> Deed:
        """The next turn."""
        self.turns += 1
        if self.reading > 0:
            self.reading -= 1
            return self._said(Deed("look"))
        if self.able or self.done < min(self.task.wall(self.tier), self.task.steps - 1):
            return self._said(self._work())
        return self._said(self._at_wall())

    def _luck(self, what: str) -> float:
        return chance(what, self.task.number, self.tier, self.turns)

    def _said(self, deed: Deed) -> Deed:
        if self._luck("says") >= 0.4:
            return deed
        middle, spread = (68, 30) if self.at_wall else (82, 24)
        said = round(middle + spread * (self._luck("how sure") - 0.5))
        return Deed(deed.kind, deed.error, deed.failing, max(5, min(98, said)))

    def _work(self) -> Deed:
        if self._luck("slip") < SLIPS[self.tier]:
            if not (self.last_error and self._luck("alike") < 0.3):
                self.last_error = f"slip {self.turns}"
            return Deed("error", self.last_error)
        if self.task.tested and (self.since_test >= 3 or (self.done >= self.task.steps and not self.passed)):
            self.since_test = 0
            self.passed = self.done >= self.task.steps
            return Deed("test", failing=0 if self.passed else 1 + (self.task.steps - self.done) // 3)
        if self.done >= self.task.steps:
            return Deed("done")
        self.done += 1
        self.since_test += 1
        return Deed("edit")

    def _at_wall(self) -> Deed:
        self.at_wall += 1
        if self.at_wall > 2 and self._luck("gives up") < 1 / 12:
            return Deed("done") if self._luck("honest") < 0.5 else Deed("give_up")
        mode = self.task.mode(self.tier)
        if mode == "wanders":
            return Deed("look")
        if mode == "admits" and self.at_wall > between(1, 3, "admits", self.task.number, self.tier):
            return Deed("stuck")
        if mode == "drifts":
            return Deed("edit") if self._luck("drift") < 0.5 else Deed("error", f"drift {self.turns}")
        if mode == "wrong" and self.done < self.task.steps:
            self.done += 1
            self.wrong = True
            return Deed("edit")
        if mode == "wrong" and not self.task.tested:
            return Deed("done")
        return self._loop()

    def _loop(self) -> Deed:
        drawn = self._luck("loop")
        if drawn < 0.60:
            return (
                Deed("test", f"wall {self.tier}", failing=2) if self.task.tested else Deed("error", f"wall {self.tier}")
            )
        if drawn < 0.85:
            return Deed("edit") if self._luck("tries") < 0.5 else Deed("error", f"other {self.turns}")
        return Deed("look")
