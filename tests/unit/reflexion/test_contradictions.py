"""Lessons that say the opposite (row 97), and what a person's decision between them does."""

from __future__ import annotations

import pytest

from reflexion.lessons.changes import approved, may_be_shown, retired
from reflexion.lessons.contradictions import (
    agreeing,
    contradict,
    opposed,
    reconciled,
)
from reflexion.lessons.lesson import Lesson, Scope
from tests.unit.reflexion.logs import EPOCH
from tests.unit.reflexion.pairs import COMPATIBLE, OPPOSED
from tests.unit.reflexion.test_merging import lesson


@pytest.mark.parametrize("pair", OPPOSED, ids=" / ".join)
def test_f97_the_opposite_is_known(pair: tuple[str, str]) -> None:
    assert opposed(*pair)
    assert opposed(*pair[::-1])


@pytest.mark.parametrize("pair", COMPATIBLE, ids=" / ".join)
def test_what_only_looks_like_the_opposite_is_not(pair: tuple[str, str]) -> None:
    assert not opposed(*pair)
    assert not opposed(*pair[::-1])


def test_the_opposite_for_another_matter_is_no_contradiction() -> None:
    first = lesson("l1", "Exports of invoices fail", "Use the cache")
    assert not contradict(first, lesson("l2", "Logins are slow at night", "Do not use the cache"))
    assert contradict(first, lesson("l2", "Exports of invoices are slow", "Do not use the cache"))


def now(lesson: Lesson, *others: Lesson, verified: bool = True) -> dict[str, Lesson]:
    return {each.id: each for each in reconciled(lesson, others, at=EPOCH, verified=verified)}


DO = lesson("do", "The export fails", "Use the cache", status="active")
DONT = lesson("dont", "The export fails", "Do not use the cache", status="probation")


def test_f97_both_of_two_opposites_are_demoted_and_neither_is_shown() -> None:
    both = now(DONT, DO)
    assert {id: each.status for id, each in both.items()} == {"do": "probation", "dont": "candidate"}
    assert not any(map(may_be_shown, both.values()))
    assert "says the opposite" in both["do"].note
    assert now(both["dont"], both["do"]) == {}, "said once"


def test_f97_approving_one_of_two_opposites_retires_the_other_and_retiring_one_frees_the_other() -> None:
    both = now(DONT, DO)
    after = now(approved(both["do"], by="ann", at=EPOCH), both["dont"])
    assert (after["dont"].status, after["dont"].contradicts) == ("retired", ())
    freed = now(retired(both["dont"], by="ann", at=EPOCH), both["do"])["do"]
    assert (freed.status, may_be_shown(freed), freed.note) == ("probation", True, "")


def test_a_model_does_not_speak_against_a_person_and_what_waits_or_rests_on_nothing_holds_nobody_back() -> None:
    vouched = approved(DO, by="ann", at=EPOCH)
    assert set(now(DONT, vouched)) == {"dont"}
    assert now(DONT.model_copy(update={"status": "quarantined"}), DO) == {}
    assert set(now(DONT, DO, verified=False)) == {"dont"}


def test_a_lesson_for_all_servers_stays_for_the_others_and_gives_way_where_a_server_has_its_own() -> None:
    everywhere = DO.model_copy(update={"scope": Scope(kind="global"), "author_trust": "operator"})
    assert set(now(DONT, everywhere)) == {"dont"}
    mine = approved(DONT, by="ann", at=EPOCH)
    assert now(mine, everywhere) == {}
    assert agreeing((everywhere, mine)) == (mine,)


def test_a_word_that_takes_the_place_of_another_is_a_contradiction_until_a_person_says_so() -> None:
    newer = lesson("new", "Another matter", "Ask first", supersedes="do")
    assert set(now(newer, DO)) == {"new", "do"}
    person = newer.model_copy(update={"author_trust": "operator", "status": "active"})
    assert {id: each.status for id, each in now(person, DO).items()} == {"do": "retired"}
