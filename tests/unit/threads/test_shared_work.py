"""Several processes over one store: what one stores another does, once; nobody is waited for, nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest

from agentic.core.events.execution_events import FileRef, InboxItem, InputReceived, Started
from agentic.doorbells import shared_inbox
from agentic.doorbells.doorbell import Ring
from agentic.doorbells.shared_inbox import SharedInbox
from agentic.models.scripted.model import Asked, answer
from agentic.ports.errors import SandboxUnavailable, StoreUnavailable
from agentic.ports.runtime import Answer
from agentic.runtime.clock import SystemClock
from agentic.stores.sqlite.store import SQLiteStore
from bot.sessions.start import Receive
from bot.threads import take_up
from bot.threads.registry import Threads
from bot.threads.take_up import TakeUp
from tests.stores import fresh_store
from tests.unit.threads.house import ANN, Bench, House, house
from tests.waiting import BOUND, eventually

FINISH = answer("", ("finish", {"answer": "done"}))
WORK = answer("", ("work", {}))
ASK = answer("", ("ask", {}))


class MuteBell:
    """Every ring is lost."""

    keeps_line = True

    async def ring(self, thread: str, guild: str) -> None:
        """Nobody hears it."""

    async def heard(self, most: int) -> list[Ring]:
        await asyncio.Event().wait()
        return []

    async def acknowledge(self, ring: Ring) -> None:
        """There is none."""

    async def close(self) -> None:
        """Nothing is held."""


class SlowBell(MuteBell):
    """Rings once for some threads, and takes its time with what it is told."""

    def __init__(self, *threads: str) -> None:
        self._rings = [Ring(thread, f"receipt of {thread}") for thread in threads]
        self.acknowledged: list[str] = []
        self.done = asyncio.Event()
        self.looks = 0
        """How often it was listened to, and inboxes were looked into."""

    async def heard(self, most: int) -> list[Ring]:
        self.looks += 1
        rings, self._rings = self._rings, []
        await asyncio.sleep(0)
        return rings

    async def acknowledge(self, ring: Ring) -> None:
        looks = self.looks
        await eventually(lambda: self.looks > looks, "who does not wait for the bell goes on")
        self.acknowledged.append(ring.thread)
        if len(self.acknowledged) == 3:
            self.done.set()


def script(asked: Asked) -> Answer:
    """One turn of work or a question, as the task says, and then the end."""
    task = asked.prompt.messages[0].text
    if len(asked.prompt.messages) > 1:
        return FINISH
    return ASK if "choose" in task else WORK if "work" in task else FINISH


@dataclass
class Town:
    """Houses over one store."""

    store: SQLiteStore
    stack: AsyncExitStack
    mute: bool = False
    loops: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])

    async def gateway(self) -> House:
        return await self.stack.enter_async_context(
            house([], store=self.store, owner="gateway", works=False, doorbell=self._bell())
        )

    async def worker(
        self,
        name: str,
        bench: Bench | None = None,
        room: int = 4,
        receive: Receive | None = None,
        *,
        listens: bool = True,
    ) -> House:
        bell = self._bell()
        home = await self.stack.enter_async_context(
            house(script, store=self.store, owner=name, bench=bench, doorbell=bell, limit=room, receive=receive)
        )
        if listens:
            self.listen(name, home, room)
        return home

    def listen(self, name: str, home: House, room: int = 4) -> None:
        working = TakeUp(home.threads, self.store, self._bell(), SystemClock(), room, lambda _: None)
        self.loops[name] = asyncio.create_task(working.run())

    def _bell(self) -> SharedInbox | MuteBell:
        return MuteBell() if self.mute else SharedInbox(self.store, SystemClock())

    async def die(self, name: str) -> None:
        """It hears no more."""
        self.loops[name].cancel()
        await asyncio.gather(self.loops.pop(name), return_exceptions=True)


@asynccontextmanager
async def town(monkeypatch: pytest.MonkeyPatch, *, mute: bool = False) -> AsyncGenerator[Town]:
    """Houses that look often; closed in order at the end."""
    for module, name in ((shared_inbox, "LOOK_SECONDS"), (shared_inbox, "AGAIN_SECONDS"), (take_up, "HEAR_SECONDS")):
        monkeypatch.setattr(module, name, 0.02)
    monkeypatch.setattr(take_up, "SWEEP_SECONDS", 0.05 if mute else 600.0)
    async with AsyncExitStack() as stack:
        one = Town(fresh_store(), stack, mute)
        try:
            yield one
        finally:
            for name in [*one.loops]:
                await one.die(name)


async def becomes(home: House, state: str, thread: str = "100") -> None:
    """The gateway comes to know it."""

    async def known() -> bool:
        return await home.threads.knows(thread) and home.threads.state(thread) == state

    await eventually(known, f"the gateway knows that it is {state}")


def held() -> Bench:
    bench = Bench()
    bench.hold = asyncio.Event()
    return bench


@pytest.fixture(params=[False, True], ids=["heard", "every ring lost"])
async def anywhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Town]:
    async with town(monkeypatch, mute=request.param) as one:
        yield one


async def test_what_the_gateway_stores_one_worker_does_once(anywhere: Town) -> None:
    gateway = await anywhere.gateway()
    for name in ("one", "two"):
        await anywhere.worker(name)
    for number in range(5):
        await gateway.say("hello", thread=str(number))
    for number in range(5):
        await gateway.becomes("done", thread=str(number))
        assert [e.event.kind for e in await gateway.log(str(number))].count("started") == 1
        await becomes(gateway, "idle", thread=str(number))


async def test_a_gateway_knows_what_workers_do_and_what_it_is_told_counts_there(anywhere: Town) -> None:
    gateway, bench = await anywhere.gateway(), held()
    await anywhere.worker("one", bench)
    await gateway.say("choose")
    await becomes(gateway, "asking")
    asked = await gateway.threads.standing("100")
    assert asked.asked is not None
    assert asked.requester == "7"
    await gateway.say("this", sort="answer", target=asked.question)
    await gateway.becomes("done")

    await gateway.say("work", thread="200")
    await bench.began.wait()
    await becomes(gateway, "busy", thread="200")
    assert (await gateway.threads.status("200")).task == "work"
    await gateway.say("", thread="200", sort="pause")
    await becomes(gateway, "paused", thread="200")
    await gateway.say("", thread="200", sort="resume")
    await becomes(gateway, "busy", thread="200")
    await gateway.say("and mind the step", thread="200")
    await gateway.say("", thread="200", sort="stop")
    await gateway.becomes("stopped", thread="200")
    heard = [getattr(e.event, "text", "") for e in await gateway.log("200") if e.event.kind == "input_received"]
    assert "and mind the step" in heard
    assert bench.ended.is_set()


async def test_work_that_another_did_while_one_waited_for_a_slot_is_not_done_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with town(monkeypatch) as here:
        gateway, bench = await here.gateway(), held()
        busy = await here.worker("busy", bench, room=1, listens=False)
        await gateway.say("work", thread="1")
        await busy.threads.look("1")
        await bench.began.wait()
        await gateway.say("hello", thread="2")
        await busy.threads.look("2")  # it is first in the line for the one slot
        await eventually(lambda: busy.slots.position(busy.roster.sessions["2"].state.main))
        other = await here.worker("other", listens=False)
        await other.threads.look("2")
        await other.becomes("done", thread="2")
        assert bench.hold is not None
        bench.hold.set()
        await busy.threads.idle("2")
        log = await gateway.log("2")
        assert {envelope.fence for envelope in log} == {log[0].fence}
        assert len(await gateway.store.executions("2")) == 1
        assert bench.settled == 1, "its tools were made ready for the one task alone"


async def test_a_bell_that_takes_its_time_is_told_once_of_each_thread(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What hears and what listens both let go of threads, and each waits for the bell."""
    async with town(monkeypatch) as here:
        worker = await here.worker("one", listens=False)
        bell, hear = SlowBell("1", "2", "3"), worker.threads.hear

        async def looking() -> None:
            await hear()
            bell.looks += 1

        monkeypatch.setattr(worker.threads, "hear", looking)
        here.loops["one"] = asyncio.create_task(
            TakeUp(worker.threads, here.store, bell, SystemClock(), 4, lambda _: None).run()
        )
        async with asyncio.timeout(BOUND):
            await bell.done.wait()
    assert sorted(bell.acknowledged) == ["1", "2", "3"]
    assert [record.message for record in caplog.records if "fault of ours" in record.message] == []


