"""A stop ends what runs, what waits and what is about to begin, and nothing that comes after it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import pytest

from agentic.core.events.execution_events import FileRef, InboxItem, Person
from agentic.models.scripted.model import Asked, answer
from agentic.ports.errors import SandboxLost, SandboxUnavailable, StoreUnavailable
from agentic.ports.runtime import Answer, Lease, Observation, Prepared
from agentic.runtime import loop
from agentic.runtime.clock import SystemClock
from agentic.stores.sqlite.store import SQLiteStore
from bot.ports.conversation import Receipt
from tests.stores import fresh_store
from tests.unit.threads.house import ANN, Bench, House, house
from tests.waiting import eventually

FINISH = answer("", ("finish", {"answer": "done"}))
WORK = answer("", ("work", {}))
BOB = Person(id="8", name="Bob")


def held() -> Bench:
    bench = Bench()
    bench.hold = asyncio.Event()
    return bench


def item(id: str, sort: str, text: str = "", by: Person = ANN) -> InboxItem:
    return InboxItem.model_validate(
        {"id": id, "thread": "100", "sort": sort, "author": by, "at": SystemClock().now(), "text": text}
    )


async def tasks(home: House) -> list[tuple[str, str]]:
    return [(row.task, row.finished) for row in await home.store.executions("100")]


class Settling(Bench):
    """A bench on which the end of an execution takes as long as the test wants."""

    def __init__(self) -> None:
        super().__init__()
        self.settling = asyncio.Event()
        self.go = asyncio.Event()

    async def settle(self) -> None:
        self.settling.set()
        await self.go.wait()


class Deaf(Bench):
    """A bench whose work goes on when it is cancelled, until the test lets it end."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled = asyncio.Event()
        self.go = asyncio.Event()

    async def run(self, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        if tool != "work":
            return await super().run(tool, call, prepared, on_output)
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            while not self.go.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await self.go.wait()
            self.ended.set()
            raise
        return Observation("ok", "worked")


async def test_a_stop_that_came_as_an_execution_ended_does_not_stop_what_was_queued_after_it() -> None:
    bench = Settling()
    async with house([FINISH, FINISH], bench=bench) as home:
        await home.say("first")
        await bench.settling.wait()
        await home.store.put(item("5", "stop"))  # it was on its way when the execution ended
        await home.say("second", sort="queue")
        bench.go.set()
        await home.threads.idle("100")
        assert await tasks(home) == [("first", "done"), ("second", "done")]


async def test_a_stop_after_the_end_calls_off_what_was_queued_before_it_and_says_so() -> None:
    bench = Settling()
    async with house([FINISH, FINISH], bench=bench) as home:
        await home.say("first")
        await bench.settling.wait()
        await home.say("second", sort="queue")
        await home.say("", sort="stop")
        bench.go.set()
        await home.threads.idle("100")
        assert await tasks(home) == [("first", "done")]
        assert any("Stopped before it started" in text and "second" in text for text in await home.texts())
        assert home.threads.state("100") == "idle"


async def test_what_waits_for_the_lessons_of_the_last_task_is_busy_and_can_be_stopped() -> None:
    learning = asyncio.Event()

    async def script(asked: Asked) -> Answer:
        if asked.prompt.tools:
            return answer("", ("finish", {"answer": "no", "success": False}))
        learning.set()
        await asyncio.Event().wait()
        return FINISH

    async with house(script, limit=1) as home:
        await home.say("first")
        await learning.wait()
        receipt = await home.threads.deliver(item("9", "task", "second"), guild="1")
        assert "in a moment" in receipt.text
        assert home.threads.state("100") == "busy"
        await home.say("", sort="stop")
        await eventually(lambda: home.threads.state("100") != "busy")
        assert await tasks(home) == [("first", "failed")]
        await home.told("second")


async def test_a_reflection_holds_no_slot() -> None:
    learning = asyncio.Event()

    async def script(asked: Asked) -> Answer:
        if not asked.prompt.tools:
            learning.set()
            await asyncio.Event().wait()
        failed = any("first" in message.text for message in asked.prompt.messages)
        return answer("", ("finish", {"answer": "", "success": not failed}))

    async with house(script, limit=1) as home:
        await home.say("first")
        await learning.wait()
        await home.say("second", thread="200")
        await home.threads.idle("200")
        assert await home.reasons("200") == ["done"]


async def test_an_execution_that_broke_off_can_be_stopped() -> None:
    def fail() -> None:
        raise SandboxUnavailable("no docker")

    async with house([WORK], bench=Bench(fail)) as home:
        await home.say("delete all logs")
        await home.threads.idle("100")
        assert home.threads.state("100") == "paused", "so that a stop is let through and strangers are not"
        assert (await home.threads.status("100")).requester == ANN.id
        await home.say("", sort="stop")
        await home.threads.idle("100")
        assert await tasks(home) == [("delete all logs", "stopped")]
        assert home.threads.state("100") == "idle"


async def test_a_task_of_somebody_else_never_becomes_guidance_for_what_runs() -> None:
    bench = held()
    async with house([WORK, FINISH, FINISH], bench=bench) as home:
        await home.say("first")
        await bench.began.wait()
        await home.threads.deliver(item("9", "task", "drop the users table", BOB), guild="1")
        assert bench.hold is not None
        bench.hold.set()
        await home.threads.idle("100")
        assert await tasks(home) == [("first", "done"), ("drop the users table", "done")]


async def test_a_stop_that_cannot_be_kept_interrupts_all_the_same_and_says_what_that_means() -> None:
    class FullDisk(SQLiteStore):
        full = False

        async def put(self, item: InboxItem) -> bool:
            if self.full:
                raise StoreUnavailable("the disk is full")
            return await super().put(item)

    store, bench = fresh_store(FullDisk), held()
    async with house([WORK], store=store, bench=bench) as home:
        await home.say("fill the disk")
        await bench.began.wait()
        store.full = True
        receipt: Receipt = await home.threads.deliver(item("9", "stop"), guild="1")
        await home.threads.idle("100")
        assert bench.ended.is_set()
        assert "I stopped it" in receipt.text
        assert "the disk is full" in receipt.text
        store.full = False
        await home.say("", sort="stop")
        await home.threads.idle("100")
        assert await home.reasons() == ["stopped"]


async def test_a_stop_ends_the_execution_although_the_sandbox_does_not_answer() -> None:
    class Frozen(Bench):
        async def settle(self) -> None:
            raise SandboxLost("the sandbox did not answer")

    bench = Frozen()
    bench.hold = asyncio.Event()
    async with house([WORK, FINISH], bench=bench) as home:
        await home.say("first")
        await bench.began.wait()
        await home.say("", sort="stop")
        await home.threads.idle("100")
        await home.say("second")
        await home.threads.idle("100")
        assert await tasks(home) == [("first", "stopped"), ("second", "done")]


async def test_what_is_said_after_a_stop_is_a_task_of_its_own() -> None:
    bench = Deaf()
    async with house([WORK, FINISH], bench=bench) as home:
        await home.say("delete the logs")
        await bench.began.wait()
        await home.say("", sort="stop")
        await bench.cancelled.wait()
        await home.say("compress the logs instead")
        bench.go.set()
        await home.threads.idle("100")
        assert await tasks(home) == [("delete the logs", "stopped"), ("compress the logs instead", "done")]


async def test_a_tool_that_never_acknowledges_its_cancellation_does_not_hold_up_the_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "ACKNOWLEDGE_SECONDS", 0.01)
    bench = Deaf()
    async with house([WORK, FINISH], bench=bench) as home:
        await home.say("first")
        await bench.began.wait()
        await home.say("", sort="stop")
        await home.threads.idle("100")
        assert await home.reasons() == ["stopped"]
        finished = [e.event for e in await home.log() if e.event.kind == "tool_finished"]
        assert [event.outcome for event in finished] == ["unknown"]
        log = await home.log()
        bench.go.set()
        await bench.ended.wait()
        await home.say("second")
        await home.threads.idle("100")
        assert await home.log(which=0) == log, "what ends late writes nothing any more"


