"""The persistent interpreter."""

from __future__ import annotations

import asyncio

import pytest

from agentic.ports.errors import SandboxError
from agentic.sandbox.sandbox import Sandbox
from tests.integration.world.rungs import PROCESSES, Ground, docker_url, ground, rung_name, sandbox
from tests.scripts import Gate
from tests.waiting import BOUND

__all__ = ["docker_url", "ground", "rung_name", "sandbox"]


async def test_state_is_kept_and_a_last_expression_is_shown(sandbox: Sandbox) -> None:
    """Names, imports, functions; over errors too."""
    await sandbox.python("import math\nx = 20\ndef double(n):\n    return 2 * n", timeout=10)
    failed = await sandbox.python("print('before')\nx / 0", timeout=10)
    assert failed.text == "before\n"
    assert "ZeroDivisionError" in failed.error
    assert "x / 0" in failed.error
    assert "console.py" not in failed.error
    result = await sandbox.python("double(x) + math.floor(2.5)", timeout=10)
    assert (result.text, result.error, result.restarted) == ("42\n", "", False)
    assert "SyntaxError" in (await sandbox.python("def (", timeout=10)).error


async def test_output_of_children_and_changes_of_files_belong_to_the_call(sandbox: Sandbox) -> None:
    """Everything on the descriptors, not only print."""
    result = await sandbox.python(
        "import os, subprocess\nsubprocess.run(['echo', 'child'])\nos.write(2, b'raw\\n')\nopen('made', 'w').write('x')",
        timeout=10,
    )
    assert result.text == "child\nraw\n1\n"
    assert [change.path for change in result.changes.files] == ["made"]


@pytest.mark.parametrize("fate", ["", "raise ValueError('in the child')", "raise SystemExit"])
async def test_a_forked_child_ends_with_its_piece_of_code_and_answers_nothing(sandbox: Sandbox, fate: str) -> None:
    """Neither the call that forked nor the next gets its answer from the child."""
    code = f"import os\nif not (child := os.fork()):\n    {fate or 'pass'}\nelse:\n    status = os.waitpid(child, 0)[1]"
    for number in range(3):
        forked = await sandbox.python(code, timeout=10)
        assert (forked.error, forked.timed_out, forked.restarted) == ("", False, False)
        result = await sandbox.python(f"{number} + 40", timeout=10)
        assert (result.text, result.error) == (f"{number + 40}\n", "")
    assert (await sandbox.python("status != 0", timeout=10)).text == f"{'Error' in fate}\n"


async def test_a_call_that_runs_too_long_is_interrupted_and_keeps_its_state(sandbox: Sandbox) -> None:
    """A KeyboardInterrupt first."""
    await sandbox.python("kept = 'yes'", timeout=10)
    result = await sandbox.python("while True: pass", timeout=0.5)
    assert result.timed_out
    assert "KeyboardInterrupt" in result.error
    assert (await sandbox.python("kept", timeout=10)).text == "'yes'\n"


async def test_a_call_that_will_not_be_interrupted_is_killed_and_the_loss_is_told(sandbox: Sandbox) -> None:
    """The next call starts afresh."""
    await sandbox.python("kept = 'yes'", timeout=10)
    stubborn = "import signal\nwhile True:\n    try:\n        signal.pause()\n    except BaseException:\n        pass"
    result = await asyncio.wait_for(sandbox.python(stubborn, timeout=0.5), BOUND)
    assert (result.timed_out, result.restarted) == (True, True)
    assert "NameError" in (await sandbox.python("kept", timeout=10)).error


async def test_an_interpreter_that_ends_itself_is_told_and_replaced(sandbox: Sandbox) -> None:
    """A crash is no hang."""
    result = await asyncio.wait_for(sandbox.python("import os\nos._exit(3)", timeout=600), BOUND)
    assert "exit code 3" in result.error
    assert result.restarted
    assert (await sandbox.python("1 + 1", timeout=10)).text == "2\n"


async def test_an_interpreter_that_dies_between_calls_is_told_by_the_next(sandbox: Sandbox) -> None:
    """``restarted`` says that the state is lost."""
    await sandbox.python("x = 1", timeout=10)
    await sandbox.kill_all()
    result = await sandbox.python("'x' in globals()", timeout=10)
    assert (result.text, result.restarted) == ("False\n", True)


async def test_cancelling_a_call_ends_its_code(sandbox: Sandbox) -> None:
    """With what it started."""
    code = "import subprocess\nsubprocess.run(['setsid', 'sh', '-c', 'echo; exec sleep 300'])"
    runs = asyncio.Event()
    task = asyncio.create_task(sandbox.python(code, timeout=600, on_output=lambda _: runs.set()))
    await runs.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "sleep 300" not in (await sandbox.exec(PROCESSES, timeout=10)).text


async def test_one_call_at_a_time(ground: Ground, sandbox: Sandbox) -> None:
    """A second one is refused in words."""
    gate = Gate(ground.workspace)
    first = asyncio.create_task(sandbox.python("print(1); open('gate').read(); 'first'", timeout=60))
    await gate.reached()
    with pytest.raises(SandboxError, match="busy"):
        await sandbox.python("1", timeout=10)
    await gate.open()
    assert (await first).text == "1\n'first'\n"


async def test_a_flood_of_printed_text_is_cut(sandbox: Sandbox) -> None:
    """As for a command."""
    result = await sandbox.python("for n in range(200000): print(n)", timeout=30, cap=2000)
    assert result.truncated
    assert result.text.endswith("199999\n")
    assert (await sandbox.read_output(result.output_ref, pattern="^12345$")).hits[0].line == 12346


async def test_code_that_a_stopped_interpreter_does_not_take_holds_nobody_up(sandbox: Sandbox) -> None:
    """More of it than a pipe holds; the call ends with its time, and others go on meanwhile."""
    own = (await sandbox.python("import os; os.getpid()", timeout=60)).text.strip()
    stop = f"kill -STOP {own}; until grep -q '^State:.T' /proc/{own}/status; do :; done"
    assert (await sandbox.exec(stop, timeout=60)).ok
    stuck = asyncio.create_task(sandbox.python("x = '" + "a" * 500_000 + "'", timeout=1))
    await asyncio.sleep(0)
    assert (await sandbox.exec("echo free", timeout=60)).text == "free\n"
    assert not stuck.done()
    assert (await stuck).timed_out
