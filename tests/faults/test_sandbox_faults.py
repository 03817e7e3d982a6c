"""Rows 34, 36, 62-66, 69 and 71 of the fault catalogue, at the sandbox: real bubblewrap and real Docker."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from agentic.ports.errors import PathRefused, SandboxError
from agentic.sandbox.sandbox import Sandbox
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name, sandbox
from tests.scripts import running
from tests.waiting import BOUND, eventually, promised

__all__ = ["docker_url", "ground", "rung_name", "sandbox"]

MB = 1024 * 1024
ROOT = Path(__file__).parents[2]


def stubborn(token: str) -> str:
    """A command that no signal but the last ends, with two children that hide, each of which makes a file."""
    goes_on = "while :; do sleep 600; done"
    return f"""
trap '' TERM INT HUP
setsid sh -c 'trap "" TERM INT HUP; : > one; {goes_on}' {token} &
env -i setsid sh -c 'trap "" TERM; : > two; {goes_on}' {token} &
: > three; {goes_on}
"""


async def begun(workspace: Path) -> None:
    """Wait until it and its children are there."""
    await eventually(lambda: all((workspace / name).exists() for name in ("one", "two", "three")))


# --- 62: paths ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "a/../../x",
        "/etc/passwd",
        "/workspacex/y",
        "/workspace/../etc/passwd",
        "/",
        "a\0b",
        "half\ud800",
        "out/passwd",
        "up/x",
        "round",
    ],
)
async def test_f62_a_path_that_leads_outside_is_refused(ground: Ground, path: str) -> None:
    """Read, write, list and delete alike; by dots, by name, by link."""
    async with ground.open() as sandbox:
        await sandbox.exec("mkdir a; ln -s /etc out; ln -s ../../ up; ln -s round round", timeout=10)
        with pytest.raises(PathRefused):
            await sandbox.read(path)
        with pytest.raises(PathRefused):
            await sandbox.write(path, b"x")
        with pytest.raises(PathRefused):
            await sandbox.list(path)
        if path != "round":  # a link may be deleted, whatever it points to
            with pytest.raises(PathRefused):
                await sandbox.delete(path)


async def test_f62_a_link_inside_the_workspace_is_followed(sandbox: Sandbox) -> None:
    """Refusing is about where it leads, not about links."""
    await sandbox.exec("mkdir -p a/b; echo real > a/b/file; ln -s b/file a/near; ln -s /workspace/a/b far", timeout=10)
    assert (await sandbox.read("a/near"))[0] == b"real\n"
    assert (await sandbox.read("far/file"))[1].path == "a/b/file"
    await sandbox.write("a/near", b"new")
    assert (await sandbox.exec("cat a/b/file; test -L a/near && echo link", timeout=10)).text == "newlink\n"


async def test_f62_a_folder_swapped_for_a_link_during_the_call_never_leads_outside(ground: Ground) -> None:
    """Thousands of reads and writes race with a command that swaps a folder for a link to the home folder.

    The swap is one exchange: were there a moment without ``d``, a write would make it anew and end the race.
    """
    swap = (
        "import ctypes, os\nexchange = ctypes.CDLL(None, use_errno=True).renameat2\n"
        "while exchange(-100, b'd', -100, b'link', 2) == 0:\n os.sched_yield()\nprint(ctypes.get_errno())"
    )
    async with ground.open() as sandbox:
        await sandbox.exec(
            "echo outside > /home/agent/secret; mkdir d; echo inside > d/secret; ln -s /home/agent link", timeout=10
        )
        number = await sandbox.start(["python3", "-c", swap])
        seen: set[bytes | str] = set()
        for round_ in range(400):
            if round_ >= 60 and {b"inside\n", "PathRefused"} <= seen:
                break
            reads = [sandbox.read("d/secret") for _ in range(50)]
            writes = [sandbox.write("d/planted", b"x") for _ in range(10)]
            for answer in await asyncio.gather(*reads, *writes, return_exceptions=True):
                seen.add(answer[0] if isinstance(answer, tuple) else type(answer).__name__)
        await sandbox.kill(number)
        assert b"outside\n" not in seen
        assert b"inside\n" in seen
        assert "PathRefused" in seen
    assert not (ground.home / "planted").exists()


# --- 63: what must not be opened -------------------------------------------------------------------------------


async def test_f63_a_fifo_a_device_and_proc_are_refused_without_a_hang(sandbox: Sandbox) -> None:
    """Also a link to them, also in a search."""
    await sandbox.exec(
        "mkfifo pipe; ln -s /dev/zero zero; ln -s /proc/1/environ environ; ln -s pipe also; "
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('sock')\"; echo needle > plain",
        timeout=10,
    )
    async with asyncio.timeout(BOUND):
        for path in ("pipe", "also", "sock", "zero", "environ", "/dev/zero", "/proc/self/environ", "/proc/1/mem", "."):
            with pytest.raises(PathRefused):
                await sandbox.read(path)
        with pytest.raises(PathRefused):
            await sandbox.write("pipe", b"x")
        found = await sandbox.grep("needle")
        assert [hit.path for hit in found.hits] == ["plain"]
        assert {entry.name: entry.kind for entry in (await sandbox.list()).entries}["pipe"] == "other"


async def test_f63_a_hostile_pattern_does_not_stop_the_sandbox(sandbox: Sandbox) -> None:
    """While it is tried, other requests are answered."""
    await sandbox.write("long", b"a" * 40 + b"!\n")
    hostile = asyncio.create_task(sandbox.grep("(a+)+$"))
    await asyncio.sleep(0)
    async with asyncio.timeout(BOUND):
        assert (await sandbox.exec("echo fine", timeout=60)).text == "fine\n"
        assert not hostile.done()
        await sandbox.kill_all()
        with pytest.raises(SandboxError, match="ended"):
            await hostile


# --- 64: what does not want to end ----------------------------------------------------------------------------


async def test_f64_a_command_that_ignores_sigterm_ends_with_all_its_children(ground: Ground) -> None:
    """A setsid child, and one that emptied its environment too; they are looked for from outside."""
    token = uuid4().hex
    async with ground.open() as sandbox:
        command = asyncio.create_task(sandbox.exec(stubborn(token), timeout=600, exec_id="stubborn"))
        await begun(ground.workspace)
        assert len(running(token)) >= 3
        async with promised(2, "a stop of a command"):
            assert await sandbox.kill("stubborn") >= 3
        assert running(token) == []
        result = await command
        assert (result.signal, result.killed_reason) == (9, "stopped")
        assert (await sandbox.exec("echo on", timeout=10)).text == "on\n"


async def test_f64_a_time_out_ends_the_children_too(ground: Ground) -> None:
    """Not only the shell."""
    token = uuid4().hex
    async with ground.open() as sandbox:
        result = await sandbox.exec(stubborn(token), timeout=2)
        assert result.timed_out
        assert running(token) == []


@pytest.mark.parametrize("fate", [signal.SIGSTOP, signal.SIGKILL])
async def test_f64_the_effects_of_a_frozen_or_dead_owner_stop(ground: Ground, fate: signal.Signals) -> None:
    """The owner's process is stopped or killed in mid-command; nobody tells the sandbox."""
    token = uuid4().hex
    arguments = [
        "-m",
        "tests.integration.world.owner",
        ground.rung_name,
        str(ground.folder),
        ground.docker_url,
        stubborn(token),
    ]
    owner = await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT)
    try:
        await begun(ground.workspace)
        assert running(token)
        owner.send_signal(fate)
        await eventually(lambda: running(token) == [owner.pid] if fate == signal.SIGSTOP else not running(token))
    finally:
        if owner.returncode is None:
            owner.kill()
        await owner.wait()
        await ground.rung.reap()


