"""A judge over real HTTP: a provider's library, files on disk, and an endpoint that answers as a test says."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agentic.core.events.execution_events import (
    Evaluated,
    Event,
    Judged,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
)
from agentic.models.anthropic.client import AnthropicDirect
from agentic.models.providers.prices import Prices
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import SessionRow
from agentic.runtime.budget_ledger import NO_CAPS, BudgetLedger, DailyCaps
from agentic.stores.sqlite.store import SQLiteStore
from reflexion.judge.judge import Judge, JudgeCandidate
from reflexion.judge.rubric import RUBRIC
from reflexion.lessons.judge_trust import Mode
from reflexion.lessons.lesson import Verdict
from reflexion.ports import LessonStore
from reflexion.service import Reflexion
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.reflexion.conftest import REFLECTS, Ticking
from tests.unit.reflexion.logs import EPOCH, Log

JUDGE = "claude-haiku-4-5"
GUILD = "g1"
JUDGING = "You judge the work"
Script = Callable[[CapturedRequest], Reply]


def judging(request: CapturedRequest) -> bool:
    return request.system.startswith(JUDGING)


def mark_of(request: CapturedRequest) -> str:
    """The number that the record's marks carry."""
    found = re.match(r"<<<record ([0-9a-f]{12})>>>\n", request.last.text)
    assert found is not None
    return found[1]


def calls_in(request: CapturedRequest) -> list[str]:
    """The lines of the record that may be cited."""
    return [line for line in request.last.text.splitlines() if line.startswith("TURN ")]


def reading(request: CapturedRequest, yes: int = len(RUBRIC), evidence: str = "") -> Reply:
    """A reading with so many items answered yes, citing the first call where nothing else is said."""
    cited = evidence or next(iter(calls_in(request)), "")
    answers = [
        {"item": item.id, "yes": at < yes, "evidence": cited if at < yes else ""} for at, item in enumerate(RUBRIC)
    ]
    return Reply(json.dumps({"record": mark_of(request), "answers": answers}))


@dataclass
class Court:
    """A process that judges what is put before it."""

    store: SQLiteStore
    lessons: LessonStore
    reflexion: Reflexion
    endpoint: ScriptedEndpoint

    async def hears(self, log: Log) -> Evaluated:
        """An execution that ended, from its log to its score."""
        await self.store.save_session(SessionRow(thread=log.thread, channel="c", guild=GUILD))
        lease = await self.store.acquire(log.thread, "test")
        assert lease is not None
        events = [each.model_copy(update={"fence": lease.fence}) for each in log.events]
        await self.store.append(log.execution, 0, lease, events)
        await self.store.release(lease)
        return await self.reflexion.after(log.execution)

    async def has_judged(self, right: int, wrong: int, *, swapped: bool = False) -> None:
        """Readings of earlier executions: all yes of those that were right, all no of the others; or the other way round."""
        for number in range(right + wrong):
            good = number < right
            row = Verdict(
                execution=f"past{number}", guild=GUILD, thread="800", judge=float(good != swapped), judge_model=JUDGE,
                right=good, at=EPOCH,
            )  # fmt: skip
            await self.lessons.record(row, ())

    async def outcome(self, execution: str = "x1") -> list[Event]:
        return [envelope.event for envelope in await self.store.read_outcome(execution)]

    async def judged(self, execution: str = "x1") -> list[Judged]:
        return [event for event in await self.outcome(execution) if isinstance(event, Judged)]

    async def paid(self, execution: str = "x1") -> tuple[int, int, int]:
        """How many readings were asked for, answered, and failed."""
        events = await self.outcome(execution)
        asked = {event.request for event in events if isinstance(event, ModelRequested) and event.purpose == "judge"}
        answered = [event for event in events if isinstance(event, ModelAnswered) and event.request in asked]
        failed = [event for event in events if isinstance(event, ModelFailed) and event.request in asked]
        return len(asked), len(answered), len(failed)

    @property
    def readings(self) -> list[CapturedRequest]:
        """The requests to the judge."""
        return [request for request in self.endpoint.requests if judging(request)]


@asynccontextmanager
async def court(
    folder: Path,
    script: Script,
    *,
    mode: Mode = "always",
    judges: tuple[JudgeCandidate, ...] = (JudgeCandidate(JUDGE, 2),),
    caps: DailyCaps = NO_CAPS,
    seconds: float = 20.0,
) -> AsyncGenerator[Court]:
    """The judge answers by the script; who is asked for a reflection gives one."""

    def replies(request: CapturedRequest) -> Reply:
        return script(request) if judging(request) else Reply(REFLECTS)

    folder.mkdir(exist_ok=True)
    async with ScriptedEndpoint.start(replies) as endpoint:
        store, lessons, clock = SQLiteStore.open(folder / "log.db"), SQLiteLessonStore(folder / "lessons.db"), Ticking()
        model = AnthropicDirect(endpoint.environment(), Prices())
        judge = Judge(model, BudgetLedger(store, caps), clock, lessons, judges, mode=mode, seconds=seconds)
        reflexion = Reflexion(store, lessons, model, clock, model_name=JUDGE, caps=caps, judge=judge)
        yield Court(store, lessons, reflexion, endpoint)
        await model.close()
        await lessons.close()
        await store.close()