async def test_of_threads_that_wait_for_a_person_only_those_are_looked_into_for_which_something_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There may be many, and each look is a request to AWS."""
    async with town(monkeypatch) as here:
        gateway, worker = await here.gateway(), await here.worker("one")
        await gateway.say("choose")
        await becomes(gateway, "asking")
        asked = await gateway.threads.standing("100")
        await here.die("one")
        looked, pending = list[str](), here.store.pending

        async def counted(thread: str) -> list[InboxItem]:
            looked.append(thread)
            return await pending(thread)

        monkeypatch.setattr(here.store, "pending", counted)
        await worker.threads.hear()
        assert looked == []
        monkeypatch.setattr(here.store, "pending", pending)
        await gateway.say("this", sort="answer", target=asked.question)
        await worker.threads.hear()
        await gateway.becomes("done")


class Looker:
    """Threads that are only looked at, and never worked on."""

    def __init__(self, most: int) -> None:
        self.looked: list[str] = []
        self.rested, self.done, self._most = asyncio.Event(), asyncio.Event(), most

    async def look(self, thread: str) -> None:
        self.looked.append(thread)
        if len(self.looked) == self._most:
            self.done.set()

    async def hear(self) -> None:
        """There is nobody."""

    def works_on(self, thread: str) -> bool:
        return False


class ManyOpen(SQLiteStore):
    """Executions that nobody has."""

    async def open_threads(self, most: int, after: str = "") -> list[tuple[str, str]]:
        return [(f"{number}", f"{number:03d}") for number in range(20) if f"{number:03d}" > after][:most]


class Lineless(MuteBell):
    """Its looks cost nothing."""

    keeps_line = False


async def looked_into(threads: Looker, bell: MuteBell) -> list[str]:
    """What is looked into, in order, until it is as much as was wanted."""
    working = TakeUp(cast("Threads", threads), fresh_store(ManyOpen), bell, SystemClock(), 4, lambda _: None)
    running = asyncio.create_task(working.run())
    async with asyncio.timeout(BOUND):
        await threads.done.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return threads.looked


async def test_two_that_look_for_what_nobody_has_do_not_go_the_same_way() -> None:
    """Else the second one catches up with the first, and from then on both want each thread at once."""
    ways = [(await looked_into(Looker(20), MuteBell()))[:20] for _ in range(2)]
    assert sorted(ways[0]) == sorted(ways[1])
    assert ways[0] != ways[1]


async def test_a_look_for_what_nobody_has_reads_a_part_of_what_is_open_and_the_next_one_goes_on_from_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(take_up, "SWEEP_SECONDS", 0.01)
    monkeypatch.setattr(take_up, "LOOKED_AT", 8)
    looked = await looked_into(Looker(28), MuteBell())
    parts = (range(8), range(8, 16), range(16, 20), range(8))
    begins = (0, 8, 16, 20)
    for begin, part in zip(begins, parts, strict=True):
        assert sorted(map(int, looked[begin : begin + len(part)])) == [*part]


async def test_where_a_look_costs_nothing_all_that_is_open_is_looked_at_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else what a dead worker left would wait for many looks."""
    monkeypatch.setattr(take_up, "SWEEP_SECONDS", 600.0)
    monkeypatch.setattr(take_up, "LOOKED_AT", 8)
    assert len(await looked_into(Looker(20), Lineless())) == 20


