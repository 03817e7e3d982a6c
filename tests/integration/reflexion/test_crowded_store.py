"""A server among others that hold hundreds of lessons with the same words; with the bounds as they are (row 42)."""

from __future__ import annotations

from pathlib import Path

from agentic.stores.sqlite.file.connection import connect
from reflexion.lessons.lesson import Lesson, Scope
from reflexion.retrieval.search import Finder
from reflexion.stores import statements
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.reflexion.test_lesson_stores import lesson

OTHER = Scope(kind="guild", guild="g2")
ROWS = "The date parser met empty rows of the export"


def others(number: int) -> Lesson:
    """The words of the one task and of the one lesson, each in hundreds."""
    told = ("websocket frame", "parser state", "timeouts checkout job", ROWS)[min(number // 300, 3)]
    action = "Skip empty rows before the date parser reads the export" if number >= 900 else "do a thing"
    return lesson(f"o{number}", f"{told} {number}", action=action, scope=OTHER, status="candidate")


async def test_f42_a_server_finds_merges_and_contradicts_beside_hundreds_of_another(tmp_path: Path) -> None:
    path = tmp_path / "lessons.db"
    store = SQLiteLessonStore(path)
    await store.amend(lesson("mine", "Timeouts in checkout", action="Raise the pool size of checkout"))
    beside = connect(str(path))
    beside.execute("BEGIN")
    for number in range(1_600):
        statements.save(beside, others(number))
    beside.execute("COMMIT")
    beside.close()
    found = await Finder(store).find("g1", "1", "websocket parser: timeouts in checkout")
    assert [each.lesson.id for each in found] == ["mine"]

    rows = lesson("m1", ROWS, action="Skip empty rows before the date parser reads the export", status="candidate")
    await store.propose(rows, verified=True)
    again = await store.propose(rows.model_copy(update={"id": "m2", "executions": ("x2",)}), verified=True)
    assert (again.id, again.status) == ("m1", "probation")
    turned = rows.model_copy(
        update={"id": "m3", "action": rows.action.replace("Skip", "Do not skip"), "executions": ("x3",)}
    )
    assert (await store.propose(turned, verified=True)).contradicts == ("m1",)
    await store.close()
