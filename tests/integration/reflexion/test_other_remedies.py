"""After a lesson was retired as useless: the same advice again, another remedy, and a person who brings it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import cast

from agentic.stores.sqlite.file.connection import (
    Connection,
    Rows,
    Value,
    connect,
)
from reflexion.lessons.changes import approved, retired
from reflexion.lessons.lesson import Lesson
from reflexion.lessons.lifecycle import Showing
from reflexion.ports import LessonStore
from reflexion.stores import statements as statements_module
from reflexion.stores.schema import MIGRATIONS
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.reflexion.conftest import went
from tests.integration.reflexion.test_lesson_stores import lesson
from tests.unit.reflexion.logs import EPOCH

FAILURE = "shell: E ValueError: empty row"


def remedy(action: str, execution: str, id: str = "l") -> Lesson:
    return lesson(id, action=action, error_signature=FAILURE, status="candidate", executions=(execution,))


async def known(store: LessonStore, id: str) -> Lesson:
    found = await store.lesson("g1", id)
    assert found is not None
    return found


async def found_useless(store: LessonStore) -> Lesson:
    """A lesson that was shown, and with which nothing went better: the store retires it by what was counted."""
    await store.propose(remedy("Read the export with another encoding", "x1"), verified=True)
    await store.propose(remedy("Read the export with another encoding", "x2"), verified=True)
    assert (await known(store, "l")).status == "probation"
    for number in range(3, 30):
        verdict, _ = went(["l"], ok=False, execution=f"x{number}")
        showing = Showing(lesson="l", execution=f"x{number}", guild="g1", ok=False, expected=0.6, at=EPOCH)
        moved = await store.record(verdict.model_copy(update={"verifier": "fail"}), (showing,))
        if [each.status for each in moved] == ["retired"]:
            return moved[0]
    raise AssertionError("it was never retired")


async def test_the_same_advice_for_a_failure_is_not_learned_again_and_its_executions_are_counted(
    lesson_store: LessonStore,
) -> None:
    gone = await found_useless(lesson_store)
    again = remedy("Read that export with another encoding", "x40")
    stands = await lesson_store.propose(again, verified=True)
    assert (stands.id, stands.status, stands.action) == ("l", "retired", gone.action)
    assert stands.executions == (*gone.executions, "x40")
    assert [each.id for each in await lesson_store.lessons("g1")] == ["l"]
    assert await lesson_store.search("g1", "900", ["parser", "rows"], 5) == ()


async def test_another_remedy_for_the_failure_is_a_candidate_that_names_the_one_it_comes_in_place_of(
    lesson_store: LessonStore,
) -> None:
    await found_useless(lesson_store)
    stands = await lesson_store.propose(remedy("Skip empty rows before the date is parsed", "x41"), verified=True)
    assert (stands.status, stands.supersedes, stands.executions) == ("candidate", "l", ("x41",))
    assert stands.history[-1].what == "Replaces l, which was retired."
    old = await known(lesson_store, "l")
    assert (old.status, old.executions[-1]) == ("retired", "x41"), "its failure was met again, and it stays retired"
    met = await lesson_store.propose(remedy("Skip the empty rows before the date is parsed", "x42"), verified=True)
    assert (met.id, met.status, met.supersedes) == (stands.id, "probation", "l")
    assert [each.id for each in await lesson_store.search("g1", "900", ["parser", "rows"], 5)] == [stands.id]
    third = await lesson_store.propose(remedy("Ask for Friday's file", "x43"), verified=True)
    assert third.supersedes == "l"


async def test_a_person_brings_the_retired_one_back_and_what_came_in_its_place_stays_beside_it(
    lesson_store: LessonStore,
) -> None:
    gone = await found_useless(lesson_store)
    other = await lesson_store.propose(remedy("Skip empty rows before the date is parsed", "x41"), verified=True)
    # The opposite of what comes back gives way to it, as it does to whatever a person approves.
    against = await lesson_store.propose(remedy("Never read the export with another encoding", "x42"), verified=True)
    await lesson_store.amend(approved(await known(lesson_store, "l"), by="ann", at=EPOCH + timedelta(days=1)))
    back = await known(lesson_store, "l")
    assert (back.status, back.author_trust, back.contradicts) == ("active", "operator", ())
    assert gone.trigger == back.trigger
    stays, gives_way = await known(lesson_store, other.id), await known(lesson_store, against.id)
    assert (stays.status, stays.supersedes, stays.contradicts) == ("probation", "", ())
    assert stays.history[-1].what == "l, which it had replaced, is active again."
    assert gives_way.status == "retired"
    found = await lesson_store.search("g1", "900", ["parser", "rows"], 5)
    assert sorted(each.id for each in found) == sorted(("l", other.id))
    verdict, (showing,) = went(["l"], ok=False, execution="x50")
    later = {"at": EPOCH + timedelta(days=2)}
    assert await lesson_store.record(verdict.model_copy(update=later), (showing.model_copy(update=later),)) == ()
    assert (await known(lesson_store, "l")).life.shown == 1, "what spoke against it before is no part of its life"


async def test_a_remedy_that_waits_for_a_person_takes_nothing_away_once_the_retired_one_was_brought_back(
    lesson_store: LessonStore,
) -> None:
    await found_useless(lesson_store)
    waits = remedy("Run `make clean all` first", "x41").model_copy(
        update={"status": "quarantined", "note": "A command."}
    )
    other = await lesson_store.propose(waits, verified=True)
    assert (other.status, other.supersedes) == ("quarantined", "l")
    await lesson_store.amend(approved(await known(lesson_store, "l"), by="ann", at=EPOCH + timedelta(days=1)))
    stands = await known(lesson_store, other.id)
    assert (stands.status, stands.supersedes, stands.note) == ("quarantined", "", "A command.")
    await lesson_store.amend(approved(stands, by="ann", at=EPOCH + timedelta(days=2)))
    assert {(await known(lesson_store, id)).status for id in ("l", other.id)} == {"active"}


async def test_a_remedy_after_one_that_a_person_retired_names_the_last_of_them(lesson_store: LessonStore) -> None:
    first = await lesson_store.propose(remedy("Skip empty rows", "x1"), verified=True)
    second = await lesson_store.propose(remedy("Ask for Friday's file", "x2"), verified=True)
    for at, each in enumerate((second, first), 11):
        now = await known(lesson_store, each.id)
        await lesson_store.amend(retired(now, by="ann", at=EPOCH.replace(day=at)))
    third = await lesson_store.propose(remedy("Convert the encoding first", "x3"), verified=True)
    assert third.supersedes == first.id, "not the one that was made last"


async def test_lessons_are_found_by_the_execution_they_were_seen_in_and_by_their_status(
    lesson_store: LessonStore,
) -> None:
    await lesson_store.propose(remedy("Skip empty rows", "x1", "a"), verified=True)
    await lesson_store.propose(remedy("Ask for Friday's file", "x2", "b"), verified=True)
    theirs = lesson("c", scope={"kind": "guild", "guild": "g2"}, executions=("x1",), status="quarantined")
    await lesson_store.amend(theirs)
    assert [each.id for each in await lesson_store.seen_in("g1", "x1", 9)] == ["a"]
    assert {each.id for each in await lesson_store.seen_in("g1", "x2", 9)} == {"a", "b"}, "the same failure met again"
    assert len(await lesson_store.seen_in("g1", "x2", 1)) == 1
    assert [each.id for each in await lesson_store.seen_in("g2", "x1", 9)] == ["c"]
    assert await lesson_store.seen_in("g1", "x9", 9) == ()
    assert [each.id for each in await lesson_store.of_status("g1", "probation", 9)] == ["a"]
    assert await lesson_store.of_status("g1", "quarantined", 9) == ()
    assert [each.id for each in await lesson_store.of_status("g2", "quarantined", 9)] == ["c"]
    # What waits for a decision between two keeps the status that it has.
    await lesson_store.amend(lesson("d", "The printer jams", action="Use the cache", executions=("x5",)))
    await lesson_store.amend(lesson("e", "The printer jams", action="Never use the cache", executions=("x6",)))
    held = await lesson_store.of_status("g1", "probation", 9)
    assert {each.id: each.contradicts for each in held} == {"a": (), "d": ("e",), "e": ("d",)}


async def test_a_file_of_an_older_version_knows_which_executions_its_lessons_were_seen_in(tmp_path: Path) -> None:
    path = tmp_path / "lessons.db"
    old = connect(str(path))
    for statements in MIGRATIONS[:3]:
        old.execute(statements)
    old.execute("PRAGMA user_version = 3")
    for id, superseded in (("a", ""), ("b", "a")):
        kept = lesson(id, executions=(f"x-{id}", "both"), supersedes=superseded, status="candidate")
        insert = "INSERT INTO lesson (id, scope, guild, thread, signature, status, created, body) VALUES (?, 'guild', 'g1', '', '', 'candidate', '2026', ?)"  # noqa: E501  # a row as it stood there
        old.execute(insert, (id, kept.model_dump_json()))
    old.close()
    store = SQLiteLessonStore(path)
    assert [each.id for each in await store.seen_in("g1", "x-b", 9)] == ["b"]
    assert {each.id for each in await store.seen_in("g1", "both", 9)} == {"a", "b"}
    await store.close()


class Explaining:
    """A connection that notes how each of its queries is answered."""

    def __init__(self, db: Connection) -> None:
        self._db, self.plans = db, list[str]()

    def execute(self, statements: str, bindings: Sequence[Value] | Mapping[str, Value] = ()) -> Rows:
        self.plans += [str(row[3]) for row in self._db.execute(f"EXPLAIN QUERY PLAN {statements}", bindings)]
        return self._db.execute(statements, bindings)


async def test_what_is_asked_after_each_execution_reads_no_table_from_end_to_end(tmp_path: Path) -> None:
    store = SQLiteLessonStore(tmp_path / "lessons.db")
    await store.propose(remedy("Skip empty rows", "x1", "a"), verified=True)
    await store.close()
    db = connect(str(tmp_path / "lessons.db"))
    asked = Explaining(db)
    assert statements_module.seen_in(cast("Connection", asked), "g1", "x1", 9)
    assert not statements_module.of_status(cast("Connection", asked), "g1", "quarantined", 9)
    assert statements_module.neighbours(cast("Connection", asked), remedy("Ask for Friday's file", "x2", "b"))
    db.close()
    assert len(asked.plans) > 6
    assert not [plan for plan in asked.plans if plan.startswith("SCAN lesson") and "INDEX" not in plan]
