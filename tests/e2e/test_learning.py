"""A failed task that is tried again is done with what was learned; and another thread is done at once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.config.home import LESSONS
from reflexion.lessons.lesson import Lesson
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.e2e.living import living
from tests.e2e.orders import CHECK, REVIEWER, Orders
from tests.e2e.processes import environment, started
from tests.waiting import eventually

TASK = f"Write the total of the attached orders into total.txt. `{CHECK}` says whether it is right."
FAILED, DONE = r"the total is wrong", r"The total is in total\.txt"


def beginnings(endpoint: ScriptedEndpoint) -> list[CapturedRequest]:
    """The first request of each attempt."""
    return [each for each in endpoint.requests if not each.answers and not each.system.startswith(REVIEWER)]


async def until(home: Path, holds: Callable[[Lesson], bool]) -> None:
    """Wait until it holds of the one lesson there is: what is learned is learned after the answer."""
    store = SQLiteLessonStore(home / LESSONS)

    async def learned() -> bool:
        return [holds(lesson) for lesson in await store.lessons(None)] == [True]

    await eventually(learned)
    await store.close()


async def lessons_of(home: Path, act: str) -> str:
    """What `threadwright lessons` says of a home while its bot works."""
    async with started("lessons", act, env=environment(home, {}), cwd=home) as running:
        assert await running.ended() == 0, running.output
        return "".join(running.said)


async def test_a_failed_task_tried_again_is_told_what_was_learned_and_another_thread_waits_for_a_person(
    tmp_path: Path,
) -> None:
    orders = Orders()
    async with asyncio.timeout(300), ScriptedEndpoint.start(orders.model) as endpoint:
        async with living(tmp_path, endpoint, THREADWRIGHT_LESSONS_HELD_BACK="0") as bot:
            thread = await bot.person.mention(TASK, orders.files(5, 7, 11, 13, 17))
            failed = await bot.person.sees(thread, FAILED)
            await bot.person.sees(thread, rf"(?s){FAILED}.*learned: ", seconds=150)
            seen = len(await bot.person.reads(thread))
            await bot.person.react(failed.id, "🔄")
            done = await bot.person.sees(thread, DONE, after=seen)
            assert "used: " in done.whole
            assert (bot.workspace(thread) / "total.txt").read_text() == "35\n"
            await until(bot.home, lambda lesson: lesson.status == "quarantined")

            other = await bot.person.mention(TASK, orders.files(2, 3, 4, 100))
            await bot.person.sees(other, FAILED)
            listed = await lessons_of(bot.home, "list")
            assert re.search(r"waiting +0 ", listed), "what came of an attached file waits for a person"
            assert await bot.running.end() == 0
    first, again, elsewhere = beginnings(endpoint)
    assert [orders.knows(each) for each in (first, again, elsewhere)] == [False, True, False]
    assert "What went wrong in this thread before" in again.text()
    assert f"wrong total, orders in state {orders.state} must not count" in again.text(), "the check's own words"
    assert "Lessons from earlier work" not in elsewhere.text()
