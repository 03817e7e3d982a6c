"""The simulated world of docs/calibration.md: runs as the bot sees them, with the true probability that each succeeds.

The tables here are that page's.  Whoever changes one changes the other, and every figure with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from operator import mul
from typing import Literal, TypeVar

from agentic.core.events import CallBlock, Person, Policy, Reported, Started, ToolFinished
from agentic.core.execution import Call, Execution, Judged, Turn

T = TypeVar("T")
World = Literal["usual", "easy", "silent"]
Source = Literal["verifier", "person", "reason"]

MODELS = {"swift": (0.5, -1.3, 94), "steady": (0.3, -0.4, 91), "strong": (0.2, 0.6, 88)}
"""Share, skill, habit of reporting."""
ROLES = {"shell": (0.35, 0.5), "python-coder": (0.35, 0.0), "researcher": (0.2, -0.4), "documentation": (0.1, 0.3)}
"""Share, ease."""
QUIRKS = {("strong", "researcher"): -0.5, ("swift", "shell"): 0.3}
DIFFICULTIES = {-1.5: 1, -0.75: 4, 0.0: 6, 0.75: 4, 1.5: 1}
STATES = tuple((difficulty, success) for difficulty in DIFFICULTIES for success in (False, True))
"""What cannot be seen of a run."""
TURNS = range(2, 15)
CALLS = {0: 0.1, 1: 0.5, 2: 0.3, 3: 0.1}
TESTED = {"python-coder": 0.4, "shell": 0.15}
LEVELS = {True: (2, 2, 3, 3, 3, 3), False: (3, 3, 3, 3, 2, 2)}
"""Weights of k = -3 … 2 of a report."""
LABELLED: dict[Source, tuple[float, float]] = {"verifier": (0.5, 0.04), "person": (0.3, 0.08), "reason": (0.2, 0.25)}
"""Share, how often it is wrong."""
TESTS = 10
EASIER = 2.0
LATEST_LOOK = 8


@dataclass(frozen=True, slots=True)
class Point:
    """A run at the end of a turn: what the bot knows of it, and the true probability that it succeeds."""

    execution: Execution
    done: bool
    truth: float


@dataclass(frozen=True, slots=True)
class Run:
    """A run with its label."""

    role: str
    model: str
    end: Point
    under_way: Point | None
    success: bool
    label: bool
    source: Source


def runs(world: World, seed: int, numbers: range) -> Iterator[Run]:
    """The runs of these numbers."""
    return (_Drawing(world, seed, number).run() for number in numbers)


def u(seed: int, run: int, what: str) -> float:
    """The one source of chance."""
    digest = blake2b(f"calibration|{seed}|{run}|{what}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


# --- probabilities: each says how likely something seen is where d and y are so ----------------------------------


def succeeds(world: World, model: str, role: str, d: float) -> float:
    """Probability of success."""
    skill = MODELS[model][1] + (EASIER if world == "easy" else 0.0)
    return 1 / (1 + math.exp(-(skill + ROLES[role][1] + QUIRKS.get((model, role), 0.0) - 1.1 * d)))


@cache
def lengths(d: float, y: bool) -> tuple[float, ...]:
    """Probability of each number of turns of ``TURNS``."""
    mean = 5 + 1.2 * d + (0.0 if y else 1.0)
    weights = [math.exp(-((turns - mean) ** 2) / 18) for turns in TURNS]
    return tuple(weight / sum(weights) for weight in weights)


def fails(role: str, turn: int, d: float, y: bool) -> float:
    """Probability that a call fails."""
    if role == "researcher":
        return 0.25 + 0.04 * d + (0.0 if y else 0.05)
    doomed = 0.02 if turn <= 2 else 0.08 if turn <= 5 else 0.16
    return 0.12 + 0.04 * d + (0.0 if y else doomed)


def repeats(y: bool) -> float:
    """Probability that a further failure is the first error again."""
    return 0.15 if y else 0.35


def changes(role: str, turn: int, y: bool) -> float:
    """Probability that something changed in a turn."""
    if role == "researcher":
        return 0.25
    return 0.65 if y else 0.6 if turn <= 2 else 0.45


def passes(turn: int, y: bool) -> dict[int, float]:
    """Probability of each number of tests that pass."""
    whole = min(0.85, 0.3 + 0.08 * turn) if y else 0.2
    others = (5, 7, 9) if y else (2, 5, 7, 9)
    return {TESTS: whole} | dict.fromkeys(others, (1 - whole) / len(others))


def corrects(y: bool) -> float:
    """Probability that a person corrects it in a turn."""
    return 0.015 if y else 0.04


# --- drawing -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Drawing:
    """One run in the making: what is hidden, what was seen, and what that says of the hidden states."""

    world: World
    seed: int
    number: int
    role: str = ""
    model: str = ""
    turn: int = 0
    y: bool = False
    d: float = 0.0
    weights: list[float] = field(default_factory=list)
    """Probability of each of ``STATES`` and all that was seen."""
    errors: list[int] = field(default_factory=list)
    """How often each error came; the first one first."""
    ran: list[tuple[int, int]] = field(default_factory=list)
    """(succeeded, all) calls of each turn."""
    tests: tuple[int, int] | None = None
    changed: bool = False
    unchanged: int = 0
    unreported: int = 0
    reported: Reported | None = None
    reported_now: bool = False
    corrections: int = 0

    def run(self) -> Run:
        self.model = _choice({name: row[0] for name, row in MODELS.items()}, self._u("model"))
        self.role = _choice({name: row[0] for name, row in ROLES.items()}, self._u("role"))
        self.d = _choice(DIFFICULTIES, self._u("difficulty"))
        self.y = self._u("success") < succeeds(self.world, self.model, self.role, self.d)
        for d, y in STATES:
            right = succeeds(self.world, self.model, self.role, d)
            self.weights.append(DIFFICULTIES[d] * (right if y else 1 - right))
        turns = _choice(dict(zip(TURNS, lengths(self.d, self._shown(self.y)), strict=True)), self._u("turns"))
        looked_at = 1 + int(self._u("look") * LATEST_LOOK)
        under_way = None
        while self.turn < turns:
            self._take_turn()
            if self.turn == looked_at < turns:
                under_way = self._point(done=False)
        shares: dict[Source, float] = {name: row[0] for name, row in LABELLED.items()}
        source = _choice(shares, self._u("source"))
        wrong = self._u("wrong") < LABELLED[source][1]
        return Run(self.role, self.model, self._point(done=True), under_way, self.y, self.y != wrong, source)

    def _take_turn(self) -> None:
        self.unchanged = 0 if self.changed or not self.turn else self.unchanged + 1
        self.unreported = 0 if self.reported_now or not self.turn else self.unreported + 1
        self.turn += 1
        count = _choice(CALLS, self._u(f"calls {self.turn}"))
        failed = sum(self._call(index) for index in range(count))
        self.ran.append((count - failed, count))
        self.changed = self._seen("changed", {y: changes(self.role, self.turn, y) for y in (False, True)})
        if self.turn >= 2 and self._u(f"tested {self.turn}") < TESTED.get(self.role, 0.0):
            self._test()
        self.reported_now = self._u(f"reports {self.turn}") < 0.7
        if self.reported_now:
            self._report()
        self.corrections += self._seen("corrected", {y: corrects(y) for y in (False, True)})

    def _call(self, index: int) -> bool:
        failed = self._u(f"fails {self.turn} {index}") < fails(self.role, self.turn, self.d, self._shown(self.y))
        self._weigh(_calls(self.role, self.turn, failed, silent=self.world == "silent"))
        if not failed:
            return False
        if self.errors and self._seen(f"repeats {index}", {y: repeats(y) for y in (False, True)}):
            self.errors[0] += 1
        else:
            self.errors.append(1)
        return True

    def _test(self) -> None:
        told = {y: passes(self.turn, y) for y in (False, True)}
        passed = _choice(told[self._shown(self.y)], self._u(f"passed {self.turn}"))
        self._weigh_by({y: told[y].get(passed, 0.0) for y in (False, True)})
        self.tests = (passed, TESTS - passed)

    def _report(self) -> None:
        weights = LEVELS[self._shown(self.y)]
        k = _choice(dict(zip(range(-3, 3), weights, strict=True)), self._u(f"level {self.turn}"))
        self._weigh_by({y: LEVELS[y][k + 3] / sum(LEVELS[y]) for y in (False, True)})
        level = min(100, MODELS[self.model][2] - min(self.turn, 8) + 5 * k)
        self.reported = Reported(status="progressing", confidence=level)

    def _seen(self, what: str, chances: dict[bool, float]) -> bool:
        """Draw whether something happens that depends on y alone, and weigh what it says."""
        happens = self._u(f"{what} {self.turn}") < chances[self._shown(self.y)]
        self._weigh_by({y: chance if happens else 1 - chance for y, chance in chances.items()})
        return happens

    def _weigh_by(self, chances: dict[bool, float]) -> None:
        self._weigh([chances[self._shown(y)] for _, y in STATES])

    def _weigh(self, chances: Iterable[float]) -> None:
        self.weights = list(map(mul, self.weights, chances))

    def _point(self, *, done: bool) -> Point:
        weights: list[float] = []
        for (d, y), weight in zip(STATES, self.weights, strict=True):
            at = lengths(d, self._shown(y))
            index = self.turn - TURNS.start
            goes_on = 1 - sum(at[: max(0, index + 1)])
            weights.append(weight * (at[index] if done else goes_on))
        right = sum(weight for (_, y), weight in zip(STATES, weights, strict=True) if y)
        return Point(self._execution(), done, right / sum(weights))

    def _execution(self) -> Execution:
        ok, ran = self.ran[-1]
        return Execution(
            id=f"{self.seed}.{self.number}",
            started=_started(self.role),
            tier=2,
            turn=Turn(
                number=self.turn, answered=True, ended=False, changed=self.changed, failed_calls=ran - ok,
                calls=(_OK,) * ok + (_FAILED,) * (ran - ok),
            ),
            judged=Judged(
                reported=self.reported, reported_this_turn=self.reported_now,
                errors_since=tuple(("shell", f"error {kind}", count) for kind, count in enumerate(self.errors)),
                calls=sum(count for _, count in self.ran), calls_ok=sum(good for good, _ in self.ran),
                recent=tuple(self.ran[:-1][-3:]), tests=self.tests, turns_unchanged=self.unchanged,
                turns_unreported=self.unreported, corrections=self.corrections,
            ),
        )  # fmt: skip

    def _shown(self, y: bool) -> bool:
        """What a trajectory of such a run looks like: in the silent world always like a good one."""
        return y or self.world == "silent"

    def _u(self, what: str) -> float:
        return u(self.seed, self.number, what)


@cache
def _calls(role: str, turn: int, failed: bool, *, silent: bool) -> tuple[float, ...]:
    chances = [fails(role, turn, d, y or silent) for d, y in STATES]
    return tuple(chance if failed else 1 - chance for chance in chances)


def _choice(weights: Mapping[T, float], at: float) -> T:
    left = at * sum(weights.values())
    for value, weight in weights.items():
        left -= weight
        if left < 0:
            return value
    return tuple(weights)[-1]


_PERSON = Person(id="1", name="person")
_BLOCK = CallBlock(provider_id="", tool="shell")
_OK = Call(id="ok", block=_BLOCK, result=ToolFinished(call="ok", outcome="ok", preview="", exit_code=0))
_FAILED = Call(id="failed", block=_BLOCK, result=ToolFinished(call="failed", outcome="failed", preview="", exit_code=1))


@cache
def _started(role: str) -> Started:
    return Started(thread="1", task="", requester=_PERSON, role=role, policy=Policy())
