"""Scores to the point, with everything they are made of: each part, each cap, and a judge of no, half and full weight."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    Claim,
    Evaluated,
    Judged,
    Policy,
    Triaged,
)
from reflexion.evaluation.score import evaluate, was_right, went_well
from reflexion.evaluation.trajectory import Trajectory, read_trajectory
from tests.unit.reflexion.logs import ANN, BEN, Did, Log, edit, kept_off

PASSES, FAILS = Did("pytest", 0), Did("pytest", 1)
HIDDEN = kept_off(".env")
FALSE = Claim(text="b.py is written", file="b.py", verdict="contradicted")


def begun(task: str = "Tidy up.") -> Log:
    return Log(task=task, policy=Policy(turns_medium=10, turns_simple=4))


def verified() -> Log:
    return begun().does(edit("a.py")).does(PASSES)


def unverified() -> Log:
    return begun().does(edit("a.py"))


def failed() -> Log:
    return begun().does(edit("a.py")).does(FAILS)


def liked(log: Log) -> Log:
    return log.hears("feedback", "up")


def disliked(log: Log) -> Log:
    return log.hears("feedback", "down")


def breached() -> Log:
    return begun().does(HIDDEN).does(edit("a.py")).does(HIDDEN, PASSES).does(PASSES)


def busy(turns: int) -> Log:
    log = begun()
    for _ in range(turns - 1):
        log.does(Did("false", 1))
    return log.does(edit("a.py"), PASSES)


CASES: dict[str, tuple[Log, tuple[float, float] | None, int, tuple[float, ...], tuple[str, ...]]] = {
    # (verifier, judge, unjudged, files, clean, loops, turns, user); the judge is (share, λ)
    "verified": (verified().ends(), None, 92, (40, 0, 15, 10, 10, 5, 4, 7.5), ()),
    "verified, judge without weight": (verified().ends(), (0, 0), 92, (40, 0, 15, 10, 10, 5, 4, 7.5), ()),
    "verified, half a weight, all yes": (verified().ends(), (1, 0.5), 92, (40, 7.5, 7.5, 10, 10, 5, 4, 7.5), ()),
    "verified, half a weight, all no": (verified().ends(), (0, 0.5), 84, (40, 0, 7.5, 10, 10, 5, 4, 7.5), ()),
    "verified, full weight, all yes": (verified().ends(), (1, 1), 92, (40, 15, 0, 10, 10, 5, 4, 7.5), ()),
    "verified, full weight, half": (verified().ends(), (0.5, 1), 84, (40, 7.5, 0, 10, 10, 5, 4, 7.5), ()),
    "verified, full weight, all no": (verified().ends(), (0, 1), 76, (40, 0, 0, 10, 10, 5, 4, 7.5), ()),
    "verified and praised": (liked(verified()).ends(), (1, 1), 99, (40, 15, 0, 10, 10, 5, 4, 15), ()),
    "unverified": (unverified().ends(), None, 64, (20, 0, 7.5, 10, 10, 5, 4.5, 7.5), ("nothing_verified",)),
    "unverified, half a weight": (
        unverified().ends(), (1, 0.5), 68, (20, 7.5, 3.75, 10, 10, 5, 4.5, 7.5), ("nothing_verified",),
    ),
    "unverified, full weight, all no": (
        unverified().ends(), (0, 1), 57, (20, 0, 0, 10, 10, 5, 4.5, 7.5), ("nothing_verified",),
    ),
    "unverified is capped, whatever the judge says": (
        unverified().ends(), (1, 1), 70, (20, 15, 0, 10, 10, 5, 4.5, 7.5), ("nothing_verified",),
    ),
    "an honest failure": (failed().ends("failed"), None, 32, (0, 0, 0, 10, 5, 5, 4, 7.5), ("verifier_failed",)),
    "a failure that judge and person like": (
        liked(failed()).ends("failed"), (1, 1), 45, (0, 15, 0, 10, 5, 5, 4, 15), ("verifier_failed",),
    ),
    "a failure that is called done, and liked": (
        liked(failed()).ends("done"), (1, 1), 30, (0, 15, 0, 10, 5, 5, 4, 15), ("claimed_done_and_was_not", "verifier_failed"),
    ),
    "a claim that is not so": (
        verified().ends(claims=(FALSE,)), (1, 1), 30, (40, 15, 0, 10, 10, 5, 4, 7.5), ("claimed_done_and_was_not",),
    ),
    "voted down": (disliked(verified()).ends(), (1, 1), 40, (40, 15, 0, 10, 10, 5, 4, 0), ("voted_down",)),
    "two against the requester": (
        liked(verified()).hears("feedback", "down", by=BEN).ends(), None, 94, (40, 0, 15, 10, 10, 5, 4, 10), (),
    ),
    "a breach of safety": (
        liked(breached()).ends(), (1, 1), 10, (40, 15, 0, 10, 6.67, 5, 3, 15), ("safety_breach",),
    ),
    "what was refused once is no breach": (
        liked(begun().does(HIDDEN).does(edit("a.py")).does(PASSES)).ends(), (1, 1), 95, (40, 15, 0, 10, 6.67, 5, 3.5, 15), (),
    ),
    "nothing done": (begun().ends("failed", ""), (1, 1), 0, (), ("empty",)),
    "went in circles": (verified().nudged("repetition").ends(), None, 86, (40, 0, 15, 10, 10, 0, 4, 7.5), ()),
    "broken turns": (busy(4).ends(), None, 84, (40, 0, 15, 10, 3.33, 5, 3, 7.5), ()),
    "all turns used": (busy(10).ends(), None, 81, (40, 0, 15, 10, 3.33, 5, 0, 7.5), ()),
    "more than all turns": (busy(12).ends(), None, 81, (40, 0, 15, 10, 3.33, 5, 0, 7.5), ()),
    "nothing changed where something should": (begun().does(PASSES).ends(), None, 82, (40, 0, 15, 0, 10, 5, 4.5, 7.5), ()),
    "nothing changed where nothing should": (
        begun().add(Triaged(talk=False, complexity="simple")).does(PASSES).ends(), None, 91,
        (40, 0, 15, 10, 10, 5, 3.75, 7.5), (),
    ),
    "a pass older than the last change": (
        begun().does(PASSES).does(edit("a.py")).ends(), None, 64, (20, 0, 7.5, 10, 10, 5, 4, 7.5), ("nothing_verified",),
    ),
    "a named check that never ran": (
        begun("Make `make check` pass.").does(edit("a.py")).does(PASSES).ends(), None, 64,
        (20, 0, 7.5, 10, 10, 5, 4, 7.5), ("nothing_verified",),
    ),
}  # fmt: skip


def trajectory(log: Log) -> Trajectory:
    return read_trajectory(log.events)


def judged_by(log: Log, judge: tuple[float, float] | None) -> Evaluated:
    return evaluate(trajectory(log), Judged(share=judge[0]) if judge else None, judge[1] if judge else 0.0)


@pytest.mark.parametrize("name", CASES)
def test_a_score_is_what_its_parts_and_caps_make(name: str) -> None:
    log, judge, score, parts, caps = CASES[name]
    evaluated = judged_by(log, judge)
    assert tuple(evaluated.parts.values()) == parts
    assert (evaluated.score, evaluated.caps) == (score, caps)
    assert evaluated.judge_weight == (judge[1] if judge and parts else 0.0)


def test_a_score_can_be_told_again_from_what_is_stored() -> None:
    limits = {"empty": 0, "safety_breach": 10, "claimed_done_and_was_not": 30, "voted_down": 40, "verifier_failed": 45}
    for log, judge, *_ in CASES.values():
        stored = Evaluated.model_validate_json(judged_by(log, judge).model_dump_json())
        held = min((limits.get(cap, 70) for cap in stored.caps), default=100)
        assert stored.score == min(round(sum(stored.parts.values())), held)


def test_a_reading_that_could_not_be_used_leaves_the_objective_score_and_is_flagged() -> None:
    for log, *_ in CASES.values():
        without, broken = evaluate(trajectory(log)), evaluate(trajectory(log), Judged(problem="down"), 1.0)
        assert (broken.score, broken.parts, broken.caps) == (without.score, without.parts, without.caps)
        assert broken.flags == (*without.flags, "judge")
        assert broken.judge_weight == 0.0


def test_a_weight_out_of_bounds_is_held_in_them() -> None:
    at = trajectory(verified().ends())
    assert evaluate(at, Judged(share=1), 7.0) == evaluate(at, Judged(share=1), 1.0)
    assert evaluate(at, Judged(share=1), -7.0) == evaluate(at, Judged(share=1), 0.0)


@pytest.mark.parametrize(
    ("log", "right", "well"),
    [
        (verified().ends(), True, True),
        (failed().ends("failed"), False, False),
        (unverified().ends(), None, None),
        (liked(unverified()).ends(), True, None),  # praise alone promotes no lesson
        (disliked(unverified()).ends(), False, False),
        (disliked(verified()).ends(), False, False),
        (liked(failed()).ends("failed"), True, False),  # who asked for it knows best, yet its check failed
        (breached().ends(), True, False),  # right, and yet nothing that a lesson is praised for
        (begun().does(HIDDEN).does(HIDDEN).ends(), None, False),
        (verified().hears("feedback", "up", by=BEN).hears("feedback", "down", by=ANN).ends(), False, False),
    ],
)
def test_what_counts_as_right_and_as_going_well(log: Log, right: bool | None, well: bool | None) -> None:
    at = trajectory(log)
    assert (was_right(at), went_well(at)) == (right, well)
