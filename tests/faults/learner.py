"""Lives of a process that learns from one execution which failed, each killed at another point; see ``test_learning_faults``.

Run as a program it forks a life for each failpoint, in a folder of its own: so what is imported is imported once.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agentic.core.events.execution_events import (
    ChosenLesson,
    Event,
    ModelAnswered,
    ModelRequested,
)
from agentic.models.scripted.model import Asked, ScriptedModel, answer
from agentic.ports.failpoints import VARIABLE
from agentic.ports.runtime import Answer, SessionRow
from agentic.runtime.budget_ledger import BudgetLedger, DailyCaps
from agentic.runtime.clock import SystemClock
from agentic.stores.sqlite.store import SQLiteStore
from bot.sessions.learning import catch_up
from reflexion.judge.judge import Judge, JudgeCandidate
from reflexion.judge.rubric import RUBRIC
from reflexion.service import Reflexion
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.reflexion.conftest import REFLECTS
from tests.integration.reflexion.test_cycle import failed
from tests.integration.reflexion.test_lesson_stores import lesson

JUDGE = "claude-haiku-4-5"
EXECUTION, THREAD, GUILD = "x1", "900", "g1"
TIMES = re.compile(r'"(at|created|renewed|counted_from|last_shown)":"[^"]*"')


def replies(asked: Asked) -> Answer:
    """A reading where a judge is asked, else a reflection."""
    if asked.model != JUDGE:
        return answer(REFLECTS, usd=0.01)
    text = asked.prompt.messages[0].text
    mark = re.match(r"<<<record ([0-9a-f]{12})>>>\n", text)
    cited = next(line for line in text.splitlines() if line.startswith("TURN "))
    assert mark is not None
    answers = [{"item": item.id, "yes": True, "evidence": cited} for item in RUBRIC]
    return answer(json.dumps({"record": mark[1], "answers": answers}), usd=0.002)


@dataclass
class Home:
    """The files of a process, and who learns there."""

    store: SQLiteStore
    lessons: SQLiteLessonStore
    reflexion: Reflexion

    async def outcome(self) -> list[Event]:
        return [each.event for each in await self.store.read_outcome(EXECUTION)]

    async def left(self) -> dict[str, object]:
        """What there is in the end, but for when."""
        verdicts, showings = await self.lessons.verdicts(), await self.lessons.showings(None)
        known = await self.lessons.lessons(None)
        reflections = await self.lessons.reflections(GUILD, THREAD, 9)
        kept = {
            name: sorted(TIMES.sub("", row.model_dump_json()) for row in rows)
            for name, rows in {
                "verdicts": verdicts,
                "showings": showings,
                "lessons": known,
                "told": reflections,
            }.items()
        }
        outcome = await self.outcome()
        purposes = {each.request: each.purpose for each in outcome if isinstance(each, ModelRequested)}
        answered = [purposes[each.request] for each in outcome if isinstance(each, ModelAnswered)]
        made = [each.kind for each in outcome if each.kind not in ("model_requested", "model_answered")]
        return {**kept, "paid": sorted(answered), "made": sorted(made)}


@asynccontextmanager
async def at_home(folder: Path) -> AsyncGenerator[Home]:
    folder.mkdir(exist_ok=True)
    store, lessons, clock = SQLiteStore.open(folder / "log.db"), SQLiteLessonStore(folder / "lessons.db"), SystemClock()
    model = ScriptedModel(replies, prices={"openai/scripted": (1.0, 2.0), JUDGE: (1.0, 2.0)})
    caps = DailyCaps(guild=5.0)
    judge = Judge(model, BudgetLedger(store, caps), clock, lessons, (JudgeCandidate(JUDGE, 2),), mode="always")
    yield Home(store, lessons, Reflexion(store, lessons, model, clock, caps=caps, judge=judge))
    await lessons.close()
    await store.close()


async def life(folder: Path, point: str = "") -> None:
    """An execution that was told a lesson and failed, unless it is there; then what a process does that starts after it."""
    async with at_home(folder) as home:
        if not await home.store.newest_executions(1_000):
            await home.lessons.amend(lesson("l-told"))
            log = failed()
            told = (ChosenLesson(id="l-told", kind="pitfall", text="…"),)
            first = log.events[0]
            log.events[0] = first.model_copy(update={"event": first.event.model_copy(update={"lessons": told})})
            await home.store.save_session(SessionRow(thread=THREAD, channel="c", guild=GUILD))
            lease = await home.store.acquire(THREAD, "test")
            assert lease is not None
            events = [each.model_copy(update={"fence": lease.fence}) for each in log.events]
            await home.store.append(EXECUTION, 0, lease, events)
            await home.store.release(lease)
        if point:
            os.environ[VARIABLE] = point
            from agentic.ports import failpoints

            failpoints._order.cache_clear()  # pyright: ignore[reportPrivateUsage]
        await catch_up(home.store, home.reflexion)


def main(folder: Path, points: list[str]) -> None:
    """Fork a life for each point; says how each ended."""
    children: dict[int, str] = {}
    for point in points:
        child = os.fork()
        if not child:
            asyncio.run(life(folder / point.replace(":", "-"), point))
            os._exit(0)
        children[child] = point
    for child, point in children.items():
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{point} {os.waitstatus_to_exitcode(status)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
