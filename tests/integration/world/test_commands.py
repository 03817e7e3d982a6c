"""Commands in a real sandbox: what comes back, what is ended, what goes on."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from uuid import uuid4

import pytest

from agentic.ports.errors import SandboxLost
from agentic.sandbox.backends.selection import chooser
from agentic.sandbox.pool import Sandboxes
from agentic.sandbox.sandbox import Sandbox
from bot.workspace.environment import SYSTEM_PATH
from tests.integration.world.rungs import PROCESSES, Ground, docker_url, ground, rung_name, sandbox
from tests.scripts import Gate, running
from tests.waiting import BOUND, eventually

__all__ = ["docker_url", "ground", "rung_name", "sandbox"]


async def test_a_command_gives_its_exit_code_and_output_in_order(sandbox: Sandbox) -> None:
    """stdout and stderr are one stream."""
    result = await sandbox.exec("echo one; echo two >&2; echo three; exit 7", timeout=10)
    assert (result.exit_code, result.signal, result.text) == (7, None, "one\ntwo\nthree\n")
    assert not result.ok
    assert not result.truncated


async def test_a_command_ended_by_a_signal_says_which(sandbox: Sandbox) -> None:
    """No exit code is made up."""
    result = await sandbox.exec("kill -USR1 $$", timeout=10)
    assert (result.exit_code, result.signal) == (None, 10)


async def test_input_folder_and_environment_reach_the_command(sandbox: Sandbox) -> None:
    """And without input, stdin is at its end."""
    await sandbox.mkdir("a/b")
    result = await sandbox.exec("cat; echo $X; pwd", timeout=10, cwd="a/b", env={"X": "yes"}, stdin=b"in\n" * 50_000)
    assert result.output_size == 150_000 + len("yes\n/workspace/a/b\n")
    assert result.text.endswith("yes\n/workspace/a/b\n")
    assert (await sandbox.exec("cat", timeout=5)).text == ""


def both_names_of_python(folder: str) -> str:
    """A command that runs a module under both names, also where the home has a python3 of its own."""
    own = (
        "mkdir -p ~/.local/bin && printf '#!/bin/sh\necho own' > ~/.local/bin/python3 && chmod +x ~/.local/bin/python3"
    )
    ask = "-c 'import sys; print(sys.prefix, sys.version, sys.argv)' a 'b c'"
    return (
        f"cd {folder} && mkdir -p m && echo 'import sys; sys.exit(3)' > m/__main__.py; "
        f"python -m m; echo $?; python {ask}; python3 {ask}; {own}; hash -r; python; rm ~/.local/bin/python3"
    )


async def test_python_is_python3_by_another_name(sandbox: Sandbox) -> None:
    """Debian has no python, and small models type it."""
    result = await sandbox.exec(both_names_of_python("/workspace"), timeout=60)
    module, short, long, *own = result.text.splitlines()
    assert (module, short) == ("3", long)
    assert own == ["own"] or shutil.which("python", path=SYSTEM_PATH), "a system's own python comes first"
    assert short.endswith("['-c', 'a', 'b c']")
    shown = await sandbox.exec(
        "echo echo taken > /opt/threadwright/bin/python; cat /opt/threadwright/bin/python", timeout=60
    )
    assert "taken" not in shown.text


async def test_python_is_python3_on_the_host_too(tmp_path: Path) -> None:
    pool = Sandboxes(tmp_path / "state", chooser("host", tmp_path / "state"))
    try:
        sandbox = await pool.for_thread("t", tmp_path / "workspace")
        result = await sandbox.exec(both_names_of_python(str(tmp_path / "workspace")), timeout=60)
        module, short, long, *own = result.text.splitlines()
        assert (module, short) == ("3", long)
        assert own == ["own"] or shutil.which("python", path=SYSTEM_PATH), "a system's own python comes first"
    finally:
        await pool.close()


async def test_a_program_that_does_not_exist_is_a_result_and_not_an_error(sandbox: Sandbox) -> None:
    """126 as a shell has it, and words."""
    result = await sandbox.exec(["no-such-program"], timeout=5)
    assert result.exit_code == 126
    assert "no-such-program" in result.text


async def test_many_commands_run_beside_each_other(ground: Ground, sandbox: Sandbox) -> None:
    """Twenty are in the middle at once, and each gets its own output."""
    gates = [Gate(ground.workspace, f"gate{n}") for n in range(20)]
    runs = [asyncio.create_task(sandbox.exec(f"cat gate{n}; echo {n}", timeout=60)) for n in range(20)]
    for gate in gates:
        await gate.reached()
    for gate in gates:
        await gate.open()
    assert [result.text for result in await asyncio.gather(*runs)] == [f"{n}\n" for n in range(20)]


async def test_a_child_left_behind_does_not_hang_the_command_and_is_told(sandbox: Sandbox) -> None:
    """It holds stdout; the result says that it runs on, and it can be killed by the command's id."""
    result = await asyncio.wait_for(sandbox.exec("sleep 600 & echo done", timeout=600, exec_id="mine"), BOUND)
    assert result.text == "done\n"
    assert [entry.split()[1] for entry in result.left_running] == ["sleep"]
    assert await sandbox.kill("mine") >= 1
    assert "sleep 600" not in (await sandbox.exec(PROCESSES, timeout=10)).text


