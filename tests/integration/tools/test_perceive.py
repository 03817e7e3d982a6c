"""What others did meanwhile is told before the next request."""

from __future__ import annotations

import asyncio

import pytest

from agentic.errors import SandboxLost, SandboxUnavailable
from agentic.ports import Prepared
from agentic.tools import StandardToolbox
from agentic.world import RealWorld

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
    async with asyncio.timeout(10):
        while not (bench.workspace / "begun").exists():
            await asyncio.sleep(0.02)
        await bench.world.close()
        with pytest.raises(SandboxLost):
            await call
    assert "variables of the Python interpreter" in (await bench.toolbox.perceive()).environment
    assert (await bench.toolbox.perceive()).environment == ""
    assert (await bench.call("shell", command="ls")).preview.startswith("exit 0")


async def test_without_any_sandbox_the_call_raises(bench: Bench) -> None:
    async def none() -> RealWorld:
        raise SandboxUnavailable("no sandbox here")

    toolbox = StandardToolbox(none)
    prepared = toolbox.prepare("shell", {"command": "ls"})
    assert isinstance(prepared, Prepared)
    with pytest.raises(SandboxUnavailable):
        async with asyncio.timeout(5):
            await toolbox.run("shell", "c1", prepared, bench.streamed.append)
