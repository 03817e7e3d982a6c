"""What stands for something else in an inbox: nothing is lost by it, and nothing is done twice."""

from __future__ import annotations

import asyncio

from agentic.core.events.execution_events import InboxItem, Sort
from agentic.models.scripted.model import answer
from agentic.ports.runtime import SessionRow
from agentic.runtime.clock import SystemClock
from agentic.stores.sqlite.store import SQLiteStore
from bot.sessions.backlog import ROOM
from tests.stores import fresh_store
from tests.unit.threads.house import ANN, Bench, house

FINISH = answer("", ("finish", {"answer": "done"}))
WORK = answer("", ("work", {}))


def said(id: str, text: str, sort: Sort = "guidance", message: str = "") -> InboxItem:
    return InboxItem(
        id=id, thread="200", sort=sort, author=ANN, at=SystemClock().now(), text=text, message=message or id
    )


async def test_an_edit_takes_the_place_of_guidance_that_waits_also_where_nothing_more_fits() -> None:
    bench = Bench()
    bench.hold = asyncio.Event()
    async with house([WORK, FINISH, FINISH], bench=bench, limit=1) as home:
        await home.say("holds the only place", thread="100")
        await bench.began.wait()
        await home.threads.deliver(said("5000", "waits", "task"), guild="1")
        for number in range(1, ROOM):
            assert (await home.threads.deliver(said(f"5{number:03}", f"word {number:03}"), guild="1")).accepted
        assert not (await home.threads.deliver(said("5900", "too much"), guild="1")).accepted
        edit = await home.threads.deliver(said("e5007.1", "better 007", message="5007"), guild="1")
        assert edit.accepted
        again = await home.threads.deliver(said("e5008.1", "better 008", message="5008"), guild="1")
        assert again.accepted
        assert not (await home.threads.deliver(said("5901", "still too much"), guild="1")).accepted
        bench.hold.set()
        await home.threads.idle("200")
        seen = str(home.model.asked[-1].prompt.messages)
        assert seen.count("better 007") == seen.count("better 008") == 1
        assert "word 007" not in seen
        assert "word 008" not in seen
        assert "word 009" in seen


async def test_what_was_kept_by_somebody_who_was_cancelled_in_that_moment_is_begun_when_it_comes_again() -> None:
    class Slow(SQLiteStore):
        kept = asyncio.Event()

        async def put(self, item: InboxItem) -> bool:
            new = await super().put(item)
            if new:
                self.kept.set()
                await asyncio.Event().wait()
            return new

    store = fresh_store(Slow)
    async with house([FINISH], store=store) as home:
        item = said("200", "do it", "task")
        first = asyncio.create_task(home.threads.deliver(item, guild="1"))
        await store.kept.wait()
        first.cancel()
        await asyncio.wait((first,))
        await home.threads.deliver(item, guild="1")
        await home.threads.idle("200")
        assert await home.reasons("200") == ["done"]
    await store.close()


async def test_a_message_whose_files_had_just_come_when_the_process_ended_is_one_message_for_the_next() -> None:
    store = fresh_store()
    await store.save_session(SessionRow("200", "", "1"))
    await store.put(said("5001", "look at the file", "queue"))
    await store.put(said("5001.files", "look at the file", message="5001"))
    async with house([FINISH, FINISH], store=store) as home:
        assert await home.threads.recover() == 1
        await home.threads.idle("200")
        assert await home.reasons("200") == ["done"]
        assert await store.pending("200") == []
        assert str(home.model.asked[-1].prompt.messages).count("look at the file") == 1
    await store.close()
