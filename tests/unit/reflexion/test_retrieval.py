"""Which reflections and lessons stand in the next prompt."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from reflexion.lessons import Insight, Lesson, LessonStatus, Reflection, Scope
from reflexion.lifecycle import Life
from reflexion.retrieval import choose, choose_lessons, choose_reflections
from reflexion.words import split_identifiers, stem, words_of
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


def lesson(name: str, trigger: str = "The date parser met empty rows", **fields: object) -> Lesson:
    given = {"scope": GUILD, "kind": "pitfall", "action": f"do {name}", "status": "active", "created": EPOCH, **fields}
    return Lesson.model_validate({"id": name, "trigger": trigger, **given})


def size(texts: list[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def test_reflections_come_first_and_say_why() -> None:
    chosen = choose([reflection(n) for n in (5, 4, 3)], [lesson("l1")], TASK).chosen
    assert [each.id for each in chosen] == ["r5", "r4", "r3", "l1"]
    assert chosen[0].why == "attempt x5 in this thread scored 30: its last check failed"
    assert "fits date, parser, empty, rows" in chosen[3].why


def test_a_reflection_shows_what_to_do_why_and_what_was_seen_word_for_word() -> None:
    text = choose_reflections([reflection(1)])[0].text
    for part in ("change 1", "key 1", "cause 1", "> E  ValueError: row 3"):
        assert part in text


@given(
    long=st.integers(0, 60), count=st.integers(1, 3), token=st.from_regex(r"[a-zé]{4,12}", fullmatch=True),
)  # fmt: skip
def test_reflections_keep_to_their_tokens_and_their_evidence_survives(long: int, count: int, token: str) -> None:
    chosen = choose_reflections([reflection(n, f"E  {token}", long) for n in range(count)])
    assert size([each.text for each in chosen]) <= 400 * 4
    for each in chosen:
        assert f"> E  {token}" in each.text
        assert all(part in each.text for part in ("Next time: change", "Key: key", "Cause: cause"))


def test_at_most_three_lessons_within_their_tokens() -> None:
    many = [lesson(f"l{n}") for n in range(9)]
    assert [each.id for each in choose_lessons(many, TASK)] == ["l0", "l1", "l2"]
    long = [lesson(f"l{n}", action="y" * 700) for n in range(9)]
    assert len(choose_lessons(long, TASK)) == 1
    assert size([each.text for each in choose_lessons(long, TASK, tokens=150)]) <= 600


def test_nearer_scopes_come_first_then_the_better_match() -> None:
    thread = Scope(kind="thread", guild="g1", thread="900")
    found = [lesson("everywhere", scope=Scope(kind="global")), lesson("b"), lesson("a"), lesson("here", scope=thread)]
    assert [each.id for each in choose_lessons(found, TASK)] == ["here", "b", "a"]


def test_only_lessons_on_probation_or_active_are_shown() -> None:
    statuses: tuple[LessonStatus, ...] = ("candidate", "probation", "active", "retired", "quarantined")
    chosen = choose_lessons([lesson(status, status=status) for status in statuses], TASK)
    assert [each.id for each in chosen] == ["probation", "active"]


def test_a_lesson_that_shares_too_little_with_the_task_is_left_out() -> None:
    assert not choose_lessons([lesson("l", "The date format of invoices differs between branches")], TASK)
    assert not choose_lessons([lesson("l")], "Write a haiku about the empty sea")


def test_a_lesson_that_did_worse_than_nothing_is_left_out() -> None:
    assert not choose_lessons([lesson("bad", life=Life(shown=6))], TASK)
    # Where the tasks are as hard without it, the lesson is not to blame.
    assert choose_lessons([lesson("hard", life=Life(shown=6, held_back=6))], TASK)


def test_identifiers_are_found_by_their_parts() -> None:
    assert split_identifiers("readConfigFile fails") == "readConfigFile fails read Config File fails"
    assert words_of("parse_HTTPHeader rows2") == ("parse", "http", "header", "rows2")
    assert stem("parsing") == stem("parsed") == "pars"
    assert words_of("please fix it") == ()
