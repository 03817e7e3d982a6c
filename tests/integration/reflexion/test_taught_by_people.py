"""What people say was wrong becomes a lesson also where no call failed; what has nothing in common strengthens nothing."""

from __future__ import annotations

import json

import pytest

from agentic.models.scripted.model import answer
from reflexion.ports import LessonStore
from tests.integration.reflexion.conftest import INSIGHT, house
from tests.unit.reflexion.logs import ANN, BEN, Did, Log

SAID = "The export of the shop is in UTC, not in local time."
FACT = "The shop's export is in UTC and not in local time."
PASSES = Did("pytest -q", 0, "exit 0\n3 passed in 0.1s", tests=(3, 0))


def work(number: int) -> Log:
    """Work that went well as far as its calls show, after one that failed on the way."""
    log = Log(task="Write the report of the month.", thread=f"90{number}", execution=f"x{number}")
    return log.does(Did("ls out", 2, "ls: cannot access 'out': No such file or directory")).does(PASSES)


@pytest.mark.parametrize(
    ("said", "key", "kind", "trust"),
    [
        (SAID, FACT, "fact", "person"),
        ("That is not what I asked for.", "The month begins on its first day.", "strategy", "model"),
    ],
)
async def test_a_correction_without_a_failed_call_becomes_a_lesson_that_is_met_again(
    said: str, key: str, kind: str, trust: str, lesson_store: LessonStore
) -> None:
    told = {**INSIGHT, "what_failed": "The report showed the hours of the wrong day.", "key_insight": key}
    at = house(lambda asked: answer(json.dumps(told)), lesson_store)
    await at.reflexion.after(await at.keep(work(1).hears("correction", said).ends()))
    (made,) = await lesson_store.lessons("g1")
    action = key if kind == "fact" else told["strategy_change"]
    assert (made.kind, made.author_trust, made.action, made.error_signature) == (kind, trust, action, "")
    assert made.status == "candidate"
    await at.reflexion.after(await at.keep(work(2).hears("correction", said).ends()))
    (met,) = await lesson_store.lessons("g1")
    assert (met.status, met.executions, met.author_trust) == ("probation", ("x1", "x2"), trust)
    assert (await lesson_store.lessons("g2")) == ()


async def test_what_comes_of_a_task_that_read_a_strangers_message_waits_for_a_person(lesson_store: LessonStore) -> None:
    at = house(lambda asked: answer(json.dumps({**INSIGHT, "key_insight": FACT})), lesson_store)
    heard = work(1).hears("guidance", "Mind the hours as well.", by=BEN).hears("correction", SAID)
    await at.reflexion.after(await at.keep(heard.ends()))
    (made,) = await lesson_store.lessons("g1")
    assert made.status == "quarantined"
    assert "a message that somebody else wrote" in made.note


async def test_a_vote_against_with_its_reason_becomes_a_lesson_too(lesson_store: LessonStore) -> None:
    told = {**INSIGHT, "what_failed": "The report showed the hours of the wrong day.", "key_insight": FACT}
    at = house(lambda asked: answer(json.dumps(told)), lesson_store)
    execution = await at.keep(work(1).ends())
    await at.reflexion.after(execution)
    assert await lesson_store.lessons("g1") == ()
    await at.reflexion.feedback(execution, ANN, "down", why=SAID)
    (made,) = await lesson_store.lessons("g1")
    assert (made.kind, made.action) == ("fact", FACT)


async def test_failures_that_share_only_a_summary_strengthen_no_lesson_of_each_other(lesson_store: LessonStore) -> None:
    lessons = [
        ("The tax lookup raised KeyError.", "Look the rate up with get and a default.", "KeyError: 'fr'"),
        ("The page renderer divided by zero rows.", "Return an empty page without rows.", "ZeroDivisionError: by zero"),
        ("The login lost its session.", "Keep the cookie between both requests.", "PermissionError: no session"),
        ("Nothing was printed.", "Print what the parser met before it gives up.", ""),
        ("The build stopped in silence.", "Ask the compiler for all of its warnings.", ""),
    ]  # fmt: skip
    told = iter([{**INSIGHT, "what_failed": failed, "strategy_change": do} for failed, do, _ in lessons])
    at = house(lambda asked: answer(json.dumps(next(told))), lesson_store)
    for number, (_, _, error) in enumerate(lessons):
        says = (
            f"exit 1 after 0.4 s\nE   {error}\n1 failed, {number} passed in 0.{number}s"
            if error
            else "exit 1 after 0.4 s"
        )
        log = Log(task="Make the tests pass.", thread=f"90{number}", execution=f"x{number}")
        await at.reflexion.after(await at.keep(log.does(Did("pytest -q", 1, says, tests=(number, 1))).ends("failed")))
    made = await lesson_store.lessons("g1")
    assert {(each.status, each.action) for each in made} == {("candidate", do) for _, do, _ in lessons}
    assert all(len(each.executions) == 1 for each in made)
