"""The simulated world of docs/calibration.md: runs as the bot sees them, with the true probability that each succeeds.

The tables here are that page's.  Whoever changes one changes the other, and every figure with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import Literal, TypeVar

from agentic.core.events.execution_events import (
    CallBlock,
    Person,
    Policy,
    Reported,
    Started,
    ToolFinished,
)
from agentic.core.state.execution import (
    Call,
    Execution,
    SignCounts,
    Turn,
)

T = TypeVar("T")
World = Literal["usual", "easy", "silent"]
Source = Literal["verifier", "person", "reason"]

MODELS = {"swift": (0.5, -1.3, 94, -0.5), "steady": (0.3, -0.4, 91, 0.2), "strong": (0.2, 0.6, 88, 1.0)}
"""Share, skill, habit of reporting, worth."""
ROLES = {"shell": (0.35, 0.5), "python-coder": (0.35, 0.0), "researcher": (0.2, -0.4), "documentation": (0.1, 0.3)}
"""Share, ease."""
QUIRKS = {("strong", "researcher"): -0.5, ("swift", "shell"): 0.3}
DIFFICULTIES = {-1.5: 1, -0.75: 4, 0.0: 6, 0.75: 4, 1.5: 1}
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
class Run:
    """A run with its true probability and its label; ``under_way`` is it after an earlier turn."""

    role: str
    model: str
    end: Execution
    under_way: Execution | None
    truth: float
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


def sigma(odds: float) -> float:
    """Log odds as a probability."""
    return 1 / (1 + math.exp(-odds))


@cache
def lengths(d: float, well: bool) -> dict[int, float]:
    """Weight of each number of turns."""
    mean = 5 + 1.2 * d + (0.0 if well else 1.0)
    return {turns: math.exp(-((turns - mean) ** 2) / 18) for turns in TURNS}


def fails(role: str, turn: int, d: float, well: bool) -> float:
    """Probability that a call fails."""
    if role == "researcher":
        return 0.25 + 0.04 * d + (0.0 if well else 0.05)
    doomed = 0.02 if turn <= 2 else 0.08 if turn <= 5 else 0.16
    return 0.12 + 0.04 * d + (0.0 if well else doomed)


def changes(role: str, turn: int, well: bool) -> float:
    """Probability that something changed in a turn."""
    if role == "researcher":
        return 0.25
    return 0.65 if well else 0.6 if turn <= 2 else 0.45


@cache
def passes(turn: int, well: bool) -> dict[int, float]:
    """Probability of each number of tests that pass."""
    whole = min(0.85, 0.3 + 0.08 * turn) if well else 0.2
    others = (5, 7, 9) if well else (2, 5, 7, 9)
    return {TESTS: whole} | dict.fromkeys(others, (1 - whole) / len(others))


def truth(world: World, role: str, model: str, seen: Seen) -> float:
    """The true probability of success of a run that ended so."""
    fixed = MODELS[model][3] + ROLES[role][1] + QUIRKS.get((model, role), 0.0)
    if world == "silent":
        return sigma(fixed)
    researching = role == "researcher"
    failed = min(sum(ran - ok for ok, ran in seen.ran[-3:]), 3)
    worst, unchanged = min(max(seen.errors, default=0), 5), min(seen.unchanged_now, 5)
    odds = fixed + (EASIER if world == "easy" else 0.0)
    odds += seen.tests_worth - (0.1 if researching else 0.55) * failed
    odds -= 0.4 * max(0, worst - 2) + (0.0 if researching else 0.4 * max(0, unchanged - 1))
    odds += 0.5 - 0.9 * (seen.turn / 10) ** 2 - 1.2 * min(seen.corrections, 2)
    return sigma(odds + ((seen.reported.confidence if seen.reported else 85) - 85) / 100)


@dataclass(slots=True)
class Seen:
    """What can be seen of a run so far."""

    turn: int = 0
    errors: list[int] = field(default_factory=list)
    """How often each error came; the first one first."""
    ran: list[tuple[int, int]] = field(default_factory=list)
    """(succeeded, all) calls of each turn."""
    passed: int | None = None
    changed: bool = False
    turns_changed: int = 0
    unchanged: int = 0
    unreported: int = 0
    reported: Reported | None = None
    reported_now: bool = False
    corrections: int = 0

    @property
    def unchanged_now(self) -> int:
        """Turns running without a change, with this one."""
        return 0 if self.changed else self.unchanged + 1

    @property
    def tests_worth(self) -> float:
        """What the last test run is worth."""
        if self.passed is None:
            return 0.0
        return 1.5 if self.passed == TESTS else -0.3 - 1.8 * (1 - self.passed / TESTS)

    def next_turn(self) -> None:
        """What was of this turn is of the one before."""
        if self.turn:
            self.turns_changed += self.changed
            self.unchanged = self.unchanged_now
            self.unreported = 0 if self.reported_now else self.unreported + 1
        self.turn += 1

    def execution(self, role: str, name: str) -> Execution:
        """The state in which the bot would have it, before ``TurnEnded``."""
        ok, ran = self.ran[-1]
        return Execution(
            id=name,
            started=_started(role),
            tier=2,
            turn=Turn(
                number=self.turn, answered=True, ended=False, changed=self.changed, failed_calls=ran - ok,
                calls=(_OK,) * ok + (_FAILED,) * (ran - ok),
            ),
            judged=SignCounts(
                reported=self.reported, reported_this_turn=self.reported_now,
                errors_since=tuple(("shell", f"error {kind}", count) for kind, count in enumerate(self.errors)),
                calls=sum(count for _, count in self.ran), calls_ok=sum(good for good, _ in self.ran),
                recent=tuple(self.ran[:-1][-3:]), turns_unchanged=self.unchanged, turns_changed=self.turns_changed,
                tests=None if self.passed is None else (self.passed, TESTS - self.passed),
                turns_unreported=self.unreported, corrections=self.corrections,
            ),
        )  # fmt: skip


class _Drawing:
    """One run in the making."""

    def __init__(self, world: World, seed: int, number: int) -> None:
        self._world: World = world
        self._seed, self._number = seed, number
        self._seen = Seen()
        self._model = _choice({name: row[0] for name, row in MODELS.items()}, self._u("model"))
        self._role = _choice({name: row[0] for name, row in ROLES.items()}, self._u("role"))
        self._d = _choice(DIFFICULTIES, self._u("difficulty"))
        odds = MODELS[self._model][1] + ROLES[self._role][1] + QUIRKS.get((self._model, self._role), 0.0)
        self._well = self._u("well") < sigma(odds - 1.1 * self._d)

    def run(self) -> Run:
        turns = _choice(lengths(self._d, self._well), self._u("turns"))
        looked_at = 1 + int(self._u("look") * LATEST_LOOK)
        under_way = None
        while self._seen.turn < turns:
            self._take_turn()
            if self._seen.turn == looked_at < turns:
                under_way = self._execution()
        right = truth(self._world, self._role, self._model, self._seen)
        success = self._u("success") < right
        shares: dict[Source, float] = {name: row[0] for name, row in LABELLED.items()}
        source = _choice(shares, self._u("source"))
        wrong = self._u("wrong") < LABELLED[source][1]
        label = success != wrong
        return Run(self._role, self._model, self._execution(), under_way, right, success, label, source)

    def _take_turn(self) -> None:
        seen, well = self._seen, self._well
        seen.next_turn()
        count = _choice(CALLS, self._turn_u("calls"))
        failed = sum(self._call(index) for index in range(count))
        seen.ran.append((count - failed, count))
        seen.changed = self._turn_u("changed") < changes(self._role, seen.turn, well)
        if seen.turn >= 2 and self._turn_u("tested") < TESTED.get(self._role, 0.0):
            seen.passed = _choice(passes(seen.turn, well), self._turn_u("passed"))
        seen.reported_now = self._turn_u("reports") < 0.7
        if seen.reported_now:
            self._report()
        seen.corrections += self._turn_u("corrected") < (0.015 if well else 0.04)

    def _call(self, index: int) -> bool:
        seen = self._seen
        if self._turn_u(f"fails {index}") >= fails(self._role, seen.turn, self._d, self._well):
            return False
        if seen.errors and self._turn_u(f"repeats {index}") < (0.15 if self._well else 0.35):
            seen.errors[0] += 1
        else:
            seen.errors.append(1)
        return True

    def _report(self) -> None:
        weights = dict(zip(range(-3, 3), LEVELS[self._well], strict=True))
        level = MODELS[self._model][2] - min(self._seen.turn, 8) + 5 * _choice(weights, self._turn_u("level"))
        self._seen.reported = Reported(status="progressing", confidence=min(100, level))

    def _execution(self) -> Execution:
        return self._seen.execution(self._role, f"{self._seed}.{self._number}")

    def _turn_u(self, what: str) -> float:
        return self._u(f"{what} {self._seen.turn}")

    def _u(self, what: str) -> float:
        return u(self._seed, self._number, what)


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
