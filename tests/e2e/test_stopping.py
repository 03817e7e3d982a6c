"""🛑 in the real thing: what runs in the sandbox ends within two seconds, and so does everything when the owner freezes."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from tests.e2e.living import Living, living

GROWING = (
    "setsid sh -c 'trap \"\" TERM INT HUP; while :; do echo x >> grows.txt; sleep 0.01; done' </dev/null >/dev/null 2>&1 & "
    "sleep 600"
)
PROMISED = 2.0
HEARTBEAT = 3.0
"""The sandbox ends its processes this long after the last sign of its owner."""


def works(request: CapturedRequest) -> Reply:
    if not request.answers:
        return Reply(calls=(("shell", {"command": GROWING, "timeout": 300}),))
    return Reply(calls=(("finish", {"answer": "never said after a stop"}),))


async def begins_to_grow(file: Path, bot: Living) -> None:
    try:
        async with asyncio.timeout(30):
            while not file.exists() or file.stat().st_size < 10:
                await asyncio.sleep(0.02)
    except TimeoutError:
        pytest.fail(f"the command did not begin\n{bot.running.output}")


async def stops_growing(file: Path, since: float, seconds: float) -> float:
    """When it grew last, seen from outside of the sandbox; fails if it grows after ``since + seconds``."""
    last, size = since, file.stat().st_size
    while time.monotonic() < since + seconds + 1.5:
        await asyncio.sleep(0.01)
        if (now := file.stat().st_size) != size:
            last, size = time.monotonic(), now
    assert last - since <= seconds, f"it grew for {last - since:.2f} s"
    return last - since


async def test_f22_a_stop_during_a_tool_ends_what_it_started_within_two_seconds(tmp_path: Path) -> None:
    async with asyncio.timeout(90), ScriptedEndpoint.start(works) as endpoint, living(tmp_path, endpoint) as bot:
        thread = await bot.person.mention("grow")
        file = bot.workspace(thread) / "grows.txt"
        await begins_to_grow(file, bot)
        stopped = time.monotonic()
        await bot.person.react(thread, "🛑")
        await stops_growing(file, stopped, PROMISED)
        await bot.person.sees(thread, r"🛑 Stopped by")
        assert len(endpoint.requests) == 1, "nothing was asked after the stop"
        assert await bot.running.end() == 0


async def test_f22_a_stop_during_the_stream_closes_it_within_two_seconds(tmp_path: Path) -> None:
    reply = Reply(text="word " * 2_000, pace=0.05)
    async with asyncio.timeout(90), ScriptedEndpoint.start([reply]) as endpoint, living(tmp_path, endpoint) as bot:
        thread = await bot.person.mention("tell me a very long story about threads")
        await bot.person.sees(thread, r"word word")
        stopped = time.monotonic()
        await bot.person.react(thread, "🛑")
        async with asyncio.timeout(PROMISED):
            await endpoint.left.wait()
        assert endpoint.left_at[1] - stopped <= PROMISED
        await bot.person.sees(thread, r"🛑 Stopped by")
        assert await bot.running.end() == 0


async def test_f22_when_the_owner_freezes_what_runs_ends_without_it(tmp_path: Path) -> None:
    async with asyncio.timeout(90), ScriptedEndpoint.start(works) as endpoint, living(tmp_path, endpoint) as bot:
        thread = await bot.person.mention("grow")
        file = bot.workspace(thread) / "grows.txt"
        await begins_to_grow(file, bot)
        frozen = time.monotonic()
        os.kill(bot.running.process.pid, signal.SIGSTOP)
        try:
            await stops_growing(file, frozen, HEARTBEAT + PROMISED)
        finally:
            os.kill(bot.running.process.pid, signal.SIGCONT)
        await bot.person.sees(thread, r"sandbox|unknown", 40)
        assert await bot.running.end() == 0