# --- 65: what takes too much ----------------------------------------------------------------------------------


async def test_f65_a_fork_bomb_hits_a_limit_and_the_neighbour_notices_nothing(ground: Ground) -> None:
    """The bomb is ended with its time; the next command runs."""
    bomb = "bomb() { bomb | bomb & }; bomb; : > bombed; sleep 600"
    async with ground.open(processes=60) as sandbox, ground.open(processes=60) as neighbour:
        bombed = asyncio.create_task(sandbox.exec(bomb, timeout=2))
        await eventually(lambda: bombed.done() or (ground.workspace / "bombed").exists())
        assert (await neighbour.exec("seq 3 | sort -r | head -1", timeout=60)).text == "3\n"
        assert (await bombed).timed_out
        assert (
            await sandbox.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c bom[b]", timeout=20)
        ).text.strip() == "0"


async def test_f65_memory_has_a_limit_and_the_supervisor_outlives_it(ground: Ground) -> None:
    """One process that takes too much, and many that together do."""
    hog = 'python3 -c "b = []\nwhile True: b.append(bytearray(8 << 20))"'
    many = (
        "for n in 1 2 3 4 5 6 7 8; do python3 -c 'b = bytearray(60 << 20); import time; time.sleep(600)' & done; wait"
    )
    async with ground.open(memory=256 * MB) as sandbox:
        result = await sandbox.exec(hog, timeout=120)
        assert not result.ok
        assert not result.timed_out
        together = await sandbox.exec(many, timeout=120)
        assert "memory" in together.killed_reason
        assert (await sandbox.exec("echo alive", timeout=10)).text == "alive\n"


