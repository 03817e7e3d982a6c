"""Several processes on one file, and processes that die in the middle."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from agentic.stores.process_identity import provably_dead, seconds_since_boot, this_process
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.processes import acknowledged, process
from tests.integration.stores.samples import begin, envelopes, log_of, notes, sqlite, take
from tests.waiting import eventually


@pytest.mark.parametrize("lines", [1, 40])
async def test_a_kill_in_the_middle_of_writing_loses_and_tears_nothing(tmp_path: Path, lines: int) -> None:
    path = str(tmp_path / "threadwright.db")
    async with asyncio.timeout(60), process("write", path, "x1") as writer:
        last = await acknowledged(writer, lines)
    async with sqlite(tmp_path) as store:
        log = await log_of(store, "x1")
        assert len(log) >= last
        assert [envelope.seq for envelope in log] == list(range(1, len(log) + 1))
        assert (len(log) - 1) % 3 == 0, "half of a transaction was kept"


async def test_a_dead_owner_is_succeeded_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "threadwright.db")
    async with asyncio.timeout(60), sqlite(tmp_path) as store, process("write", path, "x1") as writer:
        assert writer.stdout is not None
        await writer.stdout.readline()
        assert await store.acquire("thread of x1", "successor") is None
        await acknowledged(writer, 1)
        lease = await take(store, "thread of x1", owner="successor")
        head = len(await log_of(store, "x1"))
        await store.append("x1", head, lease, envelopes("x1", lease, head, notes(1)))


async def freeze_between_commits(writer: asyncio.subprocess.Process, path: str) -> None:
    """Stop the process where it holds no lock; one that is stopped in mid-commit keeps every other writer out."""

    def frozen() -> bool:
        writer.send_signal(signal.SIGSTOP)
        with closing(apsw.Connection(path)) as connection:
            connection.set_busy_timeout(50)
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
            except apsw.BusyError:
                writer.send_signal(signal.SIGCONT)
                return False
        return True

    await eventually(frozen, "it is stopped while it does not hold the lock")


async def test_f80_a_frozen_owner_is_refused_after_its_thread_was_taken(tmp_path: Path) -> None:
    path = str(tmp_path / "threadwright.db")
    ahead = [0.0]
    async with asyncio.timeout(60), process("write", path, "x1") as writer:
        assert writer.stdout is not None
        await writer.stdout.readline()
        await freeze_between_commits(writer, path)
        store = SQLiteStore.open(path, lambda: seconds_since_boot() + ahead[0])
        try:
            assert await store.acquire("thread of x1", "successor") is None
            ahead[0] = 60.0
            lease = await take(store, "thread of x1", owner="successor")
            head = len(await log_of(store, "x1"))
            await store.append("x1", head, lease, envelopes("x1", lease, head, notes(1)))
            writer.send_signal(signal.SIGCONT)
            assert await writer.wait() == 1  # it crashed: LeaseLost
            log = await log_of(store, "x1")
        finally:
            await store.close()
    assert len(log) == head + 1
    assert log[-1].fence == lease.fence


async def test_f79_two_processes_race_for_a_thread_and_one_owns_it(tmp_path: Path) -> None:
    path = str(tmp_path / "threadwright.db")
    times = 100
    async with sqlite(tmp_path) as store:
        lease = await take(store, "raced")
        await begin(store, "x1", lease)
        await store.release(lease)
        async with (
            asyncio.timeout(120),
            process("race", path, "one", str(times)) as one,
            process("race", path, "two", str(times)) as two,
        ):
            assert [await one.wait(), await two.wait()] == [0, 0]
        log = await log_of(store, "x1")
    fences = [envelope.fence for envelope in log]
    assert len(log) == 2 * times + 1
    assert fences == sorted(set(fences)), "a fence was used by two owners"


async def test_f84_fifty_writers_in_one_process_and_one_in_another_wait_for_each_other(tmp_path: Path) -> None:
    path = str(tmp_path / "threadwright.db")

    async def write(store: SQLiteStore, number: int) -> None:
        lease = await take(store, f"t{number}")
        await begin(store, f"y{number}", lease)
        for after in range(1, 11):
            await store.append(f"y{number}", after, lease, envelopes(f"y{number}", lease, after, notes(1)))

    async with asyncio.timeout(60), process("write", path, "x1") as writer, sqlite(tmp_path) as store:
        assert writer.stdout is not None
        await writer.stdout.readline()
        await asyncio.gather(*(write(store, number) for number in range(50)))
        assert len(await store.newest_executions(1_000)) == 51


def test_a_process_is_dead_when_its_number_belongs_to_another_or_to_none() -> None:
    boot, space, pid, start = this_process().split("/")
    assert int(pid) == os.getpid()
    assert not provably_dead(this_process())
    assert provably_dead(f"{boot}/{space}/{pid}/{int(start) - 1}")
    assert provably_dead(f"{boot}/{space}/4194305/1")
    assert provably_dead(f"another-boot/{space}/{pid}/{start}")
    assert not provably_dead(f"{boot}/1/{pid}/{int(start) - 1}"), "another container's processes cannot be seen"


def test_a_killed_child_that_nobody_waited_for_is_dead() -> None:
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    boot, space, _, _ = this_process().split("/")
    stat = Path(f"/proc/{child}/stat").read_text()
    name = f"{boot}/{space}/{child}/{stat[stat.rindex(')') + 2 :].split()[19]}"
    assert not provably_dead(name)
    os.kill(child, signal.SIGKILL)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert provably_dead(name)
    os.waitpid(child, 0)
