"""The life of a lesson: how outcomes move it, and what becomes of it."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reflexion.lessons.lifecycle import (
    PARAMETERS,
    Arm,
    Author,
    Baseline,
    LessonStatus,
    Life,
    Showing,
    belief,
    expected,
    lived,
    standing,
    together,
    usefulness,
)

NOW = datetime(2026, 11, 22, tzinfo=UTC)
EASY, HARD = 0.6, 0.2


def shown(*, ok: bool, expected: float = HARD, **more: object) -> Showing:
    facts = {"lesson": "l", "execution": "x", "guild": "g", "ok": ok, "expected": expected, "at": NOW, **more}
    return Showing.model_validate(facts)


def life_of(showings: Sequence[Showing]) -> Life:
    life = Life()
    for each in showings:
        life = lived(life, each)
    return life


def life(ok: int, of: int, expected: float = HARD) -> Life:
    return life_of([shown(ok=number < ok, expected=expected) for number in range(of)])


def becomes(
    life: Life,
    status: LessonStatus = "probation",
    by_model: Sequence[Life] = (),
    *,
    created: datetime = NOW,
    now: datetime = NOW,
    trust: Author = "model",
) -> LessonStatus:
    return standing(status, life, by_model, created=created, now=now, trust=trust)[0]


ARMS: tuple[Arm, ...] = ("shown", "held_back", "crowded")
SHOWINGS = st.lists(
    st.builds(
        Showing, lesson=st.just("l"), execution=st.just("x"), guild=st.just("g"), ok=st.booleans(), at=st.just(NOW),
        expected=st.floats(0, 1), place=st.integers(0, 2), arm=st.sampled_from(ARMS),
    ),
    max_size=40,
)  # fmt: skip
FEW = settings(max_examples=40)


@FEW
@given(SHOWINGS)
def test_whatever_happens_to_a_lesson_its_numbers_stay_within_their_bounds(showings: list[Showing]) -> None:
    told = life_of(showings)
    known = belief(told)
    assert sum(known.helps) + known.nothing + known.harms == pytest.approx(1)
    assert min(*known.helps, known.nothing, known.harms) >= 0
    assert -1 <= usefulness(told) <= max(PARAMETERS.gains)
    assert 0 < expected(Baseline(tries=10, ok=3), [told]) < 1
    assert 0 <= told.expected_ok <= told.shown
    assert told.shown + told.held_back + told.crowded == len(showings)


@FEW
@example([shown(ok=True, expected=0.0)] * 3)
@given(SHOWINGS)
def test_a_success_never_makes_a_lesson_less_useful_than_a_failure(showings: list[Showing]) -> None:
    told = life_of(showings)
    assert usefulness(lived(told, shown(ok=True))) >= usefulness(lived(told, shown(ok=False))) - 1e-12


@FEW
@given(SHOWINGS)
def test_what_was_held_back_or_crowded_out_decides_nothing(showings: list[Showing]) -> None:
    told = life_of(showings)
    assert belief(told) == belief(life_of([each for each in showings if each.arm == "shown"]))
    silent = [each for each in showings if each.arm != "shown"]
    assert becomes(life_of(silent), now=NOW + timedelta(days=1)) == "probation"


@FEW
@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abc")), max_size=14), st.randoms())
def test_the_order_in_which_showings_are_told_does_not_matter(told: list[tuple[bool, str]], rng: random.Random) -> None:
    """As long as they are few: old evidence is bounded, so what came last weighs more in a long life."""
    showings = [shown(ok=ok, model=model, expected=0.3) for ok, model in told][:8]
    mixed = list(showings)
    rng.shuffle(mixed)
    one, other = life_of(showings), life_of(mixed)
    assert (one.shown, one.shown_ok) == (other.shown, other.shown_ok)
    assert (*one.helps, one.harms) == pytest.approx((*other.helps, other.harms))


def test_a_lesson_is_not_blamed_for_hard_tasks_nor_praised_for_easy_ones() -> None:
    assert usefulness(life(1, 4, HARD)) > usefulness(life(1, 4, EASY))
    assert usefulness(life(6, 10, HARD)) > usefulness(Life()) > usefulness(life(6, 10, EASY))


def test_a_lesson_after_one_that_helps_gets_no_credit_for_that_one() -> None:
    baseline, good = Baseline(tries=58, ok=11), life(12, 14)
    beside = expected(baseline, [good])
    assert beside > 0.45
    assert expected(baseline) == pytest.approx(0.2)
    second = life_of([shown(ok=True, expected=beside, unaided=0.2, place=1)] * 3)
    assert usefulness(life(3, 3)) > usefulness(second) + 0.05


def test_what_a_lesson_shares_with_others_before_it_counts_less() -> None:
    alone, after = (life_of([shown(ok=True, place=place)]) for place in (0, 1))
    assert (*after.helps, after.harms) == pytest.approx(
        [PARAMETERS.beside * told for told in (*alone.helps, alone.harms)]
    )
    assert 0 < after.helps[0] < alone.helps[0]


def test_a_second_lesson_that_spoils_what_the_first_one_does_is_found_out() -> None:
    spoils = life_of([shown(ok=False, expected=0.7, unaided=0.2, place=1)] * 8)
    assert belief(spoils).harms > belief(Life()).harms
    assert becomes(spoils) == "retired"


def test_one_unproven_lesson_is_shown_at_a_time_and_proven_ones_beside_it() -> None:
    proven, unproven = life(14, 15), Life()
    assert together([]) == 0
    assert together([unproven, unproven, unproven]) == 1
    assert together([proven, unproven]) == 1
    assert together([proven, proven, unproven]) == 2


def test_a_lesson_that_helps_becomes_active_and_says_by_how_much() -> None:
    status, why = standing("probation", life(8, 9), created=NOW, now=NOW)
    assert status == "active"
    assert why == "Tasks went well 8 of 9 times with it; about 2 were expected without it: it helps."


@pytest.mark.parametrize("expected_then", [0.1, 0.25, 0.5, 0.8])
def test_a_lesson_with_which_nothing_ever_goes_well_is_gone_after_few_tasks(expected_then: float) -> None:
    told, count = Life(), 0
    while becomes(told) != "retired":
        told, count = lived(told, shown(ok=False, expected=expected_then)), count + 1
    assert PARAMETERS.least_to_retire <= count <= 12


def _lives(chance: float, expected: float, seed: int) -> tuple[LessonStatus, int]:
    """What becomes of a lesson with which tasks go well so often, and after how many."""
    rng, told = random.Random(seed), Life()
    status: LessonStatus = "probation"
    for count in range(1, 61):
        told = lived(told, shown(ok=rng.random() < chance, expected=expected))
        status = becomes(told, status)
        if status == "retired":
            return status, count
    return status, 60


@pytest.mark.parametrize(("without", "with_it"), [(0.36, 0.185), (0.36, 0.36), (0.22, 0.164), (0.745, 0.37)])
def test_a_lesson_that_harms_or_does_nothing_is_retired_within_its_bound(without: float, with_it: float) -> None:
    """The chances are those of the simulated world, as its faulty verdicts see them."""
    ends = [_lives(with_it, without, seed) for seed in range(80)]
    within = [count for status, count in ends if status == "retired" and count <= PARAMETERS.shown_unproven + 10]
    assert len(within) >= 0.9 * len(ends)


@pytest.mark.parametrize(("without", "with_it", "kept"), [(0.36, 0.745, 0.93), (0.22, 0.43, 0.5)])
def test_a_lesson_that_helps_is_kept(without: float, with_it: float, kept: float) -> None:
    ends = [_lives(with_it, without, seed)[0] for seed in range(80)]
    assert ends.count("retired") <= (1 - kept) * len(ends)
    assert ends.count("active") >= 0.8 * kept * len(ends)


def test_a_lesson_the_world_has_left_behind_is_given_up_however_long_it_helped() -> None:
    told, count = life(300, 300), 0
    status = becomes(told)
    assert status == "active"
    while status != "retired":
        told, count = lived(told, shown(ok=False)), count + 1
        status = becomes(told, status)
    assert count <= 40


def test_no_life_moves_what_a_person_has_to_decide() -> None:
    assert becomes(life(0, 50), "quarantined") == "quarantined"
    assert becomes(life(50, 50), "retired") == "retired"


def test_what_is_not_shown_expires_unless_a_person_wrote_it() -> None:
    late = NOW + timedelta(days=PARAMETERS.expire_days + 1)
    assert standing("candidate", Life(), created=NOW, now=late) == ("retired", "Not used for 90 days.")
    assert becomes(Life(), now=late, trust="person") == "probation"
    assert becomes(Life(), now=late, created=late) == "probation"
    recent = life_of([shown(ok=True).model_copy(update={"at": late})])
    assert becomes(recent, now=late) == "probation"


def test_what_a_person_wrote_takes_more_to_be_retired() -> None:
    def lasts(trust: Author) -> int:
        return next(count for count in range(60) if becomes(life(0, count), "active", trust=trust) == "retired")

    assert lasts("model") < lasts("operator") < 30


def test_a_lesson_that_helps_one_model_is_not_retired_for_what_it_did_to_others() -> None:
    harmed, helped = life(0, 25, EASY), life(9, 10)
    assert becomes(harmed, by_model=[harmed]) == "retired"
    assert becomes(harmed, by_model=[harmed, helped]) == "probation"


def test_what_it_did_with_the_model_at_hand_weighs_more() -> None:
    bad, good = life_of([shown(ok=False)] * 6), life_of([shown(ok=True)] * 6)
    whole = life_of([shown(ok=False)] * 6 + [shown(ok=True)] * 6)
    assert usefulness(whole, bad) < usefulness(whole) < usefulness(whole, good)
    assert usefulness(whole, Life()) == usefulness(whole)


def test_one_task_says_little_for_it_may_have_had_nothing_to_do_with_the_lesson() -> None:
    surely = life_of([shown(ok=False, expected=0.04, unaided=0.94)])
    assert min(surely.helps) >= math.log(PARAMETERS.elsewhere)
    assert min(surely.helps) < -1


def test_a_life_from_before_such_sums_were_kept_is_as_a_new_one() -> None:
    assert usefulness(Life(shown=9, shown_ok=2)) == usefulness(Life())


def test_what_nothing_is_known_of_is_told_so_often_and_no_more() -> None:
    silent = [shown(ok=False, says=False, at=NOW + timedelta(days=day)) for day in range(PARAMETERS.reviewed)]
    told = life_of(silent)
    assert (told.told, told.shown, told.last_shown) == (PARAMETERS.reviewed, 0, silent[-1].at)
    assert usefulness(told) == usefulness(Life()), "it says nothing for or against it"
    assert becomes(life_of(silent[:-1])) == "probation"
    assert becomes(told) == "retired"
    assert becomes(told, trust="person") == "probation", "what a person approved is theirs to retire"
    assert becomes(told, by_model=[life(10, 10)]) == "probation"
    assert becomes(lived(life_of([*silent[:3], *[shown(ok=True)] * 20]), silent[3])) == "active"
    left_out = life_of([shown(ok=True, says=False, arm=arm) for arm in ARMS if arm != "shown"])
    assert left_out == Life()


def test_what_is_proven_stays_at_its_review() -> None:
    """Just proven, it is not yet twenty times likelier to help than to harm."""
    known = Life(told=PARAMETERS.reviewed, shown=10, shown_ok=6, helps=(0.85, 0.85), harms=-1.2)
    sure = belief(known)
    assert sure.useful >= PARAMETERS.proven
    assert sure.harms <= PARAMETERS.harmless
    assert sure.useful < PARAMETERS.rather_helps * sure.harms
    assert becomes(known, "active") == "active"
