"""The simulated world in which policies for lessons are compared; it is fixed, and nothing in it is fitted to a policy.

1,500 tasks, one after another, in 40 families; family i is drawn with weight 1/(i+1).  Every draw is a hash of (seed,
what, task): no shared random state, so all policies meet the same luck.  A task succeeds with P0; with P1 if a *right*
lesson of its family is shown; a *harmful* one of the family makes it min(p, (P0+P1)/2) - .25; each shown lesson that is
useless or of another family costs .02; it is never under .02.  Retrieval offers the family's live lessons with
probability .85, else none of them; up to 3 are shown in the policy's order, and a free place goes to a random lesson of
another family, which the policy sees like any other.  The verdict is wrong with probability .15, both ways.  After a task
seen as failed, a family with fewer than 6 live lessons gets a new one: right, useless or harmful by the row's shares.

Beside that world, one assumption more for a policy that shows, in place of a lesson, an *excerpt* of the run that it came
from.  A run says what happened and advises nothing: where the lesson is right its excerpt does as much as it, and where the
lesson is useless or harmful the excerpt is useless.  That is the best that can be thought of excerpts, so what comes out is
a bound from above.  A task is *made worse* where it would have succeeded without anything shown, and did not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import Literal, Protocol

Kind = Literal["right", "useless", "harmful"]

TASKS = 1_500
LAST = 375
FAMILIES = 40
PLACES = 3
MOST_ALIVE = 6
OFTEN = 25
"""A lesson that was shown so often has shown what it is."""
FOUND, WRONG = 0.85, 0.15
_UP_TO = tuple(accumulate(1 / (family + 1) for family in range(FAMILIES)))


@dataclass(frozen=True, slots=True)
class Row:
    """How hard the work is and how good new lessons are."""

    name: str
    without: float
    """P0."""
    with_right: float
    """P1."""
    right: float
    useless: float

    def kind(self, luck: float) -> Kind:
        """What a new lesson is."""
        if luck < self.right:
            return "right"
        return "useless" if luck < self.right + self.useless else "harmful"

    def chance(self, own: Sequence[Made], foreign: int, *, excerpts: bool = False) -> float:
        """That a task succeeds with these lessons of its family (or their excerpts), and so many of others."""
        kinds = ["useless" if excerpts and each.kind == "harmful" else each.kind for each in own]
        chance = self.with_right if "right" in kinds else self.without
        if "harmful" in kinds:
            chance = min(chance, (self.without + self.with_right) / 2) - 0.25
        return max(chance - 0.02 * (kinds.count("useless") + foreign), 0.02)


ROWS = (
    Row("easy_good", 0.30, 0.85, 0.6, 0.3),
    Row("easy_mixed", 0.30, 0.85, 0.3, 0.4),
    Row("hard_good", 0.10, 0.40, 0.6, 0.3),
    Row("hard_mixed", 0.10, 0.40, 0.3, 0.4),
)


@dataclass(eq=False, slots=True)
class Made:
    """A lesson of the world; what it is, no policy may look at."""

    id: int
    family: int
    kind: Kind
    alive: bool = True
    shown: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """One task, with its luck."""

    number: int
    family: int
    found: bool
    success: float
    wrong: bool
    made: float
    other: float


@dataclass(frozen=True, slots=True)
class Seen:
    """All that a policy sees of a task that is over."""

    task: int
    family: int
    offered: Sequence[Made]
    shown: Sequence[Made]
    """In the order in which they stood in the prompt; the last one may be of another family."""
    own: int
    """So many of them are the policy's choice."""
    ok: bool


class Policy(Protocol):
    """What is shown, and what becomes of lessons: a policy retires one by ``alive = False``."""

    @property
    def shows(self) -> bool:
        """Whether any lesson is ever shown, be it one of another family."""
        ...

    @property
    def excerpts(self) -> bool:
        """Whether excerpts of the runs are shown in place of the lessons."""
        ...

    def choose(self, task: int, family: int, offered: Sequence[Made]) -> list[Made]:
        """What is shown of the family's lessons, in order, at most ``PLACES``."""
        ...

    def saw(self, seen: Seen) -> Sequence[Made]:
        """Learn from a task that is over; returns all lessons that may have been retired by that."""
        ...


@dataclass(slots=True)
class Outcome:
    """What came of one seed."""

    success: float
    """Over the last tasks."""
    made_worse: float = 0.0
    """The share of the last tasks that would have succeeded with nothing shown, and did not."""
    lessons: list[Made] = field(default_factory=list[Made])

    def count(self, kind: Kind, *, alive: bool, often: bool = False) -> int:
        """Lessons of a kind that are alive or retired; with ``often`` only those that were shown often."""
        return sum(
            each.kind == kind and each.alive == alive and (not often or each.shown >= OFTEN) for each in self.lessons
        )


def draw(seed: int, what: str, task: int) -> float:
    """Luck, 0 to 1."""
    return int.from_bytes(blake2b(f"{seed} {what} {task}".encode(), digest_size=8).digest()) / 2**64


@lru_cache(maxsize=64)
def tasks(seed: int) -> tuple[Task, ...]:
    """The tasks of a seed, the same for every policy and row."""
    return tuple(
        Task(
            number, _family(draw(seed, "family", number)), draw(seed, "retrieval", number) < FOUND,
            draw(seed, "success", number), draw(seed, "verdict", number) < WRONG, draw(seed, "kind", number),
            draw(seed, "other", number),
        )
        for number in range(TASKS)
    )  # fmt: skip


def run(row: Row, seed: int, made_by: Callable[[int], Policy]) -> Outcome:
    """One policy through all tasks of one seed."""
    policy, lessons, succeeded, worse = made_by(seed), _Lessons(), 0, 0
    for task in tasks(seed):
        offered = lessons.alive(task.family) if task.found else []
        own = policy.choose(task.number, task.family, offered)[:PLACES] if offered else []
        foreign = lessons.foreign(task) if policy.shows and len(own) < PLACES else []
        well = task.success < row.chance(own, len(foreign), excerpts=policy.excerpts)
        if task.number >= TASKS - LAST:
            succeeded += well
            worse += not well and task.success < row.without
        ok = well != task.wrong
        for each in (*own, *foreign):
            each.shown += 1
        lessons.bury(policy.saw(Seen(task.number, task.family, offered, (*own, *foreign), len(own), ok)))
        if not ok and len(lessons.alive(task.family)) < MOST_ALIVE:
            lessons.make(task.family, row.kind(task.made))
    return Outcome(succeeded / LAST, worse / LAST, lessons.all)


class _Lessons:
    def __init__(self) -> None:
        self.all: list[Made] = []
        self._families: list[list[Made]] = [[] for _ in range(FAMILIES)]

    def make(self, family: int, kind: Kind) -> None:
        made = Made(len(self.all), family, kind)
        self.all.append(made)
        self._families[family].append(made)

    def bury(self, shown: Sequence[Made]) -> None:
        """Take out what was just retired."""
        for family in {each.family for each in shown if not each.alive}:
            self._families[family] = [each for each in self._families[family] if each.alive]

    def alive(self, family: int) -> list[Made]:
        return list(self._families[family])

    def foreign(self, task: Task) -> list[Made]:
        """A random lesson of another family, where there is one."""
        counts = [len(held) for held in self._families]
        counts[task.family] = 0
        place = int(task.other * sum(counts))
        for family, count in enumerate(counts):
            if place < count:
                return [self._families[family][place]]
            place -= count
        return []


def _family(luck: float) -> int:
    return next(family for family, up_to in enumerate(_UP_TO) if luck * _UP_TO[-1] < up_to)
