"""What comes a moment too late finds what it is about: votes, corrections, edits, answers, words with files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from agentic.core.events.execution_events import (
    Envelope,
    FileRef,
    InboxItem,
    InputReceived,
)
from agentic.models.scripted.model import Asked, answer
from agentic.ports.errors import StoreCorrupt
from agentic.ports.runtime import Answer
from agentic.stores.sqlite.store import SQLiteStore
from bot.thread_state.message_meaning import CLOSED
from tests.stores import fresh_store
from tests.unit.threads.house import house
from tests.unit.threads.test_stopping import Settling, held, item, tasks
from tests.waiting import eventually

FINISH = answer("", ("finish", {"answer": "done"}))
WORK = answer("", ("work", {}))
ASK = answer("", ("ask", {}))


async def test_an_opinion_on_an_older_result_is_no_guidance_for_what_runs() -> None:
    bench = held()
    async with house([FINISH, WORK, FINISH, *[answer("{}")] * 5], bench=bench) as home:
        await home.say("first")
        await home.threads.idle("100")
        first = (await home.store.executions("100"))[0].execution
        await home.say("second")
        await bench.began.wait()
        wrong = item("8", "correction").model_copy(update={"target": f"{first}/result"})
        await home.store.put(wrong)  # kept, and not yet taken in, when the loop looks
        await home.say("use tabs", sort="guidance")
        assert bench.hold is not None
        bench.hold.set()
        await home.threads.idle("100")
        received = [e.event.sort for e in await home.log() if isinstance(e.event, InputReceived)]
        assert received == ["guidance"]
        await home.outcome(first, "feedback_given")


async def test_a_vote_that_comes_as_the_execution_ends_is_kept_with_its_result() -> None:
    bench = Settling()
    async with house([FINISH, *[answer("{}")] * 5], bench=bench) as home:
        await home.say("first")
        await bench.settling.wait()
        first = (await home.store.executions("100"))[0].execution
        down = item("8", "feedback", "down").model_copy(update={"target": f"{first}/result"})
        assert (await home.threads.deliver(down, guild="1")).accepted
        bench.go.set()
        await home.threads.idle("100")
        await home.outcome(first, "feedback_given")


async def test_a_vote_that_lay_in_the_inbox_as_the_execution_ended_is_kept_with_its_result() -> None:
    bench = Settling()
    async with house([FINISH, FINISH, *[answer("{}")] * 5], bench=bench) as home:
        await home.say("first")
        await bench.settling.wait()
        first = (await home.store.executions("100"))[0].execution
        await home.store.put(item("8", "feedback", "down").model_copy(update={"target": f"{first}/result"}))
        await home.say("second", sort="queue")
        bench.go.set()
        await home.threads.idle("100")
        assert await home.reasons() == ["done", "done"]
        await home.outcome(first, "feedback_given")


async def test_an_edit_that_comes_as_the_execution_ends_is_answered() -> None:
    bench = Settling()
    async with house([FINISH], bench=bench) as home:
        await home.say("first")
        await bench.settling.wait()
        await home.threads.deliver(item("8", "edited", "first, in French"), guild="1")
        bench.go.set()
        await home.threads.idle("100")
        assert any("the edit changed nothing" in text for text in await home.texts())
        assert await home.store.pending("100") == []


async def test_a_click_after_the_end_starts_no_task() -> None:
    async with house([ASK, FINISH]) as home:
        await home.say("which one?")
        await home.threads.settled("100")
        question = (await home.threads.status("100")).question
        await home.say("", sort="stop")
        await home.threads.idle("100")
        click = item("8", "answer", "this").model_copy(update={"target": question, "message": "5"})
        receipt = await home.threads.deliver(click, guild="1")
        await home.threads.idle("100")
        assert (receipt.accepted, receipt.text) == (False, CLOSED.text)
        assert await tasks(home) == [("which one?", "stopped")]


async def test_an_answer_that_lay_in_the_inbox_as_the_execution_ended_starts_no_task() -> None:
    bench = Settling()
    async with house([FINISH], bench=bench) as home:
        await home.say("first")
        await bench.settling.wait()
        await home.store.put(item("8", "answer", "this").model_copy(update={"target": "q1"}))
        bench.go.set()
        home.threads._sessions["100"].wake()  # pyright: ignore[reportPrivateUsage]
        await home.threads.idle("100")
        assert await home.reasons() == ["done"]
        assert CLOSED.text in await home.texts()


async def test_two_messages_at_once_in_an_idle_thread_are_one_task() -> None:
    async with house([FINISH, FINISH]) as home:
        await asyncio.gather(home.say("fix the tests"), home.say("and use tabs"))
        await home.threads.idle("100")
        assert await tasks(home) == [("fix the tests", "done")]
        assert "use tabs" in str(home.model.asked[-1].prompt.messages)


async def test_words_with_a_file_are_kept_before_it_is_fetched_and_fetched_once() -> None:
    bench, fetching, go, fetched = held(), asyncio.Event(), asyncio.Event(), list[str]()

    async def receive(sent: InboxItem) -> tuple[FileRef, ...]:
        fetched.extend(file.name for file in sent.files)
        fetching.set()
        await go.wait()
        return tuple(file.model_copy(update={"path": f"incoming/{file.name}"}) for file in sent.files)

    async with house([WORK, FINISH], bench=bench, receive=receive) as home:
        await home.say("first")
        await bench.began.wait()
        files = (FileRef(name="a.txt", path="https://example.org/a.txt?secret", size=3),)
        words = item("8", "guidance", "use this file").model_copy(update={"files": files})
        await home.threads.deliver(words, guild="1")
        await fetching.wait()
        assert [one.text for one in await home.store.pending("100")] == ["use this file"]
        assert not (await home.threads.deliver(words, guild="1")).accepted
        go.set()
        await eventually(lambda: not home.roster.sessions["100"].state.fetching)
        assert bench.hold is not None
        bench.hold.set()
        await home.threads.idle("100")
        seen = str(home.model.asked[-1].prompt.messages)
        assert "use this file" in seen
        assert "incoming/a.txt" in seen
        assert "secret" not in seen
        assert fetched == ["a.txt"]
        assert await tasks(home) == [("first", "done")]


async def test_what_had_ended_but_was_not_evaluated_is_evaluated_at_the_next_start() -> None:
    store, bench = fresh_store(), Settling()
    async with house([FINISH], store=store, bench=bench) as home:
        await home.say("first")
        await bench.settling.wait()
        assert await home.reasons() == ["done"]
    first = (await store.executions("100"))[0].execution
    assert await store.read_outcome(first) == []
    async with house([answer("{}")] * 5, store=store) as home:
        await home.threads.recover()
        await home.outcome(first, "evaluated")


async def test_a_damaged_log_concerns_its_own_thread_only() -> None:
    class Damaged(SQLiteStore):
        bad = ""

        async def read(self, execution: str, after: int = 0) -> AsyncIterator[Envelope]:
            if execution == self.bad:
                raise StoreCorrupt("event 3 does not match its checksum")
            async for envelope in super().read(execution, after):
                yield envelope

    store, bench = fresh_store(Damaged), held()
    async with house([WORK, WORK], store=store, bench=bench) as home:
        await home.say("a", thread="100")
        await home.say("b", thread="200")
        for thread in ("100", "200"):
            await home.becomes("", thread=thread)
    store.bad = (await store.executions("100"))[0].execution
    async with house(lambda _: FINISH, store=store) as home:
        assert await home.threads.recover() == 2
        await home.threads.idle("200")
        await home.threads.idle("100")
        assert await home.reasons("200") == ["done"]
        assert sum("damaged" in text and "new task" in text for text in await home.texts("100")) == 1
        await home.say("c", thread="100")
        await home.threads.idle("100")
        assert await home.reasons("100") == ["damaged", "done"], "it is put aside, and the thread works on"


async def test_a_bug_in_the_evaluation_is_no_word_about_an_answer_that_was_given() -> None:
    async def broken(asked: Asked) -> Answer:
        if asked.prompt.tools:
            return answer("", ("finish", {"answer": "no", "success": False}))
        raise ZeroDivisionError("a bug in the evaluation")

    async with house(broken) as home:
        await home.say("first")
        await home.threads.idle("100")
        assert not any("interrupted this" in text for text in await home.texts())
        assert home.threads.state("100") == "idle"


async def test_an_edit_of_what_is_queued_reaches_that_task_and_not_the_running_one() -> None:
    bench = held()
    async with house([WORK, FINISH, FINISH], bench=bench) as home:
        await home.say("first")
        await bench.began.wait()
        queued = await home.say("second", sort="queue")
        edit = item("8", "edited", "second, in French").model_copy(update={"message": queued.id})
        await home.threads.deliver(edit, guild="1")
        assert bench.hold is not None
        bench.hold.set()
        await home.threads.idle("100")
        assert await home.reasons() == ["done", "done"]
        received = [
            [e.event.text for e in await home.log(which=n) if isinstance(e.event, InputReceived)] for n in (0, 1)
        ]
        assert received == [[], ["second, in French"]]
