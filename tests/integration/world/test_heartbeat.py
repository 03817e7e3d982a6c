"""The sign of life that sandboxes get: not from the event loop, never in the middle of a frame, and not past a lease."""

from __future__ import annotations

import asyncio
import contextlib
import json
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from agentic.sandbox.protocol.frame_writer import FrameOutput
from agentic.sandbox.protocol.heartbeat import SHARE, Heartbeat
from agentic.sandbox.supervisor.frames import FrameReader
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name
from tests.scripts import Gate, running
from tests.waiting import eventually, eventually_true

__all__ = ["docker_url", "ground", "rung_name"]


async def test_a_sandbox_outlives_an_event_loop_that_stands(ground: Ground) -> None:
    """Twice as long as it goes without a sign of its owner, in the middle of a command and of a large frame."""
    text, beats = b"x" * 3_000_000, threading.Semaphore(0)
    gate = Gate(ground.workspace)
    async with ground.open(heartbeat=1.2) as sandbox:
        command = asyncio.create_task(sandbox.exec("cat gate; echo done", timeout=60))
        await gate.reached()
        writing = asyncio.create_task(sandbox.write("large", text))
        await asyncio.sleep(0)
        ground.heartbeat.add("a thread", Beats(beats), 1.2)
        for _ in range(2 * SHARE):
            assert beats.acquire(timeout=60)  # the loop stands
        await gate.open()
        assert (await command).text == "done\n"
        await writing
        assert (await sandbox.exec("wc -c < large", timeout=20)).text.strip() == str(len(text))


async def test_a_sandbox_ends_when_the_lease_lapses_while_the_loop_stands(ground: Ground) -> None:
    """Nobody renews it then, and another process may take the thread."""
    token = uuid4().hex
    with ThreadPoolExecutor() as beside:
        async with ground.open(heartbeat=0.6) as sandbox:
            await sandbox.exec(f"(while sleep 600; do echo {token}; done) >/dev/null 2>&1 &", timeout=60)
            assert running(token)
            ground.heartbeat.allow("a thread", time.monotonic() + 0.2)
            ended = beside.submit(eventually_true, lambda: not running(token), "effects end with the lease")
            ended.result()  # the loop stands
            await eventually(lambda: sandbox.lost)


@contextlib.contextmanager
def lines(count: int) -> Iterator[list[tuple[FrameOutput, socket.socket]]]:
    """Outlets, each with the other end."""
    made: list[tuple[FrameOutput, socket.socket]] = []
    for _ in range(count):
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        made.append((FrameOutput(ours.detach()), theirs))
    try:
        yield made
    finally:
        for outlet, theirs in made:
            outlet.close()
            theirs.close()


class Beats:
    """Counts what it hears."""

    def __init__(self, count: threading.Semaphore) -> None:
        self.count = count

    def beat(self, frame: bytes) -> None:
        self.count.release()


def come(theirs: socket.socket) -> int:
    """How many beats have come since."""
    return sum(request.text("op") == "beat" for request in FrameReader(theirs.fileno()).read() or ())


def heard(theirs: socket.socket) -> bool:
    """Whether a beat comes, or has come."""
    return bool(select.select([theirs], [], [], 60)[0]) and come(theirs) > 0


async def test_a_supervisor_that_reads_nothing_keeps_no_beat_from_the_others() -> None:
    """Its pipe is full; and nothing that waited for it is lost or torn."""
    frame = struct.pack("!II", 2, 1_000_000) + b"{}" + b"y" * 1_000_000
    heartbeat = Heartbeat()
    with lines(2) as [(full, deaf), (open_, theirs)]:
        for outlet in (full, open_):
            heartbeat.add("t", outlet, 0.3)
        full.write(frame)
        assert heard(theirs)
        assert heard(theirs)
        for outlet in (full, open_):
            heartbeat.remove(outlet)
        got = bytearray()
        while len(got) < len(frame) or not got.endswith(frame):
            with contextlib.suppress(BlockingIOError):
                got += deaf.recv(1 << 16)
            await asyncio.sleep(0)
        assert len(got[: -len(frame)]) % len(beat()) == 0


def beat() -> bytes:
    """One beat as it is sent."""
    header = json.dumps({"op": "beat"}).encode()
    return struct.pack("!II", len(header), 0) + header


async def test_one_thread_beats_for_all_and_ends_with_the_last() -> None:
    """Not a thread for each."""
    heartbeat = Heartbeat()

    def beating() -> set[threading.Thread]:
        return {one for one in threading.enumerate() if one.name == "sandbox-heartbeat"}

    before = beating()  # one of an earlier test may still be ending
    with lines(3) as made:
        for outlet, theirs in made:
            heartbeat.add("t", outlet, 0.3)
            assert heard(theirs)
        (own,) = beating() - before
        for outlet, _ in made:
            heartbeat.remove(outlet)
        own.join(60)
        assert not own.is_alive()
        heartbeat.add("t", made[0][0], 0.3)
        assert heard(made[0][1])
        heartbeat.remove(made[0][0])


@pytest.mark.parametrize("leased", [True, False])
async def test_a_loop_that_stands_for_long_is_given_up_past_the_lease_or_past_half_a_minute(leased: bool) -> None:
    """Other threads' sandboxes go on; and once nothing is leased and the loop goes again, this one does."""
    clock = [1000.0]
    heartbeat = Heartbeat(lambda: clock[0])
    with lines(2) as [(one, theirs), (other, others)]:
        heartbeat.add("t", one, 0.3)
        heartbeat.add("u", other, 0.3)
        heartbeat.allow("u", 2000.0)
        if leased:
            heartbeat.allow("t", 1012.0)
        assert heard(theirs)
        clock[0] = 1013.0 if leased else 1031.0
        come(others)
        assert all(heard(others) for _ in range(2))  # one may have been on its way
        come(theirs)
        assert all(heard(others) for _ in range(3))
        assert come(theirs) == 0
        heartbeat.allow("t", None)
        assert await asyncio.to_thread(heard, theirs)
        for outlet in (one, other):
            heartbeat.remove(outlet)
