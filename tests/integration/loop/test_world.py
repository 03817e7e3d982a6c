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
