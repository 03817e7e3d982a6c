"""What others did meanwhile is told before the next request."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading

import pytest

from agentic.core.events.execution_events import ToolStarted
from agentic.ports.errors import CallNotBegun, SandboxLost, SandboxUnavailable
from agentic.ports.runtime import Prepared
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.protocol.results import ExecResult, FileStat
from agentic.sandbox.sandbox import Sandbox
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.workspace import RealWorld

from .bench import Bench


async def test_a_file_that_a_person_changed_is_told_once_with_its_diff(bench: Bench) -> None:
    path = bench.put("a.txt", "one\n")
    await bench.call("read", path="a.txt")
    await bench.toolbox.perceive()
    path.write_text("two\n")
    perceived = await bench.toolbox.perceive()
    assert [stale.path for stale in perceived.stale] == ["a.txt"]
    assert "-one\n+two" in perceived.stale[0].diff
    assert any("a.txt" in change for change in perceived.changes)
    assert (await bench.toolbox.perceive()).stale == ()


async def test_a_file_that_another_agent_changed_by_shell_is_told_with_who_did_it(bench: Bench) -> None:
    bench.put("a.txt", "one\n")
    await bench.call("read", path="a.txt")
    await bench.toolbox.perceive()
    other = bench.another_agent("reviewer")
    await other.call("shell", command="echo two > a.txt")
    perceived = await bench.toolbox.perceive()
    assert [stale.path for stale in perceived.stale] == ["a.txt"]
    assert any("by reviewer" in change for change in perceived.changes)
    assert (await other.toolbox.perceive()).changes == ()


async def test_ones_own_commands_are_not_told_as_changes_by_others(bench: Bench) -> None:
    await bench.call("write", path="a.txt", content="one\n")
    await bench.call("shell", command="echo two > b.txt; rm a.txt")
    perceived = await bench.toolbox.perceive()
    assert perceived.stale == ()
    assert perceived.changes == ()


async def test_a_lost_sandbox_is_told_and_made_anew(bench: Bench) -> None:
    await bench.call("python", code="x = 1")
    await bench.world.close()
    await bench.toolbox.perceive()
    seen = await bench.call("shell", command="echo again")
    assert "again" in seen.preview
    assert "NameError" in (await bench.call("python", code="x")).preview


async def test_a_sandbox_that_ends_during_a_call_is_raised_and_told_once(bench: Bench) -> None:
    call = asyncio.create_task(bench.call("shell", command="touch begun; sleep 60"))
    async with asyncio.timeout(30):
        while not (bench.workspace / "begun").exists():
            await asyncio.sleep(0.02)
        await bench.world.close()
        with pytest.raises(SandboxLost):
            await call
    assert "variables of the Python interpreter" in (await bench.toolbox.perceive()).environment
    assert (await bench.toolbox.perceive()).environment == ""
    assert (await bench.call("shell", command="ls")).preview.startswith("exit 0")


async def test_without_any_sandbox_a_call_is_not_begun(bench: Bench) -> None:
    async def none() -> RealWorld:
        raise SandboxUnavailable("no sandbox here")

    toolbox = StandardToolbox(none)
    prepared = toolbox.prepare("shell", {"command": "ls"})
    assert isinstance(prepared, Prepared)
    with pytest.raises(CallNotBegun, match="no sandbox here"):
        async with asyncio.timeout(5):
            await toolbox.run("shell", "c1", prepared, bench.streamed.append)


async def test_a_call_for_which_no_sandbox_can_be_made_is_not_begun_also_after_others_had_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.call("shell", command="true")
    await bench.world.close()

    async def none(*_: object) -> Sandbox:
        raise SandboxUnavailable("no sandbox here")

    monkeypatch.setattr(Bubblewrap, "start", none)
    with pytest.raises(CallNotBegun, match="no sandbox here"):
        await bench.another_agent("reviewer").call("shell", command="ls")


async def test_a_call_that_did_a_part_before_no_sandbox_could_be_had_is_lost_and_never_counts_as_not_begun(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that fails has a fallback, which finds the sandbox gone: what the command did stands there."""

    async def none(*_: object) -> Sandbox:
        raise SandboxUnavailable("no sandbox here")

    execute = Sandbox.exec

    async def and_gone(self: Sandbox, *about: object, **how: object) -> ExecResult:
        result = await execute(self, *about, **how)  # pyright: ignore[reportArgumentType]
        await self.close()
        monkeypatch.setattr(Bubblewrap, "start", none)
        return result

    monkeypatch.setattr(Sandbox, "exec", and_gone)
    with pytest.raises(SandboxLost, match="no sandbox here"):
        await bench.call("shell", command="touch done; false", fallback="true")
    assert (bench.workspace / "done").exists()


