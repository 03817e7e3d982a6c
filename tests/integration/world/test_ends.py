"""How sandboxes end: whatever fails while one is closed, nothing else is told wrongly, kept waiting or left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from agentic.ports.errors import SandboxError, SandboxLost, SandboxUnavailable
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.backends.process_transport import ProcessTransport
from agentic.sandbox.hidden_files import Hidden
from agentic.sandbox.limits import MB, Limits
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.workspace.workspace import RealWorld
from tests.scripts import Gate, running, supervisors
from tests.waiting import BOUND, eventually

SOON = Limits(memory=512 * MB, processes=64, tmp=32 * MB, heartbeat=1.5)
TROUBLES = (SandboxUnavailable("the engine is gone"), ZeroDivisionError("a fault of ours"))
Make = Callable[..., Sandboxes]


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Pools over bubblewrap, closed at the end."""
    tmp_path.chmod(0o755)
    made: list[Sandboxes] = []

    async def chosen() -> Choice:
        return Choice(Bubblewrap(tmp_path / "state"), "the test says so")

    def build(choose: Callable[[], Awaitable[Choice]] = chosen, **how: float) -> Sandboxes:
        made.append(Sandboxes(tmp_path / "state", choose, SOON, **how))  # pyright: ignore[reportArgumentType]
        return made[-1]

    yield build
    for pool in made:
        await pool.close()


@pytest.fixture
def closing_raises(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """From now on each sandbox is closed, and whoever closed it gets an error."""
    close = ProcessTransport.close

    def raises(trouble: Exception) -> None:
        async def closed(self: ProcessTransport) -> str:
            await close(self)
            raise trouble

        monkeypatch.setattr(ProcessTransport, "close", closed)

    return raises


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: type(trouble).__name__)
async def test_a_command_whose_sandbox_goes_away_is_lost_whatever_closing_it_comes_to(
    make: Make, tmp_path: Path, closing_raises: Callable[[Exception], None], trouble: Exception
) -> None:
    """Not “there is no sandbox”: the command was begun, and what it did stands there.  The next call has a new one."""
    pool = make()
    world = RealWorld(pool, "one", tmp_path / "one")
    gate = Gate(tmp_path / "one")
    command = asyncio.create_task(world.exec("touch begun; cat gate; sleep 600", timeout=600))
    await gate.reached()
    closing_raises(trouble)
    for supervisor in supervisors(tmp_path):
        os.kill(supervisor, signal.SIGKILL)
    with pytest.raises(SandboxLost, match=str(trouble)):
        await asyncio.wait_for(command, BOUND)
    assert (await world.exec("ls", timeout=10)).text == "begun\ngate\n"


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: type(trouble).__name__)
async def test_a_command_that_is_called_off_is_so_although_its_sandbox_neither_answers_nor_closes_in_order(
    make: Make, tmp_path: Path, closing_raises: Callable[[Exception], None], trouble: Exception,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A stop stays a stop, and by then nothing of the command is left."""
    monkeypatch.setattr("agentic.sandbox.sandbox.KILL_SECONDS", 0.2)
    world = RealWorld(make(), "one", tmp_path / "one")
    gate, token = Gate(tmp_path / "one"), uuid4().hex
    command = asyncio.create_task(world.exec(f"cat gate; while sleep 600; do echo {token}; done", timeout=600))
    await gate.open()
    closing_raises(trouble)
    for supervisor in supervisors(tmp_path):
        os.kill(supervisor, signal.SIGSTOP)
    assert running(token)
    command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await command
    assert running(token) == []


@dataclass(frozen=True)
class Closing:
    """The end of a sandbox: it was begun, and may go on."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)


@pytest.fixture
def closing_waits(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Closing]:
    """From now on each sandbox is closed only once it may go on."""
    close = ProcessTransport.close

    def waits() -> Closing:
        closing = Closing()

        async def closed(self: ProcessTransport) -> str:
            closing.begun.set()
            await closing.go.wait()
            return await close(self)

        monkeypatch.setattr(ProcessTransport, "close", closed)
        return closing

    return waits


async def test_the_first_in_the_line_who_gives_up_leaves_its_place_to_the_next(
    make: Make, tmp_path: Path, closing_waits: Callable[[], Closing]
) -> None:
    """Also in the midst of making room: nobody else tells those behind it."""
    pool = make(count=1)
    async with pool.use("one", tmp_path / "one"):
        first = asyncio.create_task(pool.for_thread("two", tmp_path / "two"))
        second = asyncio.create_task(pool.for_thread("three", tmp_path / "three"))
        await eventually(lambda: pool.position("three") == 2)
        closing = closing_waits()
    await eventually(lambda: pool.existing("one") is None)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    closing.go.set()
    assert (await (await asyncio.wait_for(second, BOUND)).exec("echo here", timeout=10)).text == "here\n"


async def test_an_end_whose_asker_gives_up_is_completed_and_makes_room(
    make: Make, tmp_path: Path, closing_waits: Callable[[], Closing]
) -> None:
    """What .aiignore hid is shown again, and who waits for a place gets it."""
    pool = make(count=1)
    world = RealWorld(pool, "one", tmp_path / "one")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / ".aiignore").write_text("key\n")
    key = tmp_path / "one" / "key"
    key.write_text("secret")
    mode = key.stat().st_mode
    async with asyncio.timeout(BOUND):
        await world.exec("true", timeout=10)
        assert key.stat().st_mode != mode
        closing = closing_waits()
        ending = asyncio.create_task(pool.end("one"))
        await closing.begun.wait()
        ending.cancel()
        next_one = asyncio.create_task(pool.for_thread("two", tmp_path / "two"))
        await eventually(lambda: pool.position("two") == 1)
        closing.go.set()
        await next_one
        assert key.stat().st_mode == mode
        with pytest.raises(asyncio.CancelledError):
            await ending


