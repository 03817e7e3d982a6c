"""A command cannot hurt its supervisor: what would slow it, pin it, trace it or take its limits away fails."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from agentic.sandbox.sandbox import Sandbox
from agentic.sandbox.supervisor import seccomp
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name
from tests.waiting import eventually
from tests.walls.tally import Wall

__all__ = ["docker_url", "ground", "rung_name"]

STOP_SECONDS = 2.0
SPECIAL = {
    "prlimit64 of another": (seccomp.PRLIMIT, (1, 7, 0, 0)),
    "clone into a user namespace": (seccomp.CLONE, (seccomp.NEW_USER_NAMESPACE | 17, 0, 0, 0)),
    **{f"socket of family {n}": (seccomp.SOCKET, (n, 2, 0)) for n in (0, 17, 31, 38, 40, 42, 43, 44, 45)},
    "socketpair of family 40": (seccomp.SOCKETPAIR, (40, 1, 0, 0)),
}
CALLS = {name: (numbers, (0, 1, 0, 0)) for name, numbers in seccomp.REFUSED.items()} | SPECIAL
TRY = f"""
import ctypes, json, os, sys
column = {{"x86_64": 0, "aarch64": 1}}[os.uname().machine]
libc = ctypes.CDLL(None, use_errno=True)
told = {{}}
for name, (numbers, arguments) in json.loads({json.dumps(CALLS)!r}).items():
    done = libc.syscall(numbers[column], *(ctypes.c_long(one) for one in arguments))
    told[name] = ctypes.get_errno() if done == -1 else 0
for name in os.listdir("/proc/1"):
    for mode in (os.O_WRONLY, os.O_RDONLY):
        if mode == os.O_WRONLY or name in ("mem", "environ", "maps", "auxv"):
            try:
                opened = os.open("/proc/1/" + name, mode)
                told["/proc/1/" + name] = os.write(opened, b"1000") * 0 if mode == os.O_WRONLY else 0
            except OSError as error:
                told["/proc/1/" + name] = error.errno
told["ptrace"] = 1 if libc.ptrace(16, 1, 0, 0) == -1 else 0
print(json.dumps(told), flush=True)
"""
UNSTOPPABLE = """
python3 - <<'end'
import os, resource
for attack in (
    lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)), lambda: os.sched_setaffinity(1, {0}),
    lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), lambda: os.setpriority(os.PRIO_USER, 0, 19),
    lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (10, 10)), lambda: resource.prlimit(1, resource.RLIMIT_CPU, (1, 1)),
):
    try:
        attack()
        print("through", flush=True)
    except PermissionError:
        pass
end
for n in $(seq 20); do (trap '' TERM INT HUP; while :; do :; done) & done
while :; do kill -TERM 1; kill -CHLD 1; kill -STOP 1; kill -KILL 1; echo busy > busy; done
"""
TOOLS = """
nice true && python3 -c "
import multiprocessing, os, resource, socket, subprocess
assert os.sched_getaffinity(0) and os.getpriority(os.PRIO_PROCESS, 0) == 0
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
for family in (socket.AF_INET, socket.AF_UNIX, socket.AF_NETLINK):
    socket.socket(family, socket.SOCK_DGRAM).close()
socket.socketpair()[0].close()
assert multiprocessing.get_context('fork').Pool(2).map(abs, [-1, -2]) == [1, 2]
print(subprocess.run(['sh', '-c', 'ulimit -n 32; ulimit -n'], capture_output=True, text=True).stdout)"
"""


async def _tried(sandbox: Sandbox, way: str) -> dict[str, int]:
    """What each call came to: its error number, 0 if it was done."""
    if way == "python":
        ran = await sandbox.python(TRY, timeout=60)
        return json.loads(ran.text.splitlines()[0])
    if way == "command":
        done = await sandbox.exec(["python3", "-c", TRY], timeout=60)
        return json.loads(done.text.splitlines()[0])
    job = await sandbox.start(["python3", "-c", TRY])

    async def output() -> bytes:
        state = await sandbox.poll(job)
        return b"" if state.running else state.output

    return json.loads(await eventually(output))


@pytest.mark.wall("supervisor")
async def test_no_call_reaches_the_supervisor_from_a_command_a_job_or_the_interpreter(
    ground: Ground, wall: Wall
) -> None:
    async with ground.open() as sandbox:
        for way in ("command", "job", "python"):
            for name, number in (await _tried(sandbox, way)).items():
                wall.held(f"{ground.rung_name}, {way}: {name}", number != 0, "it was done")
        assert (await sandbox.exec("echo it answers", timeout=10)).ok


@pytest.mark.wall("stops")
async def test_a_command_that_attacks_the_supervisor_and_loads_the_machine_is_stopped_soon(
    ground: Ground, wall: Wall
) -> None:
    async with ground.open() as sandbox:
        said: list[bytes] = []
        running = asyncio.create_task(sandbox.exec(UNSTOPPABLE, timeout=60, on_output=said.append))
        await eventually((ground.workspace / "busy").exists)
        began = time.monotonic()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        took = time.monotonic() - began
        left = (await sandbox.exec("ls -d /proc/[0-9]* | wc -l", timeout=10)).text
    wall.held(f"{ground.rung_name}: unstoppable", took <= STOP_SECONDS, f"the stop took {took:.1f} s")
    wall.held(f"{ground.rung_name}: left running", int(left) <= 6, f"{left} processes are left")
    wall.held(f"{ground.rung_name}: the same sandbox", sandbox.lost == "it was closed", str(sandbox.lost))
    wall.held(f"{ground.rung_name}: the supervisor's priority and limits", b"through" not in b"".join(said), "changed")


async def test_ordinary_tools_go_on_under_the_filter(ground: Ground) -> None:
    async with ground.open() as sandbox:
        done = await sandbox.exec(TOOLS, timeout=30)
        assert done.ok, done.text
        assert done.text.endswith("32\n\n")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_machine_has_a_filter_that_the_kernel_can_take(machine: str) -> None:
    content = seccomp.program(machine)
    assert content is not None
    length = len(content) // seccomp.INSTRUCTION.size
    assert length < 4096
    for place, (code, if_so, if_not, _) in enumerate(seccomp.INSTRUCTION.iter_unpack(content)):
        assert place + 1 + max(if_so, if_not) < length or code == seccomp.RETURN, "no jump leads out of it"
    assert seccomp.program("riscv64") is None
