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
from tests.waiting import BOUND, eventually

GROWING = (
    "setsid sh -c 'trap \"\" TERM INT HUP; while :; do echo x >> grows.txt; done' </dev/null >/dev/null 2>&1 & "
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
        await eventually(lambda: file.exists() and file.stat().st_size >= 10)
    except AssertionError:
        pytest.fail(f"the command did not begin\n{bot.running.output}")


def grew(file: Path, since: float) -> float:
    """For how many seconds it grew, seen from outside of the sandbox."""
    return file.stat().st_mtime - since


async def test_f22_a_stop_during_a_tool_ends_what_it_started_within_two_seconds(tmp_path: Path) -> None:
    async with asyncio.timeout(90), ScriptedEndpoint.start(works) as endpoint, living(tmp_path, endpoint) as bot:
        thread = await bot.person.mention("grow")
        file = bot.workspace(thread) / "grows.txt"
        await begins_to_grow(file, bot)
        stopped = time.time()
        await bot.person.react(thread, "🛑")
        await bot.person.sees(thread, r"🛑 Stopped by")
        size = file.stat().st_size
        assert grew(file, stopped) <= PROMISED
        assert len(endpoint.requests) == 1, "nothing was asked after the stop"
        assert await bot.running.end() == 0
        assert file.stat().st_size == size, "nothing ran when it was said"


async def test_f22_a_stop_during_the_stream_closes_it_within_two_seconds(tmp_path: Path) -> None:
    reply = Reply(text="word " * 2_000, pace=0.05)
    async with asyncio.timeout(90), ScriptedEndpoint.start([reply]) as endpoint, living(tmp_path, endpoint) as bot:
        thread = await bot.person.mention("tell me a very long story about threads")
        await bot.person.sees(thread, r"word word")
        stopped = time.monotonic()
        await bot.person.react(thread, "🛑")
        async with asyncio.timeout(BOUND):
            await endpoint.left.wait()
        assert endpoint.left_at[1] - stopped <= PROMISED
        await bot.person.sees(thread, r"🛑 Stopped by")
        assert await bot.running.end() == 0


async def test_f22_when_the_owner_freezes_what_runs_ends_without_it(tmp_path: Path) -> None:
    async with asyncio.timeout(90), ScriptedEndpoint.start(works) as endpoint, living(tmp_path, endpoint) as bot:
        thread = await bot.person.mention("grow")
        file = bot.workspace(thread) / "grows.txt"
        await begins_to_grow(file, bot)
        frozen = time.time()
        os.kill(bot.running.process.pid, signal.SIGSTOP)
        try:
            await eventually(lambda: time.time() - file.stat().st_mtime > 1.0, "it grows no more")
            size = file.stat().st_size
        finally:
            os.kill(bot.running.process.pid, signal.SIGCONT)
        await bot.person.sees(thread, r"sandbox|unknown")
        assert await bot.running.end() == 0
        assert grew(file, frozen) <= HEARTBEAT + PROMISED
        assert file.stat().st_size == size, "it had ended before its owner went on"
