"""`threadwright task` and `replay`: exit codes, what is printed where, and that a log can be checked afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    Envelope,
    Finished,
    Started,
)
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import Script, ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from tests.e2e.processes import ANEW, Running, environment, started, task
from tests.e2e.terminals import terminal
from tests.stores import kept_store

MODEL = {"THREADWRIGHT_TIER_2": "anthropic/claude-haiku-4-5", "THREADWRIGHT_SANDBOX": "bubblewrap"}
FINISH = Reply(calls=(("finish", {"answer": "It is done."}),))
SLEEP = Reply(calls=(("shell", {"command": "touch begun; sleep 100"}),))


@asynccontextmanager
async def tasked(
    folder: Path, model: Script, *arguments: str, typed: bytes | None = None, program: Sequence[str] = ()
) -> AsyncGenerator[Running]:
    """`threadwright task …` in a folder, with a scripted model."""
    async with asyncio.timeout(180), ScriptedEndpoint.start(model) as endpoint:
        env = environment(folder / "home", endpoint.environment(), **MODEL)
        async with started("task", *arguments, env=env, cwd=folder, typed=typed, program=program) as running:
            yield running


async def test_done_is_exit_0_and_prints_the_thread_as_a_person_sees_it(tmp_path: Path) -> None:
    make = Reply(calls=(("shell", {"command": "touch made"}),))
    async with tasked(tmp_path, [make, FINISH], "do it", program=ANEW) as running:
        assert await running.ended() == 0, running.output
    said = "".join(running.said)
    assert "Threadwright: It is done." in said
    assert "✅ Done" in said, "the progress message shows the end"
    assert not re.search(r"\*\*|^-# |<t:", said, re.MULTILINE), "a terminal shows no Discord markup"
    files = re.search(r"^Files: (.+)$", said, re.MULTILINE)
    execution = re.search(r"^Task: (\w+)", said, re.MULTILINE)
    assert files, said
    assert (Path(files[1]) / "made").is_file()
    assert execution, said
    assert f"threadwright replay {execution[1]}" in said
    assert running.troubles[0] == "Starting …\n"
    assert "Starting: sandbox, model claude-haiku-4-5 …\n" in running.troubles
    assert [line for line in running.troubles if not re.fullmatch(r"🔧 .*\n|.* …\n", line)] == []


async def test_a_change_that_was_only_talked_about_is_exit_1(tmp_path: Path) -> None:
    talk = [Reply(text="Sure! hello.txt: hello"), Reply(text="hello.txt is there now."), Reply(text="none")]
    async with tasked(tmp_path, talk, "Create hello.txt") as running:
        assert await running.ended() == 1, running.output
    said = "".join(running.said)
    assert "⚠ Answered, nothing was changed" in said
    assert "✅" not in said
    assert "confidence 20 (estimate)" in said


async def test_a_question_is_exit_2(tmp_path: Path) -> None:
    ask = Reply(calls=(("ask_user", {"question": "Which colour?", "options": ["red", "blue"]}),))
    async with tasked(tmp_path, [ask], "paint it") as running:
        assert await running.ended() == 2, running.output
    assert "Which colour?" in "".join(running.said)
    assert "red" in "".join(running.said)
    assert "Stop the task" not in "".join(running.said), "what cannot be pressed there is not shown"
    assert "--answer TEXT" in "".join(running.troubles), "it says how it is answered"


def coloured(request: CapturedRequest) -> Reply:
    """Ask for a colour, then for a number, and finish with both."""
    answers = [each.text for each in request.answers]
    if not answers:
        return Reply(calls=(("ask_user", {"question": "Which colour?", "options": ["red", "blue"]}),))
    if len(answers) == 1:
        return Reply(calls=(("ask_user", {"question": "How many?"}),))
    return Reply(calls=(("finish", {"answer": f"Painted: {' and '.join(answers)}."}),))


@pytest.mark.parametrize("how", ["arguments", "input"])
async def test_questions_are_answered_by_arguments_or_standard_input(tmp_path: Path, how: str) -> None:
    given = ("--answer", "2", "--answer", "seven") if how == "arguments" else ("--answer", "-")
    async with tasked(tmp_path, coloured, "paint it", *given, typed=b"blue\nseven\n") as running:
        assert await running.ended() == 0, running.output
    said = "".join(running.said)
    assert re.search(r"Painted: .*blue.*seven", said, re.DOTALL), running.output
    assert "Which colour?" in "".join(running.troubles)


@pytest.mark.parametrize(("given", "gone"), [((), False), (("--yes",), True), (("--answer", "no"), False)])
async def test_an_approval_is_given_by_yes_alone(tmp_path: Path, given: tuple[str, ...], gone: bool) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "kept.txt").write_text("kept")
    remove = Reply(calls=(("shell", {"command": "rm -rf ./*"}),))
    answers = [remove, FINISH, FINISH]
    async with tasked(tmp_path, answers, "clean up", "--dir", str(tmp_path / "work"), *given) as running:
        await running.ended()
    assert (tmp_path / "work" / "kept.txt").exists() is not gone, running.output
    assert "🔧" in "".join(running.troubles), "steps are shown also where nobody sits at a terminal"


SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
SILENT = Reply(delay=3_600)
"""A model that says nothing for an hour."""


def processes_of(home: Path) -> list[str]:
    """The command lines of the processes that were started for this home."""
    found: list[str] = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(each.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in found if str(home) in line]


async def ends_of(home: Path) -> list[str]:
    """How each task of this home ended, '' for one that is open."""
    ends: list[str] = []
    for file in home.glob("tasks/*/threadwright.sqlite"):
        async with kept_store(file) as store:
            ends += [row.finished async for row in store.all_executions()]
    return ends


@SIGNALS
async def test_ctrl_c_and_sigterm_are_a_stop_and_exit_3(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    owner = folder.stat().st_uid
    async with tasked(tmp_path, [SLEEP], "sleep", "--dir", str(folder), "--json") as running:
        await running.until_said('"kind":"tool_started"', 120)
        running.process.send_signal(number)
        assert await running.ended() == 3, running.output
    last = Envelope.model_validate_json(running.said[-1]).event
    assert isinstance(last, Finished)
    assert last.reason == "stopped"
    assert await ends_of(tmp_path / "home") == ["stopped"]
    assert processes_of(tmp_path / "home") == []
    assert folder.stat().st_uid == owner


@SIGNALS
async def test_a_silent_model_is_told_of_and_a_signal_ends_the_wait(tmp_path: Path, number: signal.Signals) -> None:
    async with tasked(tmp_path, [SILENT], "do it") as running:
        for seconds in (2, 5):
            await running.until_noted(rf"(?m)^Asked claude-haiku-4-5; waiting for its first words \({seconds} s\) …$")
        running.process.send_signal(number)
        assert await running.ended() == 3, running.output
    assert "Stopping …\n" in running.troubles
    assert await ends_of(tmp_path / "home") == ["stopped"]
    assert processes_of(tmp_path / "home") == []


async def test_at_a_terminal_the_seconds_move_in_one_line(tmp_path: Path) -> None:
    async with asyncio.timeout(180), ScriptedEndpoint.start([SILENT]) as endpoint:
        env = environment(tmp_path / "home", endpoint.environment(), **MODEL)
        async with terminal(tmp_path, env, *ANEW, "task", "do it") as screen:
            await screen.sees("\r\x1b[KStarting (0 s)\r")
            for seconds in (1, 2):
                await screen.sees(f"\r\x1b[KAsked claude-haiku-4-5; waiting for its first words ({seconds} s)\r", 120)
            screen.process.send_signal(signal.SIGTERM)
            await screen.sees("🛑 Stopped")
            assert await screen.process.wait() == 3
    assert "\n" not in screen.shown.partition("🛑 Stopped")[0].partition("# do it")[0]


@SIGNALS
async def test_a_signal_right_after_its_first_words_is_exit_3_and_leaves_nothing_open(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with asyncio.timeout(180), ScriptedEndpoint.start([SILENT]) as endpoint:
        env = environment(tmp_path / "home", endpoint.environment(), **MODEL)
        async with started("task", "do it", env=env, cwd=tmp_path, program=ANEW) as running:
            await running.until_noted("Starting")
            running.process.send_signal(number)
            assert await running.ended() == 3, running.output
    assert "Traceback" not in running.output
    assert "" not in await ends_of(tmp_path / "home")
    assert endpoint.requests == []


async def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    async with asyncio.timeout(180), ScriptedEndpoint.start([SILENT]) as endpoint:
        env = environment(tmp_path / "home", endpoint.environment(), **MODEL)
        async with started("task", "do it", env=env, cwd=tmp_path) as running:
            await running.until_noted("waiting for its first words")
            for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):  # it hears both at once
                running.process.send_signal(number)
            assert await running.ended() in (128 + signal.SIGINT, 128 + signal.SIGTERM), running.output


async def test_the_time_out_is_exit_1_and_not_told_as_a_stop_by_a_person(tmp_path: Path) -> None:
    async with tasked(tmp_path, [SLEEP], "sleep", "--timeout", "4") as running:
        assert await running.ended() == 1, running.output
    assert "Stopped by the time-out." in "".join(running.said)
    assert "after 4 s: the time limit ended it" in running.output
    assert "Stopped by you" not in running.output


async def test_a_reader_that_goes_away_does_not_end_the_work(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    work = Reply(calls=(("shell", {"command": "until [ -e go ]; do :; done; touch worked"}),))
    command = (
        f"{sys.executable} -m bot.cli.main task 'do it' --json --dir {folder} <&- | head -1; exit ${{PIPESTATUS[0]}}"
    )
    async with asyncio.timeout(180), ScriptedEndpoint.start([work, FINISH]) as endpoint:
        env = environment(tmp_path / "home", endpoint.environment(), **MODEL)
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", command, env={**env, "PYTHONPATH": str(Path(__file__).parents[2])}, cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert (await process.stdout.readline()).endswith(b"\n"), "the reader has had its one line"
        (folder / "go").touch()
        said, troubles = await process.communicate()
    assert process.returncode == 0, troubles.decode()
    assert said == b""
    assert b"Traceback" not in troubles
    assert (folder / "worked").exists()


async def test_a_task_longer_than_a_message_comes_as_a_file_that_the_agent_can_read(tmp_path: Path) -> None:
    text = "count these: " + " ".join(f"thing{number}" for number in range(600))

    def script(request: CapturedRequest) -> Reply:
        if request.answers:
            assert "thing599" in request.answers[0].text
            return FINISH
        found = re.search(r"\S+task\.md", request.text())
        assert found, "the agent is told of the file"
        return Reply(calls=(("shell", {"command": f"cat {found[0]}"}),))

    async with asyncio.timeout(180), ScriptedEndpoint.start(script) as endpoint:
        env = environment(tmp_path / "home", endpoint.environment(), **MODEL)
        code, events, running = await task(text, env=env, cwd=tmp_path)
        assert code == 0, running.output
        assert isinstance(events[0], Started)
        assert [(file.name, file.skipped) for file in events[0].files] == [("task.md", "")]


async def test_a_finished_execution_can_be_replayed_and_holds(tmp_path: Path) -> None:
    run = Reply(calls=(("shell", {"command": "echo hello-from-inside"}),))
    async with asyncio.timeout(180), ScriptedEndpoint.start([run, FINISH]) as endpoint:
        env = environment(tmp_path / "home", endpoint.environment(), **MODEL)
        async with started("task", "say hello", "--json", env=env, cwd=tmp_path) as running:
            assert await running.ended() == 0, running.output
        execution = Envelope.model_validate_json(running.said[0]).execution
        async with started("replay", execution, "--verify", env=env, cwd=tmp_path) as running:
            assert await running.ended() == 0, running.output
        said = "".join(running.said)
        assert "say hello" in said
        assert "hello-from-inside" in said
        assert "The log is sound: every check passed." in said
        assert re.search(r"Folded: done, 2 turns", said), said
        assert re.search(r"Verified: the rules \(version \d+\) decide again all \d+ decisions in it\.", said), said
        async with started("replay", env=env, cwd=tmp_path) as running:
            assert await running.ended() == 0, running.output
        assert re.search(
            rf"^{execution}  \d{{4}}-\d\d-\d\d \d\d:\d\d  done +say hello$", "".join(running.said), re.MULTILINE
        )
        async with started("replay", "xnothing", env=env, cwd=tmp_path) as running:
            assert await running.ended() == 1
        assert "There is no task" in running.output


async def test_without_a_model_nothing_is_begun_and_it_says_what_to_do(tmp_path: Path) -> None:
    async with asyncio.timeout(180):
        env = environment(tmp_path / "home", {})
        async with started("task", "do it", "--dir", str(tmp_path), env=env, cwd=tmp_path) as running:
            assert await running.ended() == 64, running.output
    assert running.said == [], "a script reads no tour"
    assert "No model is configured" in "".join(running.troubles)
    assert "ANTHROPIC_API_KEY" in "".join(running.troubles)
    assert list(tmp_path.iterdir()) == []
