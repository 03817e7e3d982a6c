"""Moments in which what a thread looks like and what its log says could differ: what people do is taken for what it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from agentic.core.events.execution_events import FileRef, InboxItem, InputReceived
from agentic.models.scripted.model import Asked, answer
from agentic.ports.errors import StoreUnavailable
from agentic.ports.runtime import Answer
from agentic.stores.sqlite.store import SQLiteStore
from bot.threads.inbox import OVERTAKEN
from tests.stores import fresh_store
from tests.unit.threads.house import house
from tests.unit.threads.test_stopping import held, item, tasks
from tests.waiting import eventually

FINISH = answer("", ("finish", {"answer": "done"}))
WORK = answer("", ("work", {}))
ASK = answer("", ("ask", {}))
FILES = (FileRef(name="a.txt", path="https://example.org/a.txt", size=3),)


class Gated(SQLiteStore):
    """Discards nothing before the test lets it, once ``shut``."""

    def __init__(self, *parts: object, **options: object) -> None:
        super().__init__(*parts, **options)
        self.shut, self.waits, self.go = False, asyncio.Event(), asyncio.Event()

    async def discard(self, ids: Sequence[str]) -> None:
        if self.shut and ids:
            self.waits.set()
            await self.go.wait()
        await super().discard(ids)


async def left_working(store: SQLiteStore) -> None:
    """A process that ends in the middle of a task."""
    bench = held()
    async with house([WORK], store=store, bench=bench) as home:
        await home.say("fix it")
        await bench.began.wait()


# --- the first moments of a start -------------------------------------------------------------------------------------


async def test_a_stop_in_the_very_moment_of_a_start_stops_what_an_earlier_process_left() -> None:
    store = fresh_store()
    await left_working(store)
    async with house([FINISH], store=store) as home:
        await home.threads.recover()
        assert home.threads.state("100") == "busy", "nothing of it has been taken up yet"
        receipt = await home.threads.deliver(item("9", "stop"), guild="1")
        assert receipt.text == ""
        await home.threads.idle("100")
        assert await home.reasons() == ["stopped"]
        assert home.model.asked == []


async def test_words_in_the_very_moment_of_a_start_are_guidance_for_what_an_earlier_process_left() -> None:
    store = fresh_store()
    await left_working(store)
    async with house([FINISH, FINISH], store=store) as home:
        await home.threads.recover()
        await home.say("and use tabs")
        await home.threads.idle("100")
        assert await tasks(home) == [("fix it", "done")]
        assert "and use tabs" in str(home.model.asked[-1].prompt.messages)


async def test_a_stop_in_the_very_moment_of_a_start_calls_off_a_task_that_an_earlier_process_kept() -> None:
    store = fresh_store()
    await store.put(item("7", "task", "fix it"))
    async with house([FINISH], store=store) as home:
        await home.threads.recover()
        await home.threads.deliver(item("9", "stop"), guild="1")
        await home.threads.idle("100")
        assert await home.reasons() == []
        assert any("Stopped before it started" in text for text in await home.texts())
        assert await store.pending("100") == []


async def test_a_side_question_that_is_open_too_does_not_hide_who_paused_the_task() -> None:
    store, asked_aside, bench = fresh_store(), asyncio.Event(), held()

    async def script(asked: Asked) -> Answer:
        if asked.prompt.tools:
            return WORK
        asked_aside.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with house(script, store=store, bench=bench) as home:
        await home.say("go")
        await bench.began.wait()
        await home.say("how far?", sort="side")
        await asked_aside.wait()
        await home.say("", sort="pause")
        await eventually(lambda: home.threads.state("100") == "paused")
    async with house(lambda _: answer("half way"), store=store) as home:
        await home.threads.recover()
        assert home.threads.state("100") == "paused"
        await home.told("half way")
        assert home.threads.state("100") == "paused"


# --- between two executions -------------------------------------------------------------------------------------------


async def test_a_stop_while_what_was_left_over_is_answered_calls_off_what_is_about_to_begin() -> None:
    store = fresh_store(Gated)
    await store.put(item("6", "escalate"))
    await store.put(item("7", "task", "fix it"))
    store.shut = True
    async with house([FINISH], store=store) as home:
        await home.threads.recover()
        await store.waits.wait()
        assert home.threads.state("100") == "busy"
        stopping = asyncio.create_task(home.threads.deliver(item("9", "stop"), guild="1"))
        await asyncio.sleep(0)
        store.go.set()
        await stopping
        await home.threads.idle("100")
        assert home.model.asked == []
        assert any("Stopped before it started" in text for text in await home.texts())


async def test_a_stop_while_only_a_file_is_being_fetched_calls_off_the_words_that_it_came_with() -> None:
    bench, fetching, go = held(), asyncio.Event(), asyncio.Event()

    async def receive(sent: InboxItem) -> tuple[FileRef, ...]:
        fetching.set()
        await go.wait()
        return sent.files

    async with house([WORK, FINISH, FINISH], bench=bench, receive=receive) as home:
        await home.say("first")
        await bench.began.wait()
        words = item("8", "guidance", "use this").model_copy(update={"files": FILES})
        await home.threads.deliver(words, guild="1")
        await fetching.wait()
        assert bench.hold is not None
        bench.hold.set()
        await home.becomes("done")
        await eventually(lambda: home.roster.sessions["100"].task is None)
        await home.threads.deliver(item("9", "stop"), guild="1")
        await home.threads.idle("100")
        go.set()
        await eventually(lambda: home.threads.state("100") == "idle")
        await home.threads.idle("100")
        assert await tasks(home) == [("first", "done")]
        assert any("Stopped before it started" in text and "use this" in text for text in await home.texts())
        assert await home.store.pending("100") == []


async def test_what_is_deleted_in_the_moment_in_which_it_begins_is_withdrawn() -> None:
    store, bench = fresh_store(Gated), held()
    second = asyncio.Event()

    async def script(asked: Asked) -> Answer:
        if "then this" in str(asked.prompt.messages[-1]):
            second.set()
            await asyncio.Event().wait()
        return FINISH if bench.ended.is_set() else WORK

    async with house(script, store=store, bench=bench) as home:
        await home.say("first")
        await bench.began.wait()
        queued = await home.say("then this", sort="queue")
        store.shut = True
        gone = item("d", "deleted").model_copy(update={"message": queued.id})
        deleting = asyncio.create_task(home.threads.deliver(gone, guild="1"))
        await store.waits.wait()
        assert bench.hold is not None
        bench.hold.set()
        await second.wait()
        store.go.set()
        await deleting
        await home.threads.idle("100")
        assert [row.finished for row in await home.store.executions("100")] == ["done", "cancelled"]


async def test_what_was_said_before_a_stop_and_comes_after_it_begins_nothing() -> None:
    """A stop waits for nobody: not for words before it that are still being read back after a gap."""
    bench = held()
    async with house([WORK, FINISH], bench=bench) as home:
        await home.say("first")
        await bench.began.wait()
        await home.threads.deliver(item("900000000000", "stop"), guild="1")
        late = item("899999999999", "guidance", "also do that")
        receipt = await home.threads.deliver(late, guild="1")
        assert (receipt.accepted, receipt.text) == (False, OVERTAKEN)
        await home.threads.idle("100")
        assert await tasks(home) == [("first", "stopped")]
        assert await home.store.pending("100") == []
        await home.threads.deliver(item("900000000001", "task", "another"), guild="1")
        await home.threads.idle("100")
        assert (await tasks(home))[-1] == ("another", "done")


async def test_words_that_are_edited_while_their_file_is_being_fetched_reach_the_task_as_they_read_now() -> None:
    bench, fetching, go = held(), asyncio.Event(), asyncio.Event()

    async def receive(sent: InboxItem) -> tuple[FileRef, ...]:
        fetching.set()
        await go.wait()
        return sent.files

    async with house([WORK, FINISH, FINISH], bench=bench, receive=receive) as home:
        await home.say("first")
        await bench.began.wait()
        words = item("8", "guidance", "use this").model_copy(update={"files": FILES, "message": "8"})
        await home.threads.deliver(words, guild="1")
        await fetching.wait()
        edit = item("e8.1", "edited", "use that").model_copy(update={"message": "8"})
        await home.threads.deliver(edit, guild="1")
        go.set()
        await eventually(lambda: not home.roster.sessions["100"].state.fetching)
        assert bench.hold is not None
        bench.hold.set()
        await home.threads.idle("100")
        assert "use that" in str(home.model.asked[-1].prompt.messages)
        assert "use this" not in str(home.model.asked[-1].prompt.messages)
        assert not any("edit changed nothing" in text for text in await home.texts())


# --- nothing lies there while the thread waits for a person -----------------------------------------------------------


async def test_an_answer_whose_file_was_being_fetched_as_the_process_ended_is_the_answer() -> None:
    store, fetching = fresh_store(), asyncio.Event()

    async def never(sent: InboxItem) -> tuple[FileRef, ...]:
        fetching.set()
        await asyncio.Event().wait()
        return sent.files

    async with house([ASK], store=store, receive=never) as home:
        await home.say("do one of two")
        await home.threads.settled("100")
        question = (await home.threads.status("100")).question
        words = item("8", "answer", "this").model_copy(update={"files": FILES, "target": question, "message": "8"})
        await home.threads.deliver(words, guild="1")
        await fetching.wait()
    async with house([FINISH], store=store) as home:
        await home.threads.recover()
        await home.threads.idle("100")
        assert await tasks(home) == [("do one of two", "done")]
        received = [e.event for e in await home.log() if isinstance(e.event, InputReceived)]
        assert [(one.sort, one.text, one.files) for one in received] == [("answer", "this", FILES)]
        assert await store.pending("100") == []


async def test_a_vote_on_an_earlier_result_does_not_wait_for_who_waits_for_a_person() -> None:
    store = fresh_store()
    async with house([FINISH, ASK, *[answer("{}")] * 5], store=store) as home:
        await home.say("first")
        await home.threads.idle("100")
        await home.say("second")
        await home.threads.settled("100")
    first = (await store.executions("100"))[0].execution
    await store.put(item("8", "feedback", "down").model_copy(update={"target": f"{first}/result"}))
    async with house([answer("{}")] * 5, store=store) as home:
        await home.threads.recover()
        await home.outcome(first, "feedback_given")
        assert home.threads.state("100") == "asking"


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_question_of_what_broke_off_can_still_be_answered_by_its_buttons(at_once: bool) -> None:
    """Also while it is still ending."""

    class Full(SQLiteStore):
        async def put(self, item: InboxItem) -> bool:
            if item.sort == "stop":
                raise StoreUnavailable("the disk is full")
            return await super().put(item)

    async with house([ASK, FINISH], store=fresh_store(Full)) as home:
        await home.say("do one of two")
        await home.threads.settled("100")
        question = (await home.threads.status("100")).question
        assert "I stopped it" in (await home.threads.deliver(item("9", "stop"), guild="1")).text
        assert home.threads.state("100") == "paused"
        if not at_once:
            await eventually(lambda: home.roster.sessions["100"].task is None)
        assert (await home.threads.status("100")).question == question
        press = item("10", "answer", "1").model_copy(update={"target": question, "message": "5"})
        assert (await home.threads.deliver(press, guild="1")).accepted
        await home.threads.idle("100")
        assert await home.reasons() == ["done"]
        assert home.threads.state("100") == "idle"
