"""The loop over a real store: what runs when, what the next request sees, and that a stop is a stop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import pytest

from agentic.core.events.execution_events import ModelFailed, ToolFinished
from agentic.core.events.ids import execution_id
from agentic.models.scripted.model import Asked, Script, answer
from agentic.ports.errors import (
    CallNotBegun,
    ModelUnavailable,
    SandboxError,
    SandboxLost,
    SandboxUnavailable,
)
from agentic.ports.runtime import (
    Answer,
    Observation,
    Perception,
    Prepared,
)
from agentic.runtime import loop
from tests.integration.loop.conftest import THREAD, Stage
from tests.waiting import BOUND, eventually, promised

StageOf = Callable[[Script], Stage]
FINISH = answer("", ("finish", {"answer": "It is done."}))


async def _leased(stage: Stage) -> Stage:
    lease = await stage.store.acquire(THREAD, "me")
    assert lease is not None
    stage.lease = lease
    return stage


async def rounds() -> None:
    """Let whatever is ready in this process run."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_finish_before_its_build_waits_for_it_and_is_refused_with_what_came_of_it(stage_of: StageOf) -> None:
    early = answer("", ("finish", {"answer": "Everything is built."}), ("act", {"name": "build", "fails": True}))
    gave_up = answer("", ("finish", {"answer": "The build fails.", "success": False}))
    stage = await _leased(stage_of([early, gave_up]))
    execution = await stage.run()
    refused, failed = stage.model.asked[-1].prompt.messages[-1].answers
    assert failed.text == "build failed"
    assert "- act build: failed, exit 1" in refused.text
    assert execution.finished is not None
    assert (execution.finished.reason, execution.finished.answer) == ("failed", "The build fails.")


async def test_reads_run_together_and_writes_in_order(stage_of: StageOf) -> None:
    calls = [("look", {"name": f"r{i}", "until": "all read"}) for i in range(4)]
    calls += [("act", {"name": "w1", "until": "written"}), ("act", {"name": "w2"})]
    stage = await _leased(stage_of([answer("", *calls), FINISH]))
    running, bench = asyncio.create_task(stage.run()), stage.toolbox
    await eventually(lambda: bench.running == 4)
    bench.gates["all read"].set()
    await eventually(lambda: len(bench.ran) == 4 and bench.running)
    bench.gates["written"].set()
    await running
    assert bench.most_at_once == 4
    assert stage.toolbox.ran[4:] == ["w1", "w2"]
    last = stage.model.asked[-1].prompt.messages[-1]
    assert [reply.text for reply in last.answers] == [f"r{i} seen" for i in range(4)] + ["w1 seen", "w2 seen"]


async def test_guidance_that_was_not_seen_vetoes_completion(stage_of: StageOf) -> None:
    stage = await _leased(stage_of([answer("", ("act", {"until": "said"}), ("finish", {"answer": "x"})), FINISH]))
    running = asyncio.create_task(stage.run())
    await stage.toolbox.under_way()
    await stage.say("guidance", "one thing more")
    stage.toolbox.gates["said"].set()
    execution = await running
    assert execution.turn.number == 2
    assert "one thing more" in stage.model.asked[1].prompt.messages[-1].text


async def test_a_stop_ends_the_running_call_and_begins_nothing_new(stage_of: StageOf) -> None:
    calls = [("act", {"name": "a", "until": "never"}), ("act", {"name": "b"})]
    stage = await _leased(stage_of([answer("", *calls), FINISH]))
    running = asyncio.create_task(stage.run())
    await stage.toolbox.under_way()
    await stage.say("stop")
    async with promised(2, "a stop"):
        execution = await running
    assert execution.finished is not None
    assert execution.finished.reason == "stopped"
    assert stage.toolbox.ran == []
    assert stage.toolbox.settled == 1
    assert [call.result.outcome for call in execution.turn.calls if call.result] == ["cancelled", "cancelled"]


