"""A sandbox takes no more than its limits of memory, processes, open files, output and file size, in whatever form."""

from __future__ import annotations

import asyncio
import time

import pytest

from agentic.sandbox.backends.cgroups import HELD
from agentic.sandbox.sandbox import Sandbox
from tests.integration.world.rungs import MB, Ground, docker_url, ground, rung_name
from tests.walls.tally import Wall

__all__ = ["docker_url", "ground", "rung_name"]

MEMORY, PROCESSES, FILES, OUTPUT, SIZE, TMP = 128, 48, 200, 4, 16, 24
THROUGH = "it came through"
TAKE = """
import mmap, os, socket, sys, threading, time
held = []
def heap(): held.append(b"x" * (16 << 20))
def private():
    held.append(mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)); held[-1].write(b"x" * (16 << 20))
def shared(): held.append(mmap.mmap(-1, 16 << 20)); held[-1].write(b"x" * (16 << 20))
def memfd(): held.append(os.memfd_create("x")); os.write(held[-1], b"x" * (16 << 20))
def duplicated():
    memfd(); held[-1] = os.dup(held[-1])
def children():
    if os.fork() == 0:
        one = b"x" * (16 << 20); time.sleep(600)
def born_in_memory():
    if os.fork() == 0:
        memfd(); time.sleep(600)
def threads():
    had, one = len(held), threading.Thread(target=heap); one.start(); one.join(); held[had]
def in_flight():
    ours, theirs = socket.socketpair(); memfd(); socket.send_fds(ours, [b"x"], [held[-1]]); os.close(held.pop())
    held.append((ours, theirs))
"""
MEMORY_FORMS = ("heap", "private", "shared", "memfd", "duplicated", "children", "born_in_memory", "threads")
ONLY_BY_THE_KERNEL = ("in_flight",)
"""Nobody who counts can see it."""
COUNT = """
import os, socket, sys, threading, time
held = []
def opened(): held.append(os.open("/dev/null", 0))
def dup(): held.append(os.dup(0))
def pipe(): held.extend(os.pipe())
def sockets(): held.extend(one.detach() for one in socket.socketpair())
def memory(): held.append(os.memfd_create("x"))
def event(): held.append(os.eventfd(0))
def fork():
    if os.fork() == 0: time.sleep(600)
    held.append(0)
def thread(): threading.Thread(target=time.sleep, args=(600,), daemon=True).start(); held.append(0)
def spawned(): held.append(os.posix_spawn("/bin/sleep", ["sleep", "600"], {}))
"""
COUNTED = (*((form, FILES) for form in ("opened", "dup", "pipe", "sockets", "memory", "event")),
           *((form, PROCESSES) for form in ("fork", "thread", "spawned")))  # fmt: skip
FLOODS = (
    "cat /dev/zero", "cat /dev/zero >&2", "yes ''", "yes >&2 & yes; wait", "(setsid cat /dev/zero &); sleep 600",
    "cat /dev/zero > /proc/self/fd/1", "cat /dev/zero | tee /dev/stderr", "trap '' TERM PIPE; while :; do yes; done",
    "stdbuf -o0 tr '\\0' a < /dev/zero", "python3 -c 'while True: print(chr(0x1F600) * 9999)'",
)  # fmt: skip
LARGE = (
    "head -c 64M /dev/zero > x", "truncate -s 64M x", "fallocate -l 64M x", "dd if=/dev/zero of=x bs=64M count=1",
    "dd if=/dev/zero of=x bs=1 count=1 seek=64M", "trap '' XFSZ; head -c 64M /dev/zero > x",
    "for n in $(seq 9); do head -c 8M /dev/zero >> x; done", "python3 -c \"open('x','wb').write(b'x' * (64 << 20))\"",
    "head -c 64M /dev/zero | tee x >/dev/null", "cp /proc/self/exe x; for n in 1 2 3 4 5; do cat x x > y; cat y y > x; done",
)  # fmt: skip
SMALL = {"memory": MEMORY * MB, "processes": PROCESSES, "open_files": FILES, "output": OUTPUT * MB, "file_size": SIZE * MB,
         "tmp": TMP * MB}  # fmt: skip


@pytest.mark.wall("limits")
async def test_no_form_takes_more_than_its_limit(ground: Ground, wall: Wall) -> None:
    async with ground.open(**SMALL) as sandbox:
        kernel = ONLY_BY_THE_KERNEL if ground.rung.memory == HELD else ()
        for form in (*MEMORY_FORMS, *kernel):
            code = f"{TAKE}\nfor n in range({2 * MEMORY // 16}): {form}()\ntime.sleep(600)"
            await _tried(sandbox, wall, f"{ground.rung_name}: memory, {form}", ["python3", "-c", code])
        for form, limit in COUNTED:
            code = (
                f"{COUNT}\nfor n in range({3 * limit}):\n {form}()\n if len(held) > {limit}: print({THROUGH!r}); break"
            )
            await _tried(sandbox, wall, f"{ground.rung_name}: {form}", ["python3", "-c", code])
        for place in ("/tmp", "/dev/shm"):
            code = f"head -c {2 * TMP}M /dev/zero > {place}/x && echo {THROUGH}; rm {place}/x"
            await _tried(sandbox, wall, f"{ground.rung_name}: {place}", code)
        for flood in FLOODS:
            began = time.monotonic()
            done = await sandbox.exec(flood, timeout=120)
            kept = "bytes of output" in done.killed_reason
            wall.held(
                f"{ground.rung_name}: {flood}", kept, f"{done.killed_reason} after {time.monotonic() - began:.1f} s"
            )
        for command in LARGE:
            await sandbox.exec(f"mkdir large; cd large; {command}", timeout=30)
            sizes = [path.stat().st_size for path in (ground.workspace / "large").iterdir()]
            wall.held(
                f"{ground.rung_name}: {command}", max(sizes, default=0) <= SIZE * MB, f"{max(sizes, default=0)} bytes"
            )
            await sandbox.exec("rm -r large", timeout=10)
        assert (await sandbox.exec("echo it answers", timeout=10)).ok


async def _tried(sandbox: Sandbox, wall: Wall, form: str, command: str | list[str]) -> None:
    """Once, to its end; what it leaves running is ended."""
    done = await sandbox.exec(command, timeout=120)
    through = THROUGH in done.text or done.timed_out
    wall.held(form, not through and not sandbox.lost, done.text[-300:] or str(sandbox.lost))
    await sandbox.kill_all()
    await asyncio.sleep(0)
