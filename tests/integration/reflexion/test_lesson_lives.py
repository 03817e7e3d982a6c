"""How lessons come, change and go in a store: one contract for every store."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest

from reflexion.errors import LessonOutdated, LessonOutOfScope, LessonRefused
from reflexion.lessons.changes import (
    approved,
    changed,
    retired,
    reworded,
)
from reflexion.lessons.lesson import Lesson, Scope, Verdict
from reflexion.lessons.lifecycle import Arm, Life, Showing
from reflexion.ports import LessonStore
from tests.integration.reflexion.conftest import went
from tests.integration.reflexion.test_lesson_stores import lesson
from tests.unit.reflexion.logs import EPOCH

LATER = EPOCH + timedelta(days=1)


async def known(store: LessonStore, id: str, guild: str = "g1") -> Lesson:
    found = await store.lesson(guild, id)
    assert found is not None
    return found


def showing(number: int, *, ok: bool, arm: Arm = "shown", expected: float = 0.5, model: str = "m") -> Showing:
    execution, at = f"x{number}", EPOCH + timedelta(hours=number)
    return Showing(lesson="l", execution=execution, guild="g1", model=model, arm=arm, ok=ok, expected=expected, at=at)


def verdict(showing: Showing, *, verified: bool = True) -> Verdict:
    return Verdict(
        execution=showing.execution, guild=showing.guild, thread="900", model=showing.model, ok=showing.ok,
        verifier=("pass" if showing.ok else "fail") if verified else "none", lessons_shown=1, at=showing.at,
    )  # fmt: skip


async def test_a_change_that_rests_on_an_old_copy_is_refused_and_says_what_was_done_meanwhile(
    lesson_store: LessonStore,
) -> None:
    await lesson_store.amend(lesson("l"))
    mine, theirs = await known(lesson_store, "l"), await known(lesson_store, "l")
    await lesson_store.amend(reworded(mine, by="ann", at=LATER, action="ask for another export"))
    with pytest.raises(LessonOutdated, match=r"changed meanwhile \(Reworded by ann.*look at it again"):
        await lesson_store.amend(retired(theirs, by="ben", at=LATER))
    now = await known(lesson_store, "l")
    assert (now.status, now.action, now.revision) == ("active", "ask for another export", 1)
    await lesson_store.amend(retired(now, by="ben", at=LATER))
    assert [(each.by, each.status) for each in (await known(lesson_store, "l")).history] == [
        ("ann", None), ("ben", "retired"),
    ]  # fmt: skip


async def test_what_is_counted_while_a_person_writes_neither_disturbs_them_nor_is_lost(
    lesson_store: LessonStore,
) -> None:
    await lesson_store.amend(lesson("l"))
    mine = await known(lesson_store, "l")
    await lesson_store.record(*went(["l"], ok=True))
    await lesson_store.propose(lesson("l", executions=("x7",)), verified=True)
    await lesson_store.amend(reworded(mine, by="ann", at=LATER, action="leave them out"))
    now = await known(lesson_store, "l")
    assert (now.action, now.life.shown, now.executions) == ("leave them out", 1, ("x1", "x7"))


async def test_of_two_people_who_change_a_lesson_at_once_one_is_told(lesson_store: LessonStore) -> None:
    await lesson_store.amend(lesson("l"))
    copy = await known(lesson_store, "l")
    acts = [approved(copy, by=f"p{number}", at=LATER) for number in range(8)]
    async with asyncio.timeout(60):
        told = await asyncio.gather(*(lesson_store.amend(act) for act in acts), return_exceptions=True)
    assert [isinstance(each, LessonOutdated) for each in told].count(False) == 1


async def test_a_lesson_moves_to_no_other_scope_and_only_an_operator_writes_for_all_servers(
    lesson_store: LessonStore,
) -> None:
    await lesson_store.amend(lesson("l"))
    mine = await known(lesson_store, "l")
    everywhere = Scope(kind="global")
    for wider in (Scope(kind="guild", guild="g2"), everywhere):
        with pytest.raises(LessonRefused):
            await lesson_store.amend(mine.model_copy(update={"scope": wider}))
    for refused in (lesson("m", scope=everywhere), lesson("m", scope=everywhere, author_trust="person")):
        with pytest.raises(LessonOutOfScope):
            await lesson_store.propose(refused, verified=True)
        with pytest.raises(LessonOutOfScope):
            await lesson_store.amend(refused)
    await lesson_store.amend(lesson("m", scope=everywhere, author_trust="operator"))
    assert [each.id for each in await lesson_store.lessons("g2")] == ["m"]


async def test_f97_a_duplicate_in_other_words_is_merged_whatever_its_failure_is_called(
    lesson_store: LessonStore,
) -> None:
    await lesson_store.amend(lesson("l", "The date parser crashes on empty rows", action="Skip empty rows before parsing",
                                    status="candidate", error_signature="E  KeyError"))  # fmt: skip
    for at in range(30):  # a store that is no toy: the duplicate is found among others
        await lesson_store.amend(lesson(f"n{at}", f"The date of export {at} is late", action=f"Wait for export {at}"))
    again = lesson("other", "The date parser crashed on an empty row", action="Skip empty rows before parsing",
                   status="candidate", error_signature="E  ValueError", executions=("x2",))  # fmt: skip
    stands = await lesson_store.propose(again, verified=True)
    assert (stands.id, stands.status, stands.executions) == ("l", "probation", ("x1", "x2"))
    assert await lesson_store.lesson("g1", "other") is None


async def test_f97_of_two_opposites_neither_is_shown_until_a_person_decides(lesson_store: LessonStore) -> None:
    await lesson_store.amend(lesson("do", action="Use the cache", error_signature="E"))
    stands = await lesson_store.propose(
        lesson("do", action="Do not use the cache", error_signature="E", status="candidate", executions=("x2",)),
        verified=True,
    )
    ids = {"do", stands.id}
    assert len(ids) == 2
    both = {each.id: each for each in await lesson_store.lessons("g1")}
    assert {each.status for each in both.values()} == {"probation", "candidate"}
    assert all("says the opposite" in each.note for each in both.values())
    assert await lesson_store.search("g1", "900", ["parser", "rows"], 9) == ()
    assert (await lesson_store.record(*went(["do"], ok=True, execution="x9"))) == ()
    await lesson_store.amend(approved(both["do"], by="ann", at=LATER))
    assert [each.id for each in await lesson_store.search("g1", "900", ["parser", "rows"], 9)] == ["do"]
    other = await known(lesson_store, stands.id)
    assert (other.status, other.contradicts, "was approved" in other.note) == ("retired", (), True)


async def test_each_execution_counts_once_and_what_was_expected_then_stays(lesson_store: LessonStore) -> None:
    await lesson_store.amend(lesson("l"))
    first = showing(1, ok=False, expected=0.25)
    await lesson_store.record(verdict(first), (first,))
    again = first.model_copy(update={"ok": True, "expected": 0.9, "at": EPOCH + timedelta(days=9)})
    await lesson_store.record(verdict(again), (again,))
    assert await lesson_store.showings("g1", "l") == (first.model_copy(update={"ok": True}),)
    now = await known(lesson_store, "l")
    assert (now.life.shown, now.life.shown_ok, now.by_model[0].model) == (1, 1, "m")
    assert [each.at for each in await lesson_store.verdicts("g1")] == [first.at]
    assert await lesson_store.unaided("g1", 9) == ()


async def test_what_nothing_verified_promotes_no_lesson(lesson_store: LessonStore) -> None:
    await lesson_store.amend(lesson("l", status="probation"))
    for number in range(1, 30):
        one = showing(number, ok=True, expected=0.1)
        assert await lesson_store.record(verdict(one, verified=False), (one,)) == ()
    assert (await known(lesson_store, "l")).status == "probation"
    one = showing(30, ok=True, expected=0.1)
    (moved,) = await lesson_store.record(verdict(one), (one,))
    assert (moved.id, moved.status) == ("l", "active")
    assert (moved.history[-1].status, moved.history[-1].by, moved.note) == ("active", "", moved.history[-1].what)


async def test_f98_a_wrong_lesson_is_retired_and_brought_back_by_a_person_it_is_judged_anew(
    lesson_store: LessonStore,
) -> None:
    await lesson_store.amend(lesson("l"))
    moved: list[Lesson] = []
    for number in range(1, 40):
        one = showing(number, ok=False, expected=0.6)
        moved += await lesson_store.record(verdict(one), (one,))
    gone = moved[-1]
    assert (gone.status, gone.expired, gone.history[-1].status) == ("retired", False, "retired")
    assert await lesson_store.search("g1", "900", ["parser", "rows"], 9) == ()
    await lesson_store.propose(lesson("l", executions=("x99",)), verified=True)
    assert (await known(lesson_store, "l")).status == "retired", "the same failure does not bring it back"
    back = await lesson_store.amend(approved(await known(lesson_store, "l"), by="ann", at=EPOCH + timedelta(days=9)))
    assert back.status == "active"
    late = showing(24 * 10, ok=True)
    assert await lesson_store.record(verdict(late), (late,)) == ()
    assert (await known(lesson_store, "l")).life.shown == 1


async def test_what_is_hardly_ever_shown_expires_and_comes_back_with_its_failure(lesson_store: LessonStore) -> None:
    await lesson_store.amend(lesson("l", error_signature="E"))
    await lesson_store.amend(lesson("theirs", "another matter", action="ask them", author_trust="operator"))
    assert await lesson_store.sweep(EPOCH + timedelta(days=1)) == ()
    far = EPOCH + timedelta(days=2000)
    assert [(each.id, each.status, each.expired) for each in await lesson_store.sweep(far)] == [("l", "retired", True)]
    assert await lesson_store.sweep(far) == ()
    again = lesson("l", error_signature="E", executions=("x2",), created=far, status="candidate")
    assert (await lesson_store.propose(again, verified=True)).status == "candidate"
    assert await lesson_store.sweep(far + timedelta(days=1)) == ()


async def test_a_life_that_a_lesson_brings_along_is_kept_beside_what_is_counted_here(lesson_store: LessonStore) -> None:
    await lesson_store.amend(lesson("l", life=Life(shown=4, shown_ok=3)))
    await lesson_store.record(*went(["l"], ok=True))
    life = (await known(lesson_store, "l")).life
    assert (life.shown, life.shown_ok) == (5, 4)


async def test_the_last_changes_are_kept_and_the_first(lesson_store: LessonStore) -> None:
    now = lesson("l")
    for number in range(100):
        now = changed(now, at=datetime.fromtimestamp(number, EPOCH.tzinfo), what=f"change {number}")
    await lesson_store.amend(now)
    told = [each.what for each in (await known(lesson_store, "l")).history]
    assert (told[0], told[1], told[-1], len(told)) == ("change 0", "change 61", "change 99", 40)


async def test_f99_no_secret_comes_into_the_store_by_any_way(lesson_store: LessonStore) -> None:
    secret = "ghp_" + "a1B2c3" * 6
    await lesson_store.amend(lesson("l", f"the key {secret} is refused"))
    await lesson_store.propose(lesson("m", "something else", action=f"use {secret}", evidence=(secret,)), verified=True)
    edited = (await known(lesson_store, "l")).model_copy(update={"action": f"log in with {secret}"})
    await lesson_store.amend(edited)
    assert secret not in "".join(each.model_dump_json() for each in await lesson_store.lessons("g1"))
