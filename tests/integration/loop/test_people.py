"""What people do to a running execution, over SQLite and a model behind HTTP: pause, approve, ask beside it, withdraw."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    InboxItem,
    InputReceived,
    OwnerChanged,
    ToolFinished,
    ToolStarted,
)
from agentic.core.events.ids import side_target
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import (
    Observation,
    Prepared,
    Question,
    QuestionPart,
)
from tests.integration.loop.conftest import THREAD, YOU, Bench
from tests.integration.loop.housing import (
    FINISH,
    MAIN,
    SIDE,
    HouseOf,
    next_owner,
    started,
)
from tests.waiting import promised

# --- pause --------------------------------------------------------------------------------------------------------


async def test_a_pause_lets_the_running_call_end_begins_no_other_and_keeps_what_was_said(house_of: HouseOf) -> None:
    bench = Bench()
    calls = (("act", {"name": "a", "until": "paused"}), ("act", {"name": "b"}))
    house = await house_of(Reply(calls=calls), FINISH)
    running = house.start(bench)
    await house.first(ToolStarted)
    await house.say("pause")
    await house.first(InputReceived)
    bench.gates["paused"].set()
    await house.first(ToolFinished)
    await house.say("guidance", "mind the cache")
    await house.first(InputReceived, 2)
    assert len(await house.events(ToolStarted)) == 1
    assert bench.ran == ["a"]
    await house.say("resume")
    assert (await house.ends(running)).reason == "done"
    assert bench.ran == ["a", "b"]
    assert "mind the cache" in house.endpoint.requests[1].text()


async def test_a_stop_ends_what_is_paused(house_of: HouseOf) -> None:
    house = await house_of(Reply(calls=(("act", {"name": "a", "until": "never"}),)), FINISH)
    running = house.start(Bench())
    await house.first(ToolStarted)
    await house.say("pause")
    await house.first(InputReceived)
    await house.say("stop")
    async with promised(2, "a stop"):
        assert (await house.ends(running)).reason == "stopped"


async def test_a_pause_outlives_its_owner(house_of: HouseOf) -> None:
    house = await house_of(Reply(calls=(("look", {"name": "a", "until": "never"}),)), FINISH)
    running = house.start(Bench())
    await house.first(ToolStarted)
    await house.say("pause")
    await house.first(InputReceived)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    house.lease = await next_owner(house)
    bench = Bench()
    again = asyncio.create_task(house.loop.run(house.lease, MAIN, bench, house.doorbell))
    await house.first(OwnerChanged)
    await house.say("guidance", "quickly")
    await house.first(InputReceived, 2)
    assert len(await house.events(ToolStarted)) == 1
    await house.say("stop")
    assert (await house.ends(again)).reason == "stopped"


# --- beside it, and taken back ------------------------------------------------------------------------------------


async def test_a_side_question_is_answered_beside_the_work_and_takes_nothing_from_its_inbox(house_of: HouseOf) -> None:
    bench = Bench()
    house = await house_of(Reply(calls=(("act", {"name": "a", "until": "answered"}),)), FINISH)
    running = house.start(bench)
    await house.first(ToolStarted)
    await house.store.put(
        InboxItem(id="900", thread=THREAD, sort="guidance", author=YOU, at=datetime.now(UTC), text="for the work")
    )
    bell = asyncio.Event()
    aside = await house.loop.run(house.lease, SIDE, Bench(specs=()), bell, started(Bench(specs=()), True))
    assert aside.finished is not None
    assert (aside.finished.reason, aside.finished.answer) == ("done", "I run the tests.")
    assert [item.id for item in await house.store.pending(THREAD)] == ["900"]
    assert not running.done()
    house.doorbell.set()
    bench.gates["answered"].set()
    assert (await house.ends(running)).reason == "done"
    assert "for the work" in house.endpoint.requests[-1].text()
    items = [row.item for row in await house.store.undelivered(THREAD) if row.item.execution == SIDE]
    assert [(item.sort, item.target) for item in items] == [("answer", "2")]


async def test_a_side_question_is_stopped_by_its_own_stop_alone(house_of: HouseOf) -> None:
    house = await house_of(Reply(calls=(("act", {"name": "a", "until": "answered"}),)), FINISH)
    bench = Bench()
    running = house.start(bench)
    await house.first(ToolStarted)
    await house.say("stop", target=side_target(SIDE))
    bell = asyncio.Event()
    aside = await house.loop.run(house.lease, SIDE, Bench(specs=()), bell, started(Bench(specs=()), True))
    assert aside.finished is not None
    assert aside.finished.reason == "stopped"
    bench.gates["answered"].set()
    assert (await house.ends(running)).reason == "done"


async def test_a_task_whose_message_is_deleted_before_it_did_anything_is_dropped(house_of: HouseOf) -> None:
    house = await house_of(FINISH)
    await house.say("deleted", message="1")
    finished = await house.ends(house.start(Bench()))
    assert finished.reason == "cancelled"
    assert house.endpoint.requests == []


class Asking(Bench):
    """Its ``ask_user`` asks two things at once."""

    async def run(self, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        if tool == "ask_user":
            parts = (QuestionPart("Which?", ("A", "B")), QuestionPart("When?"))
            return Observation("ok", "", question=Question("Two things:", (), parts))
        return await super().run(tool, call, prepared, on_output)


async def test_several_questions_wait_for_all_their_answers(house_of: HouseOf) -> None:
    house = await house_of(Reply(calls=(("ask_user", {}),)), FINISH)
    running = house.start(Asking())
    asked = await house.first(Asked)
    assert [part.id for part in asked.parts] == ["1", "2"]
    await house.say("answer", "B", f"{asked.question}#1")
    await house.first(InputReceived)
    assert not await house.events(Decided)
    await house.say("answer", "tomorrow", f"{asked.question}#2")
    await house.ends(running)
    decided = await house.first(Decided)
    assert decided.answers == {"1": "B", "2": "tomorrow"}
    assert "tomorrow" in house.endpoint.requests[1].text()
