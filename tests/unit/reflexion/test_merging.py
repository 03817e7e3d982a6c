"""Which lessons are one lesson, and where a proposal belongs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reflexion.lessons.deduplication import (
    EXECUTIONS,
    REMEDIES,
    likeness,
    placed,
    same,
)
from reflexion.lessons.lesson import (
    Lesson,
    Scope,
    lesson_id,
    matter_of,
)
from reflexion.lessons.lifecycle import Life
from tests.unit.reflexion.logs import EPOCH
from tests.unit.reflexion.pairs import OTHERS, SAME, Pair

GUILD = Scope(kind="guild", guild="g1")


def lesson(
    id: str = "l1", trigger: str = "The parser met empty rows", action: str = "Skip them", **more: object
) -> Lesson:
    known = {"scope": Scope(kind="guild", guild="g1"), "kind": "pitfall", "executions": ("x1",), "created": EPOCH}
    return Lesson.model_validate({**known, "id": id, "trigger": trigger, "action": action, **more})


def two(pair: Pair) -> tuple[Lesson, Lesson]:
    return lesson("l1", pair[0], pair[1]), lesson("l2", pair[2], pair[3])


@pytest.mark.parametrize("pair", SAME, ids=lambda pair: pair[2])
def test_one_lesson_in_other_words_is_known(pair: Pair) -> None:
    first, second = two(pair)
    assert same(first, second), likeness(first, second)
    assert same(second, first)


@pytest.mark.parametrize("pair", OTHERS, ids=lambda pair: f"{pair[2]}: {pair[3]}")
def test_another_lesson_in_like_words_is_kept_apart(pair: Pair) -> None:
    first, second = two(pair)
    assert not same(first, second), likeness(first, second)
    assert not same(second, first)


def test_another_remedy_for_the_same_failure_stands_beside_the_first_which_it_strengthens() -> None:
    first = lesson("l1", "It fails", "Skip empty rows", error_signature="E ValueError")
    other = lesson("l1", "It fails", "Ask for another export", error_signature="E ValueError", executions=("x2",))
    placement = placed(other, [first], verified=True)
    assert (placement.stands.action, placement.stands.status) == ("Ask for another export", "candidate")
    known = next(each for each in placement.saved if each.id == "l1")
    assert (known.action, known.status, known.executions) == ("Skip empty rows", "probation", ("x1", "x2"))
    assert known.history[-1].status == "probation"
    assert known.revision == 1
    again = placed(other, [known, placement.stands], verified=True)
    assert again.saved == (), "told once more after a crash, it is the same"


def test_what_was_found_wrong_is_not_learned_again_but_something_else_for_the_same_failure_is() -> None:
    wrong = lesson("l1", "It fails", "Skip empty rows", error_signature="E", status="retired")
    again = lesson("l1", "It failed", "Skip the empty rows", error_signature="E", executions=("x2",))
    assert placed(again, [wrong], verified=True).stands.status == "retired"
    other = lesson("l1", "It failed", "Ask for another export", error_signature="E", executions=("x2",))
    stands = placed(other, [wrong], verified=True).stands
    assert (stands.status, stands.id != "l1") == ("candidate", True)


def remedies(status: str = "probation") -> list[Lesson]:
    words = ("one", "two", "three", "four", "five", "six")
    return [
        lesson(f"l{word}", "It fails", f"try {word} {word}ish", error_signature="E", status=status)
        for word in words[:REMEDIES]
    ]


FURTHER = lesson("l1", "It fails", "try something wholly else", error_signature="E", executions=("x2",))


def test_where_a_failure_has_its_remedies_the_least_useful_unproven_one_makes_room() -> None:
    around = remedies()
    lame = Life(shown=2, helps=(-1.0, -1.0))
    around[3] = around[3].model_copy(update={"life": lame, "inherited": lame})
    around[0] = around[0].model_copy(update={"contradicts": (around[3].id,)})
    placement = placed(FURTHER, around, verified=False)
    now = {each.id: each for each in (*around, *placement.saved)}
    assert placement.stands.action == FURTHER.action, "no text is thrown away"
    assert placement.stands.supersedes == around[3].id
    assert (now[around[3].id].status, now[around[3].id].revision) == ("retired", 1)
    assert "Made room" in now[around[3].id].note
    assert now[around[0].id].contradicts == (), "what is retired holds nobody back"
    assert sum(each.status not in ("retired", "quarantined") for each in now.values()) == REMEDIES


@pytest.mark.parametrize("proven", [{"status": "active"}, {"author_trust": "person"}, {"contradicts": ("l9",)}])
def test_where_all_remedies_are_proven_or_peoples_a_further_one_stands_by_its_own_words(proven: dict[str, str]) -> None:
    around = [each.model_copy(update=proven) for each in remedies()]
    placement = placed(FURTHER, around, verified=True)
    assert (placement.stands.action, placement.stands.error_signature) == (FURTHER.action, "")
    assert placement.stands.id not in {each.id for each in around}
    assert not any(each.status == "retired" for each in placement.saved)


def test_a_remedy_that_waits_for_a_person_makes_no_other_give_way() -> None:
    around = remedies()
    placement = placed(FURTHER.model_copy(update={"status": "quarantined"}), around, verified=False)
    assert (placement.stands.status, placement.stands.action) == ("quarantined", FURTHER.action)
    assert {each.status for each in placement.saved if each.id != FURTHER.id} <= {"probation"}


def test_what_no_error_recognises_is_met_again_by_the_words_of_what_went_wrong() -> None:
    first = lesson(lesson_id(GUILD, matter_of("The dates were not in ISO form.")), "The dates were not in ISO form.",
                   "Write each date as year, month, day.", kind="strategy")  # fmt: skip
    trigger = "Dates in the ISO form were not."
    again = lesson(lesson_id(GUILD, matter_of(trigger)), trigger, "Write each date as year, month and day.",
                   kind="strategy", executions=("x2",))  # fmt: skip
    assert placed(again, [first], verified=True).stands.status == "probation"
    other = again.model_copy(update={"action": "Ask which form the readers of the table know."})
    beside = placed(other, [first], verified=True)
    assert {each.action for each in beside.saved} == {first.action, other.action}


def test_what_expired_comes_back_as_a_candidate_when_its_failure_does() -> None:
    unused = lesson(status="retired", expired=True, error_signature="E")
    later = EPOCH + timedelta(days=200)
    again = lesson(error_signature="E", executions=("x2",), created=later)
    back = placed(again, [unused], verified=False).stands
    assert (back.status, back.expired, back.renewed) == ("candidate", False, later)


def test_a_lesson_of_another_scope_is_never_the_same() -> None:
    mine = lesson(error_signature="E")
    for scope in (
        Scope(kind="guild", guild="g2"),
        Scope(kind="thread", guild="g1", thread="900"),
        Scope(kind="global"),
    ):
        theirs = lesson("l9", error_signature="E", scope=scope, executions=("x2",))
        assert placed(mine, [theirs], verified=True).saved == (mine,)


def test_executions_are_named_to_a_bound() -> None:
    known = lesson(executions=tuple(f"x{number}" for number in range(EXECUTIONS)), status="active")
    now = placed(lesson(executions=("x99",)), [known], verified=True).stands
    assert (len(now.executions), now.executions[0], now.executions[-1]) == (EXECUTIONS, "x0", "x99")