@pytest.mark.parametrize("becomes", ["a link out of it", "a folder", "nothing", "much more", "hidden", "a FIFO"])
async def test_a_file_that_becomes_something_else_while_it_is_looked_at_is_told_without_a_diff(
    bench: Bench, becomes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at what it is and the look at its text: no agent breaks off over that."""
    path = bench.put("a.txt", "one\n")
    await bench.call("read", path="a.txt")
    await bench.toolbox.perceive()
    path.write_text("two\n")
    ask = Sandbox.stat

    async def then(self: Sandbox, *about: object, **how: object) -> FileStat | None:
        stat = await ask(self, *about, **how)  # pyright: ignore[reportArgumentType]
        monkeypatch.undo()
        if becomes == "hidden":
            bench.put(".aiignore", "a.txt\n")
            return stat
        path.unlink()
        if becomes == "a link out of it":
            path.symlink_to("/etc/hostname")
        elif becomes == "a folder":
            path.mkdir()
        elif becomes == "a FIFO":
            os.mkfifo(path)
        elif becomes == "much more":
            bench.put("a.txt", "x" * 100_000)
        return stat

    monkeypatch.setattr(Sandbox, "stat", then)
    async with asyncio.timeout(30):
        perceived = await bench.toolbox.perceive()
    assert [(stale.path, stale.diff) for stale in perceived.stale] == [("a.txt", "")]
    assert any("a.txt" in change for change in perceived.changes)


async def test_no_look_at_a_file_that_is_rewritten_all_the_time_breaks_an_agent_off(bench: Bench) -> None:
    path = bench.put("a.txt", "one\n")
    await bench.call("read", path="a.txt")
    ends = threading.Event()

    def rewrite() -> None:
        turn = 0
        while not ends.is_set():
            turn += 1
            with contextlib.suppress(OSError):
                path.unlink()
                bench.put("a.txt", "x" * (turn % 3 * 40_000))

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        async with asyncio.timeout(40):
            for _ in range(100):
                await bench.toolbox.perceive()
    finally:
        ends.set()
        writer.join()


async def test_what_cannot_be_looked_at_now_is_told_at_the_next_look(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No sandbox can be had in that moment: whoever needs one is told by the call itself."""
    path = bench.put("a.txt", "one\n")
    await bench.call("read", path="a.txt")
    await bench.toolbox.perceive()
    path.write_text("two\n")

    async def none(*_: object, **__: object) -> FileStat:
        raise SandboxUnavailable("the engine does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(RealWorld, "stat", none)
        seen = await bench.toolbox.perceive()
        assert (seen.stale, seen.changes) == ((), ())
    assert [stale.path for stale in (await bench.toolbox.perceive()).stale] == ["a.txt"]


async def test_nobody_knows_what_became_of_a_call_of_an_earlier_version_whose_arguments_are_none_today(
    bench: Bench,
) -> None:
    """Else each owner after the one that died would break off over it."""
    intent = ToolStarted(
        call="c1", provider_id="p", tool="shell", effect="unkeyed", arguments={"script": "ls"}, args_sha="",
        batch="b", key="", diary="d",
    )  # fmt: skip
    assert await bench.toolbox.recall(intent) is None
