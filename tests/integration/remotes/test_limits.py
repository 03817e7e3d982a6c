"""git of this machine is held: by limits, and by the life of the process that runs it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import textwrap
from pathlib import Path

import pytest

from agentic.forges.hosts import Forges
from agentic.ports.errors import GitFailed
from agentic.remotes import host_git
from agentic.remotes.host_git import HostGit
from tests.waiting import eventually

SECONDS = 60.0


async def asked(git: HostGit, folder: Path, command: str) -> str:
    """What a command says that git runs."""
    return (await git.run(folder, "-c", f"alias.said=!{command}", "said")).decode().strip()


async def test_git_has_limits(tmp_path: Path) -> None:
    git = HostGit(Forges((), {}), largest=512 * host_git.MB)
    limits = await asked(git, tmp_path, "ulimit -v; ulimit -f; ulimit -t")
    assert limits.split() == [str(2560 * 1024), str(1088 * 2048), "3600"]


async def test_what_wants_more_memory_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_git, "MEMORY", 300 * host_git.MB)
    git = HostGit(Forges((), {}), largest=0)
    with pytest.raises(GitFailed):
        await asked(git, tmp_path, f"{sys.executable} -c 'bytes(1 << 30)'")


async def test_nothing_of_git_outlives_the_process_that_runs_it(tmp_path: Path) -> None:
    """Not even what git has begun: it is killed with the rest when the pipe that is its life closes."""
    fifo = tmp_path / "held"
    os.mkfifo(fifo)
    program = textwrap.dedent(f"""
        import asyncio
        from pathlib import Path
        from agentic.forges.hosts import Forges
        from agentic.remotes.host_git import HostGit
        asyncio.run(HostGit(Forges((), {{}})).run(
            Path({str(tmp_path)!r}), "-c", "alias.held=!exec 9> {fifo}; echo begun >&9; sleep 600", "held"))
    """)
    bot = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reading, True)
    try:
        begun = await eventually(lambda: asyncio.to_thread(os.read, reading, 100), "somebody has opened it")
        assert begun == b"begun\n"
        async with asyncio.timeout(SECONDS):
            bot.send_signal(signal.SIGKILL)
            await bot.wait()
            assert await asyncio.to_thread(os.read, reading, 100) == b""  # whoever held it is gone
    finally:
        os.close(reading)
        if bot.returncode is None:
            bot.kill()
            await bot.wait()
