"""What further attempts at a task say of the lesson that was learned from it: the real cycle over real stores."""

from __future__ import annotations

import json
from pathlib import Path

from agentic.core.events.execution_events import Started
from agentic.models.scripted.model import Asked, answer
from agentic.ports.runtime import Answer
from reflexion.errors import LessonStoreUnavailable
from reflexion.lessons.lesson import Lesson
from reflexion.ports import LessonStore
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.reflexion.conftest import INSIGHT, House, house
from tests.unit.reflexion.logs import ANN, Did, Log, edit

TASK = "Make the tests of the date parser pass."
FAILS = Did("pytest -q", exit_code=1, says="E   ValueError: empty row\n1 failed", tests=(2, 1))
PASSES = Did("pytest -q", tests=(3, 0))


async def attempt(at: House, number: int, *calls: Did) -> list[Lesson]:
    """An attempt at the task in its thread, told what was learned; the lessons there are after it."""
    await begin(at, number, *calls)
    return sorted(await at.lessons.lessons("g1"), key=lambda lesson: lesson.created)


async def begin(at: House, number: int, *calls: Did) -> None:
    """An attempt at the task, from what it is told to what is learned from it."""
    execution = f"x{number}"
    choice = await at.reflexion.lessons_for("900", "g1", TASK, execution=execution, model="openai/scripted")
    log = Log(task=TASK, execution=execution, lessons=choice.chosen).does(edit(f"a{number}.py")).does(*calls).ends()
    started = log.events[0].event
    assert isinstance(started, Started)
    update = {"attempt": number, "trial_of": "x1" if number > 1 else ""}
    log.events[0] = log.events[0].model_copy(update={"event": started.model_copy(update=update)})
    await at.keep(log)
    await at.reflexion.after(execution)


def says(*actions: str) -> list[Answer]:
    return [answer(json.dumps(INSIGHT | {"strategy_change": action})) for action in actions]


async def test_a_lesson_is_on_probation_once_the_next_attempt_went_well_with_it(lesson_store: LessonStore) -> None:
    at = house(says("Skip empty rows before the date is parsed."), lesson_store)
    (lesson,) = await attempt(at, 1, FAILS)
    assert lesson.status == "candidate"
    (lesson,) = await attempt(at, 2, PASSES)
    assert (lesson.status, lesson.note) == ("probation", "The next attempt at that task went well with it.")
    await at.reflexion.feedback("x2", ANN, "up")
    (again,) = await lesson_store.lessons("g1")
    assert again.history == lesson.history, "it is proved once"


async def test_one_that_failed_again_moves_nothing_and_the_remedy_that_worked_is_the_one_that_counts(
    lesson_store: LessonStore,
) -> None:
    first, second = "Read the export with another encoding.", "Skip empty rows before the date is parsed."
    at = house(says(first, second), lesson_store)
    await attempt(at, 1, FAILS)
    lessons = await attempt(at, 2, FAILS)
    assert {lesson.action: lesson.status for lesson in lessons} == {first: "candidate", second: "candidate"}
    lessons = await attempt(at, 3, PASSES)
    assert {lesson.action: lesson.status for lesson in lessons} == {first: "candidate", second: "probation"}


async def test_an_attempt_whose_check_did_not_pass_proves_nothing(lesson_store: LessonStore) -> None:
    def model(asked: Asked) -> Answer:
        return says("Skip empty rows before the date is parsed.")[0]

    at = house(model, lesson_store)
    await attempt(at, 1, FAILS)
    (lesson,) = await attempt(at, 2, Did("ls"))
    assert lesson.status == "candidate"


class Unlisted(SQLiteLessonStore):
    """A store in which nobody may read all lessons of a server."""

    async def lessons(self, guild: str | None) -> tuple[Lesson, ...]:
        raise LessonStoreUnavailable(f"all lessons of {guild} were asked for")


async def test_what_an_attempt_proves_is_told_without_reading_all_lessons(tmp_path: Path) -> None:
    store = Unlisted(tmp_path / "lessons.db")
    at = house(says("Skip empty rows before the date is parsed."), store)
    for number, calls in ((1, FAILS), (2, PASSES)):
        await begin(at, number, calls)
    assert at.reflexion.trouble == ""
    (proved,) = await store.seen_in("g1", "x1", 9)
    assert proved.status == "probation"
    await store.close()