async def test_a_stop_ends_the_model_request(stage_of: StageOf) -> None:
    asked = asyncio.Event()

    async def slowly(_: Asked) -> Answer:
        asked.set()
        return await asyncio.Future[Answer]()

    stage = await _leased(stage_of(slowly))
    running = asyncio.create_task(stage.run())
    await asyncio.wait_for(asked.wait(), BOUND)
    await stage.say("stop")
    async with promised(2, "a stop"):
        execution = await running
    assert execution.finished is not None
    assert execution.finished.reason == "stopped"


async def test_a_refused_call_gets_its_result_and_never_runs(stage_of: StageOf) -> None:
    stage = await _leased(stage_of([answer("", ("act", {"wrong": 1}), ("nothing", {})), FINISH]))
    await stage.run()
    texts = [reply.text for reply in stage.model.asked[-1].prompt.messages[-1].answers]
    assert texts[0] == "wrong is no argument of this tool"
    assert texts[1].startswith("There is no tool 'nothing'")
    assert stage.toolbox.ran == []


async def test_two_commits_a_turn_are_enough(stage_of: StageOf) -> None:
    stage = await _leased(stage_of([*(answer("", ("look", {"name": str(i)})) for i in range(6)), FINISH]))
    commits = 0
    append = stage.store.append

    async def counted(*args: object, **kwargs: object) -> None:
        nonlocal commits
        commits += 1
        await append(*args, **kwargs)  # pyright: ignore[reportArgumentType]

    stage.store.append = counted  # pyright: ignore[reportAttributeAccessIssue]
    await stage.run()
    assert commits <= 2 * 7 + 2


async def test_a_stop_does_not_wait_for_a_slow_look_at_the_world(stage_of: StageOf) -> None:
    stage = await _leased(stage_of([FINISH]))
    looked = asyncio.Event()

    async def slowly() -> Perception:
        looked.set()
        return await asyncio.Future[Perception]()

    stage.toolbox.perceive = slowly
    running = asyncio.create_task(stage.run())
    await asyncio.wait_for(looked.wait(), BOUND)
    await stage.say("stop")
    async with promised(2, "a stop"):
        execution = await running
    assert execution.finished is not None
    assert execution.finished.reason == "stopped"
    assert stage.model.asked == []


async def test_what_is_perceived_stands_in_the_next_request_and_only_there(stage_of: StageOf) -> None:
    stage = await _leased(stage_of([answer("", ("look", {"name": "a"})), FINISH]))
    seen = iter([Perception(changes=("b.py changed by ana",)), Perception()])

    async def perceive() -> Perception:
        return next(seen)

    stage.toolbox.perceive = perceive
    await stage.run()
    assert "b.py changed by ana" in stage.model.asked[0].prompt.tail
    assert "b.py" not in stage.model.asked[1].prompt.tail


async def test_a_crash_after_the_intent_is_told_as_unknown_and_not_repeated(stage_of: StageOf) -> None:
    stage = await _leased(stage_of([answer("", ("act", {"name": "a", "until": "never"})), FINISH]))
    running = asyncio.create_task(stage.run())
    await stage.toolbox.under_way()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    again = await stage.store.acquire(THREAD, "another")
    if again is None:
        await stage.store.release(stage.lease)
        again = await stage.store.acquire(THREAD, "another")
    assert again is not None
    async with asyncio.timeout(BOUND):
        execution = await stage.loop.run(again, execution_id(THREAD, "1"), stage.toolbox, stage.doorbell)
    assert execution.finished is not None
    assert execution.finished.reason == "done"
    assert stage.toolbox.ran == []
    assert "Outcome unknown" in stage.model.asked[-1].prompt.messages[-1].answers[0].text


