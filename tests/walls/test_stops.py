"""Whatever a command does, and however it hides, its stop ends all of it soon, and the sandbox goes on."""

from __future__ import annotations

import asyncio
import shlex
import statistics
import time
from itertools import product

import pytest

from agentic.sandbox.sandbox import Sandbox
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name
from tests.waiting import BOUND, eventually
from tests.walls.tally import Wall

__all__ = ["docker_url", "ground", "rung_name"]

STOP_SECONDS = 2.0
DOES = {
    "waits": "sleep 1000",
    "computes": "while :; do :; done",
    "writes": "while :; do echo x; done",
    "is born again": "while :; do (true); done",
    "forks": "f() { sleep 0; f & f & }; f; sleep 1000",
    "threads": "exec python3 -c 'import threading as t,time\nfor n in range(9): t.Thread(None,time.sleep,None,[99]).start()'",
    "opens files": "exec python3 -c 'import os, time\nfor n in range(3000): os.open(\"/dev/null\", 0)\ntime.sleep(99)'",
    "reads what never comes": "mkfifo p$$; cat p$$",
}
ALIVE = """
n=0
for one in /proc/[0-9]*/stat; do read -r line < $one && [[ ${line##*) } != [ZX]* ]] && n=$((n + 1)); done 2>/dev/null
echo $n
"""
DEAF = "trap '' TERM INT HUP QUIT CHLD; "
HIDES = {
    "openly": "bash -c {}",
    "deaf": "bash -c {deaf}",
    "in a session": "setsid -w bash -c {deaf}",
    "without a name": "setsid env -i PATH=$PATH bash -c {deaf} & sleep 1000",
    "as an orphan": "(setsid env -i PATH=$PATH bash -c {deaf} >/dev/null 2>&1 &); sleep 1000",
    "stopped": "bash -c 'kill -STOP $$; '{} & bash -c {deaf}",
    "in a pipe": "bash -c {deaf} | bash -c {}",
    "without descriptors": "exec <&- >&- 2>&-; bash -c {deaf}",
    "under another name": "exec -a supervisor.pyz bash -c {deaf}",
    "many": "for n in 1 2 3 4; do setsid bash -c {deaf} & done; wait",
}
CODE = (
    "while True: pass", "import time\nwhile True:\n try: time.sleep(1000)\n except BaseException: pass",
    "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass",
    "import os\nos.setsid() if os.getpid() != os.getsid(0) else 0\nos.fork()\nwhile True: pass",
    "import subprocess\nsubprocess.run(['setsid', 'sleep', '1000'])", "a = 10 ** (10 ** 9)",
    "import threading\ndef f():\n while 1: pass\nfor n in range(5): threading.Thread(target=f).start()\nf()",
)  # fmt: skip


def command(what: str, how: str) -> str:
    """It says that it has begun, and goes on for ever."""
    return "echo begun; " + how.format(shlex.quote(what), deaf=shlex.quote(DEAF + what))


@pytest.mark.wall("stops")
async def test_every_form_is_stopped_whole_and_soon(ground: Ground, wall: Wall) -> None:
    """By a person, as a job, and by its time limit; which of the three takes turns."""
    took: list[float] = []
    async with ground.open(processes=60) as sandbox:
        usual = await _left(sandbox)
        for turn, ((what, does), (how, hides)) in enumerate(product(DOES.items(), HIDES.items())):
            way = WAYS[turn % len(WAYS)]
            took.append(await way(sandbox, command(does, hides)))
            left = await _left(sandbox)
            wall.held(
                f"{ground.rung_name}: {what} {how}, {way.__name__}", left <= usual, f"{left - usual} processes are left"
            )
        for code in CODE:
            took.append(await _interrupted(sandbox, code))
            await sandbox.reset_python()
            left = await _left(sandbox)
            wall.held(f"{ground.rung_name}: {code}", left <= usual, f"{left - usual} processes are left")
        wall.held(f"{ground.rung_name}: the same sandbox", sandbox.lost is None, str(sandbox.lost))
    soon = statistics.median(took)
    wall.held(
        f"{ground.rung_name}: soon", soon <= STOP_SECONDS, f"{soon:.1f} s by the median, {max(took):.1f} s at most"
    )


