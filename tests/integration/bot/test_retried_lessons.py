"""What a retry from the middle says of the lessons it was told: a real copy of the log, real stores, real files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from agentic.core.events.execution_events import (
    CheckpointSaved,
    ChosenLesson,
    Envelope,
    InboxItem,
)
from agentic.models.scripted.model import ScriptedModel, answer
from tests.integration.bot.test_undoing import ROW, Scene
from tests.integration.reflexion.conftest import REFLECTS, House
from tests.integration.reflexion.test_lesson_stores import lesson
from tests.stores import fresh_lessons
from tests.unit.reflexion.logs import ANN, Did, Log

SHOWN = (ChosenLesson(id="l1", kind="pitfall", text="…"),)
FAILS = Did("pytest -q", 1, "1 failed", tests=(2, 1))
PASSES = Did("pytest -q", 0, "3 passed", tests=(3, 0))


async def test_a_retry_of_a_turn_is_no_second_showing_of_lessons_that_the_first_had_read(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (scene.files / "a.txt").write_text("old")
    at = House(fresh_lessons(), ScriptedModel(lambda _: answer(REFLECTS)), scene.store)
    await at.lessons.amend(lesson("l1"))
    saved = await scene.workshop.save("100")
    log = Log(thread="100", execution="x1", lessons=SHOWN).does(FAILS)
    log.add(CheckpointSaved(manifest=saved.manifest, through_seq=len(log.events), turn=1))
    await at.keep(log.does(FAILS).ends("failed"))
    await at.reflexion.after("x1")
    lease = await scene.store.acquire("100", "test")
    assert lease is not None
    item = InboxItem(id="77", thread="100", sort="retry", author=ANN, at=datetime.now(UTC), target="x1", text="2")
    assert "Continuing from turn 2" in (await scene.acts.act(item, ROW, lease)).text
    (_, again) = [row.execution for row in await scene.store.executions("100")]
    copy = [each async for each in scene.store.read(again)]
    rest = Log(execution=again).does().does(PASSES).ends().events[4:]
    more = [
        Envelope(execution=again, seq=seq, at=each.at, fence=lease.fence, event=each.event)
        for seq, each in enumerate(rest, len(copy) + 1)
    ]
    await scene.store.append(again, len(copy), lease, more)
    await at.reflexion.after(again)
    guild = (await at.lessons.verdicts())[0].guild
    assert [(each.execution, each.ok) for each in await at.lessons.showings(guild, "l1")] == [("x1", False)]
    (first, second) = await at.lessons.verdicts()
    assert (first.ok, second.ok, second.right) == (False, None, True)
    assert await at.lessons.unaided(guild, 10) == (), "nor does it say how tasks go without lessons"
