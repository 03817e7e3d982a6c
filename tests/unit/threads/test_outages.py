"""The store is away for a while, or another process puts things into it: nothing waits in silence afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import cast

import pytest

from agentic.core.events.execution_events import Envelope, InboxItem, OutboxItem
from agentic.models.scripted.model import Asked, answer
from agentic.ports.errors import StoreCorrupt, StoreUnavailable
from agentic.ports.runtime import (
    Answer,
    Observation,
    Prepared,
    SessionRow,
)
from agentic.runtime.clock import SystemClock
from agentic.stores.sqlite.store import SQLiteStore
from bot.sessions import session_work, side_questions
from tests.stores import fresh_store
from tests.unit.threads.house import ANN, Bench, house
from tests.waiting import eventually


class Away(SQLiteStore):
    """Takes nothing while ``away``."""

    away = False
    refused = 0

    async def append(self, *args: object, **named: object) -> None:
        self._check()
        await super().append(*args, **named)

    async def put_outbox(self, items: list[OutboxItem]) -> None:
        self._check()
        await super().put_outbox(items)

    def _check(self) -> None:
        if self.away:
            self.refused += 1
            raise StoreUnavailable("the disk is full")


async def test_what_a_full_disk_interrupted_is_told_as_soon_as_it_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The word itself needs the disk: it is said later rather than never."""
    monkeypatch.setattr(session_work, "TELL_AGAIN_SECONDS", 0.02)
    store, bench = fresh_store(Away), Bench()
    bench.hold = asyncio.Event()
    async with house(
        [answer("", ("work", {})), answer("", ("finish", {"answer": "Done."}))], store=store, bench=bench
    ) as home:
        await home.say("go")
        await bench.began.wait()
        store.away = True
        bench.hold.set()
        await eventually(lambda: store.refused >= 3, "the step, and the word of it, which is tried again")
        store.away = False
        await home.told("disk is full")
        await home.say("go on", sort="guidance")
        await home.threads.idle("100")
        assert (await home.reasons()) == ["done"]


async def test_an_end_that_was_kept_though_the_store_said_no_is_an_end() -> None:
    """Its answer was lost on the way: what people say of the result afterwards is about a result, and it is learned from."""

    class Doubtful(SQLiteStore):
        async def append(self, *args: object, **named: object) -> None:
            await super().append(*args, **named)
            events = args[3]
            if isinstance(events, list) and any(e.event.kind == "finished" for e in cast("list[Envelope]", events)):
                raise StoreUnavailable("the disk hiccuped")

    store = fresh_store(Doubtful)
    async with house([answer("", ("finish", {"answer": "Done."}))], store=store) as home:
        await home.say("go")
        await home.threads.idle("100")
        (row,) = await store.executions("100")
        assert (home.threads.state("100"), row.finished) == ("idle", "done")
        await home.say("", sort="correction", target=f"{row.execution}/result")
        await home.emptied()
        kinds = [each.event.kind for each in await store.read_outcome(row.execution)]
        assert "evaluated" in kinds
        assert "feedback_given" in kinds


async def test_a_stop_that_another_process_kept_first_is_obeyed_by_the_owner() -> None:
    """Discord tells every process of one name everything; whoever keeps it first need not be the owner."""
    bench = Bench()
    bench.hold = asyncio.Event()
    async with house([answer("", ("work", {}))], bench=bench) as home:
        await home.say("go")
        await bench.began.wait()
        stop = InboxItem(id="10000999", thread="100", sort="stop", author=ANN, at=SystemClock().now())
        assert await home.store.put(stop)
        assert not (await home.threads.deliver(stop, guild="1")).accepted
        await home.threads.idle("100")
        assert (await home.reasons()) == ["stopped"]


async def test_a_side_question_in_the_very_moment_of_the_beginning_is_answered() -> None:
    """It came when the lease was held and the first event was still on its way to the disk."""

    class Slow(SQLiteStore):
        first = True

        async def append(self, *args: object, **named: object) -> None:
            if self.first:
                self.first = False
                aside = InboxItem(
                    id="10000998", thread="100", sort="side", author=ANN, at=SystemClock().now(), text="how far?"
                )
                await home.threads.deliver(aside, guild="1")
                await looked.wait()
            await super().append(*args, **named)

    class Looking(SystemClock):
        async def sleep(self, seconds: float) -> None:
            if seconds == side_questions.BEGINNING_PAUSE:  # it looked for what it was asked beside, and will look again
                looked.set()
            await super().sleep(seconds)

    store, bench, looked = fresh_store(Slow), Bench(), asyncio.Event()
    bench.hold = asyncio.Event()
    steps = iter((answer("", ("work", {})), answer("", ("finish", {"answer": "Done."}))))

    def script(asked: Asked) -> Answer:
        return next(steps) if asked.prompt.tools else answer("half way")

    async with house(script, store=store, bench=bench, clock=Looking()) as home:
        await home.say("go")
        await bench.began.wait()
        await home.told("half way")
        bench.hold.set()
        await home.threads.idle("100")
        assert await home.reasons() == ["done", "done"]
        assert await store.pending("100") == []


async def test_a_side_question_whose_process_died_is_answered_although_its_task_waits_for_a_person() -> None:
    store, asked_aside = fresh_store(), asyncio.Event()

    async def first(asked: Asked) -> Answer:
        if asked.prompt.tools:
            return answer("", ("ask", {}))
        asked_aside.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with house(first, store=store) as home:
        await home.say("go")
        await home.threads.settled("100")
        await home.say("how far?", sort="side")
        await asked_aside.wait()
    async with house(lambda _: answer("half way"), store=store) as home:
        await home.threads.recover()
        await home.told("half way")
        assert home.threads.state("100") == "asking"


