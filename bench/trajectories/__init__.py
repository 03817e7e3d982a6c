"""Labelled trajectories: executions that are stuck, from which turn on, and executions that are healthy.

Each family is a generator.  The families are split: by those in ``tuning`` the rules are made, by those in ``held_out``
they are judged; the held-out ones were kept before there were rules, and a test holds them by a hash.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.trajectories import held_out, tuning
from bench.trajectories.story import Label, Split, Trajectory

EACH = 48
"""Trajectories of each label that each family tells."""
LABELS: tuple[Label, ...] = ("stuck", "healthy")


def trajectories(split: Split, each: int = EACH) -> Iterator[Trajectory]:
    """All of one side of the split, always the same ones."""
    for family in tuning.FAMILIES if split == "tuning" else held_out.FAMILIES:
        for label in LABELS:
            if label in family.tells:
                yield from (family.trajectory(label, seed) for seed in range(each))
