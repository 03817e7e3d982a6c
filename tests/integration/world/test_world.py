"""RealWorld and WorldModel together: what an agent may write, and what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentic.ports.errors import (
    EditConflict,
    PathRefused,
    SandboxLost,
    SandboxUnavailable,
)
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.sandbox.protocol.results import Edit, FileChange, Refusal
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


async def test_a_page_of_lines_comes_with_the_hash_of_the_whole(world: RealWorld) -> None:
    """Offsets count lines from 0."""
    await world.write("f", "".join(f"line {n}\n" for n in range(100)), expected_sha="", create=True)
    page = await world.read("f", 10, 2)
    assert (page.text, page.total_lines, page.offset) == ("line 10\nline 11\n", 100, 10)
    assert page.sha == (await world.read("f")).sha


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


async def test_edits_are_all_done_or_none(world: RealWorld) -> None:
    """A refusal names the edit that does not fit."""
    change = await world.write("f", "a b a\nc\n", expected_sha="", create=True)
    for edits, word in (
        ([Edit("c", "C"), Edit("zz", "y")], "Edit 2: the text to replace does not stand"),
        ([Edit("a", "x")], "2 times"),
        ([Edit("", "x")], "does not stand"),
    ):
        refusal = await world.edit("f", edits, expected_sha=change.sha_after)
        assert isinstance(refusal, Refusal)
        assert word in refusal.reason
    assert (await world.read("f")).text == "a b a\nc\n"
    done = await world.edit("f", [Edit("a", "x", every=True), Edit("c", "C")], expected_sha=change.sha_after)
    assert isinstance(done, FileChange)
    assert (await world.read("f")).text == "x b x\nC\n"
    with pytest.raises(EditConflict):
        await world.edit("f", [Edit("x", "y", every=True)], expected_sha=change.sha_after)


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


async def test_an_agent_must_read_before_it_writes_and_own_writes_are_not_stale(world: RealWorld) -> None:
    """New files are free; known ones are checked by hash."""
    model = world.new_model("main")
    await world.exec("printf 'one\\ntwo\\n' > f", timeout=10, by="main")
    text = await world.read("f")
    refusal = model.may_write("f", text.sha)
    assert refusal is not None
    assert "not read" in refusal.reason
    assert model.may_write("new", "") is None
    model.note_read("f", text.sha, text.text)
    assert model.may_write("f", text.sha) is None
    change = await world.write("f", "one\n2\n", expected_sha=text.sha, create=False, by="main")
    model.note_write("f", change.sha_after, "one\n2\n")
    assert (await world.perceive(model)).stale == ()
    assert model.may_write("f", change.sha_after) is None


async def test_a_change_by_another_makes_a_file_stale_once_with_its_diff(world: RealWorld) -> None:
    """And the write is refused with the diff, after which the agent knows."""
    main, other = world.new_model("main"), world.new_model("other")
    for model in (main, other):
        if model is main:
            await world.write("f", "one\ntwo\n", expected_sha="", create=True, by="main")
        text = await world.read("f")
        model.note_read("f", text.sha, text.text)
    await world.exec("printf 'one\\nTWO\\n' > f; echo x > unread", timeout=10, by="other")
    perceived = await world.perceive(main)
    assert [stale.path for stale in perceived.stale] == ["f"]
    assert "-two" in perceived.stale[0].diff
    assert "+TWO" in perceived.stale[0].diff
    assert [line.split(",")[0] for line in perceived.changes] == ["modified f by other", "added unread by other"]
    assert (await world.perceive(main)).stale == ()
    now = await world.read("f")
    refusal = main.may_write("f", now.sha, now.text)
    assert refusal is not None
    assert "+TWO" in refusal.diff
    assert main.may_write("f", now.sha, now.text) is None
    assert (await world.perceive(other)).stale == ()


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


async def test_without_a_rung_every_call_is_refused_with_the_reason(tmp_path: Path) -> None:
    """Never a host shell."""

    async def none() -> Choice:
        return Choice(None, "install bubblewrap")

    world = RealWorld(Sandboxes(tmp_path / "state", none), "t", tmp_path / "workspace")
    with pytest.raises(SandboxUnavailable, match="install bubblewrap"):
        await world.exec("true", timeout=5)
    with pytest.raises(SandboxUnavailable):
        await world.read("x")
