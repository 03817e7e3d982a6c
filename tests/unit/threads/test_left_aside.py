"""A side question that outlived what it was asked beside is what people speak to: also after a start it can be stopped."""

from __future__ import annotations

import asyncio

import pytest

from agentic.models.scripted.model import Asked, answer
from agentic.ports.runtime import Answer
from agentic.stores.sqlite.store import SQLiteStore
from tests.stores import fresh_store
from tests.unit.threads.house import house
from tests.unit.threads.test_stopping import held, item

FINISH = answer("", ("finish", {"answer": "done"}))
WORK = answer("", ("work", {}))


async def left_aside(store: SQLiteStore, *, stops: bool) -> None:
    """A process that ends while a side question is answered whose task has ended; ``stops``: then it is stopped."""
    asked_aside, bench = asyncio.Event(), held()

    async def script(asked: Asked) -> Answer:
        if asked.prompt.tools:
            return FINISH if bench.ended.is_set() else WORK
        asked_aside.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with house(script, store=store, bench=bench) as home:
        await home.say("go")
        await bench.began.wait()
        await home.say("how far?", sort="side")
        await asked_aside.wait()
        assert bench.hold is not None
        bench.hold.set()
        await home.becomes("done", "")
        await home.threads.close()
        assert home.threads.state("100") == "busy", "it goes on after the next start"
        if stops:
            assert (await home.threads.deliver(item("9", "stop"), guild="1")).text == ""


@pytest.mark.parametrize("before", [False, True])
async def test_a_side_question_that_is_all_that_is_left_can_be_stopped(before: bool) -> None:
    """Before the start that takes it up, or after."""
    store, asked_aside = fresh_store(), asyncio.Event()
    await left_aside(store, stops=before)

    async def script(asked: Asked) -> Answer:
        asked_aside.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with house(script, store=store) as home:
        await home.threads.recover()
        if not before:
            await asked_aside.wait()
            await home.threads.deliver(item("9", "stop"), guild="1")
        await home.threads.idle("100")
        assert await home.reasons() == ["done", "stopped"]
        assert await store.pending("100") == []
        assert not (before and home.model.asked)


async def test_a_side_question_that_is_all_that_is_left_is_answered() -> None:
    store = fresh_store()
    await left_aside(store, stops=False)
    async with house(lambda _: answer("half way"), store=store) as home:
        await home.threads.recover()
        await home.told("half way")
        await home.threads.idle("100")
        assert await home.reasons() == ["done", "done"]
