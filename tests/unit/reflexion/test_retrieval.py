"""Which reflections and lessons stand in the next prompt."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexion.lessons.lesson import (
    Insight,
    Lesson,
    LessonStatus,
    LifeWith,
    Reflection,
    Scope,
)
from reflexion.lessons.lifecycle import Life, Showing, lived
from reflexion.retrieval.ranking import ranked
from reflexion.retrieval.selection import choose, choose_lessons, choose_reflections
from reflexion.text.words import split_identifiers, stem, words_of
from tests.unit.reflexion.logs import EPOCH

TASK = "The date parser crashes on empty rows"
GUILD = Scope(kind="guild", guild="g1")


def reflection(number: int, evidence: str = "E  ValueError: row 3", long: int = 0) -> Reflection:
    pad = " and so on" * long
    insight = Insight(
        what_worked=f"reading {number}", what_failed=f"failed {number}", root_cause=f"cause {number}{pad}",
        strategy_change=f"change {number}{pad}", key_insight=f"key {number}{pad}",
    )  # fmt: skip
    return Reflection(
        id=f"r{number}", thread="900", guild="g1", execution=f"x{number}", task=TASK, cause="its last check failed",
        insight=insight, evidence=(evidence,), score=30, created=EPOCH + timedelta(minutes=number),
    )  # fmt: skip


def fared(ok: int, of: int, expected: float = 0.4) -> Life:
    """The life of a lesson that was shown so often, and went well so often, where that was expected without it."""
    life = Life()
    for number in range(of):
        told = {"lesson": "l", "execution": f"x{number}", "guild": "g1", "at": EPOCH, "expected": expected}
        life = lived(life, Showing.model_validate({**told, "ok": number < ok}))
    return life


PROVEN = fared(19, 20)


def lesson(name: str, trigger: str = "The date parser met empty rows", **fields: object) -> Lesson:
    given = {"scope": GUILD, "kind": "pitfall", "action": f"do {name}", "status": "active", "created": EPOCH}
    return Lesson.model_validate({"id": name, "trigger": trigger, "life": PROVEN, **given, **fields})


def chosen_of(lessons: list[Lesson], task: str = TASK, model: str = "") -> list[str]:
    """Which of the lessons are shown, when the search by words found all of them, the best first."""
    return [each.id for each in choose_lessons(ranked(task, lessons), model=model).chosen]


def size(texts: list[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def test_reflections_come_first_and_say_why() -> None:
    chosen = choose([reflection(n) for n in (5, 4, 3)], ranked(TASK, [lesson("l1")])).chosen
    assert [each.id for each in chosen] == ["r5", "r4", "r3", "l1"]
    assert chosen[0].why == "an attempt in this thread scored 30: its last check failed"
    assert chosen[3].why == (
        "active lesson of this server; shares date, parser, empty, rows; match 1 of 1, 2.9 where 1 is needed; "
        "went well 19 of 20 times"
    )


@given(
    long=st.integers(0, 60), count=st.integers(1, 3), token=st.from_regex(r"[a-zé]{4,12}", fullmatch=True),
)  # fmt: skip
def test_reflections_keep_to_their_tokens_and_their_evidence_survives(long: int, count: int, token: str) -> None:
    chosen = choose_reflections([reflection(n, f"E  {token}", long) for n in range(count)])
    assert size([each.text for each in chosen]) <= 400 * 4
    for each in chosen:
        assert f"> E  {token}" in each.text
        assert all(part in each.text for part in ("Next time: change", "Key: key", "Cause: cause"))


def test_at_most_three_lessons_within_their_tokens_and_the_others_are_crowded_out() -> None:
    choice = choose_lessons(ranked(TASK, [lesson(f"l{n}") for n in range(5)]))
    assert [each.id for each in choice.chosen] == ["l0", "l1", "l2"]
    assert [(each.id, each.arm) for each in choice.withheld] == [("l3", "crowded"), ("l4", "crowded")]
    assert choice.withheld[0].why.startswith("3 fitted better; shares date")
    long = ranked(TASK, [lesson(f"l{n}", action="yes " * 170) for n in range(3)])
    choice = choose_lessons(long)
    assert ([each.id for each in choice.chosen], len(choice.withheld)) == (["l0"], 2)
    assert choice.withheld[0].why.startswith("too long for the room that was left")
    assert choose_lessons(long, tokens=150).chosen == ()


def test_nearer_scopes_come_first_then_the_better_match() -> None:
    thread = Scope(kind="thread", guild="g1", thread="900")
    found = [lesson("everywhere", scope=Scope(kind="global")), lesson("b"), lesson("a"), lesson("here", scope=thread)]
    assert chosen_of(found) == ["here", "b", "a"]


def test_of_lessons_that_fit_alike_the_more_useful_comes_first() -> None:
    unproven = lesson("unproven", life=Life())
    assert chosen_of([unproven, lesson("proven")])[0] == "proven"
    assert chosen_of([lesson("one"), lesson("other")]) == ["one", "other"]


def test_one_unproven_lesson_stands_beside_proven_ones_at_most() -> None:
    """Beside another it would be praised and blamed for what that one did."""
    new, others = lesson("new", life=Life()), [lesson(f"other{number}", life=Life()) for number in range(6)]
    choice = choose_lessons(ranked(TASK, [new, *others, lesson("proven")]))
    assert [each.id for each in choice.chosen] == ["new", "proven"]
    assert choice.withheld[0].why.startswith("it is not proven, and another stands in the prompt; shares date")


def test_only_lessons_on_probation_or_active_and_not_contradicted_are_shown() -> None:
    statuses: tuple[LessonStatus, ...] = ("candidate", "probation", "active", "retired", "quarantined")
    assert chosen_of([lesson(status, status=status) for status in statuses]) == ["probation", "active"]
    assert chosen_of([lesson("contradicted", contradicts=("l9",))]) == []


def test_a_lesson_that_shares_too_little_with_the_task_is_left_out() -> None:
    assert chosen_of([lesson("l", "The date format of invoices differs between branches")]) == []
    assert chosen_of([lesson("l")], "Write a haiku about the empty sea") == []
    # Words that every other task has are no reason to show it either.
    trigger = "The server failed to start because the certificate of the proxy had expired"
    assert chosen_of([lesson("l", trigger)], "Start a new server, log every request and show errors") == []


def test_a_lesson_that_fits_much_worse_than_the_best_is_left_out() -> None:
    weak = lesson("weak", "The parser of invoices is slow where scanned pictures and signatures stand inside rows")
    assert chosen_of([weak]) == []
    half = lesson("half", "The parser met rows of other branches")
    assert chosen_of([half]) == ["half"]
    assert chosen_of([half, lesson("whole")]) == ["whole"]


def test_a_lesson_that_did_worse_than_nothing_is_left_out() -> None:
    bad = fared(0, 9)
    assert chosen_of([lesson("bad", life=bad)]) == []
    # Where the tasks are as hard without it, the lesson is not to blame.
    assert chosen_of([lesson("hard", life=fared(1, 9, expected=0.1))]) == ["hard"]
    # One that harms a single model is left out for that one alone.
    harms = lesson("harms", by_model=(LifeWith(model="small", life=bad),))
    assert chosen_of([harms], model="small") == []
    assert chosen_of([harms], model="large") == ["harms"]


def test_about_one_time_in_ten_chance_holds_a_lesson_back() -> None:
    """As often, however surely it helps: else the two arms would not be of the same time."""
    for life in (Life(), PROVEN):
        found = ranked(TASK, [lesson("l", life=life)])
        held = [choose_lessons(found, execution=f"x{n}", hold_back=0.1).withheld for n in range(2_000)]
        assert sum(map(bool, held)) / 2_000 == pytest.approx(0.1, abs=0.015)
        ((first,),) = [each for each in held if each][:1]
        assert first.arm == "held_back"
        assert first.why == (
            "held back at random, to see how such tasks go without it; shares date, parser, empty, rows"
        )


def test_what_chance_holds_back_is_always_the_same_and_the_next_one_takes_its_place() -> None:
    found = ranked(TASK, [lesson(f"l{n}") for n in range(5)])
    choices = [choose_lessons(found, execution=f"x{n}", hold_back=0.5) for n in range(60)]
    assert choices == [choose_lessons(found, execution=f"x{n}", hold_back=0.5) for n in range(60)]
    without = [
        {each.id for each in choice.withheld if each.arm == "held_back"}
        for choice in choices
        if len(choice.chosen) == 3
    ]
    assert {"l0", "l1", "l2"} < set().union(*without)
    assert all(each.arm == "crowded" for each in choose_lessons(found, hold_back=0.5).withheld), (
        "no execution, no chance"
    )


def test_the_rank_by_meaning_counts_with_the_rank_by_words() -> None:
    words, meaning, both = lesson("words"), lesson("meaning", "The reader of days dislikes blanks"), lesson("both")
    likeness = {"words": 0.2, "meaning": 0.7, "both": 0.6}
    order = ranked(TASK, [words, both], [meaning, both], likeness)
    assert [each.lesson.id for each in order] == ["both", "meaning", "words"]
    assert order[1].shared == ()
    assert order[1].fit > 1
    assert order[1].found == "shares no word, means 70% the same"
    assert ranked(TASK, [lesson("alone")], [meaning], {"meaning": 0.7})[1].likeness is None


def test_identifiers_are_found_by_their_parts() -> None:
    assert split_identifiers("readConfigFile fails") == "readConfigFile fails read Config File fails"
    assert words_of("parse_HTTPHeader rows2") == ("parse", "http", "header", "rows2")
    assert stem("parsing") == stem("parsed") == "pars"
    assert words_of("please fix it") == ()
