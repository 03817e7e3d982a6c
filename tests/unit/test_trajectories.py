"""The labelled trajectories are what they say, and those by which the rules are judged stay as they were."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import cache

from agentic.core.events.execution_events import ToolFinished
from bench.trajectories import EACH, held_out, trajectories, tuning
from bench.trajectories.story import Trajectory, fingerprint
from bot.cli.replay.invariants import broken_promises

HELD_OUT = "db2f72cdb7e4ffe23d5576e976ca953c06e47be8b1231bec518814b21d3542c0"
"""Of the first trajectories of each held-out family.  It changes with none of the rules: who changes a held-out family
measures something else from then on, and says so."""
FIRST = 6


@cache
def told() -> Sequence[Trajectory]:
    return tuple(trajectories("test", FIRST))


def test_the_held_out_families_are_as_they_were_before_there_were_rules() -> None:
    whole = "\n".join(fingerprint(trajectory) for trajectory in told())
    assert hashlib.sha256(whole.encode()).hexdigest() == HELD_OUT


def test_there_are_enough_of_each_label_and_no_two_are_alike() -> None:
    families = {family.name for family in (*tuning.FAMILIES, *held_out.FAMILIES)}
    assert len(families) == len(tuning.FAMILIES) + len(held_out.FAMILIES) >= 10
    counts = Counter(label for family in held_out.FAMILIES for label in family.tells)
    assert counts["stuck"] * EACH >= 300
    assert counts["healthy"] * EACH >= 300
    assert len({fingerprint(trajectory) for trajectory in told()}) == counts.total() * FIRST


def test_each_is_a_log_that_an_execution_could_have_written() -> None:
    for family in (*tuning.FAMILIES, *held_out.FAMILIES):
        for label in family.tells:
            for seed in (1, 2):
                trajectory = family.trajectory(label, seed)
                assert broken_promises(trajectory.envelopes) == (), (family.name, label, seed)


def test_a_stuck_one_names_its_turn_and_goes_on_long_enough_to_be_noticed() -> None:
    for trajectory in told():
        kinds = Counter(envelope.event.kind for envelope in trajectory.envelopes)
        begun = trajectory.stuck_from
        assert bool(begun) == (trajectory.label == "stuck")
        assert not begun or kinds["turn_ended"] - begun >= 5
        assert any(isinstance(envelope.event, ToolFinished) for envelope in trajectory.envelopes)
