"""What an earlier process left behind is taken up: running executions, questions, stops, tasks, opinions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agentic.core.events.execution_events import Envelope
from agentic.models.scripted.model import answer
from agentic.stores.sqlite.store import SQLiteStore
from bot.inbound.parse import scene_of
from bot.messages.embeds import status_embed
from tests.stores import fresh_store
from tests.unit.threads.house import ANN, Bench, House, house
from tests.waiting import eventually

FINISH = answer("", ("finish", {"answer": "done"}))
WORK = answer("", ("work", {}))
ASK = answer("", ("ask", {}))


async def test_what_was_running_when_the_process_ended_is_taken_up_again() -> None:
    store = fresh_store()
    bench = Bench()
    bench.hold = asyncio.Event()
    async with house([WORK], store=store, bench=bench) as home:
        await home.say("fix it")
        await bench.began.wait()
    assert bench.ended.is_set()
    async with house([FINISH], store=store) as home:
        assert await home.threads.recover() == 1
        await home.threads.idle("100")
        assert await home.reasons() == ["done"], await home.texts()
        assert home.bench.began.is_set() is False, "a call without a key is not run again"
        assert any("I was interrupted" in text for text in await home.texts())


async def test_a_question_outlives_the_process_that_asked_it() -> None:
    store = fresh_store()
    async with house([ASK], store=store) as home:
        await home.say("do one of two")
        await home.threads.settled("100")
    async with house([FINISH, FINISH], store=store, limit=1) as home:
        await home.threads.recover()
        assert home.threads.state("100") == "asking", "whoever answers at once, answers"
        await home.threads.settled("100")
        assert home.threads.state("100") == "asking"
        await home.say("works", thread="200")
        await home.threads.idle("200")
        assert await home.reasons("200") == ["done"], "who waits for a person holds no slot, also after a restart"
        question = (await home.threads.status("100")).question
        await home.say("this", sort="answer", target=question)
        await home.threads.idle("100")
        assert await home.reasons() == ["done"]


async def test_what_words_and_signs_mean_is_known_without_reading_the_log_of_what_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stop reaches a task with the longest of logs as soon as any other."""
    store, unread = fresh_store(), list[str]()
    read = store.read

    def noted(execution: str, after: int = 0) -> AsyncIterator[Envelope]:
        unread.append(execution)
        return read(execution, after)

    async def at_once(home: House) -> None:
        whole = await home.threads.status("100")
        with monkeypatch.context() as patched:
            patched.setattr(store, "read", noted)
            scene = await scene_of(home.threads, "100", wholly=True)
        assert unread == []
        assert scene.asked is not None
        assert scene.asked.options
        assert (scene.state, scene.execution, scene.requester) == ("asking", whole.execution, ANN.id)
        assert (scene.question, scene.asked, scene.paused) == (whole.question, whole.asked, whole.paused)

    async with house([ASK], store=store) as home:
        await home.say("do one of two")
        await home.threads.settled("100")
        await at_once(home)
    async with house([], store=store) as home:
        await home.threads.recover()
        await at_once(home)


async def test_a_vote_that_was_not_taken_in_before_a_crash_is_taken_in_at_the_next_start() -> None:
    store = fresh_store()
    async with house([FINISH], store=store) as home:
        item = await home.say("fix it")
        await home.threads.idle("100")
    await store.put(item.model_copy(update={"id": "100998", "sort": "feedback", "text": "down"}))
    async with house([answer("{}")] * 3, store=store) as home:
        await home.threads.recover()
        execution = (await store.executions("100"))[-1].execution
        await home.outcome(execution, "feedback_given")
        assert await home.reasons() == ["done"]


async def test_a_stop_given_while_the_bot_is_down_is_obeyed_at_its_start() -> None:
    store = fresh_store()
    bench = Bench()
    bench.hold = asyncio.Event()
    async with house([WORK], store=store, bench=bench) as home:
        item = await home.say("fix it")
        await bench.began.wait()
    await store.put(item.model_copy(update={"id": "100999", "sort": "stop", "text": ""}))
    async with house([FINISH], store=store) as home:
        await home.threads.recover()
        await home.threads.idle("100")
        assert await home.reasons() == ["stopped"]
        assert home.model.asked == []


async def test_a_task_given_while_the_bot_is_down_begins_at_its_start() -> None:
    store = fresh_store()
    async with house([], store=store) as home:
        item = await home.say("one", thread="100", sort="stop")
    await store.put(item.model_copy(update={"id": "7", "sort": "task", "text": "begin"}))
    async with house([FINISH], store=store) as home:
        await home.threads.recover()
        await home.threads.idle("100")
        assert await home.reasons() == ["done"], await home.texts()


