"""A finished execution in a real store, and a model that reflects on it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentic.aws.aws_place import AwsPlace
from agentic.core.events.execution_events import Envelope, Event
from agentic.models.scripted.model import Script, ScriptedModel
from agentic.ports.runtime import SessionRow
from agentic.stores.sqlite.store import SQLiteStore
from reflexion.lessons.lesson import Verdict
from reflexion.lessons.lifecycle import Arm, Showing
from reflexion.ports import LessonStore
from reflexion.service import Reflexion
from reflexion.stores.aws import AwsLessonStore
from tests.stores import fresh_lessons, fresh_store
from tests.unit.reflexion.logs import EPOCH, Log

INSIGHT = {
    "what_worked": "Reading the failing test first.",
    "what_failed": "The date parser met empty rows and pytest failed.",
    "root_cause": "The parser takes the first column of every row.",
    "strategy_change": "Skip empty rows before the date is parsed.",
    "key_insight": "The export ends with an empty row.",
    "touches": "none",
}
REFLECTS = json.dumps(INSIGHT)


class Ticking:
    """A clock that moves a second with each look."""

    def __init__(self) -> None:
        self._at = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        self._at += timedelta(seconds=1)
        return self._at

    def monotonic(self) -> float:
        return self._at.timestamp()

    async def sleep(self, seconds: float) -> None:
        self._at += timedelta(seconds=seconds)


@dataclass
class House:
    """Reflexion over real stores, with what its model was asked."""

    lessons: LessonStore
    model: ScriptedModel
    store: SQLiteStore = field(default_factory=fresh_store)
    clock: Ticking = field(default_factory=Ticking)

    def __post_init__(self) -> None:
        self.reflexion = Reflexion(self.store, self.lessons, self.model, self.clock)

    async def keep(self, log: Log, guild: str = "g1") -> str:
        """Write a log into the store, in its thread of a guild."""
        await self.store.save_session(SessionRow(thread=log.thread, channel="c", guild=guild))
        lease = await self.store.acquire(log.thread, "test")
        assert lease is not None
        events = [envelope.model_copy(update={"fence": lease.fence}) for envelope in log.events]
        await self.store.append(log.execution, 0, lease, events)
        await self.store.release(lease)
        return log.execution

    async def outcome(self, execution: str) -> list[Event]:
        envelopes: list[Envelope] = await self.store.read_outcome(execution)
        return [envelope.event for envelope in envelopes]


def house(script: Script, lessons: LessonStore | None = None) -> House:
    return House(lessons or fresh_lessons(), ScriptedModel(script, prices={"openai/scripted": (1.0, 2.0)}))


def lessons_on_aws(place: AwsPlace, folder: Path) -> AwsLessonStore:
    """What one process works with: a copy of its own."""
    return AwsLessonStore.open(replace(place, copies=folder))


EVERY_LESSON_STORE = ("sqlite", "aws")
"""For the contract; the one on AWS runs the statements of SQLite, so that all else is tried with that one."""


@pytest.fixture
async def lesson_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LessonStore]:
    if getattr(request, "param", "sqlite") == "sqlite":
        yield fresh_lessons()
        return
    store = lessons_on_aws(request.getfixturevalue("aws_place"), tmp_path / "copies")
    yield store
    await store.close()


def went(
    ids: Sequence[str], *, ok: bool, execution: str = "x1", guild: str = "g1", arm: Arm = "shown"
) -> tuple[Verdict, tuple[Showing, ...]]:
    """An execution as the store is told of it: how it went, and for which lessons that says something."""
    verdict = Verdict(execution=execution, guild=guild, thread="900", ok=ok, lessons_shown=len(ids), at=EPOCH)
    return verdict, tuple(Showing(lesson=id, execution=execution, guild=guild, arm=arm, ok=ok, at=EPOCH) for id in ids)
