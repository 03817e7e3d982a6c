"""What changes in the world while an agent works stands in its next request: a real sandbox, a captured prompt."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

from agentic.models.scripted.model import Asked, Script, answer
from agentic.ports.runtime import Answer
from tests.integration.loop.conftest import THREAD, Stage
from tests.integration.tools.bench import open_bench
from tests.scripts import supervisors
from tests.waiting import BOUND


async def test_a_file_changed_by_another_is_told_and_its_edit_is_refused_with_the_diff(
    stage_of: Callable[[Script], Stage],
) -> None:
    async with open_bench() as bench:
        path = bench.put("port.txt", "port 80\n")

        def script(asked: Asked) -> Answer:
            turn = sum(message.role == "assistant" for message in asked.prompt.messages)
            if turn == 0:
                return answer("", ("read", {"path": "port.txt"}))
            if turn == 1:
                path.write_text("port 8080\n")
                return answer("", ("edit", {"path": "port.txt", "old": "port 80", "new": "port 81"}))
            return answer("", ("finish", {"answer": "It was changed by someone else."}))

        stage = stage_of(script)
        lease = await stage.store.acquire(THREAD, "me")
        assert lease is not None
        stage.lease, stage.toolbox = lease, bench.toolbox  # pyright: ignore[reportAttributeAccessIssue]
        await stage.run()
        last = stage.model.asked[-1].prompt
        refusal = last.messages[-1].answers[0]
        assert refusal.failed
        assert "+port 8080" in refusal.text
        assert path.read_text() == "port 8080\n"
        assert "port.txt" in last.tail


async def test_a_stop_ends_the_execution_and_the_sandbox_although_its_supervisor_is_frozen(
    stage_of: Callable[[Script], Stage],
) -> None:
    async with open_bench() as bench:
        thinking = asyncio.Event()

        async def script(asked: Asked) -> Answer:
            if not any(message.role == "assistant" for message in asked.prompt.messages):
                return answer("", ("shell", {"command": "sleep 600 & true"}))
            thinking.set()
            return await asyncio.Future[Answer]()

        stage = stage_of(script)
        lease = await stage.store.acquire(THREAD, "me")
        assert lease is not None
        stage.lease, stage.toolbox = lease, bench.toolbox  # pyright: ignore[reportAttributeAccessIssue]
        running = asyncio.create_task(stage.run())
        await asyncio.wait_for(thinking.wait(), BOUND)
        frozen = supervisors(bench.workspace.parent)
        assert frozen
        for process in frozen:
            os.kill(process, signal.SIGSTOP)
        await stage.say("stop")
        ended = await running
        assert ended.finished is not None
        assert ended.finished.reason == "stopped"
        assert not supervisors(bench.workspace.parent)
