"""Commands whose input and output are ours: bytes both ways, bounds, and an end that leaves nothing."""

from __future__ import annotations

import asyncio

import pytest

from agentic.ports.errors import SandboxError
from agentic.sandbox.sandbox import Sandbox
from tests.integration.world.rungs import PROCESSES, Ground, docker_url, ground, rung_name, sandbox
from tests.waiting import BOUND

__all__ = ["Ground", "docker_url", "ground", "rung_name", "sandbox"]


class Heard:
    """What came, and a way to wait for so much of it."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.more = asyncio.Event()

    def __call__(self, piece: bytes) -> None:
        self.data += piece
        self.more.set()

    async def until(self, size: int) -> bytes:
        async with asyncio.timeout(BOUND):
            while len(self.data) < size:
                self.more.clear()
                await self.more.wait()
        return bytes(self.data)


async def test_bytes_go_both_ways_and_the_end_is_told(sandbox: Sandbox) -> None:
    """Standard error is apart; what is large waits for whoever reads."""
    heard = Heard()
    pipe = sandbox.pipe(["sh", "-c", "echo why >&2; echo $X; exec cat"], heard, env={"X": "yes"})
    assert await heard.until(4) == b"yes\n"
    sent = bytes(range(256)) * 20_000
    pipe.feed(sent)
    assert (await heard.until(4 + len(sent)))[4:] == sent
    await pipe.kill()
    assert "exec cat" not in (await sandbox.exec(PROCESSES, timeout=10)).text
    ended = Heard()
    end = await sandbox.pipe(["sh", "-c", "echo last; echo words >&2; exit 7"], ended).ended
    assert (end.exit_code, end.signal, end.words, bytes(ended.data)) == (7, None, b"words\n", b"last\n")
    with pytest.raises(SandboxError, match="cannot start"):
        await sandbox.pipe(["no-such-program"], ended).ended


async def test_a_flood_is_read_as_it_is_taken_and_everything_ends_with_the_rest(sandbox: Sandbox) -> None:
    """Other commands go on beside it; what does not read is ended, and a stop ends all."""
    heard = Heard()
    flood = sandbox.pipe(["sh", "-c", "while :; do echo 0123456789; done"], heard)
    await heard.until(1 << 20)
    assert (await sandbox.exec("echo beside", timeout=20)).text == "beside\n"
    await flood.kill()
    deaf = sandbox.pipe(["sleep", "60"], heard)
    piece = b"x" * (8 << 20)
    for _ in range(5):
        deaf.feed(piece)
    end = await deaf.ended
    assert "did not read" in end.killed_reason
    idle = sandbox.pipe(["sleep", "61"], heard)
    assert (await sandbox.exec("true", timeout=10)).ok
    assert await sandbox.kill_all() >= 1
    assert (await idle.ended).killed_reason == "stopped"
    sandbox.feed("none", b"x")  # of what is gone nothing is said
    assert (await sandbox.exec("true", timeout=10)).ok
