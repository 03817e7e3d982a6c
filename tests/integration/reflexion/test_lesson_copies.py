"""Lessons on AWS: each process works on a copy, and all of them count as if they shared one file."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agentic.aws.aws_place import AwsPlace
from agentic.ports.errors import StoreUnavailable
from agentic.stores.sqlite.file.connection import Connection
from reflexion.errors import LessonOutdated, LessonStoreTooNew, LessonStoreUnavailable
from reflexion.lessons.changes import reworded
from reflexion.lessons.lesson import Scope
from reflexion.ports import LessonStore
from reflexion.stores import aws as aws_lessons
from reflexion.stores import lesson_items, replica
from reflexion.stores.aws import AwsLessonStore
from reflexion.stores.lesson_items import Head
from reflexion.stores.replica import Change
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.aws.wire_faults import Fault, FaultPlan, WireFaults
from tests.integration.reflexion import test_store_isolation as isolation
from tests.integration.reflexion.conftest import lessons_on_aws, went
from tests.integration.reflexion.test_lesson_stores import lesson, reflection
from tests.unit.reflexion.logs import EPOCH


@pytest.fixture
async def copies(aws_place: AwsPlace, tmp_path: Path) -> AsyncIterator[list[AwsLessonStore]]:
    """What three processes work with; they find a file of their own in the same folder."""
    made = [lessons_on_aws(aws_place, tmp_path) for _ in range(3)]
    yield made
    for each in made:
        await each.close()


async def rows(store: SQLiteLessonStore, *, numbered: bool = True) -> list[object]:
    """All that a store holds, row by row."""

    def read(db: Connection) -> list[object]:
        return [
            (table, row if numbered else row[1:])
            for table, names in replica.COLUMNS.items()
            for row in db.execute(f"SELECT number, {', '.join(names)} FROM {table} ORDER BY number")
        ]

    return await store._do(read)  # pyright: ignore[reportPrivateUsage] - compared row by row


async def test_what_many_do_at_once_counts_once_each_and_every_copy_tells_the_same(
    copies: list[AwsLessonStore],
) -> None:
    await copies[0].amend(lesson("l"))
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for number in range(24):
            at = copies[number % 3]
            group.create_task(at.record(*went(["l"], ok=number % 4 == 0, execution=f"x{number}")))
            group.create_task(at.record(*went(["l"], ok=number % 4 == 0, execution=f"x{number}")))
    for each in copies:
        counted = await each.lesson("g1", "l")
        assert counted is not None
        assert (counted.life.shown, counted.life.shown_ok) == (24, 6)
        assert len(await each.verdicts("g1")) == 24
    first = await rows(copies[0])
    assert first == await rows(copies[1]) == await rows(copies[2])


async def test_where_the_wire_fails_each_execution_counts_once(aws_place: AwsPlace, tmp_path: Path) -> None:
    rates: dict[Fault, float] = {"conflict": 0.15, "throttled": 0.05, "lost": 0.1, "half": 0.05, "doubled": 0.1}
    async with WireFaults(aws_place.endpoint) as wire:
        made = [lessons_on_aws(replace(aws_place, endpoint=wire.address), tmp_path) for _ in range(2)]
        await made[0].amend(lesson("l"))
        wire.plan = FaultPlan(18, rates, ("dynamodb.*",))
        for number in range(12):
            verdict, shown = went(["l"], ok=True, execution=f"x{number}")
            await asyncio.gather(*(each.record(verdict, shown) for each in made))
        assert wire.broken
        for each in made:
            known = await each.lesson("g1", "l")
            assert known is not None
            assert known.life.shown == 12
        assert await rows(made[0]) == await rows(made[1])
        for each in made:
            await each.close()


async def test_three_processes_come_to_the_same_as_one_file(copies: list[AwsLessonStore], tmp_path: Path) -> None:
    """The statistics of lessons, their lives, merges and contradictions, row by row."""
    one_file = SQLiteLessonStore(tmp_path / "one.db")
    drawn = random.Random(18)
    sorts = ("propose", "propose", "record", "record", "record", "approve", "retire", "sweep")
    for store in (one_file, copies[0]):
        await store.amend(isolation.GLOBAL)
        await store.keep_reflection(reflection(1))
    for at in range(40):
        step = (drawn.choice(sorts), drawn.choice(isolation.GUILDS), drawn.randrange(4), drawn.randrange(6))
        for store in (one_file, copies[at % 3]):
            await isolation.do(store, step, at)
    vectors = [("lall", "r", b"\1\2")]
    for store in (one_file, copies[1]):
        await store.keep_vectors("m", vectors)
        await store.erase_reflections([reflection(1).execution], ["w"])
    expected = await rows(one_file, numbered=False)
    assert len(expected) > 30
    for each in copies:
        assert await rows(each, numbered=False) == expected
        assert await found(each) == await found(one_file)
    await one_file.close()


async def found(store: LessonStore) -> list[object]:
    words = ["parser", "rows", "skip", "export"]
    return [await store.search(guild, "dm0", words, 9) for guild in isolation.GUILDS]


async def test_whoever_is_overtaken_looks_again_before_it_writes(
    copies: list[AwsLessonStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick, _ = copies
    await slow.amend(lesson("l"))
    known = await slow.lesson("g1", "l")
    assert known is not None
    commit = lesson_items.LessonItems.commit

    async def overtaken(items: lesson_items.LessonItems, head: Head, change: Change) -> Head:
        monkeypatch.setattr(lesson_items.LessonItems, "commit", commit)
        await quick.amend(reworded(known, by="ann", at=EPOCH, action="Ask for another export"))
        return await commit(items, head, change)

    monkeypatch.setattr(lesson_items.LessonItems, "commit", overtaken)
    with pytest.raises(LessonOutdated, match="Reworded by ann"):
        await slow.amend(reworded(known, by="ben", at=EPOCH, action="Skip all of it"))
    now = await slow.lesson("g1", "l")
    assert now is not None
    assert now.action == "Ask for another export"
    assert await rows(slow) == await rows(quick)


async def test_what_was_written_although_the_answer_was_lost_counts_once(
    copies: list[AwsLessonStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other, _ = copies
    await store.amend(lesson("l"))
    commit = lesson_items.LessonItems.commit

    async def unheard(items: lesson_items.LessonItems, head: Head, change: Change) -> Head:
        await commit(items, head, change)
        raise StoreUnavailable("the answer was lost")

    monkeypatch.setattr(lesson_items.LessonItems, "commit", unheard)
    with pytest.raises(LessonStoreUnavailable, match="the answer was lost"):
        await store.record(*went(["l"], ok=True))
    monkeypatch.undo()
    await store.record(*went(["l"], ok=True))
    known = await other.lesson("g1", "l")
    assert known is not None
    assert known.life.shown == 1
    assert await rows(store) == await rows(other)


async def test_a_copy_that_is_lost_damaged_far_behind_or_of_another_table_is_made_anew(
    aws_place: AwsPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copies: list[AwsLessonStore]
) -> None:
    monkeypatch.setattr(lesson_items, "KEPT", 3)
    monkeypatch.setattr(aws_lessons, "KEPT", 3)
    writing, behind, _ = copies
    for number in range(3):
        await writing.amend(lesson(f"l{number}"))
    assert len(await behind.lessons("g1")) == 3
    for number in range(3, 9):
        await writing.amend(lesson(f"l{number}"))
    assert await rows(behind) == await rows(writing), "what changed meanwhile is no longer told one by one"
    expected = await rows(writing)
    folder = tmp_path / "copies"
    folder.mkdir()
    (folder / "lessons-0").write_bytes(b"no database" * 500)
    for _ in range(2):  # the second finds the copy of the first
        again = lessons_on_aws(aws_place, folder)
        assert await rows(again) == expected
        await again.close()
    other = AwsLessonStore.open(
        AwsPlace(aws_place.table + "-none", "", aws_place.region, aws_place.endpoint, copies=folder)
    )
    with pytest.raises(LessonStoreUnavailable, match="there is no table"):
        await other.lessons("g1")
    await other.close()


async def test_a_copy_of_another_table_is_never_told(aws_place: AwsPlace, aws_endpoint: str, tmp_path: Path) -> None:
    from tests.aws.accounts import new_place

    for place, id in ((aws_place, "mine"), (new_place(aws_endpoint), "theirs")):
        store = lessons_on_aws(place, tmp_path)
        await store.amend(lesson(id))
        assert [each.id for each in await store.lessons(None)] == [id]
        await store.close()


async def test_more_than_a_transaction_holds_is_written_in_parts(copies: list[AwsLessonStore]) -> None:
    written, read, _ = copies
    batch = [("lesson", number) for number in range(1, 221)]
    await written.amend(lesson("l", scope=Scope(kind="guild", guild="g1")))

    def many(db: Connection) -> None:
        for _, number in batch:
            db.execute(
                "INSERT INTO verdict (execution, guild, body) VALUES (?, 'g1', ?)",
                (f"x{number}", went([], ok=True, execution=f"x{number}")[0].model_dump_json()),
            )

    await written._write(many)  # pyright: ignore[reportPrivateUsage] - more at once than any method changes here
    assert len(await read.verdicts("g1")) == 220
    assert await rows(written) == await rows(read)


async def test_what_a_newer_version_wrote_is_refused(
    copies: list[AwsLessonStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    newer, older, _ = copies
    with monkeypatch.context() as patch:
        patch.setattr(lesson_items, "MIGRATIONS", range(99))
        await newer.amend(lesson("l"))
    with pytest.raises(LessonStoreTooNew, match="update Threadwright"):
        await older.lessons("g1")


async def test_what_expires_in_one_process_has_expired_in_the_others(copies: list[AwsLessonStore]) -> None:
    await copies[0].amend(lesson("l", created=EPOCH))
    (gone,) = await copies[1].sweep(EPOCH + timedelta(days=400))
    assert gone.id == "l"
    known = await copies[2].lesson("g1", "l")
    assert known is not None
    assert (known.status, known.expired) == ("retired", True)