async def test_what_comes_while_the_process_ends_is_kept_for_the_next_start() -> None:
    store = fresh_store()
    async with house([], store=store) as home:
        await home.threads.close()
        await home.say("one", thread="100")
        assert home.threads.state("100") == "busy", "what is said next belongs to it"
        assert home.model.asked == []
    async with house([FINISH], store=store) as home:
        await home.threads.recover()
        await home.threads.idle("100")
        assert await home.reasons() == ["done"]


async def test_a_task_that_came_while_the_process_ends_can_still_be_stopped() -> None:
    store = fresh_store()
    async with house([], store=store) as home:
        await home.threads.close()
        await home.say("one")
        await home.say("", sort="stop")
    async with house([FINISH], store=store) as home:
        await home.threads.recover()
        await home.threads.idle("100")
        assert home.model.asked == []
        assert await store.pending("100") == []
        assert any("Stopped" in text for text in await home.texts()), await home.texts()


async def test_an_answer_that_comes_while_the_process_ends_is_the_answer_after_the_next_start() -> None:
    store = fresh_store()
    async with house([ASK], store=store) as home:
        await home.say("do one of two")
        await home.threads.settled("100")
        await home.threads.close()
        assert home.threads.state("100") == "asking", "as it was left"
        question = (await home.threads.status("100")).question
        await home.say("this", sort="answer", target=question)
    async with house([FINISH], store=store) as home:
        await home.threads.recover()
        await home.threads.idle("100")
        assert await home.reasons() == ["done"]
        assert await store.pending("100") == []


async def test_a_stop_that_comes_while_the_process_ends_is_obeyed_after_the_next_start() -> None:
    store, bench = fresh_store(), Bench()
    bench.hold = asyncio.Event()
    async with house([WORK], store=store, bench=bench) as home:
        await home.say("fix it")
        await bench.began.wait()
        await home.threads.close()
        assert home.threads.state("100") == "busy"
        await home.say("", sort="stop")
    async with house([FINISH], store=store) as home:
        await home.threads.recover()
        await home.threads.idle("100")
        assert await home.reasons() == ["stopped"]
        assert home.model.asked == []


async def interrupt(store: SQLiteStore, *, in_order: bool) -> bool:
    """Take up what there is, or begin it, and end the process while a tool runs; whether it was taken up."""
    bench = Bench()
    bench.hold = asyncio.Event()
    async with house([WORK], store=store, bench=bench) as home:
        if not await store.newest_executions(1_000):
            await home.say("fix it")
        elif not await home.threads.recover():
            return False
        left_alone = asyncio.create_task(logged(store, "quarantined"))
        await asyncio.wait((left_alone, asyncio.create_task(bench.began.wait())), return_when=asyncio.FIRST_COMPLETED)
        if not in_order:
            await home.crash("100")
        left_alone.cancel()
    return bench.began.is_set()


async def logged(store: SQLiteStore, kind: str) -> None:
    """Wait until an event of a kind stands in the newest log."""

    async def stands() -> bool:
        logs = [store.read(row.execution) for row in await store.newest_executions(1_000)]
        return kind in [envelope.event.kind for log in logs async for envelope in log]

    await eventually(stands, f"{kind} stands in a log")


async def test_f78_an_execution_in_which_three_processes_died_is_left_alone_until_a_person_says_something() -> None:
    store = fresh_store()
    assert [await interrupt(store, in_order=False) for _ in range(5)] == [True, True, True, False, False]
    async with house([FINISH], store=store) as home:
        assert await home.threads.recover() == 0
        assert sum("stopped trying" in text for text in await home.texts()) == 1, "told once, however often it starts"
        assert home.threads.state("100") == "paused"
        status = await home.threads.status("100")
        assert status.crashes == 3
        assert "Set aside" in (status_embed(status).description or "")
        await home.say("", sort="resume")
        await home.threads.idle("100")
        assert await home.reasons() == ["done"], await home.texts()
        assert (await home.threads.status("100")).crashes == 0


async def test_processes_that_ended_in_order_are_no_crashes() -> None:
    store = fresh_store()
    assert [await interrupt(store, in_order=True) for _ in range(5)] == [True] * 5


async def test_what_is_left_alone_holds_no_slot_when_something_else_has_its_thread_looked_at() -> None:
    store = fresh_store()
    for _ in range(4):
        await interrupt(store, in_order=False)
    async with house([FINISH], store=store) as home:
        await home.threads.recover()
        await home.say("down", sort="feedback", target=(await store.executions("100"))[0].execution)
        assert [item.sort for item in await store.pending("100")] == ["feedback"]
    async with house([FINISH], store=store, limit=1) as home:
        await home.threads.recover()
        await logged(store, "input_received")
        await home.say("works", thread="200")
        await home.threads.idle("200")
        assert await home.reasons("200") == ["done"]
        assert await home.reasons() == [""]
