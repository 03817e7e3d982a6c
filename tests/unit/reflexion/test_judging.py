"""How far a judge is trusted, and when it is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.events.execution_events import (
    Event,
    Judged,
    ModelRequested,
    Reason,
    RubricItem,
    Triaged,
)
from reflexion.evaluation.trajectory import Trajectory, read_trajectory
from reflexion.lessons.judge_trust import (
    LEARNING_ONE_IN,
    USELESS_ONE_IN,
    Reading,
    Trust,
    auc,
    judge_weight,
    settled,
    trust,
    worth_asking,
)
from reflexion.lessons.lesson import Verdict
from tests.unit.reflexion.logs import EPOCH, Did, Log

USEFUL, USELESS, UNKNOWN = Trust(60, 0.5), Trust(60, 0.05), Trust(10, 0.0)


def rows(*readings: tuple[float | None, bool | None], model: str = "j") -> list[Verdict]:
    return [
        Verdict(execution=f"x{n}", guild="g", thread="t", judge=share, judge_model=model, right=right, at=EPOCH)
        for n, (share, right) in enumerate(readings)
    ]


GOOD, BAD = (0.8, True), (0.2, False)


@pytest.mark.parametrize(
    ("readings", "weight"),
    [
        ([GOOD] * 25 + [BAD] * 24, 0.0),  # one too few
        ([GOOD] * 25 + [BAD] * 25, 1.0),
        ([(0.5, True)] * 25 + [(0.5, False)] * 25, 0.0),  # says the same of all
        ([(0.2, True)] * 25 + [(0.8, False)] * 25, 0.0),  # worse than chance has no weight, and no negative one
        ([GOOD] * 60, 0.0),  # nothing to tell apart
        ([BAD] * 60, 0.0),
        ([GOOD] * 20 + [(0.2, True)] * 5 + [BAD] * 20 + [(0.8, False)] * 5, 0.6),
        ([GOOD] * 24 + [(None, True)] * 9 + [(0.1, None)] * 9 + [BAD] * 25, 0.0),  # without reading or label: no row
        ([GOOD] * 49 + [BAD], 1.0),
    ],
)
def test_the_weight_follows_from_fifty_labelled_readings(
    readings: list[tuple[float | None, bool | None]], weight: float
) -> None:
    assert judge_weight(rows(*readings)) == weight


def test_each_judge_is_measured_by_its_own_readings_and_not_by_the_execution_at_hand() -> None:
    known = rows(*[GOOD] * 25, *[BAD] * 25)
    assert trust(known, model="j") == Trust(50, 1.0)
    assert trust(known, model="another") == Trust(0, 0.0)
    assert trust(known, model="j", without="x3") == Trust(49, 0.0)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.booleans()), max_size=30))
def test_auc_is_the_share_of_pairs_in_the_right_order(pairs: list[tuple[float, bool]]) -> None:
    readings = [Reading(share, right) for share, right in pairs]
    wrong = [each.share for each in readings if not each.right]
    both = [(each.share, other) for each in readings if each.right for other in wrong]
    if not both:
        assert auc(readings) is None
        return
    ordered = sum(1.0 if one > other else 0.5 if one == other else 0.0 for one, other in both)
    assert auc(readings) == pytest.approx(ordered / len(both))


def worked(execution: str = "x1", *, reason: Reason = "done", vote: str = "", talk: bool = False) -> Trajectory:
    log = Log(execution=execution).add(Triaged(talk=talk)).does(Did("ls"))
    if vote:
        log.hears("feedback", vote)
    return read_trajectory(log.ends(reason).events)


def share_asked(trusted: Trust, vote: str = "") -> float:
    one = worked(vote=vote)
    asked = [worth_asking(replace(one, execution=f"x{number}"), trusted, "auto") for number in range(600)]
    return sum(asked) / len(asked)


def test_a_judge_reads_a_sample_until_it_is_known_and_everything_once_it_is_worth_it() -> None:
    assert share_asked(UNKNOWN) == pytest.approx(1 / LEARNING_ONE_IN, abs=0.06)
    assert share_asked(UNKNOWN, vote="up") == 1.0
    assert share_asked(USELESS) == pytest.approx(1 / USELESS_ONE_IN, abs=0.03)
    assert share_asked(USELESS, vote="up") == share_asked(USELESS)
    assert share_asked(USEFUL) == 1.0


def test_the_choice_for_the_sample_is_always_the_same() -> None:
    some = [worth_asking(worked(f"x{number}"), UNKNOWN, "auto") for number in range(50)]
    assert some == [worth_asking(worked(f"x{number}"), UNKNOWN, "auto") for number in range(50)]
    assert len(set(some)) == 2


@pytest.mark.parametrize("mode", ["auto", "always"])
def test_what_holds_nothing_to_judge_is_not_judged(mode: str) -> None:
    cases = {
        "talk": worked(talk=True),
        "stopped": worked(reason="stopped"),
        "cancelled": worked(reason="cancelled"),
        "running": read_trajectory(Log().does(Did("ls")).events),
        "empty": read_trajectory(Log().ends("failed", "").events),
        "an outage": read_trajectory(Log().does(Did("ls")).fails_to_ask().ends("failed").events),
    }
    trusted = USEFUL
    assert [name for name, case in cases.items() if worth_asking(case, trusted, mode)] == []  # pyright: ignore[reportArgumentType] - one of the literal's values
    assert worth_asking(worked(reason="failed"), trusted, mode)  # pyright: ignore[reportArgumentType] - as above


def test_what_is_off_is_off() -> None:
    assert not worth_asking(worked(vote="up"), USEFUL, "off")
    assert worth_asking(worked(), Trust(), "always")


def asked(purpose: str = "judge") -> ModelRequested:
    return ModelRequested.model_validate({"request": "r", "turn": 1, "tier": 2, "model": "j", "purpose": purpose})


def test_a_reading_stands_and_what_failed_twice_is_given_up() -> None:
    reading = Judged(share=0.5, items=(RubricItem(question="?", yes=True),))
    failed = Judged(problem="down")
    cases: list[tuple[list[Event], tuple[Judged | None, bool]]] = [
        ([], (None, False)),
        ([reading], (reading, True)),
        ([failed], (failed, False)),
        ([failed, reading], (reading, True)),
        ([failed, failed], (failed, True)),
        ([asked()] * 5, (None, False)),
        ([asked()] * 6, (None, True)),
        ([asked("reflection")] * 9, (None, False)),
    ]
    for events, expected in cases:
        assert settled(events) == expected
