"""Policies for lessons in the simulated world: the product's own, and those it is compared with.

The product's decides with ``reflexion/lessons/lifecycle.py`` alone: what is shown and in which order (``usefulness``,
``together``, asked as retrieval asks it), how a life goes on (``expected``, ``lived``) and what becomes of
the lesson (``standing``).  What is done here is only what the store and retrieval do in the product.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

from bench.lessons_world import FAMILIES, PLACES, Made, Seen, draw
from reflexion.lessons.lesson import LessonStatus
from reflexion.lessons.lifecycle import (
    Arm,
    Baseline,
    Life,
    Showing,
    expected,
    lived,
    standing,
    together,
    usefulness,
)
from reflexion.measurement.showings import SIMILAR

HOLD_BACK = 0.1
"""As the product's policy has it."""
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_A_TASK = timedelta(hours=2.4)
"""Ten tasks a day."""
_SWEEP = 100


class Nothing:
    """No lesson is ever shown."""

    shows = False
    excerpts = False

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def choose(self, task: int, family: int, offered: Sequence[Made]) -> list[Made]:
        """Nothing."""
        return []

    def saw(self, seen: Seen) -> Sequence[Made]:
        """Nothing is learned."""
        return ()


class AppendOnly:
    """The latest lessons are shown, none is ever judged."""

    shows = True
    excerpts = False

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def choose(self, task: int, family: int, offered: Sequence[Made]) -> list[Made]:
        """The newest first."""
        return list(offered[::-1][:PLACES])

    def saw(self, seen: Seen) -> Sequence[Made]:
        """Nothing is learned."""
        return ()


class Counters:
    """Plus one for a success, minus one for a failure; out at -3."""

    shows = True
    excerpts = False
    out = -3.0

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.points: dict[int, float] = {}

    def choose(self, task: int, family: int, offered: Sequence[Made]) -> list[Made]:
        """The most points first."""
        return sorted(offered, key=lambda each: -self.points.get(each.id, 0.0))[:PLACES]

    def saw(self, seen: Seen) -> Sequence[Made]:
        """All that were shown get the same."""
        for each in seen.shown:
            self.points[each.id] = self.points.get(each.id, 0.0) + self.gain(seen)
            each.alive = each.alive and self.points[each.id] > self.out
        return seen.shown

    def gain(self, seen: Seen) -> float:
        """What this task gives."""
        return 1.0 if seen.ok else -1.0


class AgainstFamily(Counters):
    """The sum of what came less what the family's tasks bring without its lessons; out at -1.5."""

    out = -1.5

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.without: list[list[bool]] = [[] for _ in range(FAMILIES)]

    def saw(self, seen: Seen) -> Sequence[Made]:
        """Tasks without a lesson of the family make the baseline."""
        if not seen.own:
            self.without[seen.family].append(seen.ok)
        return super().saw(seen)

    def gain(self, seen: Seen) -> float:
        """What came less the baseline."""
        held = self.without[seen.family]
        return seen.ok - (sum(held) + 1) / (len(held) + 2)


class HoldOutGate:
    """One in ten is held back; a lesson is shown while its share with it is not clearly under that without it."""

    shows = True
    excerpts = False
    least = -0.1

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.held: list[Made] = []
        self.with_it: dict[int, list[bool]] = {}
        self.without: dict[int, list[bool]] = {}

    def choose(self, task: int, family: int, offered: Sequence[Made]) -> list[Made]:
        """By the difference of the two posterior means."""
        self.held = [each for each in offered if draw(self.seed, f"held back {each.id}", task) < HOLD_BACK]
        left = [each for each in offered if each not in self.held and self._worth(each) > self.least]
        return sorted(left, key=lambda each: -self._worth(each))[:PLACES]

    def saw(self, seen: Seen) -> Sequence[Made]:
        """Both arms are counted."""
        for each in seen.shown:
            self.with_it.setdefault(each.id, []).append(seen.ok)
        for each in self.held if seen.offered else ():
            self.without.setdefault(each.id, []).append(seen.ok)
        return ()

    def _worth(self, each: Made) -> float:
        with_it, without = self.with_it.get(each.id, []), self.without.get(each.id, [])
        return (sum(with_it) + 1) / (len(with_it) + 2) - (sum(without) + 1) / (len(without) + 2)


