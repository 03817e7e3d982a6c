"""A model that gives nothing, or the same again: rows 50 and 56, through the whole loop over both routes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain, cycle, repeat

import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Asked,
    Escalated,
    InboxItem,
    Intervened,
    Policy,
    Started,
    Tier,
    ToolRef,
)
from agentic.core.events.ids import execution_id
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Reply
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.stores.sqlite.store import SQLiteStore
from tests.faults.test_loop_faults import ROUTES, Ran, route, routed
from tests.integration.loop.conftest import THREAD, YOU, Bench
from tests.stores import fresh_store
from tests.waiting import eventually

__all__ = ["route"]
NAME = execution_id(THREAD, "1")
STRONGER = {"anthropic": "anthropic/claude-opus-4-1", "openai": "openai/gpt-4o"}
FAILS: dict[str, JsonValue] = {"name": "build", "fails": True}
FAILING = Reply(calls=(("act", FAILS),))
AT_A, AT_B = Reply(calls=(("look", {"name": "a"}),)), Reply(calls=(("look", {"name": "b"}),))


async def run(replies: Iterator[Reply], route: str, *, attended: bool = False, tiers: int = 2) -> Ran:
    """One execution with a weaker and a stronger model; where a person is asked, they let it end."""
    store, toolbox, clock, doorbell = fresh_store(), Bench(), SystemClock(), asyncio.Event()

    def script(request: CapturedRequest) -> Reply:
        return next(replies)

    models = ((2, ROUTES[route]), (3, STRONGER[route]))[:tiers]
    async with routed(script, route, 20.0) as (endpoint, router), asyncio.timeout(120):
        lease = await store.acquire(THREAD, "me")
        assert lease is not None
        started = Started(
            thread=THREAD,
            task="Do the work.",
            requester=YOU,
            policy=Policy(
                tiers=tuple(Tier(number=number, models=(model,)) for number, model in models),
                attended=attended,
                low_confidence_turns=99,
            ),
            tools=tuple(
                ToolRef(name=s.name, effect=s.effect, permission=s.permission, cognitive=s.cognitive)
                for s in toolbox.specs
            ),
            inbox="1",
        )
        running = asyncio.create_task(Loop(store, router, clock).run(lease, NAME, toolbox, doorbell, started))
        if attended:
            asked = await _asked(store, running)
            at = clock.now()
            item = InboxItem(
                id="102", thread=THREAD, sort="answer", author=YOU, at=at, text="stop", target=asked.question
            )
            await store.put(item)
            doorbell.set()
        return Ran(await running, endpoint, toolbox, store)


async def _asked(store: SQLiteStore, running: asyncio.Task[object]) -> Asked:
    async def found() -> list[Asked]:
        assert not running.done(), f"nobody was asked; it ended as {running.result()}"
        return [envelope.event async for envelope in store.read(NAME) if isinstance(envelope.event, Asked)]

    return (await eventually(found))[0]


async def events(
    ran: Ran, kind: type[Escalated] | type[Intervened] | type[Asked]
) -> list[Escalated | Intervened | Asked]:
    return [envelope.event async for envelope in ran.store.read(NAME) if isinstance(envelope.event, kind)]


def models_of(ran: Ran) -> list[str]:
    return [request.model for request in ran.endpoint.requests]


def names(route: str) -> tuple[str, str]:
    return ROUTES[route].partition("/")[2], STRONGER[route].partition("/")[2]


async def test_f50_empty_answers_get_two_reminders_then_a_stronger_model_then_a_visible_stop(route: str) -> None:
    ran = await run(repeat(Reply()), route)
    weak, strong = names(route)
    assert models_of(ran) == [weak] * 3 + [strong] * 3
    assert ["was empty" in request.text() for request in ran.endpoint.requests[:3]] == [False, True, True]
    (escalated,) = await events(ran, Escalated)
    assert isinstance(escalated, Escalated)
    assert escalated.trigger == "only empty answers"
    assert ran.reason == "stuck"
    assert ran.execution.finished is not None
    assert "only empty answers" in ran.execution.finished.answer
    (shown,) = [row.item.text for row in await ran.store.undelivered(THREAD) if row.item.sort == "answer"]
    assert "I'm stuck" in shown


async def test_f50_where_somebody_can_answer_they_are_asked_before_the_stop(route: str) -> None:
    ran = await run(repeat(Reply()), route, attended=True, tiers=1)
    assert len(models_of(ran)) == 3
    (asked,) = await events(ran, Asked)
    assert isinstance(asked, Asked)
    assert "only empty answers" in asked.text
    assert ran.reason == "stuck"


@pytest.mark.parametrize(
    ("replies", "turns", "trigger"),
    [
        (lambda: repeat(FAILING), 3, "same error 3 times"),
        (lambda: cycle([AT_A, AT_B]), 6, "the same 2 steps 3 times in a circle"),
    ],
    ids=["same error", "A-B-A-B-A-B"],
)
async def test_f56_one_escalation_and_where_nobody_can_answer_at_the_top_it_ends_as_stuck(
    route: str, replies: object, turns: int, trigger: str
) -> None:
    assert callable(replies)
    ran = await run(replies(), route)
    weak, strong = names(route)
    assert models_of(ran)[: turns + 1] == [weak] * turns + [strong]
    assert set(models_of(ran)[turns:]) == {strong}
    (escalated,) = await events(ran, Escalated)
    assert isinstance(escalated, Escalated)
    assert escalated.trigger == trigger
    assert ran.reason == "stuck"
    assert ran.execution.finished is not None
    assert trigger in ran.execution.finished.answer


async def test_f56_at_the_top_the_person_is_asked(route: str) -> None:
    ran = await run(chain([FAILING, FAILING], repeat(FAILING)), route, attended=True, tiers=1)
    (asked,) = await events(ran, Asked)
    assert isinstance(asked, Asked)
    assert "same error 3 times" in asked.text
    assert await events(ran, Escalated) == []
    assert ran.reason == "stuck"


async def test_f56_a_change_between_begins_anew(route: str) -> None:
    """Two failures, something new, two failures: nobody is called."""
    other: dict[str, JsonValue] = {"name": "x"}
    script = [AT_A, AT_B, AT_A, AT_B, Reply(calls=(("look", other),)), Reply(calls=(("finish", {"answer": "Done."}),))]
    ran = await run(iter(script), route)
    assert ran.reason == "done"
    assert await events(ran, Escalated) == []
    assert "repetition" in [event.rule for event in await events(ran, Intervened) if isinstance(event, Intervened)]
