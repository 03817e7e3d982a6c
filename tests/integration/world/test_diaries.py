"""What a sandbox wrote down for the owner after the one that died: what ended, what began, what never did."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sys
from pathlib import Path

import pytest

from agentic.ports.errors import SandboxError
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.sandbox.protocol import call_journal
from agentic.sandbox.protocol.decode import exec_result
from agentic.sandbox.supervisor.call_journal import Diary as Written
from agentic.workspace.workspace import RealWorld
from tests.integration.world.rungs import SMALL, build_rung, docker_url, rung_name
from tests.waiting import eventually

__all__ = ["docker_url", "rung_name"]

ROOT = Path(__file__).parents[3]


@pytest.fixture
def docker_address(request: pytest.FixtureRequest, rung_name: str) -> str:
    address: str = request.getfixturevalue("docker_url") if rung_name == "docker" else ""
    return address


async def killed_in_the_middle(rung: str, folder: Path, docker: str) -> str:
    """The diary of an owner that was killed while a command ran."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.integration.world.keeper", rung, str(folder), docker,
        cwd=ROOT, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            diary = (await process.stdout.readline()).decode().strip()
        await eventually(lambda: (folder / "workspace" / "began").exists())
    finally:
        process.kill()
        await process.wait()
    return diary


async def test_the_next_owner_reads_what_ended_and_what_never_began_and_of_the_rest_knows_nothing(
    rung_name: str, docker_address: str, tmp_path: Path
) -> None:
    """And nothing in the sandbox can read or write it."""
    diary = await killed_in_the_middle(rung_name, tmp_path, docker_address)
    assert diary
    rung = build_rung(rung_name, tmp_path / "state", docker_address)

    async def chosen() -> Choice:
        return Choice(rung, "the test says so")

    pool = Sandboxes(tmp_path / "state", chosen, SMALL)
    world = RealWorld(pool, "kept", tmp_path / "workspace")
    try:
        ended = await world.remembered(diary, "ended")
        assert ended.reply is not None
        result = exec_result(ended.reply, "x")
        assert (result.exit_code, result.text) == (3, "said\n")
        assert [change.path for change in result.changes.files] == ["file"]
        assert not (await world.remembered(diary, "began")).known
        assert (await world.remembered(diary, "never")).never_began
        assert not (await world.remembered("another", "never")).known
        tries = "ls -l /proc/1/fd 2>&1; ls /proc/self/fd; echo forged 2>&1 > /run/threadwright/diary"
        reached = await world.exec(tries, timeout=30, key="later")
        assert "denied" in reached.text
        assert {line for line in reached.text.splitlines() if line.isdecimal()} <= {"0", "1", "2", "3"}, "3 is ls's own"
        assert world.diary == diary, "it goes on"
        assert (await world.remembered(diary, "later")).reply is not None
        assert (await world.remembered(diary, "never")).never_began
        assert "forged" not in call_journal.path_of(tmp_path / "state", "kept").read_text()
    finally:
        await pool.close()


def diary_at(path: Path) -> str:
    """Opened as a sandbox's owner does; its name."""
    with call_journal.opened(path) as diary:
        descriptor = os.dup(diary.descriptor)
    try:
        return Written(str(descriptor)).id
    finally:
        os.close(descriptor)


async def test_a_diary_with_a_gap_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A torn line, a machine that was started anew, a file that grew large: another begins, and the old one is nobody's."""
    path = tmp_path / "diaries" / "d.jsonl"
    first = diary_at(path)
    assert (await call_journal.look_up(path, first, "never")).never_began
    assert diary_at(path) == first
    with path.open("a") as file:
        file.write('{"began":"a"}\n{"be')
    assert not (await call_journal.look_up(path, first, "never")).known
    assert not (await call_journal.look_up(path, first, "a")).known
    torn = diary_at(path)
    assert torn != first
    assert not (await call_journal.look_up(path, first, "never")).known
    with path.open("a") as file:
        file.write("\n" * call_journal.LARGE)
    grown = diary_at(path)
    assert grown != torn
    boot = tmp_path / "boot"
    boot.write_text("later")
    monkeypatch.setattr(call_journal, "BOOT", boot)
    assert not (await call_journal.look_up(path, grown, "never")).known
    assert diary_at(path) != grown
    call_journal.end(path)
    assert not (await call_journal.look_up(path, grown, "never")).known


async def test_nobody_reads_a_diary_that_is_still_written_and_who_goes_on_then_begins_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "d.jsonl"
    monkeypatch.setattr(call_journal, "GONE_SECONDS", 0.2)
    with call_journal.opened(path) as diary:
        slow_to_go = Written(str(os.dup(diary.descriptor)))
    name = slow_to_go.id
    descriptor = os.open(path, os.O_RDWR)
    with pytest.raises(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)
    assert not (await call_journal.look_up(path, name, "never")).known
    assert diary_at(path) != name
    slow_to_go.began("late")
    assert "late" not in path.read_text()


def test_where_a_line_cannot_be_written_the_whole_is_void_and_where_not_even_that_nothing_begins() -> None:
    full = os.memfd_create("full", os.MFD_ALLOW_SEALING)
    os.write(full, b'{"diary":"d","boot":"b"}\n')
    fcntl.fcntl(full, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
    written = Written(str(full))
    assert written.id == "d"
    written.began("a")
    assert (written.id, os.fstat(full).st_size) == ("", 0)
    os.close(full)
    sealed = os.memfd_create("sealed", os.MFD_ALLOW_SEALING)
    os.write(sealed, b'{"diary":"d","boot":"b"}\n')
    fcntl.fcntl(sealed, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    with pytest.raises(OSError, match="permitted"):
        Written(str(sealed)).began("a")
    os.close(sealed)


def test_an_old_diary_that_can_neither_be_gone_on_with_nor_removed_keeps_a_sandbox_from_being_made(
    tmp_path: Path,
) -> None:
    (tmp_path / "d.jsonl").mkdir()
    with pytest.raises(SandboxError, match="cannot be removed"), call_journal.opened(tmp_path / "d.jsonl"):
        pass
