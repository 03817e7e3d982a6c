"""Gated calls and the checkpoint before the first change, over SQLite, a model behind HTTP and a real sandbox."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Asked,
    CheckpointSaved,
    Decided,
    Finished,
    Gated,
    InputReceived,
    ToolFinished,
    ToolStarted,
)
from agentic.models.scripted.replies import Reply
from agentic.ports.errors import StoreUnavailable
from agentic.ports.runtime import Prepared, Refused, Saved
from agentic.runtime.clock import SystemClock
from tests.integration.loop.conftest import THREAD, Bench
from tests.integration.loop.housing import (
    BOSS,
    FINISH,
    MAIN,
    HouseOf,
    next_owner,
    shell,
    workspace,
)
from tests.waiting import BOUND, promised

# --- approvals ----------------------------------------------------------------------------------------------------


async def test_a_folder_is_deleted_only_when_an_operator_allows_it(house_of: HouseOf) -> None:
    async with workspace() as (toolbox, kept):
        house = await house_of(shell("rm -rf src"), FINISH)
        running = house.start(toolbox)
        asked = await house.first(Asked)
        assert (asked.sort, asked.who_may) == ("approval", "operator")
        assert "rm -rf src" in asked.text
        await house.say("answer", "Allow once", asked.question)
        await house.first(InputReceived)
        assert kept.exists()
        assert not await house.events(ToolStarted)
        await house.say("answer", "Allow once", asked.question, by=BOSS)
        await house.ends(running)
        assert not kept.parent.exists()
        begun = await house.first(ToolStarted)
        assert begun.approval == asked.question
        rows = await house.store.undelivered(THREAD)
        question = next(row.item for row in rows if row.item.sort == "question")
        assert (question.asked, question.expires) == ("approval", asked.expires)
        assert any("An operator has to decide this" in row.item.text for row in rows)


async def test_an_approval_for_a_world_that_changed_since_is_asked_anew(house_of: HouseOf) -> None:
    async with workspace() as (toolbox, kept):
        house = await house_of(shell("rm -rf src"), FINISH)
        running = house.start(toolbox)
        asked = await house.first(Asked)
        kept.with_name("new.py").write_text("somebody's work\n")
        await house.say("answer", "Allow once", asked.question, by=BOSS)
        again = await house.first(Asked, 2)
        assert again.question != asked.question
        assert kept.exists()
        await house.say("answer", "Deny", again.question, by=BOSS)
        await house.ends(running)
        assert kept.exists()
        first, second = await house.events(Gated)
        assert first.args_sha == second.args_sha
        assert first.state_sha != second.state_sha != ""


async def test_a_denied_call_does_not_run_and_the_model_hears_what_was_said(house_of: HouseOf) -> None:
    async with workspace() as (toolbox, kept):
        house = await house_of(shell("ls", fallback="git push --force"), FINISH)
        running = house.start(toolbox)
        asked = await house.first(Asked)
        await house.say("answer", "open a pull request instead", asked.question, by=BOSS)
        await house.ends(running)
        assert kept.exists()
        (result, _) = await house.events(ToolFinished)
        assert result.outcome == "denied"
        assert "open a pull request instead" in house.endpoint.requests[1].text()


async def test_an_approval_that_nobody_gives_in_time_is_denied(house_of: HouseOf) -> None:
    async with workspace() as (toolbox, kept):
        house = await house_of(shell("rm -rf src"), FINISH)
        running = house.start(toolbox, approval_minutes=0.01)
        await house.ends(running)
        assert kept.exists()
        (decided,) = await house.events(Decided)
        assert (decided.choice, decided.by.id) == ("deny", "0")


async def test_a_yes_that_is_read_after_the_time_was_over_is_no_yes(house_of: HouseOf) -> None:
    async with workspace() as (toolbox, kept):
        house = await house_of(shell("rm -rf src"), FINISH)
        running = house.start(toolbox)
        asked = await house.first(Asked)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert asked.expires is not None
        late = asked.expires + timedelta(seconds=1) - datetime.now(UTC)
        house.loop = replace(house.loop, clock=SystemClock(lambda: datetime.now(UTC) + late))
        await house.say("answer", "Allow once", asked.question, by=BOSS)
        house.lease = await next_owner(house)
        await house.ends(asyncio.create_task(house.loop.run(house.lease, MAIN, toolbox, house.doorbell)))
        assert kept.exists()
        assert [decided.choice for decided in await house.events(Decided)] == ["deny"]


async def test_what_this_execution_made_it_may_delete(house_of: HouseOf) -> None:
    async with workspace() as (toolbox, kept):
        house = await house_of(shell("echo 1 > made.txt"), shell("rm -rf made.txt"), FINISH)
        await house.ends(house.start(toolbox))
        assert not await house.events(Asked)
        assert not kept.parent.with_name("made.txt").exists()


# --- the checkpoint -----------------------------------------------------------------------------------------------


class Slow(Bench):
    """Its checkpoint takes as long as the test wants."""

    def __init__(self, come_to: Saved | Exception | None, *, patient: bool = False) -> None:
        super().__init__()
        self.come_to = come_to
        self.saving = asyncio.Event()
        self.saved = asyncio.Event()
        if not patient:
            self.saved.set()
        self.ended = False

    async def checkpoint(self) -> Saved:
        self.saving.set()
        try:
            if self.come_to is None:
                await asyncio.Future[None]()
            await self.saved.wait()
        finally:
            self.ended = True
        if isinstance(self.come_to, Exception):
            raise self.come_to
        return self.come_to or Saved()


async def test_a_stop_ends_the_saving_of_the_workspace(house_of: HouseOf) -> None:
    bench = Slow(None)
    house = await house_of(Reply(calls=(("act", {"name": "a"}),)), FINISH)
    running = house.start(bench)
    await bench.saving.wait()
    await house.say("guidance", "hurry")
    await house.first(InputReceived)
    assert not bench.ended
    await house.say("stop")
    async with promised(2, "a stop"):
        assert (await house.ends(running)).reason == "stopped"
    assert bench.ended
    assert bench.ran == []


class Stubborn(Bench):
    """Its look at what a gated call would touch does not end when it is told to: the sandbox is only being made."""

    def __init__(self) -> None:
        super().__init__()
        self.looking = asyncio.Event()
        self.made = asyncio.Event()

    def prepare(
        self, tool: str, arguments: dict[str, JsonValue], created: frozenset[str] = frozenset()
    ) -> Prepared | Refused:
        prepared = super().prepare(tool, arguments, created)
        return prepared if isinstance(prepared, Refused) else replace(prepared, gate="deletes everything")

    async def state_of(self, tool: str, arguments: dict[str, JsonValue]) -> str:
        self.looking.set()
        while not self.made.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self.made.wait()
        return "s"


async def test_a_stop_does_not_wait_for_a_look_that_is_slow_to_end(house_of: HouseOf) -> None:
    bench = Stubborn()
    house = await house_of(Reply(calls=(("act", {"name": "a"}),)), FINISH)
    running = house.start(bench)
    await bench.looking.wait()
    await house.say("stop")
    try:
        async with promised(2, "a stop"):
            finished = await house.first(Finished)
    finally:
        bench.made.set()
    assert finished.reason == "stopped"
    await house.ends(running)
    assert bench.ran == []


class Making(Bench):
    """Its sandbox is being made."""

    def __init__(self) -> None:
        super().__init__()
        self.looking = asyncio.Event()
        self.made = asyncio.Event()

    async def state_of(self, tool: str, arguments: dict[str, JsonValue]) -> str:
        self.looking.set()
        await self.made.wait()
        return ""


async def test_no_intent_stands_in_the_log_while_the_sandbox_of_its_call_is_made(house_of: HouseOf) -> None:
    bench = Making()
    house = await house_of(Reply(calls=(("act", {"name": "a"}),)), FINISH)
    running = house.start(bench)
    await asyncio.wait_for(bench.looking.wait(), BOUND)
    assert await house.events(ToolStarted) == []
    bench.made.set()
    await house.ends(running)
    assert bench.ran == ["a"]
    assert [event.tool for event in await house.events(ToolStarted)] == ["act", "finish"]


async def test_saving_goes_on_during_a_pause_and_the_work_after_it(house_of: HouseOf) -> None:
    bench = Slow(Saved("m1"))
    house = await house_of(Reply(calls=(("look", {"name": "l", "until": "paused"}), ("act", {"name": "a"}))), FINISH)
    running = house.start(bench)
    await house.first(ToolStarted)
    await house.say("pause")
    await house.first(InputReceived)
    bench.gates["paused"].set()
    await house.first(ToolFinished)
    assert not await house.events(CheckpointSaved)
    await house.say("resume")
    await house.ends(running)
    (saved,) = await house.events(CheckpointSaved)
    assert saved.manifest == "m1"
    assert bench.ran == ["l", "a"]


async def test_saving_that_ends_during_a_pause_is_kept_and_holds_up_nobody(house_of: HouseOf) -> None:
    """The end of the saving is no reason to look again and again: others share the event loop with a paused thread."""
    bench = Slow(Saved("m1"), patient=True)
    house = await house_of(Reply(calls=(("act", {"name": "a"}),)), FINISH)
    running = house.start(bench)
    await bench.saving.wait()
    await house.say("pause")
    await house.first(InputReceived)
    bench.saved.set()
    await house.say("guidance", "and then the tests")
    await house.first(InputReceived, 2)
    assert bench.ran == []
    await house.say("resume")
    await house.ends(running)
    (kept,) = await house.events(CheckpointSaved)
    assert kept.manifest == "m1"
    assert bench.ran == ["a"]


@pytest.mark.parametrize("steps", range(6))
async def test_saving_that_ends_in_the_very_step_of_a_commit_is_seen(
    house_of: HouseOf, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """What is done and not noted yet wakes the loop too: else the task would stand still until somebody speaks."""
    bench = Slow(Saved("m1"), patient=True)
    house = await house_of(Reply(calls=(("act", {"name": "a"}),)), FINISH)
    append = house.store.append

    async def slowly(*arguments: Any) -> None:
        await append(*arguments)
        if bench.saving.is_set():
            bench.saved.set()
            for _ in range(steps):
                await asyncio.sleep(0)

    monkeypatch.setattr(house.store, "append", slowly)
    await house.ends(house.start(bench))
    assert bench.ran == ["a"]


@pytest.mark.parametrize("problem", [Saved(problem="the disk is full"), StoreUnavailable("the disk is full")])
async def test_a_workspace_that_cannot_be_saved_holds_up_no_work(house_of: HouseOf, problem: Saved | Exception) -> None:
    bench = Slow(problem)
    house = await house_of(Reply(calls=(("act", {"name": "a"}),)), FINISH)
    await house.ends(house.start(bench))
    (saved,) = await house.events(CheckpointSaved)
    assert (saved.manifest, saved.problem) == ("", "the disk is full")
    assert bench.ran == ["a"]