FORKS = "import os, signal\n{first}\nwhile True:\n try:\n  {each}\n except OSError: open('full', 'w').close()"
STORMS = {
    "forks": ("", "os.fork()"),
    "deaf forks": ("signal.signal(15, signal.SIG_IGN)", "os.fork()"),
    "sessions without a name": ("os.environ.clear()", "os.fork() or os.setsid()"),
    "forks that write": ("", "os.fork(); open(f'busy{os.getpid() % 50}', 'w').write('x')"),
    "forks that end at once": ("", "os.fork() or os.fork() or os._exit(0)"),
}


@pytest.mark.wall("stops")
@pytest.mark.parametrize("beside", ["alone", "beside a job"])
async def test_a_storm_of_processes_is_stopped_in_two_seconds_and_no_file_changes_after(
    ground: Ground, wall: Wall, beside: str
) -> None:
    """With or without its sandbox, which is told; the command that stands beside it may end with it."""
    if not ground.rung.covers:
        pytest.skip("without a process namespace a storm is the machine's")
    full = ground.workspace / "full"
    for storm, (first, each) in STORMS.items():
        async with ground.open() as sandbox:
            if beside != "alone":
                await sandbox.start("sleep 1000")
            code = FORKS.format(first=first, each=each)
            running = asyncio.create_task(sandbox.exec(f"python3 -c {shlex.quote(code)}", timeout=600))
            await eventually(full.exists, storm)
            began = time.monotonic()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            took, stands = time.monotonic() - began, _stand(ground)
            wall.held(f"{ground.rung_name}: {storm} {beside}", took <= STOP_SECONDS, f"{took:.1f} s")
            await sandbox.close()
        wall.held(f"{ground.rung_name}: {storm} {beside}, after it", _stand(ground) == stands, "files changed")
        full.unlink(missing_ok=True)


def _stand(ground: Ground) -> dict[str, tuple[int, int]]:
    found = [(path.name, path.stat()) for path in ground.workspace.iterdir()]
    return {name: (status.st_mtime_ns, status.st_size) for name, status in found}


async def _left(sandbox: Sandbox) -> int:
    """How many processes there are; those that have ended and only wait to be asked for it are none."""
    return int((await sandbox.exec(ALIVE, timeout=10)).text)


async def _stopped(sandbox: Sandbox, text: str) -> float:
    begun = asyncio.Event()
    running = asyncio.create_task(sandbox.exec(text, timeout=600, on_output=lambda _: begun.set()))
    await asyncio.wait_for(begun.wait(), BOUND)
    began = time.monotonic()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return time.monotonic() - began


async def _killed(sandbox: Sandbox, text: str) -> float:
    job = await sandbox.start(text)

    async def said() -> bytes:
        return (await sandbox.poll(job)).output

    await eventually(said)
    began = time.monotonic()
    await sandbox.kill(job)
    return time.monotonic() - began


async def _timed_out(sandbox: Sandbox, text: str) -> float:
    began = time.monotonic()
    await sandbox.exec(text, timeout=0.3)
    return max(time.monotonic() - began - 0.3, 0.0)


async def _interrupted(sandbox: Sandbox, code: str) -> float:
    begun = asyncio.Event()
    running = asyncio.create_task(
        sandbox.python("print('begun', flush=True)\n" + code, timeout=600, on_output=lambda _: begun.set())
    )
    await asyncio.wait_for(begun.wait(), BOUND)
    began = time.monotonic()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return time.monotonic() - began


WAYS = (_stopped, _killed, _stopped, _stopped, _timed_out, _killed, _stopped)
