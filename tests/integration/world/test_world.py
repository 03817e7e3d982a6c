"""RealWorld and WorldModel together: what an agent may write, and what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agentic.ports.errors import (
    PathRefused,
    SandboxLost,
)
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.sandbox.protocol.results import Edit
from agentic.workspace.workspace import RealWorld
from tests.integration.world.rungs import PROCESSES, Ground, docker_url, ground, rung_name
from tests.scripts import Gate

__all__ = ["docker_url", "ground", "rung_name"]


@pytest.fixture
async def world(ground: Ground) -> AsyncIterator[RealWorld]:
    """A world over a fresh workspace."""

    async def chosen() -> Choice:
        return Choice(ground.rung, "the test says so")

    sandboxes = Sandboxes(ground.state, chosen, ground.limits)
    yield RealWorld(sandboxes, "a thread", ground.workspace)
    await sandboxes.close()


async def test_text_with_odd_bytes_is_shown_and_marked(world: RealWorld) -> None:
    """Replaced for the eye; an edit leaves the bytes alone."""
    await world.put_file("odd.txt", b"caf\xe9 = 1\nx = 1\n", folder="in")
    text = await world.read("in/odd.txt")
    assert (text.text, text.lossy) == ("caf\ufffd = 1\nx = 1\n", True)
    await world.edit("in/odd.txt", [Edit("x = 1", "x = 2")], expected_sha=text.sha)
    assert await world.get_file("in/odd.txt", 100) == b"caf\xe9 = 1\nx = 2\n"
    await world.put_file("b.bin", b"\0\1\2", folder="in")
    with pytest.raises(PathRefused, match="binary"):
        await world.read("in/b.bin")


async def test_attachments_get_safe_and_distinct_names(world: RealWorld) -> None:
    """Whatever they are called."""
    names = [
        "../../etc/passwd",
        "/abs/passwd",
        "passwd",
        "a\0b",
        "x" * 300 + ".txt",
        "..",
        "",
        "C:\\dir\\f.txt",
        "PASSWD",
    ]
    paths = [await world.put_file(name, name.encode()) for name in names]
    assert len({path.casefold() for path in paths}) == len(names)
    assert all(path.startswith("attachments/") and path.count("/") == 1 for path in paths)
    assert paths[0] == "attachments/passwd"
    assert paths[4].endswith(".txt")
    assert await world.get_file(paths[2], 100) == b"passwd"
    with pytest.raises(PathRefused, match="more than 10"):
        await world.get_file(paths[4], 10)


async def test_each_agent_has_its_own_knowledge(world: RealWorld) -> None:
    """A subagent's model starts empty, over the same files."""
    main = world.new_model("main")
    change = await world.write("f", "x", expected_sha="", create=True, by="main")
    main.note_write("f", change.sha_after, "x")
    assert main.may_write("f", change.sha_after) is None
    assert world.new_model("sub").may_write("f", change.sha_after) is not None


async def test_a_deleted_file_is_told(world: RealWorld) -> None:
    """By a command of someone else."""
    model = world.new_model("main")
    change = await world.write("f", "x", expected_sha="", create=True, by="main")
    model.note_write("f", change.sha_after, "x")
    await world.exec("rm f", timeout=10)
    assert [(stale.path, stale.diff) for stale in (await world.perceive(model)).stale] == [("f", "(it was deleted)")]


async def test_cancel_ends_everything_that_runs(ground: Ground, world: RealWorld) -> None:
    """A command, a background command and the interpreter."""
    gate = Gate(ground.workspace)
    await world.start("sleep 600")
    running = asyncio.create_task(world.exec("sleep 601 & cat gate; wait", timeout=600))
    await gate.open()
    assert await world.cancel() >= 2
    assert (await running).killed_reason == "stopped"
    assert "sleep 60" not in (await world.exec(PROCESSES, timeout=10)).text


async def test_nothing_is_made_before_it_is_needed(world: RealWorld, ground: Ground) -> None:
    """Looking for changes, cancelling and closing need no sandbox."""
    assert await world.changes() == ()
    assert await world.cancel() == 0
    await world.close()
    assert not ground.home.exists()
    assert not (ground.state / "homes").exists()


async def test_after_close_the_next_call_makes_a_new_sandbox_over_the_same_files(world: RealWorld) -> None:
    """The workspace and the home stay; what ran does not."""
    await world.exec("echo kept > f; echo kept > ~/h", timeout=10)
    await world.close()
    assert (await world.exec("cat f ~/h", timeout=10)).text == "kept\nkept\n"


async def test_changes_are_kept_for_as_long_as_an_agent_is_to_be_told_of_them(world: RealWorld) -> None:
    """A thread lives for months, and what was changed in it is listed for who works there, not for ever."""
    await world.write("f", "1\n", expected_sha="", create=True)
    agent, other = world.new_model("one"), world.new_model("two")
    assert (await world.exec("echo 2 > f", timeout=60, by="two")).changes.files
    del other
    world.tidy()
    perception = await world.perceive(agent)
    assert "f" in str(perception.changes), "and it is told also after that"
    assert await world.changes() != ()
    del agent
    world.tidy()
    assert await world.changes() == ()
    later = world.new_model("three")
    assert (await world.exec("echo 3 > f", timeout=60)).changes.files
    world.tidy()
    assert "f" in str((await world.perceive(later)).changes)


async def test_a_loss_that_no_call_has_told_is_told_once_when_looking_for_changes(world: RealWorld) -> None:
    """Ended while idle, or replaced between two calls: interpreters and servers are gone, and the agent must know."""
    await world.python("x = 1", timeout=10)
    sandboxes = world._sandboxes  # pyright: ignore[reportPrivateUsage]
    await sandboxes.end(world.thread, "it gave way")
    with pytest.raises(SandboxLost, match="it gave way"):
        await world.changes()
    assert await world.changes() == ()
    await world.python("x = 1", timeout=10)
    await sandboxes.end(world.thread, "it gave way again")
    assert "NameError" in (await world.python("x", timeout=10)).error
    with pytest.raises(SandboxLost, match="it gave way again"):
        await world.changes()
    assert await world.changes() == ()