async def test_a_child_that_hides_its_origin_is_told_and_ends_with_the_command_too(ground: Ground) -> None:
    """No tag, its own session, its parent gone; another command beside it is spared."""
    gate, token = Gate(ground.workspace), uuid4().hex
    does = 'trap "" TERM; echo > up; while :; do sleep 600; done'
    hidden = f"mkfifo up; env -i setsid sh -c '{does}' {token} > /dev/null 2>&1 & cat up"
    async with ground.open() as sandbox:
        spared = asyncio.create_task(sandbox.exec("cat gate; echo spared", timeout=60))
        result = await sandbox.exec(hidden, timeout=60, exec_id="mine")
        assert any(entry.endswith(" sh") for entry in result.left_running)
        assert (await sandbox.exec("true", timeout=10)).left_running == ()
        assert running(token)
        assert await sandbox.kill("mine") >= 1
        assert running(token) == []
        await gate.open()
        assert (await spared).text == "spared\n"


async def test_what_was_left_behind_and_ended_is_forgotten(ground: Ground, sandbox: Sandbox) -> None:
    """Its id is free again."""
    gate = Gate(ground.workspace)
    assert (await sandbox.exec("cat gate & true", timeout=10, exec_id="mine")).left_running
    await gate.open()

    async def again() -> str:
        result = await sandbox.exec("echo again", timeout=60, exec_id="mine")
        return result.text if result.ok else ""

    assert await eventually(again) == "again\n"


async def test_cancelling_a_command_ends_it_before_the_cancellation_is_seen(sandbox: Sandbox) -> None:
    """When the awaiting task is over, nothing runs any more."""
    runs = asyncio.Event()
    task = asyncio.create_task(sandbox.exec("echo $$; sleep 600", timeout=600, on_output=lambda _: runs.set()))
    await runs.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "sleep 600" not in (await sandbox.exec(PROCESSES, timeout=10)).text


async def test_what_a_stopped_command_changed_is_told_by_the_next_scan(sandbox: Sandbox) -> None:
    """Nobody hears its own answer; and the stop waits for no look at the files."""
    for what in (sandbox.exec, sandbox.python):
        code = "open('py', 'w').close(); print(1, flush=True)\nwhile True: pass"
        code = "echo x > shell; echo 1; sleep 600" if what == sandbox.exec else code
        runs = asyncio.Event()
        task = asyncio.create_task(what(code, timeout=600, on_output=lambda _, runs=runs: runs.set()))
        await runs.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    changes = await sandbox.scan()
    assert [change.path for change in changes.files] == ["py", "shell"]


async def test_killing_one_command_spares_the_others(ground: Ground, sandbox: Sandbox) -> None:
    """Also one that only shares the sandbox."""
    gate = Gate(ground.workspace)
    spared = asyncio.create_task(sandbox.exec("cat gate; echo alive", timeout=60))
    await gate.reached()
    runs, endless = asyncio.Event(), "trap '' TERM; echo; while :; do sleep 600; done"
    doomed = asyncio.create_task(sandbox.exec(endless, timeout=600, exec_id="doomed", on_output=lambda _: runs.set()))
    await runs.wait()
    assert await sandbox.kill("doomed") >= 1
    assert (await doomed).killed_reason == "stopped"
    await gate.open()
    assert (await spared).text == "alive\n"


async def test_a_background_command_outlives_other_commands_and_keeps_its_exit_code(
    ground: Ground, sandbox: Sandbox
) -> None:
    """The supervisor is resident."""
    gate = Gate(ground.workspace)
    number = await sandbox.start("cat gate; echo late; exit 3")
    assert (await sandbox.exec("echo between", timeout=5)).text == "between\n"
    await gate.open()

    async def ended() -> bool:
        return not (await sandbox.poll(number)).running

    await eventually(ended)
    state = await sandbox.poll(number)
    assert (state.exit_code, state.output) == (3, b"late\n")


async def test_kill_all_ends_background_commands_and_interpreters(sandbox: Sandbox) -> None:
    """Only the supervisor stays."""
    await sandbox.start("sleep 600")
    await sandbox.python("import subprocess; p = subprocess.Popen(['setsid', 'sleep', '601'])", timeout=10)
    assert await sandbox.kill_all() >= 3
    assert "sleep 60" not in (await sandbox.exec(PROCESSES, timeout=10)).text


async def test_the_supervisor_survives_what_is_aimed_at_it_from_inside(sandbox: Sandbox) -> None:
    """Every signal, to all and to PID 1, and an attempt to trace it or to read its memory."""
    await sandbox.exec("kill -9 -1", timeout=10)
    await sandbox.exec("for n in $(seq 1 31); do kill -$n 1; done; kill -STOP 1", timeout=10)
    result = await sandbox.exec(
        "cat /proc/1/environ /proc/1/maps /proc/1/mem; ls /proc/1/fd; echo x > /proc/1/fd/1", timeout=10
    )
    assert result.text.count("Permission denied") >= 4
    assert (await sandbox.exec("echo still here", timeout=10)).text == "still here\n"


async def test_orphans_are_reaped(sandbox: Sandbox) -> None:
    """No zombies pile up under PID 1."""
    await sandbox.exec("for n in 1 2 3 4 5; do (setsid true &) ; done", timeout=10)

    async def none_left() -> bool:
        return (await sandbox.exec("cat /proc/[0-9]*/stat | grep -c ') Z '", timeout=10)).text.strip() == "0"

    await eventually(none_left)


async def test_after_close_every_call_says_that_the_sandbox_is_gone(ground: Ground) -> None:
    """And closing twice is fine."""
    async with ground.open() as sandbox:
        await sandbox.close()
        with pytest.raises(SandboxLost):
            await sandbox.exec("true", timeout=5)
        await sandbox.close()
    assert sandbox.lost


async def test_no_question_is_asked_and_nothing_is_paged(sandbox: Sandbox) -> None:
    """git without a terminal fails instead of waiting for a password."""
    result = await sandbox.exec("git init -q . && git log --oneline; echo $GIT_TERMINAL_PROMPT $PAGER; tty", timeout=10)
    assert "0 cat\nnot a tty" in result.text
