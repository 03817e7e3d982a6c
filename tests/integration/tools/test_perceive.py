"""What others did meanwhile is told before the next request."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading

import pytest

from agentic.core.events.execution_events import StaleFile, ToolStarted
from agentic.ports.errors import CallNotBegun, SandboxLost, SandboxUnavailable
from agentic.ports.runtime import Prepared
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.protocol.results import ExecResult, FileStat
from agentic.sandbox.sandbox import Sandbox
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.workspace import A_PERSON, RealWorld
from tests.scripts import Gate
from tests.waiting import BOUND

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
    gate = Gate(bench.workspace)
    call = asyncio.create_task(bench.call("shell", command="cat gate; sleep 600"))
    await gate.reached()
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
    async with asyncio.timeout(BOUND):
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
        async with asyncio.timeout(2 * BOUND):
            for _ in range(30):
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


async def test_a_write_that_comes_too_late_by_a_moment_is_shown_what_it_would_have_overwritten(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file changes between the look at it and the writing: exactly one of the two counts."""
    path = bench.put("a.txt", "one\ntwo\n")
    await bench.call("read", path="a.txt")
    other = bench.another_agent("helper 1")
    read = Sandbox.read

    async def then(self: Sandbox, *about: object, **how: object) -> object:
        monkeypatch.undo()
        found = await read(self, *about, **how)  # pyright: ignore[reportArgumentType]
        await other.call("shell", command="echo three >> a.txt")
        return found

    for edit in (
        {"tool": "edit", "path": "a.txt", "old": "one\n", "new": "ONE\n"},
        {"tool": "write", "path": "a.txt", "content": "ONE\n"},
    ):
        path.write_text("one\ntwo\n")
        await bench.call("read", path="a.txt")
        monkeypatch.setattr(Sandbox, "read", then)
        seen = await bench.call(**edit)
        assert seen.outcome == "refused"
        assert seen.preview.startswith(
            "a.txt changed since you read it, by helper 1 with `echo three >> a.txt`; nothing was written."
        )
        assert "+three" in seen.preview
        assert seen.conflicts == (StaleFile(path="a.txt", by="by helper 1"),)
        assert path.read_text() == "one\ntwo\nthree\n"
        assert (await bench.call(**edit)).outcome == "ok", "it knows the file now"


async def test_what_changed_while_nobody_could_notice_is_found_afterwards(bench: Bench) -> None:
    """A sandbox that was made anew knows nothing of what was before it; of very many changes a scan tells a part."""
    path, other, last = bench.put("a.txt", "one\n"), bench.put("b.txt", "one\n"), bench.put("z.txt", "one\n")
    for name in ("a.txt", "b.txt", "z.txt"):
        await bench.call("read", path=name)
    await bench.call("shell", command="echo mine >> b.txt")
    assert (await bench.toolbox.perceive()).stale == ()
    await bench.sandboxes.end("t1")
    path.write_text("two\n")
    refused = await bench.call("edit", path="b.txt", old="one", new="two")
    assert refused.preview.startswith("b.txt changed since you read it")
    with contextlib.suppress(SandboxLost):  # told once, by the next look
        await bench.world.changes()
    perceived = await bench.toolbox.perceive()
    assert [(file.path, file.by) for file in perceived.stale] == [("a.txt", "")], "what it did itself is no news"
    assert "-one\n+two" in perceived.stale[0].diff
    assert (await bench.toolbox.perceive()).stale == ()
    await bench.another_agent("helper 1").call("shell", command="seq 600 | xargs touch; echo new > z.txt")
    assert [file.path for file in (await bench.toolbox.perceive()).stale] == ["z.txt"]
    other.unlink()
    assert [file.diff for file in (await bench.toolbox.perceive()).stale] == ["(it was deleted)"]
    assert last.read_text() == "new\n"


async def test_a_file_that_was_read_after_the_last_of_several_changes_is_not_stale(bench: Bench) -> None:
    bench.put("a.txt", "one\n")
    await bench.call("read", path="a.txt")
    await bench.toolbox.perceive()
    other = bench.another_agent("helper 1")
    await other.call("shell", command="echo two > a.txt")
    await other.call("shell", command="KEY=ghp_0123456789abcdefghijklmnopqrstuvwxyz; echo three > a.txt")
    await bench.call("read", path="a.txt")
    perceived = await bench.toolbox.perceive()
    assert perceived.stale == ()
    assert "by helper 1 with `KEY=[secret: " in perceived.changes[-1], "secrets in commands are hidden"


async def test_who_changed_a_file_is_told_as_far_as_anybody_knows(bench: Bench) -> None:
    """A person through the bot, a command in the background; an own command is no conflict."""
    path = bench.put("a.txt", "one\n")
    go, done = Gate(bench.workspace, "go"), Gate(bench.workspace, "done")
    await bench.call("read", path="a.txt")
    await bench.world.put_file("a.txt", b"sent", by=A_PERSON)
    await bench.call("shell", command="cat go; echo two > a.txt; cat done; sleep 600", background=True)
    await go.reached()
    told = (await bench.toolbox.perceive()).changes
    assert [each.partition(", ")[0] for each in told] == ["added attachments/a.txt by a person"]
    await go.open()
    await done.reached()
    [stale] = (await bench.toolbox.perceive()).stale
    assert stale.by.startswith("perhaps by `cat go;")
    assert stale.by.endswith("in the background")
    await bench.call("read", path="a.txt")
    await bench.call("shell", command="echo own > a.txt")
    seen = await bench.call("edit", path="a.txt", old="two", new="three")
    assert seen.preview.startswith("a.txt changed since you read it, by a command of your own; nothing was written.")
    assert seen.conflicts == ()
    assert path.read_text() == "own\n"
