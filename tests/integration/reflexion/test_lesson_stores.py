"""One contract for every lesson store."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from reflexion.lessons.judge_trust import Reading
from reflexion.lessons.lesson import (
    Insight,
    Lesson,
    Reflection,
    Scope,
)
from reflexion.ports import LessonStore
from tests.integration.reflexion.conftest import EVERY_LESSON_STORE, INSIGHT, went
from tests.unit.reflexion.logs import EPOCH

pytestmark = pytest.mark.parametrize("lesson_store", EVERY_LESSON_STORE, indirect=True)


def reflection(number: int, guild: str = "g1", thread: str = "900") -> Reflection:
    return Reflection(
        id=f"r{guild}{thread}{number}", thread=thread, guild=guild, execution=f"x{number}", task="t", cause="c",
        insight=Insight(**INSIGHT), evidence=("E  ✗ línea 1",), created=EPOCH + timedelta(minutes=number),
    )  # fmt: skip


def lesson(id: str, trigger: str = "the parser met empty rows", **fields: object) -> Lesson:
    known = {
        "scope": Scope(kind="guild", guild="g1"), "kind": "pitfall", "action": "skip them", "status": "active",
        "executions": ("x1",), "created": EPOCH,
    }  # fmt: skip
    return Lesson.model_validate({**known, "id": id, "trigger": trigger, **fields})


async def test_the_last_reflections_of_a_thread_come_back_whole_newest_first(lesson_store: LessonStore) -> None:
    for number in range(5):
        await lesson_store.keep_reflection(reflection(number))
    await lesson_store.keep_reflection(reflection(9, thread="901"))
    assert await lesson_store.reflections("g1", "900", 3) == (reflection(4), reflection(3), reflection(2))


async def test_a_reflection_is_kept_once(lesson_store: LessonStore) -> None:
    await lesson_store.keep_reflection(reflection(1))
    await lesson_store.keep_reflection(reflection(1).model_copy(update={"task": "other"}))
    assert await lesson_store.reflections("g1", "900", 3) == (reflection(1),)


async def test_a_reflection_holds_what_people_said_afterwards(lesson_store: LessonStore) -> None:
    await lesson_store.keep_reflection(reflection(1))
    await lesson_store.hear("g1", reflection(1).id, ("It was the „other“ file.", "…"))
    await lesson_store.hear("g2", reflection(1).id, ("of another server",))
    await lesson_store.hear("g1", "r0", ("nobody",))
    (kept,) = await lesson_store.reflections("g1", "900", 3)
    assert kept == reflection(1).model_copy(update={"said": ("It was the „other“ file.", "…")})


async def test_reflections_are_erased_with_their_executions_and_words_out_of_what_others_heard(
    lesson_store: LessonStore,
) -> None:
    first, second = reflection(1), reflection(2)
    await lesson_store.keep_reflection(first)
    await lesson_store.keep_reflection(second)
    await lesson_store.hear("g1", second.id, ("my words", "his words"))
    assert await lesson_store.reflections_of([first.execution, "nobody"]) == 1
    assert await lesson_store.erase_reflections([first.execution], ["my words"]) == 1
    (left,) = await lesson_store.reflections("g1", "900", 3)
    assert (left.id, left.said) == (second.id, ("his words",))


async def test_search_knows_parts_of_identifiers_and_forms_of_words(lesson_store: LessonStore) -> None:
    await lesson_store.amend(lesson("camel", "parseInvoiceDate loses the zone"))
    await lesson_store.amend(lesson("snake", "load_user_settings reads twice"))
    await lesson_store.amend(lesson("plain", "Uploads are refused when they are large"))
    for word, id in (("invoice", "camel"), ("SETTINGS", "snake"), ("setting", "snake"), ("upload", "plain")):
        assert [each.id for each in await lesson_store.search("g1", "900", [word], 5)] == [id], word


async def test_the_best_match_comes_first_and_the_limit_holds(lesson_store: LessonStore) -> None:
    await lesson_store.amend(lesson("one", "the invoice is late"))
    await lesson_store.amend(lesson("two", "the invoice parser is slow"))
    await lesson_store.amend(lesson("none", "colours of the page"))
    words = ["invoice", "parser", "slow"]
    assert [each.id for each in await lesson_store.search("g1", "900", words, 5)] == ["two", "one"]
    assert len(await lesson_store.search("g1", "900", words, 1)) == 1


async def test_only_lessons_that_may_be_shown_are_found(lesson_store: LessonStore) -> None:
    for status in ("candidate", "probation", "active", "retired", "quarantined"):
        await lesson_store.amend(lesson(status, status=status))
    found = await lesson_store.search("g1", "900", ["parser"], 9)
    assert sorted(each.id for each in found) == ["active", "probation"]
    assert len(await lesson_store.lessons("g1")) == 5


async def test_no_sign_of_a_query_language_reaches_the_search(lesson_store: LessonStore) -> None:
    await lesson_store.amend(lesson("l", "AND OR NOT parser"))
    for word in ('"', "parser*", "NEAR(a b)", "words : x", "'; DROP TABLE lesson; --", "a AND", "^", "-x", "\0", ""):
        await lesson_store.search("g1", "900", [word], 5)
    assert await lesson_store.search("g1", "900", [], 5) == ()
    assert len(await lesson_store.lessons("g1")) == 1


async def test_an_amended_lesson_is_found_by_its_new_words_only(lesson_store: LessonStore) -> None:
    await lesson_store.amend(lesson("l", "the parser is slow"))
    await lesson_store.amend(lesson("l", "the printer is slow"))
    assert await lesson_store.search("g1", "900", ["parser"], 5) == ()
    assert [each.trigger for each in await lesson_store.search("g1", "900", ["printer"], 5)] == ["the printer is slow"]


async def test_the_same_failure_of_another_execution_is_merged(lesson_store: LessonStore) -> None:
    candidate = lesson("l", status="candidate")
    again = lesson("l", "other words", status="candidate", executions=("x2",))
    assert await lesson_store.propose(candidate, verified=True) == candidate
    assert (await lesson_store.propose(candidate, verified=True)).status == "candidate"
    unverified = await lesson_store.propose(again, verified=False)
    assert (unverified.status, unverified.executions) == ("candidate", ("x1", "x2"))
    third = await lesson_store.propose(again.model_copy(update={"executions": ("x3",)}), verified=True)
    assert (third.status, third.trigger) == ("probation", candidate.trigger)
    assert len(await lesson_store.lessons("g1")) == 1


async def test_a_candidate_that_comes_again_with_words_to_look_at_is_quarantined(lesson_store: LessonStore) -> None:
    await lesson_store.propose(lesson("l", status="candidate"), verified=True)
    again = lesson("l", status="quarantined", note="It holds a command.", executions=("x2",))
    now = await lesson_store.propose(again, verified=True)
    assert (now.status, now.note, now.trigger) == ("quarantined", "It holds a command.", "the parser met empty rows")


async def test_what_was_retired_or_quarantined_is_not_brought_back_by_merging(lesson_store: LessonStore) -> None:
    for status in ("retired", "quarantined"):
        await lesson_store.amend(lesson(status, status=status))
        again = lesson(status, status="candidate", executions=("x2",))
        assert (await lesson_store.propose(again, verified=True)).status == status


async def test_showings_that_come_at_once_are_all_counted(lesson_store: LessonStore) -> None:
    await lesson_store.amend(lesson("l"))
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(lesson_store.record(*went(["l", "unknown"], ok=number % 4 == 0, execution=f"x{number}")))
    counted = await lesson_store.lesson("g1", "l")
    assert counted is not None
    assert (counted.life.shown, counted.life.shown_ok) == (20, 5)


async def test_the_newest_labelled_readings_of_one_judge_are_read_and_no_others(lesson_store: LessonStore) -> None:
    for number in range(9):
        verdict, _ = went([], ok=True, execution=f"x{number}", guild=f"g{number % 2}")
        said: dict[str, object] = {"judge": number / 10, "judge_model": "j", "right": number % 3 == 0}
        said |= {4: {"judge_model": "other"}, 5: {"right": None}, 6: {"judge": None}}.get(number, {})
        await lesson_store.record(verdict.model_copy(update=said), ())
    told = await lesson_store.readings("j", without="x7", limit=4)
    assert told == (Reading(0.8, False), Reading(0.3, True), Reading(0.2, False), Reading(0.1, False))
    voted, _ = went([], ok=True, execution="x0", guild="g0")
    await lesson_store.record(voted.model_copy(update={"judge": 0.0, "judge_model": "j", "right": False}), ())
    assert (await lesson_store.readings("j", without="x7", limit=5))[-1] == Reading(0.0, False), "a vote came later"
    assert await lesson_store.readings("nobody", without="", limit=5) == ()
