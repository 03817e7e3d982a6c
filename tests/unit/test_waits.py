"""The rule that finds what waits for time to pass: each form, and what is no such thing."""

from __future__ import annotations

import ast

import pytest

from tests.house.waits import EXCEPTIONS, Waits, waits
from tests.waiting import eventually, promised

FOUND = [
    "import time\ntime.sleep(1)",
    "import time as clock\nclock.sleep(1)",
    "from time import sleep as nap\nnap(2)",
    "import asyncio\nnap = asyncio.sleep",
    "import asyncio\nasyncio.sleep(0.001)",
    "import asyncio\nasyncio.sleep(seconds)",
    "from asyncio import sleep\nfunctools.partial(sleep, 1)",
    "__import__('time').sleep(1)",
    "Event().wait(0.1)",
    "event.wait(timeout=5)",
    "select.select([], [], [], 0.5)",
    "subprocess.run(['sh', '-c', 'sleep 1'])",
    "subprocess.run(argv, timeout=10)",
    "command = f'sleep {seconds}'",
    "code = 'import time; time.sleep(.5)'",
    "asyncio.timeout(30)",
    "SECONDS = 30.0\nasyncio.timeout(SECONDS)",
    "asyncio.wait_for(queue.get(), 5)",
    "thread.join(10)",
    "page.wait_for_function('() => held > 0')",
]
NOT_FOUND = [
    "import asyncio\nasyncio.sleep(0)",
    "asyncio.timeout(60)",
    "SECONDS = 60.0\nasyncio.timeout(SECONDS)",
    "event.wait()",
    "', '.join(names)",
    "command = 'sleep 600'",
    "async def test_it():\n    '''It must not sleep 1 second.'''",
    "promised(2.0, 'a stop')",
    "clock.sleep(5)",
]


@pytest.mark.parametrize("text", FOUND)
def test_what_waits_for_time_is_found(text: str) -> None:
    assert Waits(ast.parse(text), commands=True).found


@pytest.mark.parametrize("text", NOT_FOUND)
def test_what_waits_for_an_event_is_not(text: str) -> None:
    assert Waits(ast.parse(text), commands=True).found == []


def test_commands_that_are_only_read_may_sleep() -> None:
    assert Waits(ast.parse("read('sleep 1')"), commands=False).found == []


def test_files_are_looked_at_by_their_folder_and_exceptions_are_few() -> None:
    assert list(waits(["tests/unit/test_waits.py"])) == []
    assert len(EXCEPTIONS) <= 10


async def test_what_never_happens_is_said_with_what_was_waited_for() -> None:
    with pytest.raises(AssertionError, match="a miracle"):
        await eventually(lambda: False, "a miracle", seconds=0)
    with pytest.raises(AssertionError, match="promised within 0 s: a stop"):
        async with promised(0, "a stop"):
            await eventually(lambda: False)


async def test_what_happens_is_given_back_also_by_a_coroutine() -> None:
    async def holds() -> str:
        return "it"

    assert await eventually(holds) == "it"
    assert await eventually(lambda: [1]) == [1]
