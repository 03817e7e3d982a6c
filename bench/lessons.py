"""What the policy for lessons is worth, in the simulated world of docs/lessons.md, beside the policies it follows.

The numbers of the policy were chosen on seeds from 100 on; what is reported are seeds 0 to 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import mean

from bench.figures import Figure, Op, size
from bench.lessons_policies import (
    AgainstFamily,
    AppendOnly,
    Counters,
    Excerpts,
    HoldOutGate,
    NeverRetires,
    Nothing,
    Product,
)
from bench.lessons_world import ROWS, Kind, Outcome, Policy, run
from reflexion.measurement.uplift import overall_uplift

SEEDS = range(size("SEEDS", 10, 2))
TARGETS = {"easy_good": 0.73, "easy_mixed": 0.66, "hard_good": 0.305, "hard_mixed": 0.205}
LOST = {"hard_good": 40.0}
"""So many right lessons may be retired."""
OTHERS: dict[str, Callable[[int], Policy]] = {
    "none": Nothing,
    "append_only": AppendOnly,
    "counters": Counters,
    "against_family": AgainstFamily,
    "hold_out_gate": HoldOutGate,
    "excerpts": Excerpts,
}
MADE_WORSE = 0.05
"""So many tasks in all may fail that would have succeeded with nothing shown."""


def figures() -> Iterator[Figure]:
    """The table of docs/lessons.md, row by row."""
    everything: list[Outcome] = []
    for row in ROWS:
        for name, policy in OTHERS.items():
            others = [run(row, seed, policy) for seed in SEEDS]
            yield Figure(
                f"lessons_{row.name}_{name}", mean(each.success for each in others), "of the last 375",
                note=f"right lessons retired: {mean(_lost(others)):.0f}",
            )  # fmt: skip
        policies: list[Product] = []

        def product(seed: int, made: list[Product] = policies) -> Product:
            made.append(Product(seed))
            return made[-1]

        ours = [run(row, seed, product) for seed in SEEDS]
        everything += ours
        yield Figure(
            f"lessons_{row.name}_ours", mean(each.success for each in ours), "of the last 375", ">=", TARGETS[row.name],
            f"seeds {SEEDS.start}-{SEEDS[-1]}, each within {_spread(ours):.3f} (standard error of the mean)",
        )  # fmt: skip
        yield Figure(f"lessons_{row.name}_right_retired", mean(_lost(ours)), "lessons", "<=", LOST.get(row.name))
        yield from _measured(row.name, policies)
        unretired = [run(row, seed, NeverRetires) for seed in SEEDS]
        for name, came, most in (("made_worse_never_retired", unretired, None), ("made_worse", ours, MADE_WORSE)):
            yield _harm(f"lessons_{row.name}_{name}", came, row.without, most)
    limits: tuple[tuple[Kind, Op, float], ...] = (("harmful", ">=", 0.9), ("right", "<=", 0.1))
    for kind, op, target in limits:
        share, of = _retired(everything, kind)
        note = "all rows together; of those that were shown at least 25 times"
        yield Figure(f"lessons_{kind}_shown_often_retired", share, f"of {of}", op, target, note)


def _measured(row: str, policies: Sequence[Product]) -> Iterator[Figure]:
    """What the held-back ones say of the lessons that were shown, and how many they are."""
    held = sum(each.arm == "held_back" for policy in policies for each in policy.showings)
    chosen = sum(policy.chosen for policy in policies)
    yield Figure(f"lessons_{row}_held_back", held / (held + chosen), "of what would be shown", note="at random")
    told = [uplift for policy in policies if (uplift := overall_uplift(policy.showings)) is not None]
    yield Figure(
        f"lessons_{row}_uplift", mean(each.difference for each in told), "of verdicts",
        note=f"mean of the seeds; 95% interval of one seed ±{mean(each.high - each.low for each in told) / 2:.3f}",
    )  # fmt: skip


def _harm(name: str, outcomes: Sequence[Outcome], would: float, most: float | None) -> Figure:
    worse = mean(each.made_worse for each in outcomes)
    note = f"made worse by what was shown; {worse / would:.1%} of those that would have succeeded without"
    return Figure(name, worse, "of the last 375", "<=", most, note)


def _lost(outcomes: Sequence[Outcome]) -> list[int]:
    return [each.count("right", alive=False) for each in outcomes]


def _retired(outcomes: Sequence[Outcome], kind: Kind) -> tuple[float, int]:
    gone = sum(each.count(kind, alive=False, often=True) for each in outcomes)
    stay = sum(each.count(kind, alive=True, often=True) for each in outcomes)
    return gone / max(gone + stay, 1), gone + stay


def _spread(outcomes: Sequence[Outcome]) -> float:
    middle = mean(each.success for each in outcomes)
    return (sum((each.success - middle) ** 2 for each in outcomes) / (len(outcomes) - 1) / len(outcomes)) ** 0.5
