"""What a reflection costs a day, through a provider's library over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    ModelAnswered,
    ModelRequested,
    Reflected,
)
from agentic.models.anthropic.client import AnthropicDirect
from agentic.models.providers.prices import Prices
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import SessionRow
from agentic.runtime.budget_ledger import NO_CAPS, DailyCaps
from agentic.stores.sqlite.store import SQLiteStore
from reflexion.service import Reflexion
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.reflexion.conftest import REFLECTS, Ticking
from tests.unit.reflexion.logs import Did, Log

MODEL = "claude-haiku-4-5"


@asynccontextmanager
async def process(
    folder: Path, endpoint: ScriptedEndpoint, caps: DailyCaps = NO_CAPS
) -> AsyncGenerator[tuple[SQLiteStore, Reflexion, AnthropicDirect]]:
    """Everything a process holds, opened from the folder and let go at the end."""
    folder.mkdir(exist_ok=True)
    store, lessons = SQLiteStore.open(folder / "log.db"), SQLiteLessonStore(folder / "lessons.db")
    model = AnthropicDirect(endpoint.environment(), Prices())
    yield store, Reflexion(store, lessons, model, Ticking(), model_name=MODEL, caps=caps), model
    await model.close()
    await lessons.close()
    await store.close()


async def fails(store: SQLiteStore, token: str) -> str:
    """Keep an execution whose command failed with the token in its output."""
    did = Did("./deploy", 7, f"exit 7 after 0.1 s\ndeploying\n{token} is not a known region\nbye")
    log = Log(task="Deploy the service.").does(did).ends("failed", "I could not.")
    await store.save_session(SessionRow(thread=log.thread, channel="c", guild="g1"))
    lease = await store.acquire(log.thread, "test")
    assert lease is not None
    await store.append(log.execution, 0, lease, [each.model_copy(update={"fence": lease.fence}) for each in log.events])
    await store.release(lease)
    return log.execution


async def test_a_reflection_is_paid_from_the_caps_of_the_day_and_not_written_where_they_are_used_up(
    tmp_path: Path,
) -> None:
    scope = "guild g1 2026-11-21"
    async with asyncio.timeout(60), ScriptedEndpoint.start(lambda _: Reply(REFLECTS)) as endpoint:
        async with process(tmp_path, endpoint, DailyCaps(guild=1.0)) as (store, reflexion, _):
            execution = await fails(store, "eu-9")
            await reflexion.after(execution)
            outcome = [each.event for each in await store.read_outcome(execution)]
            paid = [event.usd for event in outcome if isinstance(event, ModelAnswered)]
            assert await store.spent_usd(scope) == pytest.approx(sum(paid), abs=2e-9)
        async with process(tmp_path / "poor", endpoint, DailyCaps(guild=0.0001)) as (store, reflexion, _):
            execution = await fails(store, "eu-9")
            await reflexion.after(execution)
            outcome = [each.event for each in await store.read_outcome(execution)]
            problems = [event.problem for event in outcome if isinstance(event, Reflected)]
            assert problems == ["the budget of the day has no room for it"]
            assert not any(isinstance(event, ModelRequested) for event in outcome)
            assert await store.spent_usd(scope) == 0.0
        assert len(endpoint.requests) == 1
