"""Rows 81, 90 and 92 of the fault catalogue, with real processes: clocks that jump, a process told to end, a long life."""

from __future__ import annotations

import asyncio
import gc
import re
import signal
import statistics
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.model import answer
from agentic.models.scripted.replies import Reply
from agentic.ports.errors import ModelUnavailable
from agentic.runtime.clock import SystemClock
from agentic.stores.sqlite.store import SQLiteStore
from bot.local_discord.local_discord import LocalGuild
from tests.e2e.living import living
from tests.faults.staging import guild
from tests.faults.whole import Mind, whole
from tests.integration.telemetry.test_health import free_port
from tests.unit.threads.house import POLICY, Bench, house
from tests.waiting import BOUND, eventually

__all__ = ["guild"]

FINISH = Reply(calls=(("finish", {"answer": "It is done."}),))
CROWD = 20
BATCHES, BATCH = 9, 8


async def log_of(home: Path) -> list[tuple[str, str]]:
    """(execution, kind) of every event that an ended process left."""
    store = SQLiteStore.open(home / "threadwright.sqlite")
    try:
        rows = await store.newest_executions(1_000)
        return [(row.execution, e.event.kind) for row in rows async for e in store.read(row.execution)]
    finally:
        await store.close()


async def said_of_health(port: int) -> bytes:
    """What the process answers when it is asked whether it is well."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET /readyz HTTP/1.0\r\n\r\n")
        return await reader.read()
    finally:
        writer.close()


async def test_f90_twenty_running_executions_are_left_in_order_and_resumed_by_the_next_process(tmp_path: Path) -> None:
    """Half of them wait for a model that answers soon after the signal, half run a command."""
    go, asked = asyncio.Event(), 0

    async def script(request: CapturedRequest) -> Reply:
        nonlocal asked
        asked += 1
        if request.answers:
            return FINISH
        words = request.messages[0].text
        if "think" in words and not go.is_set():
            await go.wait()
            return FINISH
        return Reply(calls=(("shell", {"command": "echo once >> run.txt; sleep 600; echo late >> run.txt"}),))

    port = free_port()

    async def ending() -> bool:
        return b"begins nothing new" in await said_of_health(port)

    settings = {
        "THREADWRIGHT_DRAIN_SECONDS": "5", "THREADWRIGHT_MAX_SANDBOXES": str(CROWD),
        "THREADWRIGHT_HEALTH": f"127.0.0.1:{port}",
    }  # fmt: skip
    async with ScriptedEndpoint.start(script) as endpoint:
        async with living(tmp_path, endpoint, **settings) as bot:
            tasks = [f"{'think' if number % 2 else 'act'} number {number}" for number in range(CROWD)]
            threads = [await bot.person.mention(text) for text in tasks]
            acting = [bot.workspace(thread) / "run.txt" for thread in threads[::2]]
            await eventually(lambda: all(file.exists() for file in acting) and asked >= CROWD)
            bot.running.process.send_signal(signal.SIGTERM)
            await eventually(ending)
            go.set()
            assert await bot.running.ended() == 0
        assert asked == CROWD, "nothing is asked once it ends"
        kinds = await log_of(tmp_path)
        assert len({execution for execution, _ in kinds}) == CROWD
        assert sum(kind == "model_answered" for _, kind in kinds) == CROWD, "what is paid for is taken in"
        assert sum(kind == "handed_over" for _, kind in kinds) == CROWD
        assert sum(kind == "workspace_found" for _, kind in kinds) == CROWD // 2, "what was cut off had changed a file"
        assert sum(kind == "checkpoint_saved" for _, kind in kinds) == CROWD, "before the first change, and at the end"
        async with living(tmp_path, endpoint, **settings) as bot:
            for thread in threads:
                await bot.person.sees(thread, r"It is done\.", 60)
            for thread in threads:
                said = [message.text for message in await bot.person.reads(thread)]
                assert sum("It is done." in text for text in said) == 1
            assert asked == CROWD + CROWD // 2, "no answer is asked for twice"
            assert [file.read_text() for file in acting] == ["once\n"] * len(acting), "no command ran twice or went on"
            go.clear()
            await bot.person.mention("think once more")
            await eventually(lambda: asked > CROWD + CROWD // 2)
            bot.running.process.send_signal(signal.SIGTERM)
            await eventually(ending)
            assert bot.running.process.returncode is None, "it lets the answer come first"
            bot.running.process.send_signal(signal.SIGTERM)
            assert await bot.running.ended() == 128 + signal.SIGTERM, "a second signal ends it at once"


@pytest.mark.parametrize("hours", [1, -1])
async def test_f81_a_clock_that_is_set_by_an_hour_counts_for_what_comes_ends_no_cap_and_makes_no_second_owner(
    tmp_path: Path, hours: int
) -> None:
    """The wall clock jumps while a tool runs: another process gets no lease, and the task is done under its old one."""
    wall = [datetime.now(UTC)]
    clock, bench = SystemClock(lambda: wall[0]), Bench()
    bench.hold = asyncio.Event()
    store = SQLiteStore.open(tmp_path / "one.sqlite")
    other = SQLiteStore.open(tmp_path / "one.sqlite")
    script = [answer("", ("work", {})), answer("", ("finish", {"answer": "done"}))]
    try:
        async with asyncio.timeout(BOUND), house(script, store=store, bench=bench, clock=clock) as home:
            await home.say("fix it")
            await bench.began.wait()
            before = clock.now()
            wall[0] += timedelta(hours=hours)
            assert clock.now() - before == timedelta(hours=hours), "what comes after this gets the right day"
            assert await other.acquire("100", "another") is None
            for _ in range(100):  # whatever is due by now is done
                await asyncio.sleep(0)
            bench.hold.set()
            await home.threads.idle("100")
            assert await home.reasons() == ["done"], "the hour that a task may take is not over"
            log = await home.log()
            assert [envelope.at for envelope in log] == sorted(envelope.at for envelope in log)
            assert log[-1].at - log[0].at < timedelta(minutes=1), "its own time goes on as it did"
            await home.say("once more")
            await home.threads.idle("100")
            apart = (await home.log())[0].at - log[0].at
            assert abs(apart - timedelta(hours=hours)) < timedelta(minutes=1), "and so does the next task"
            assert len({envelope.fence for envelope in log}) == 1
            assert await other.acquire("100", "another") is not None
    finally:
        await other.close()
        await store.close()


SLOW = POLICY.model_copy(update={"retry_base_seconds": 2.0})


async def test_f81_a_clock_that_was_set_back_between_two_processes_keeps_no_retry_waiting(tmp_path: Path) -> None:
    """The log ends an hour ahead of the clock; its time goes on from there, and each event comes after the one before."""
    now = datetime.now(UTC)
    store, gone = SQLiteStore.open(tmp_path / "one.sqlite"), ModelUnavailable("the provider is down")
    try:
        async with asyncio.timeout(BOUND):
            clock = SystemClock(lambda: now + timedelta(hours=1))
            async with house([gone] * 9, store=store, clock=clock, policy=SLOW) as home:
                await home.say("fix it")
                await eventually(lambda: home.model.asked)

                async def failed() -> bool:
                    return any(each.event.kind == "model_failed" for each in await home.log())

                await eventually(failed)
            done = [answer("", ("finish", {"answer": "done"}))]
            async with house(done, store=store, clock=SystemClock(lambda: now)) as home:
                await home.threads.recover()
                await home.threads.idle("100")
                assert await home.reasons() == ["done"]
                at = [envelope.at for envelope in await home.log()]
                assert at == sorted(at)
    finally:
        await store.close()


def footprint() -> tuple[int, int, int]:
    """(megabytes of memory, open descriptors, asyncio tasks) of this process."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found is not None
    return int(found[1]) // 1024, len(list(Path("/proc/self/fd").iterdir())), len(asyncio.all_tasks())


