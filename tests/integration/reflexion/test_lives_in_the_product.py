"""What the product itself does to lessons while executions come and go, over real stores."""

from __future__ import annotations

from datetime import timedelta

from agentic.core.events.execution_events import ChosenLesson, WithheldLesson
from agentic.models.scripted.model import answer
from reflexion.lessons.lesson import Scope, Verdict
from reflexion.lessons.lifecycle import PARAMETERS, Showing
from reflexion.ports import LessonStore
from tests.integration.reflexion.conftest import REFLECTS, House, house
from tests.integration.reflexion.test_cycle import FAILS, PASSES, TASK
from tests.integration.reflexion.test_lesson_lives import known
from tests.integration.reflexion.test_lesson_stores import lesson
from tests.unit.reflexion.logs import ANN, EPOCH, Log, edit

FITS = "The date parser crashes on empty rows in tests"


async def told(at: House, thread: str = "999", model: str = "") -> list[str]:
    chosen = await at.reflexion.lessons_for(thread, "g1", TASK, model=model)
    return [each.text for each in chosen.chosen]


async def works(at: House, execution: str, *, well: bool, lessons: tuple[str, ...] = ()) -> None:
    shown = tuple(ChosenLesson(id=id, kind="pitfall", text="…") for id in lessons)
    log = Log(task=TASK, thread=f"t{execution}", execution=execution, lessons=shown).does(edit("a.py"))
    await at.reflexion.after(await at.keep((log.does(PASSES) if well else log.does(FAILS)).ends()))


async def test_what_is_expected_without_a_lesson_comes_from_this_servers_tasks_and_stays_as_it_was_then(
    lesson_store: LessonStore,
) -> None:
    at = house(lambda asked: answer(REFLECTS), lesson_store)
    await lesson_store.amend(lesson("l", FITS))
    await works(at, "x1", well=True, lessons=("l",))
    for number in range(12):
        await works(at, f"b{number}", well=False)
    await works(at, "x2", well=True, lessons=("l",))
    first, second = await lesson_store.showings("g1", "l")
    assert first.expected == 0.5, "nothing is known"
    assert second.expected < 0.1, "without it they fail"
    await at.reflexion.after("x1")
    assert (await lesson_store.showings("g1", "l"))[0] == first
    life = (await known(lesson_store, "l")).life
    assert (life.shown, life.shown_ok, life.last_shown) == (2, 2, second.at)
    assert len(await lesson_store.unaided("g1", 99)) == 12


async def test_a_task_of_which_nobody_knows_how_it_went_counts_as_told_until_a_person_says_so(
    lesson_store: LessonStore,
) -> None:
    at = house(lambda asked: answer(REFLECTS), lesson_store)
    await lesson_store.amend(lesson("l", FITS))
    log = Log(task=TASK, lessons=(ChosenLesson(id="l", kind="pitfall", text="…"),)).does(edit("a.py")).ends()
    execution = await at.keep(log)
    await at.reflexion.after(execution)
    before = (await known(lesson_store, "l")).life
    assert (before.told, before.shown, before.last_shown is not None) == (1, 0, True)
    await at.reflexion.feedback(execution, ANN, "down")
    after = (await known(lesson_store, "l")).life
    assert (after.told, after.shown, after.shown_ok) == (1, 1, 0)


async def test_a_lesson_that_was_withheld_is_counted_apart(lesson_store: LessonStore) -> None:
    at = house(lambda asked: answer(REFLECTS), lesson_store)
    for id in ("held", "crowd"):
        await lesson_store.amend(lesson(id, FITS, action=f"do {id}"))
    log = Log(task=TASK).does(edit("a.py")).does(PASSES).ends()
    started = log.events[0].event.model_copy(
        update={"withheld": (WithheldLesson(id="held", arm="held_back"), WithheldLesson(id="crowd", arm="crowded"))}
    )
    log.events[0] = log.events[0].model_copy(update={"event": started})
    await at.reflexion.after(await at.keep(log))
    held, crowd = (await known(lesson_store, "held")).life, (await known(lesson_store, "crowd")).life
    assert (held.shown, held.held_back, held.held_back_ok) == (0, 1, 1)
    assert (crowd.shown, crowd.crowded, crowd.crowded_ok) == (0, 1, 1)


async def test_a_lesson_that_hurts_one_model_is_left_out_for_that_model_alone(lesson_store: LessonStore) -> None:
    at = house(lambda asked: answer(REFLECTS), lesson_store)
    await lesson_store.amend(lesson("l", FITS))
    for number in range(12):
        for model, ok in (("good/m", True), ("bad/m", False)):
            one = Showing(
                lesson="l", execution=f"{model}{number}", guild="g1", model=model, ok=ok, expected=0.5,
                at=EPOCH + timedelta(hours=number),
            )  # fmt: skip
            verdict = Verdict(
                execution=one.execution, guild="g1", thread="900", model=model, ok=ok, lessons_shown=1, at=one.at,
                verifier="pass" if ok else "fail",
            )  # fmt: skip
            await lesson_store.record(verdict, (one,))
    assert (await known(lesson_store, "l")).status in ("active", "probation")
    assert [each.model for each in (await known(lesson_store, "l")).by_model] == ["good/m", "bad/m"]
    assert len(await told(at, model="good/m")) == 1
    assert await told(at, model="bad/m") == []


async def test_what_nobody_is_shown_expires_by_itself_looked_at_once_an_hour(lesson_store: LessonStore) -> None:
    at = house([], lesson_store)
    await at.reflexion.lessons_for("1", "g1", "nothing")
    await lesson_store.amend(lesson("l", FITS, created=at.clock.now() - timedelta(days=PARAMETERS.expire_days + 1)))
    await at.reflexion.lessons_for("1", "g1", "nothing")
    assert (await known(lesson_store, "l")).status == "active", "an hour has not gone by"
    await at.clock.sleep(3600)
    assert await told(at) == []
    gone = await known(lesson_store, "l")
    assert (gone.status, gone.expired) == ("retired", True)


async def test_a_server_with_a_lesson_of_its_own_is_not_told_the_opposite_that_counts_everywhere(
    lesson_store: LessonStore,
) -> None:
    at = house([], lesson_store)
    everywhere = Scope(kind="global")
    await lesson_store.amend(lesson("all", FITS, action="Use the cache", scope=everywhere, author_trust="operator"))
    assert len(await told(at)) == 1
    mine = lesson("mine", FITS, action="Do not use the cache", author_trust="operator")
    await lesson_store.amend(mine)
    assert [each.split("→")[1].strip() for each in await told(at)] == ["Do not use the cache"]
    assert (await known(lesson_store, "all", "g2")).status == "active"