async def test_a_thread_gets_no_sandbox_while_its_old_one_is_being_ended(
    make: Make, tmp_path: Path, closing_waits: Callable[[], Closing]
) -> None:
    """Two at work in one workspace would undo what the other hides, and one of them belongs to nobody."""
    pool = make()
    old = await pool.for_thread("one", tmp_path / "one")
    closing = closing_waits()
    ending = asyncio.create_task(pool.end("one"))
    await closing.begun.wait()
    again = asyncio.create_task(pool.for_thread("one", tmp_path / "one"))
    await pool.for_thread("another", tmp_path / "another")  # that one, which was asked for later, is there
    assert not again.done()
    closing.go.set()
    async with asyncio.timeout(BOUND):
        assert await again is not old
        await ending


async def test_a_sandbox_that_ends_badly_keeps_no_other_from_ending_nor_from_being_evicted_later(
    make: Make, tmp_path: Path, closing_raises: Callable[[Exception], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the disk is full, and what was hidden cannot be noted as shown."""
    pool = make(idle=0.0)

    def full(self: Hidden) -> None:
        raise OSError("the disk is full")

    closed = [await pool.for_thread(name, tmp_path / name) for name in ("one", "two")]
    closing_raises(SandboxUnavailable("the engine is gone"))
    async with asyncio.timeout(BOUND):
        with monkeypatch.context() as patched:
            patched.setattr(Hidden, "lift", full)
            assert await pool.evict_idle() == 2
        assert all(one.lost for one in closed)
        await pool.for_thread("two", tmp_path / "two")
        assert await pool.evict_idle() == 1
    assert not supervisors(tmp_path)


async def test_a_pool_lets_go_of_its_kind_of_sandbox_although_one_does_not_end_in_order(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And ends all the others."""
    released: list[str] = []

    class Noted(Bubblewrap):
        async def reap(self) -> tuple[str, ...]:
            raise SandboxUnavailable("it cannot be told what is left")

        async def close(self) -> None:
            released.append(self.name)

    async def chosen() -> Choice:
        return Choice(Noted(tmp_path / "state"), "the test says so")

    pool = make(chosen)
    close, number = ProcessTransport.close, 0

    async def once(self: ProcessTransport) -> str:
        nonlocal number
        number += 1
        words = await close(self)
        if number == 1:
            raise ZeroDivisionError("a fault of ours")
        return words

    for name in ("one", "two", "three"):
        await pool.for_thread(name, tmp_path / name)
    monkeypatch.setattr(ProcessTransport, "close", once)
    async with asyncio.timeout(BOUND):
        await pool.close()
    assert released == ["bubblewrap"]
    assert not supervisors(tmp_path)


async def test_a_command_for_which_nothing_can_be_hidden_does_not_run(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the disk is full: it is told in words, and is no fault of ours."""
    world = RealWorld(make(), "one", tmp_path / "one")
    await world.exec("true", timeout=10)
    (tmp_path / "one" / ".aiignore").write_text("key\n")

    def full(self: Hidden, paths: Iterable[str]) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Hidden, "set", full)
        with pytest.raises(SandboxError, match="could not be hidden: the disk is full"):
            await world.exec("touch done", timeout=10)
    assert not (tmp_path / "one" / "done").exists()


async def test_folders_that_cannot_be_made_ready_are_no_sandbox_and_hold_up_nobody(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = make(count=1)

    def full(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("agentic.sandbox.pool.adopt", full)
        with pytest.raises(SandboxUnavailable, match="the disk is full"):
            await pool.for_thread("one", tmp_path / "one")
    async with asyncio.timeout(BOUND):
        assert (await (await pool.for_thread("two", tmp_path / "two")).exec("true", timeout=10)).ok


async def test_what_was_hidden_is_shown_again_beside_the_loop_and_the_next_sandbox_waits_for_it(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be twenty thousand files; and what is shown late must not show what the next sandbox hides."""
    lift, order, began, goes = Hidden.lift, list[str](), asyncio.Event(), threading.Event()
    loop, here = asyncio.get_running_loop(), threading.get_ident()

    def slow(self: Hidden) -> None:
        order.append("begins")
        assert threading.get_ident() != here
        loop.call_soon_threadsafe(began.set)
        goes.wait(60)
        lift(self)
        order.append("ended")

    monkeypatch.setattr(Hidden, "lift", slow)
    pool = make()
    async with asyncio.timeout(BOUND):
        given_up = asyncio.create_task(pool.for_thread("one", tmp_path / "one"))
        await began.wait()
        given_up.cancel()
        await asyncio.wait((given_up,))
        assert given_up.cancelled()
        wanted = asyncio.create_task(pool.for_thread("one", tmp_path / "one"))
        for _ in range(20):
            await asyncio.to_thread(lambda: None)  # what is to be done beside the loop is done in order
        assert order == ["begins"]
        goes.set()
        await wanted
        assert order == ["begins", "ended", "begins", "ended"]
        await pool.end("one")
    assert order == ["begins", "ended"] * 3