@pytest.mark.parametrize(
    ("fill", "word"),
    [
        ("n=0; while :; do n=$((n+1)); head -c 4M /dev/zero > f$n; done", "MB"),
        ("mkdir -p d; cd d; python3 -c \"n=0\nwhile True:\n n+=1\n open(f'e{n}','w').close()\"", "files"),
        ("cd; n=0; while :; do n=$((n+1)); head -c 4M /dev/zero > f$n; done", "MB"),
    ],
)
async def test_f65_growth_of_the_files_is_bounded(ground: Ground, fill: str, word: str) -> None:
    """By bytes and by number, in the workspace and in the home; afterwards a command can clean up."""
    size, number = 64 * MB, 3000
    slack = 20  # left to itself it writes some hundred times as much until its time is over
    async with ground.open(workspace=size, inodes=number) as sandbox:
        result = await sandbox.exec(fill, timeout=30)
        assert word in result.killed_reason
        left = [path for top in (ground.workspace, ground.home) for path in top.rglob("*") if path.is_file()]
        assert sum(path.stat().st_size for path in left) < size * slack
        assert len(left) < number * slack
        assert (await sandbox.exec("rm -rf /workspace/* ~/f*; echo clean", timeout=20)).text == "clean\n"


async def test_f65_the_system_and_tmp_cannot_be_filled(sandbox: Sandbox) -> None:
    """Read-only, or a tmpfs of a given size."""
    filled = await sandbox.exec("head -c 100M /dev/zero > /tmp/x; stat -c %s /tmp/x", timeout=20)
    assert "No space left" in filled.text
    assert int(filled.text.split()[-1]) <= 32 * MB
    refused = await sandbox.exec("for d in / /usr /etc /dev /opt /home; do touch $d/x 2>&1 | tail -1; done", timeout=10)
    assert len(refused.text.splitlines()) == 6
    shared = await sandbox.exec("head -c 100M /dev/zero > /dev/shm/x", timeout=20)
    assert not shared.ok


async def test_f65_folders_without_end_do_not_bring_the_scan_down(ground: Ground) -> None:
    """Deeper than any path is long; also at the start of the next sandbox."""
    dig = "import os\nfor n in range(3000):\n os.mkdir('d'); os.chdir('d')"
    async with ground.open() as sandbox:
        assert (await sandbox.exec(["python3", "-c", dig], timeout=30)).ok
    async with ground.open() as sandbox:
        result = await sandbox.exec("echo x > f; rm -rf d; echo done", timeout=30)
        assert result.text == "done\n"
        assert [change.path for change in result.changes.files] == ["f"]


# --- 66: output -----------------------------------------------------------------------------------------------