class Product:
    """What the product does."""

    shows = True
    excerpts = False
    hold_back = HOLD_BACK
    retires = True

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.showings: list[Showing] = []
        self.chosen = 0
        """So many showings were this policy's choice; the others are of lessons of other families."""
        self._lives: dict[int, Life] = {}
        self._useful: dict[int, float] = {}
        self._status: dict[int, LessonStatus] = {}
        self._born: dict[int, datetime] = {}
        self._lessons: list[Made] = []
        self._unaided: list[deque[bool]] = [deque(maxlen=SIMILAR) for _ in range(FAMILIES)]
        self._all_unaided: deque[tuple[int, bool]] = deque(maxlen=4 * SIMILAR)
        self._held: list[Made] = []

    def choose(self, task: int, family: int, offered: Sequence[Made]) -> list[Made]:
        """The most useful ones, as many as are best shown together; what is held back makes room."""
        for each in offered:
            self._meet(each, task)
        order = sorted(offered, key=lambda each: -self._useful[each.id])
        chosen: list[Made] = []
        self._held = []
        for each in order:
            before = [self._lives[other.id] for other in chosen]
            if len(chosen) == PLACES or together([*before, self._lives[each.id]]) == len(chosen):
                break
            held = draw(self.seed, f"held back {each.id}", task) < self.hold_back
            (self._held if held else chosen).append(each)
        return chosen

    def saw(self, seen: Seen) -> Sequence[Made]:
        """One showing for each lesson that fitted, and what becomes of those."""
        at, baseline = _BEGAN + seen.task * _A_TASK, self._baseline(seen.family)
        self.chosen += seen.own
        before: list[Life] = []
        for place, each in enumerate(seen.shown):
            self._meet(each, seen.task)
            chance = expected(baseline, before)
            before.append(self._lives[each.id])
            self._add(each, seen, "shown", at, chance, expected(baseline), place, says=place < seen.own)
        for each in self._held if seen.offered else ():
            self._add(each, seen, "held_back", at, expected(baseline), expected(baseline), 0)
        if not seen.own:
            self._unaided[seen.family].append(seen.ok)
            self._all_unaided.append((seen.family, seen.ok))
        return self._settle((*seen.shown, *(self._lessons if seen.task % _SWEEP == 0 else ())), at)

    def _meet(self, each: Made, task: int) -> None:
        if each.id not in self._lives:
            self._lives[each.id], self._status[each.id] = Life(), "probation"
            self._useful[each.id] = usefulness(Life())
            self._born[each.id] = _BEGAN + task * _A_TASK
            self._lessons.append(each)

    def _baseline(self, family: int) -> Baseline:
        """The family's latest tasks without its lessons, and where those are few, those of others."""
        own = self._unaided[family]
        rest = (ok for other, ok in reversed(self._all_unaided) if other != family)
        known = [*own, *islice(rest, max(SIMILAR - len(own), 0))]
        return Baseline(tries=len(known), ok=sum(known))

    def _add(
        self, each: Made, seen: Seen, arm: Arm, at: datetime, chance: float, unaided: float, place: int, *,
        says: bool = True,
    ) -> None:  # fmt: skip
        """A free place that the world gave to a lesson of another family says nothing of that lesson: it was not chosen."""
        showing = Showing(
            lesson=str(each.id), execution=str(seen.task), guild="g", model="m", arm=arm, ok=seen.ok, says=says,
            expected=chance, unaided=unaided, place=place, at=at,
        )  # fmt: skip
        self.showings.append(showing)
        self._lives[each.id] = life = lived(self._lives[each.id], showing)
        self._useful[each.id] = usefulness(life)

    def _settle(self, lessons: Sequence[Made], now: datetime) -> Sequence[Made]:
        for each in lessons:
            life = self._lives[each.id]
            status, _ = standing(self._status[each.id], life, created=self._born[each.id], now=now)
            if status == "retired" and not self.retires:
                continue
            self._status[each.id] = status
            each.alive = each.alive and status != "retired"
        return lessons


class Excerpts(Product):
    """The product's choice, told as excerpts of the runs that its lessons came from."""

    excerpts = True


class NeverRetires(Product):
    """What the product does, but that no lesson is ever taken out."""

    retires = False