async def test_a_bug_of_ours_is_raised_and_nothing_goes_on(stage_of: StageOf) -> None:
    stage = await _leased(stage_of([answer("", ("look", {"name": "slow", "until": "never"}), ("look", {"bug": 1}))]))
    run = stage.toolbox.run

    async def broken(tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        if "bug" in prepared.arguments:
            raise RuntimeError("our own bug")
        return await run(tool, call, prepared, on_output)

    stage.toolbox.run = broken
    with pytest.raises(RuntimeError, match="our own bug"):
        await stage.run()
    assert stage.toolbox.running == 0


async def test_what_ends_after_it_was_given_up_writes_nothing(stage_of: StageOf) -> None:
    stage = await _leased(stage_of([answer("", ("act", {"name": "deaf"})), FINISH]))
    go, begun, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def deaf(tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        begun.set()
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        ended.set()
        return Observation("ok", "I went on")

    stage.toolbox.run = deaf
    running = asyncio.create_task(stage.run())
    await begun.wait()
    await stage.say("stop")
    execution = await running
    assert execution.finished is not None
    assert execution.finished.reason == "stopped"
    before = await stage.events("tool_finished")
    go.set()
    await ended.wait()
    await rounds()
    assert await stage.events("tool_finished") == before
    assert [event.outcome for event in before if isinstance(event, ToolFinished)] == ["unknown"]


async def test_a_request_that_was_given_up_has_one_result(stage_of: StageOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "ACKNOWLEDGE_SECONDS", 0.05)
    go, begun, ended, settled = asyncio.Event(), asyncio.Event(), asyncio.Event(), 0

    async def deaf(_: Asked) -> Answer:
        begun.set()
        while not go.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await go.wait()
        ended.set()
        raise ModelUnavailable("the line broke")

    async def settle() -> None:
        nonlocal settled
        settled += 1
        if settled == 2:  # the end is decided, and not noted yet
            go.set()
            await ended.wait()
            await rounds()

    stage = await _leased(stage_of(deaf))
    stage.toolbox.settle = settle
    running = asyncio.create_task(stage.run())
    await begun.wait()
    await stage.say("stop")
    execution = await running
    assert execution.finished is not None
    assert [event.failure for event in await stage.events("model_failed") if isinstance(event, ModelFailed)] == [
        "cancelled"
    ]


async def test_a_call_without_a_sandbox_has_its_result_before_the_trouble_is_handed_on(stage_of: StageOf) -> None:
    stage = await _leased(stage_of([answer("", ("act", {"name": "a"})), FINISH]))
    run = stage.toolbox.run

    async def none(tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        raise CallNotBegun("install one")

    stage.toolbox.run = none
    with pytest.raises(CallNotBegun):
        await stage.run()
    stage.toolbox.run = run
    async with asyncio.timeout(BOUND):
        execution = await stage.loop.run(stage.lease, execution_id(THREAD, "1"), stage.toolbox, stage.doorbell)
    assert execution.finished is not None
    told = stage.model.asked[-1].prompt.messages[-1].answers[0]
    assert told.text == "Not begun, there is no sandbox: install one"


@pytest.mark.parametrize("trouble", [SandboxLost("it is gone"), SandboxUnavailable("the engine is gone")])
async def test_only_a_call_of_which_nothing_was_sent_is_said_not_to_have_begun(
    stage_of: StageOf, trouble: SandboxError
) -> None:
    """Of any other that broke off nobody knows what it did."""
    stage = await _leased(stage_of([answer("", ("act", {"name": "a"})), FINISH]))
    run = stage.toolbox.run

    async def broken(tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        await run(tool, call, prepared, on_output)
        raise trouble

    stage.toolbox.run = broken
    with pytest.raises(SandboxError, match="is gone"):
        await stage.run()
    stage.toolbox.run = run
    await stage.store.release(stage.lease)
    await _leased(stage)
    async with asyncio.timeout(BOUND):
        await stage.loop.run(stage.lease, execution_id(THREAD, "1"), stage.toolbox, stage.doorbell)
    assert [event.outcome for event in await stage.events("tool_finished") if isinstance(event, ToolFinished)] == [
        "unknown",
        "ok",
    ]
    assert stage.toolbox.ran == ["a"]
