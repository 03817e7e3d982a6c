"""The shell tool in a real sandbox."""

from __future__ import annotations

import asyncio
import os
from typing import Any
from uuid import uuid4

import pytest
from pydantic import JsonValue

from agentic.ports.runtime import Prepared
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.sandbox import Sandbox
from tests.scripts import Gate, running
from tests.waiting import BOUND, eventually, promised

from .bench import Bench


async def test_a_command_shows_exit_code_output_time_and_changed_files(bench: Bench) -> None:
    seen = await bench.call("shell", command="echo hello; echo one > a.txt")
    assert seen.outcome == "ok"
    assert seen.exit_code == 0
    assert "exit 0 after" in seen.preview
    assert "hello" in seen.preview
    assert "Files changed: added a.txt" in seen.preview
    assert [(change.path, change.kind) for change in seen.changes] == [("a.txt", "added")]


async def test_success_is_read_from_the_exit_code_and_not_from_words(bench: Bench) -> None:
    assert (await bench.call("shell", command="echo error: everything failed")).outcome == "ok"
    assert (await bench.call("shell", command="echo fine; exit 3")).outcome == "failed"


async def test_a_failure_of_the_same_kind_has_the_same_error(bench: Bench) -> None:
    one = await bench.call("shell", command="echo pid $$ at $(date +%s%N) in /tmp/x$RANDOM >&2; exit 1")
    other = await bench.call("shell", command="true; echo pid $$ at $(date +%s%N) in /tmp/x$RANDOM >&2; exit 1")
    assert one.error
    assert one.error == other.error


async def test_what_was_expected_stands_beside_what_came(bench: Bench) -> None:
    seen = await bench.call("shell", command="exit 2", expectation="the build succeeds")
    assert "Expected: the build succeeds\nCame: exit 2" in seen.preview
    assert "Not as expected: that it succeeds." in seen.preview
    assert seen.expected == "missed"
    met = await bench.call("shell", command="echo hello", expectation="it prints 'hello'")
    assert (met.expected, "As expected: the words 'hello'" in met.preview) == ("met", True)
    second = await bench.call("shell", command="false", expectation="it works", fallback="echo so")
    assert (second.outcome, second.expected) == ("ok", "missed"), "the fallback's success is not the command's"
    assert "; the fallback: exit 0" in second.preview
    assert [(each.command, each.exit_code) for each in second.attempts] == [("false", 1), ("echo so", 0)]


async def test_the_fallback_runs_only_if_the_command_fails(bench: Bench) -> None:
    first = await bench.call("shell", command="echo main", fallback="echo other > other.txt")
    assert not (bench.workspace / "other.txt").exists()
    assert "main" in first.preview
    second = await bench.call("shell", command="echo a > both.txt; false", fallback="echo b > both.txt")
    assert second.outcome == "ok"
    assert "Fallback: exit 0" in second.preview
    assert second.exit_code == 1, "a claim on the command itself must not be proven by its fallback"
    assert [(change.path, change.kind) for change in second.changes] == [("both.txt", "added")]


async def test_a_command_past_its_time_is_killed_and_says_so(bench: Bench) -> None:
    seen = await bench.call("shell", command="echo begun; sleep 600", timeout=3)
    assert seen.outcome == "failed"
    assert "timed out after 3." in seen.preview
    assert "begun" in seen.preview
    assert seen.error.startswith("timed out")


async def test_output_streams_while_the_command_runs(bench: Bench) -> None:
    gate = Gate(bench.workspace)
    call = asyncio.create_task(bench.call("shell", command=r"printf '\033[31mred\033[0m\n'; cat gate; echo end"))
    await eventually(lambda: "".join(bench.streamed) == "red\n")
    await gate.open()
    await call
    assert "".join(bench.streamed) == "red\nend\n"


async def test_long_output_is_cut_and_the_rest_can_be_paged_and_searched(bench: Bench) -> None:
    seen = await bench.call("shell", command="for i in $(seq 1 60000); do echo line $i; done")
    assert len(seen.preview) < 21_000
    assert "line 1\n" in seen.preview
    assert "line 60000" in seen.preview
    assert "read_output" in seen.preview
    page = await bench.call("read_output", ref=seen.output_ref, offset=300_000, limit=1_000)
    assert "line 2" in page.preview
    assert "Go on with offset 301000" in page.preview
    found = await bench.call("read_output", ref=seen.output_ref, pattern="^line 4321$")
    assert found.preview == "4321: line 4321"


async def test_a_background_command_is_looked_at_and_stopped(bench: Bench) -> None:
    gate = Gate(bench.workspace)
    started = await bench.call("shell", command="echo up; cat gate; echo tick; sleep 600", background=True)
    job = started.preview.split("job ")[1].split(".")[0]

    async def look_for(word: str) -> str:
        preview = (await bench.call("job", job=job)).preview
        return preview if word in preview else ""

    first = await eventually(lambda: look_for("up"))
    assert first.startswith("Running.\nup")
    await gate.open()
    again = await eventually(lambda: look_for("tick"))
    assert "up" not in again
    stopped = await bench.call("job", job=job, action="stop")
    assert stopped.preview.startswith("Stopped")
    assert "Killed" in (await bench.call("job", job=job)).preview


