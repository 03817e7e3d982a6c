"""Rows 76 and 100 where something is learned from an execution that ended: what is cut off is done again, once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from agentic.models.scripted.model import Asked, answer
from agentic.ports.failpoints import POINTS
from agentic.ports.runtime import Answer
from agentic.runtime.clock import SystemClock
from bot.after_run.pipeline import AfterRunPipeline
from bot.sessions import learning
from bot.sessions.learning import catch_up
from reflexion.evaluation.outcome_stream import owes
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.faults.learner import EXECUTION, at_home, life
from tests.integration.reflexion.conftest import REFLECTS, House, house
from tests.integration.reflexion.test_cycle import failed
from tests.waiting import eventually

ROOT = Path(__file__).parent.parent.parent
ADDED = 9
"""Times that something is added to what becomes of the execution: a score, four for a reflection, four for a judge."""
BETWEEN = (
    *(point for point in POINTS if point.startswith(("learn.", "judge."))),
    *(f"store.outcome.after:{time}" for time in range(1, ADDED)),
    "lessons.commit.before:1", "lessons.commit.after:1", "lessons.commit.before:2", "lessons.commit.after:2",
)  # fmt: skip


async def test_f76_what_a_kill_between_two_steps_of_learning_cut_off_is_done_by_the_next_process_and_paid_once(
    tmp_path: Path,
) -> None:
    """A score, a verdict, a showing, a reflection, its lesson and a reading: each is there, once, wherever it died."""
    lives = [sys.executable, "-m", "tests.faults.learner", str(tmp_path), *BETWEEN]
    forked = asyncio.create_task(
        asyncio.to_thread(subprocess.run, lives, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    )
    await life(tmp_path / "whole")
    ended = await forked
    assert dict(line.split(" ") for line in ended.stdout.splitlines()) == dict.fromkeys(BETWEEN, "-9"), ended.stderr
    async with at_home(tmp_path / "whole") as home:
        expected = await home.left()
        assert expected["paid"] == ["judge"] * 3 + ["reflection"]
        assert expected["made"] == ["evaluated", "judged", "reflected"]
        assert [len(expected[name]) for name in ("verdicts", "showings", "told", "lessons")] == [1, 1, 1, 2]  # type: ignore[arg-type]
    for point in BETWEEN:
        async with at_home(tmp_path / point.replace(":", "-")) as home:
            await catch_up(home.store, home.reflexion)
            assert await home.left() == expected, point
            outcome = await home.outcome()
            assert not await owes(home.store, EXECUTION, outcome), point
            await catch_up(home.store, home.reflexion)
            assert await home.outcome() == outcome, f"{point}: there was nothing left to do"


async def learned(at: House) -> bool:
    return not await owes(at.store, "x1", await at.outcome("x1"))


async def test_f100_what_a_lesson_store_did_not_take_while_it_was_down_is_learned_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody restarts anything, and the model is paid once."""
    monkeypatch.setattr(learning, "AGAIN_SECONDS", (0.05,) * 200)
    (tmp_path / "lessons.db").mkdir()
    at = house(lambda _: answer(REFLECTS), SQLiteLessonStore(tmp_path / "lessons.db"))

    pipeline = AfterRunPipeline(at.reflexion, at.store, SystemClock(), ())
    await pipeline.after(await at.keep(failed()))
    assert await owes(at.store, "x1", await at.outcome("x1"))
    (tmp_path / "lessons.db").rmdir()
    await eventually(lambda: learned(at))
    assert len(await at.lessons.reflections("g1", "900", 3)) == 1
    assert [each.execution for each in await at.lessons.verdicts()] == ["x1"]
    assert len(at.model.asked) == 1
    await pipeline.close()
    await at.lessons.close()


async def test_f76_what_a_time_out_cut_off_is_learned_in_a_while_and_what_came_before_it_is_not_paid_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first text is no reflection, and the second request hangs: only that one is asked again."""
    monkeypatch.setattr(learning, "AGAIN_SECONDS", (0.05,) * 200)
    monkeypatch.setattr(learning, "LEARN_SECONDS", 1.0)
    turns = iter((answer("N/A"), None, answer(REFLECTS)))

    async def script(_: Asked) -> Answer:
        if (given := next(turns)) is None:
            return await asyncio.Future[Answer]()
        return given

    at = house(script)

    pipeline = AfterRunPipeline(at.reflexion, at.store, SystemClock(), ())
    await learning.learn(pipeline, await at.keep(failed()))
    assert [event.kind for event in await at.outcome("x1")][-1] == "model_requested"
    await eventually(lambda: learned(at))
    assert len(await at.lessons.reflections("g1", "900", 3)) == 1
    assert [len(asked.prompt.messages) for asked in at.model.asked] == [1, 3, 3]
    await pipeline.close()