async def test_a_stop_ends_the_downloads_that_precede_a_task() -> None:
    fetching = asyncio.Event()

    async def receive(sent: InboxItem) -> tuple[FileRef, ...]:
        fetching.set()
        await asyncio.Event().wait()
        return sent.files

    async with house([FINISH], receive=receive) as home:
        task = item("9", "task", "sum it").model_copy(update={"files": (FileRef(name="a", path="u", size=3),)})
        await home.threads.deliver(task, guild="1")
        await fetching.wait()
        await home.say("", sort="stop")
        await home.threads.idle("100")
        assert await tasks(home) == []
        assert any("Stopped before it started" in text for text in await home.texts())
        assert await home.store.pending("100") == []


async def test_a_stop_ends_the_wait_for_another_process_and_says_what_it_was() -> None:
    class Taken(SQLiteStore):
        asked = asyncio.Event()

        async def acquire(self, thread: str, owner: str, seconds: float = 20.0) -> Lease | None:
            lease = await super().acquire(thread, owner, seconds)
            if lease is None:
                self.asked.set()
            return lease

    store = fresh_store(Taken)
    await store.acquire("100", "another", 600)
    async with house([FINISH], store=store) as home:
        await home.say("first")
        await store.asked.wait()
        await home.say("", sort="stop")
        await home.threads.idle("100")
        assert any("another process has the thread" in text for text in await home.texts())
        assert await store.pending("100") == []


async def test_a_stop_right_after_the_task_waits_in_no_line() -> None:
    bench = held()
    async with house([WORK], bench=bench, limit=1) as home:
        await home.say("holds the only slot", thread="200")
        await bench.began.wait()
        await home.threads.deliver(item("1001", "task", "waits"), guild="1")
        await home.threads.deliver(item("1002", "stop"), guild="1")
        await home.threads.idle("100")
        assert await tasks(home) == []


async def test_a_stop_given_while_the_bot_was_down_waits_in_no_line_after_the_start() -> None:
    store, bench = fresh_store(), held()
    async with house([WORK, WORK], store=store, bench=bench) as home:
        await home.say("a", thread="050")
        await home.say("b", thread="100")
        for thread in ("050", "100"):
            await home.becomes("", thread=thread)
    await store.put(item("9", "stop"))
    bench = held()
    async with house(lambda _: WORK, store=store, bench=bench, limit=1) as home:
        await home.threads.recover()
        await home.threads.idle("100")
        assert await home.reasons("100") == ["stopped"]
        assert home.threads.state("050") == "busy"