async def test_a_background_command_that_fails_says_so_with_its_tests(bench: Bench) -> None:
    started = await bench.call("shell", command="echo '1 failed, 2 passed in 0.1s'; exit 1", background=True)
    job = started.preview.split("job ")[1].split(".")[0]
    ended = await bench.call("job", job=job, wait=60)
    assert (ended.outcome, ended.exit_code, ended.tests_passed, ended.tests_failed) == ("failed", 1, 2, 1)


async def test_an_unknown_job_is_a_failure_in_words(bench: Bench) -> None:
    assert (await bench.call("job", job="nope")).outcome == "failed"


async def test_settling_ends_background_commands(bench: Bench) -> None:
    gate, token = Gate(bench.workspace), uuid4().hex
    await bench.call("shell", command=f"cat gate; while sleep 600; do echo {token}; done", background=True)
    await gate.open()
    await asyncio.wait_for(bench.toolbox.settle(), BOUND)
    assert running(token) == []


async def test_nothing_of_the_hosts_environment_is_inside(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "canary-8c1f")
    assert os.environ["SOME_TOKEN"] == "canary-8c1f"
    seen = await bench.call("shell", command="env; cat /proc/self/environ /proc/1/environ 2>/dev/null | tr '\\0' '\\n'")
    python = await bench.call("python", code="import os; print(os.environ)")
    assert "canary" not in seen.preview + python.preview


@pytest.mark.wall("path")
async def test_a_folder_outside_is_no_place_to_run_in(bench: Bench) -> None:
    assert (await bench.call("shell", command="pwd", cwd="..")).outcome != "ok"
    assert (await bench.call("shell", command="pwd", cwd="nowhere")).outcome == "failed"
    await bench.call("shell", command="mkdir -p sub")
    assert "/workspace/sub" in (await bench.call("shell", command="pwd", cwd="sub")).preview


async def test_cancelling_python_and_waiting_ends_at_once(bench: Bench) -> None:
    gate = Gate(bench.workspace)
    started = await bench.call("shell", command="sleep 600", background=True)
    job = started.preview.split("job ")[1].split(".")[0]
    for tool, arguments in (("python", {"code": "open('gate').read()"}), ("job", {"job": job, "wait": 60})):
        prepared = bench.toolbox.prepare(tool, dict[str, JsonValue](arguments))
        assert isinstance(prepared, Prepared)
        task = asyncio.create_task(bench.toolbox.run(tool, "c1", prepared, bench.streamed.append))
        if tool == "python":
            await gate.reached()
        await bench.call("shell", command="true")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with promised(2, "a call ends when it is cancelled"):
                await task


async def test_a_look_at_what_a_call_would_touch_leaves_a_sandbox_for_the_call_however_long_one_takes_to_be_made(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a crash before the call leaves an intent of which no diary says that it never began."""
    made, start = asyncio.Event(), Bubblewrap.start

    async def slowly(rung: Bubblewrap, *about: Any, **how: Any) -> Sandbox:
        await made.wait()
        return await start(rung, *about, **how)

    monkeypatch.setattr(Bubblewrap, "start", slowly)
    monkeypatch.setattr("agentic.tools.toolbox.LOOK_SECONDS", -1.0)  # the look has no time at all
    looking = asyncio.create_task(bench.toolbox.state_of("shell", {"command": "rm -rf src"}))
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert not looking.done()
    made.set()
    await asyncio.wait_for(looking, BOUND)
    assert bench.toolbox.diary


async def test_finish_attaches_only_files_that_exist(bench: Bench) -> None:
    bench.put("out.txt", "x")
    good = await bench.call("finish", answer="Done.", files=["out.txt"])
    assert good.completion is not None
    assert good.completion.files == ("out.txt",)
    wrong = await bench.call("finish", answer="Done.", files=["out.txt", "nowhere.txt"])
    assert wrong.completion is None
    assert "nowhere.txt cannot be attached" in wrong.preview


async def test_pages_of_a_long_output_do_not_break_characters(bench: Bench) -> None:
    seen = await bench.call("python", code="print('x' + '日本' * 30_000)")
    offset, pages = 0, list[str]()
    while True:
        page = (await bench.call("read_output", ref=seen.output_ref, offset=offset)).preview
        pages.append(page.rpartition("\n… bytes")[0])
        if page.endswith("the end."):
            break
        offset = int(page.rsplit("offset ", 1)[1].rstrip("."))
    assert "".join(pages).strip() == "x" + "日本" * 30_000
