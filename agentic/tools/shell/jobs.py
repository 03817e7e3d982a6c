"""``job``: look at, wait for, and stop background commands that ``shell`` started."""

from __future__ import annotations

import asyncio
import time
from typing import Literal

from pydantic import Field

from agentic.bash.runners import count_tests
from agentic.ports.runtime import Observation
from agentic.sandbox.protocol.results import BackgroundState
from agentic.tools.base.error_fingerprint import normal_error
from agentic.tools.base.observation import listed
from agentic.tools.base.terminal_text import clean_bytes
from agentic.tools.base.tool import (
    AgentWorld,
    Arguments,
    CallContext,
    Tool,
)
from agentic.tools.base.truncation import SHELL

POLL_SECONDS = 0.2
MOST_BYTES = 256 * 1024


class JobArguments(Arguments):
    """One background command."""

    job: str = Field(min_length=1, max_length=100, description="The job's id, as shell gave it.")
    action: Literal["look", "stop"] = Field(default="look", description="look (default) or stop.")
    wait: int = Field(default=0, ge=0, le=300, description="With look: wait up to so many seconds for its end.")


async def _run(arguments: JobArguments, call: CallContext) -> Observation:
    world = await call.world()
    if arguments.action == "stop":
        ended = await world.real.stop(arguments.job)
        return listed(
            f"Stopped; {ended} processes ended.\n{await _last_words(arguments.job, world)}", world.outputs, SHELL
        )
    state, output = await _look(arguments.job, world, arguments.wait)
    tests = count_tests(output) if not state.running else None
    good = state.running or (state.exit_code == 0 and not state.killed_reason)
    told = listed(f"{_tell(state)}\n{output.rstrip() or '(no new output)'}", world.outputs, SHELL)
    return Observation(
        outcome="ok" if good else "failed",
        preview=told.preview,
        exit_code=state.exit_code,
        signal=state.signal,
        output=told.output,
        output_ref=told.output_ref,
        tests_passed=tests.passed if tests else None,
        tests_failed=tests.failed if tests else None,
        tests_skipped=tests.skipped if tests else None,
        error="" if good else normal_error(output, state.killed_reason or f"exit {state.exit_code}"),
    )


async def _look(job: str, world: AgentWorld, wait: int) -> tuple[BackgroundState, str]:
    """Return the job's state and its output since the agent last looked; the rest comes with the next look."""
    give_up = time.monotonic() + wait
    data = b""
    while True:
        state = await world.real.poll(job, world.jobs.get(job, 0))
        data += state.output
        world.jobs[job] = state.next_offset
        if len(data) >= MOST_BYTES:
            break
        if not state.output:
            if not state.running or time.monotonic() >= give_up:
                break
            await asyncio.sleep(POLL_SECONDS)
    return state, world.hide(clean_bytes(data))


async def _last_words(job: str, world: AgentWorld) -> str:
    _, output = await _look(job, world, 0)
    return output.rstrip()


def _tell(state: BackgroundState) -> str:
    if state.running:
        return "Running."
    if state.killed_reason:
        return f"Killed: {state.killed_reason}."
    return f"Ended by signal {state.signal}." if state.signal is not None else f"Ended with exit {state.exit_code}."


def _seconds(arguments: JobArguments) -> float:
    return arguments.wait + 30.0


JOB_TOOL = Tool(
    name="job",
    description="Look at a background command: whether it runs, and what it wrote since you last looked. Or stop it.",
    example=JobArguments(job="x3", wait=10),
    act=_run,
    effect="keyed",
    permission="execute",
    seconds=_seconds,
)