async def test_a_worker_takes_no_more_than_it_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with town(monkeypatch) as here:
        gateway, bench = await here.gateway(), held()
        full = await here.worker("full", bench, room=1)
        await gateway.say("work", thread="1")
        await bench.began.wait()
        await gateway.say("hello", thread="2")
        await here.worker("free", room=1)
        await gateway.becomes("done", thread="2")
        assert "2" not in full.roster.sessions
        assert bench.hold is not None
        bench.hold.set()
        await gateway.becomes("done", thread="1")


async def test_what_a_fault_of_the_place_broke_off_waits_for_a_person_and_not_for_another_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken() -> None:
        raise SandboxUnavailable("there is no sandbox")

    async with town(monkeypatch, mute=True) as here:
        gateway = await here.gateway()
        first = await here.worker("first", Bench(broken))
        await gateway.say("work")
        await gateway.told("sandbox")
        await first.threads.idle("100")
        await becomes(gateway, "paused")
        head = (await gateway.store.open_executions("100"))[0].head
        second = await here.worker("second", listens=False)
        await second.threads.look("100")
        await second.threads.idle("100")
        assert (await gateway.store.open_executions("100"))[0].head == head, "it is left to people"
        await gateway.say("go on")
        await gateway.becomes("done")


async def test_a_crashed_workers_thread_is_taken_up_once_its_lease_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    async with town(monkeypatch, mute=True) as here:
        gateway, bench = await here.gateway(), held()
        dying = await here.worker("dying", bench)
        await gateway.say("work")
        await bench.began.wait()
        await here.die("dying")
        await dying.crash("100")
        await gateway.becomes("")
        await here.worker("other")
        await gateway.becomes("done")
        assert isinstance((await gateway.log())[0].event, Started)


