"""What people do to a running execution, over SQLite and a model behind HTTP: pause, approve, ask beside it, withdraw."""

from __future__ import annotations

from collections.abc import Callable

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    InputReceived,
    ToolFinished,
    ToolStarted,
)
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import (
    Observation,
    Prepared,
    Question,
    QuestionPart,
)
from tests.integration.loop.conftest import Bench
from tests.integration.loop.housing import (
    FINISH,
    HouseOf,
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


# --- beside it, and taken back ------------------------------------------------------------------------------------


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