async def test_what_is_said_in_the_moment_in_which_the_work_breaks_off_is_taken_in() -> None:
    """It is in the inbox, and no further message may be needed for it."""

    class Breaking(Bench):
        broken = False

        async def run(self, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
            if tool == "work" and not self.broken:
                self.broken = True
                await home.store.put(queued("10000997", "then this"))
                home.roster.sessions["100"].doorbell.set()
                raise RuntimeError("a fault of ours")
            return await super().run(tool, call, prepared, on_output)

    bench = Breaking()
    finish = answer("", ("finish", {"answer": "Done."}))
    async with house([answer("", ("work", {})), finish, finish], bench=bench) as home:
        await home.say("go")
        await home.told("A bug in Threadwright")
        await home.threads.idle("100")
        assert await home.reasons() == ["done", "done"]


def queued(id: str, text: str) -> InboxItem:
    return InboxItem(id=id, thread="100", sort="queue", author=ANN, at=SystemClock().now(), text=text)


async def test_what_waits_behind_a_damaged_log_begins_when_that_is_put_aside() -> None:
    class Damaged(SQLiteStore):
        damaged = False

        async def read(self, execution: str, after: int = 0) -> AsyncIterator[Envelope]:
            if self.damaged and execution == first:
                raise StoreCorrupt("event 2 does not match its checksum")
            async for envelope in super().read(execution, after):
                yield envelope

    store = fresh_store(Damaged)
    async with house([answer("", ("ask", {}))], store=store) as home:
        await home.say("go")
        await home.threads.settled("100")
        await home.say("then this", sort="queue")
    first, store.damaged = (await store.executions("100"))[0].execution, True
    async with house([answer("", ("finish", {"answer": "Done."}))], store=store) as home:
        await home.threads.recover()
        await home.threads.idle("100")
        assert await home.reasons() == ["damaged", "done"]


async def test_a_store_that_fails_for_a_moment_leaves_no_later_side_question_unanswered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(side_questions, "AGAIN_SECONDS", 0.01)

    class Hiccup(SQLiteStore):
        failed = False

        async def pending(self, thread: str) -> list[InboxItem]:
            if not self.failed and (task := asyncio.current_task()) and task.get_name().startswith("side questions"):
                self.failed = True
                raise StoreUnavailable("the disk is slow")
            return await super().pending(thread)

    store = fresh_store(Hiccup)
    async with house(asking_and_answering, store=store) as home:
        await home.say("go")
        await home.threads.settled("100")
        assert store.failed
        await home.say("how far?", sort="side")
        await home.told("half way")


def asking_and_answering(asked: Asked) -> Answer:
    """A task that asks a person, and an answer to whatever is asked beside it."""
    return answer("", ("ask", {})) if asked.prompt.tools else answer("half way")


@pytest.mark.parametrize("ended", [False, True])
async def test_a_process_that_ends_leaves_a_side_question_in_order_and_waits_for_no_answer(ended: bool) -> None:
    """Also where what it was asked beside has just ended."""
    store, asked_aside, bench = fresh_store(), asyncio.Event(), Bench()
    bench.hold = asyncio.Event()

    async def script(asked: Asked) -> Answer:
        if asked.prompt.tools:
            return answer("", ("finish", {"answer": "Done."})) if bench.ended.is_set() else answer("", ("work", {}))
        asked_aside.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with house(script, store=store, bench=bench) as home:
        await home.say("go")
        await bench.began.wait()
        await home.say("how far?", sort="side")
        await asked_aside.wait()
        if ended:
            bench.hold.set()
            await home.becomes("done", "")
        await home.threads.close()
        assert [envelope.event.kind for envelope in await home.log()][-1] == "handed_over"


async def test_where_a_thread_could_not_be_kept_but_its_first_task_was_it_is_kept_after_all() -> None:
    class Hiccup(SQLiteStore):
        times = 0

        async def save_session(self, row: SessionRow) -> None:
            self.times += 1
            if self.times == 1:
                raise StoreUnavailable("busy for a moment")
            await super().save_session(row)

    store = fresh_store(Hiccup)
    async with house([answer("", ("finish", {"answer": "Done."}))], store=store) as place:
        await place.say("do it")
        await place.threads.idle("100")
        kept = await store.session("100")
        assert kept is not None, "its answer has no place to appear in"
        assert await place.reasons() == ["done"]


async def test_a_stop_where_nothing_runs_that_was_kept_and_then_failed_lies_nowhere_afterwards() -> None:
    class Hiccup(SQLiteStore):
        failed = False

        async def discard(self, ids: Sequence[str]) -> None:
            if ids and not self.failed:
                self.failed = True
                raise StoreUnavailable("busy for a moment")
            await super().discard(ids)

    store = fresh_store(Hiccup)
    done = answer("", ("finish", {"answer": "Done."}))
    async with house([done, done], store=store) as place:
        await place.say("do it")
        await place.threads.idle("100")
        with pytest.raises(StoreUnavailable, match="busy"):
            await place.say("", sort="stop")
        assert store.failed
        await place.emptied()
        await place.say("and this")
        await place.threads.idle("100")
        assert await place.reasons() == ["done", "done"]
