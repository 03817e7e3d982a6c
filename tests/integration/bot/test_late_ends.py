"""A process that died between an end and the copy of it: the copy is taken before the thread's next execution begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.core.events.execution_events import CheckpointSaved
from bot.history.run_history import past_of
from tests.integration.bot.test_undoing import Scene


async def ends(scene: Scene, name: str) -> list[CheckpointSaved]:
    outcome = [envelope.event for envelope in await scene.store.read_outcome(name)]
    return [event for event in outcome if isinstance(event, CheckpointSaved) and event.why == "end"]


async def test_the_copy_of_an_end_is_taken_before_the_next_execution_begins(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (scene.files / "a.txt").write_text("old")
    await scene.executed("x1", ("a.txt", "new"), ended=False)
    assert await ends(scene, "x1") == []
    for _ in range(2):
        await scene.acts.begins("100")
    [end] = await ends(scene, "x1")
    assert end.manifest in await scene.snapshots.listed("100")
    kept = await scene.snapshots.load("100", end.manifest)
    before = (await past_of(scene.store, (await scene.store.executions("100"))[0])).before
    assert kept.entries["a.txt"].sha != (await scene.snapshots.load("100", before)).entries["a.txt"].sha
    assert "restored 1 file: `a.txt`" in await scene.undo("x1")


@pytest.mark.parametrize("later", ["an undo", "an execution"])
async def test_what_others_have_done_since_is_not_taken_for_how_it_left_its_files(tmp_path: Path, later: str) -> None:
    scene = Scene(tmp_path)
    (scene.files / "a.txt").write_text("old")
    await scene.executed("x1", ("a.txt", "new"), ended=False)
    if later == "an undo":
        await scene.undo("x1")
    else:
        await scene.executed("x2", ("b.txt", "later"))
    await scene.acts.begins("100")
    assert await ends(scene, "x1") == []