async def test_files_and_votes_that_the_gateway_stored_are_taken_in_by_who_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fetched: list[str] = []

    async def receive(item: InboxItem) -> tuple[FileRef, ...]:
        fetched.append(item.id)
        return tuple(file.model_copy(update={"path": file.name}) for file in item.files)

    async with town(monkeypatch) as here:
        gateway, bench = await here.gateway(), held()
        await here.worker("one", bench, receive=receive)
        await gateway.say("work")
        await bench.began.wait()
        sent = InboxItem(
            id="900", thread="100", sort="guidance", author=ANN, at=SystemClock().now(), text="use this", message="900",
            files=(FileRef(name="table.csv", path="https://cdn/table.csv", size=3),),
        )  # fmt: skip
        await gateway.threads.deliver(sent, guild="1")

        async def taken_in() -> InputReceived | None:
            return next((e.event for e in await gateway.log() if isinstance(e.event, InputReceived)), None)

        heard = await eventually(taken_in)
        assert heard is not None
        assert [file.path for file in heard.files] == ["table.csv"]
        assert fetched == ["900"]
        assert bench.hold is not None
        bench.hold.set()
        await gateway.becomes("done")

        execution = (await gateway.store.executions("100"))[0].execution
        vote = await gateway.say("up", sort="feedback", target=f"{execution}/result")
        await gateway.emptied()
        kinds = [e.event.kind for e in await gateway.store.read_outcome(execution)]
        assert kinds.count("feedback_given") == 1, kinds
        none = await gateway.threads.deliver(
            vote.model_copy(update={"id": "901", "target": "", "thread": "77"}), guild="1"
        )
        assert not none.accepted or none.text, "there is no result"


async def test_a_stop_reaches_the_process_that_runs_also_where_another_waits_in_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with town(monkeypatch) as here:
        gateway, bench, other_bench = await here.gateway(), held(), held()
        busy = await here.worker("busy", bench, room=1, listens=False)
        await gateway.say("work", thread="1")
        await busy.threads.look("1")
        await bench.began.wait()
        await gateway.say("work", thread="2")
        await busy.threads.look("2")
        await eventually(lambda: busy.slots.position(busy.roster.sessions["2"].state.main))
        other = await here.worker("other", other_bench, listens=False)
        await other.threads.look("2")
        await other_bench.began.wait()
        await gateway.say("", thread="2", sort="stop")
        await busy.threads.hear()
        await eventually(lambda: busy.roster.sessions["2"].task is None)
        await other.threads.hear()
        await eventually(lambda: other.roster.sessions["2"].task is None)
        assert await gateway.reasons("2") == ["stopped"]
        for each in (bench, other_bench):
            assert each.hold is not None
            each.hold.set()


class Batch:
    """A bell that rings for three threads at once, and then no more."""

    keeps_line = True

    def __init__(self) -> None:
        self.rings = [Ring(str(number), f"r{number}") for number in range(3)]
        self.held = {ring.receipt for ring in self.rings}

    async def ring(self, thread: str, guild: str) -> None:
        """Nobody rings."""

    async def heard(self, most: int) -> list[Ring]:
        heard, self.rings = self.rings, []
        if not heard:
            await asyncio.Event().wait()
        return heard

    async def acknowledge(self, ring: Ring) -> None:
        self.held.discard(ring.receipt)

    async def close(self) -> None:
        """Nothing is held."""


async def test_a_ring_is_kept_while_its_thread_is_looked_at_and_none_stays_where_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with town(monkeypatch) as here:
        worker = await here.worker("one", held(), listens=False)
        bell, looks, goes_on = Batch(), asyncio.Event(), asyncio.Event()

        async def look(thread: str) -> bool:
            looks.set()
            await goes_on.wait()
            raise StoreUnavailable("the store is away")

        monkeypatch.setattr(worker.threads, "look", look)
        up = TakeUp(worker.threads, worker.store, bell, SystemClock(), 4, lambda _: None)
        running = asyncio.create_task(up.run())
        await looks.wait()
        await up._hear()  # pyright: ignore[reportPrivateUsage]
        assert len(bell.held) == 3
        goes_on.set()
        await eventually(lambda: not bell.held)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