KNOWN = {
    # One a thread: each thread here is a new one.
    "bot.sessions.session.Session", "bot.sessions.backlog.Crowd", "agentic.ports.stores.SessionRow",
    "agentic.core.state.conversation.Message", "agentic.models.anthropic.request._Turns",
    "agentic.models.requests.call_pairing.Pairing",  # a cache
    "bot.outbound.rate_limits.Bucket",  # those of Discord; forgotten when there are many
    # what this test's endpoint was asked
    "agentic.models.scripted.captured_request.CapturedRequest", "agentic.models.scripted.captured_request.Said",
}  # fmt: skip
"""What may be there once more for each task."""


def objects() -> Counter[str]:
    """How many there are of each class of the product; the local guild is Discord, and keeps all that is said."""
    kinds = (type(one) for one in gc.get_objects())
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
    return Counter(
        name for name in names if name.startswith(("bot.", "agentic.", "reflexion.")) and ".local_discord." not in name
    )


def signing() -> bool:
    """Whether the sign of an end is still to be set."""
    return any(task.get_name().startswith(("sign of", "outbox of")) for task in asyncio.all_tasks())


async def test_f92_many_executions_one_after_the_other_leave_nothing_behind(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long life, shortened; ``python -m bench soak`` is the longer one.  What grows with each would show in thirds."""
    mind, seen, made = Mind(), list[tuple[int, int, int]](), list[Counter[str]]()
    mind.go.set()
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        for _ in range(BATCHES):
            threads = [await here.mention("hello there") for _ in range(BATCH)]
            for thread in threads:
                await here.says(thread, "answered")
                assert await here.ended(thread) == ["done"]
            await here.until(lambda: not signing(), "signs are set, which Discord takes slowly")
            gc.collect()
            seen.append(footprint())
            made.append(objects())
        feed, bot = here.app.bot.feed, here.app.bot
        await here.until(lambda: not any(feed.progress(e) for e in list(feed._progress)), "progress is let go")  # pyright: ignore[reportPrivateUsage]
        assert bot.conversation.state(str(threads[-1])) == "idle"
    third = BATCHES // 3
    middle, last = seen[third : 2 * third], seen[2 * third :]
    memory, descriptors, tasks = (
        statistics.median(one[which] for one in last) - statistics.median(one[which] for one in middle)
        for which in range(3)
    )
    more = {name for name, count in made[-1].items() if count - made[third][name] >= (BATCHES - third - 1) * BATCH}
    assert more <= KNOWN, {name: [one[name] for one in made] for name in more - KNOWN}
    leaked = third * BATCH  # by which a third differs where one is left behind by each; pools fill up by a few
    assert tasks < leaked / 2, seen
    assert descriptors < leaked / 2, seen
    assert memory <= 12, seen
