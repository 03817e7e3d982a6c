"""`threadwright logs` and `top` over a real store, beside whoever writes it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from agentic.core.events.execution_events import Asked, Evaluated, Event, InputReceived, Option
from agentic.stores.factory import open_store
from bot.cli.main import perform
from bot.cli.task_views.task_table import RunningTask, table
from bot.config.home import DATABASE
from bot.history.task_names import names_in
from tests.e2e import processes
from tests.integration.console.logs import ANN, THREAD, added, end, enveloped, events, guidance, started, turn, written

SECRET = "ghp_" + "a1B2" * 9
LINK = f"https://discord.com/channels/1575491652707941000/{THREAD}"


async def _voted(home: Path, execution: str) -> None:
    """Add what people say of a task after its end."""
    store = open_store(home / DATABASE)
    await store.append_outcome(execution, enveloped(execution, [Evaluated(score=92, parts={})]))
    await store.close()


async def _kept(home: Path, *tasks: tuple[str, str, Sequence[Event]]) -> None:
    """Write tasks: each with its thread and its log."""
    store = open_store(home / DATABASE)
    for execution, thread, log in tasks:
        await written(store, execution, log, thread=thread)
    await store.close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path))
    return tmp_path


async def test_a_task_is_followed_into_the_next_one_until_ctrl_c(tmp_path: Path) -> None:
    """As processes of their own, beside whoever writes; Ctrl-C is ignored at their start, as in a script's background."""
    store = open_store(tmp_path / DATABASE)
    lease = await written(store, "x1", events(2, ended=False))
    background = ("sh", "-c", 'trap "" INT; exec "$@"', "sh", *processes.ANEW)
    command = partial(processes.started, env=processes.environment(tmp_path, {}), cwd=tmp_path, program=background)
    async with command("logs", LINK, "--follow") as running:
        await running.until_said(
            r"\ATask x1 .*\n09:00:02    1  Ann asked: .*\n(.*\n)*09:00:24   12  turn 2 ended, confidence 62\n"
        )
        await added(store, "x1", lease, [guidance(f"Look\x1b[2J at {SECRET}")], after=12)
        line = await running.until_said(r"09:00:26 +13  Ann \(guidance\): (.*)\n")
        assert line[1] == r"Look\x1b[2J at [redacted]"
        await added(store, "x1", lease, end(), after=13)
        await running.until_said(r"done: The test passes now\.")
        await written(store, "x2", [started("And now the next one")])
        await running.until_said(r"Task x2 .*\n.*Ann asked: And now the next one")
        assert await running.end() == 130
        assert running.troubles == []
    async with command("top", "--once") as running:
        assert await running.ended() == 0
        assert "And now the next one" in running.output
    await store.close()


def test_a_task_is_printed_as_lines_turns_or_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(_kept(home, ("x1", THREAD, [started(f"Use {SECRET}"), *turn(1), *turn(2), *end()])))
    assert perform(["logs", THREAD]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "09:00:02    1  Ann asked: Use [redacted]"
    assert lines[-1] == "09:00:24   12  done: The test passes now."
    assert perform(["logs", "x1", "--turns"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "09:00:02 turn   0  0.0 s · Use [redacted]",
        "09:00:04 turn   1  anthropic/claude-haiku-4-5, tier 2 · $0.003, 2.1k in, 180 out · 8.0 s · confidence 61 · shell ok",
        "09:00:14 turn   2  anthropic/claude-haiku-4-5, tier 2 · $0.003, 2.1k in, 180 out · 10 s · confidence 62 · shell ok",
    ]
    assert perform(["logs", THREAD, "--json"]) == 0
    told = capsys.readouterr().out
    assert [json.loads(line)["seq"] for line in told.splitlines()] == list(range(1, 13))
    assert SECRET not in told
    asyncio.run(_voted(home, "x1"))
    assert perform(["logs", THREAD]) == 0
    assert re.fullmatch(r"09:00:02 {7}\S.*92.*", capsys.readouterr().out.splitlines()[-1]), (
        "it has no number of its own"
    )


def test_who_is_not_there_is_said_with_what_to_do(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert perform(["logs", "1234"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"There is no thread or task “1234” in {home}. Give a thread's link or id")
    assert perform(["top"]) == 64
    assert "`threadwright top --once`" in capsys.readouterr().err
    assert perform(["top", "--once"]) == 0
    assert capsys.readouterr().out == "No task runs, and none waits.\n"


def test_those_who_wait_for_a_person_come_first(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third, fourth = (f"157549165270794240{n}" for n in range(1, 5))
    asks = Asked(
        question="q", sort="approval", text="May I?", options=(Option(id="y", label="Yes"),), who_may="operator"
    )
    pause = InputReceived(inbox="m", sort="pause", author=ANN)
    tasks = (
        ("x1", first, [started("First", thread=first), *turn(1)]),
        ("x2", second, [started(f"Second \x1b[31m {SECRET}", thread=second), *turn(1), asks]),
        ("x3", third, [started("Third", thread=third), *turn(1), pause]),
        ("x4", fourth, [started("Fourth", thread=fourth), *turn(1), *end()]),
    )
    asyncio.run(_kept(home, *tasks))
    assert perform(["top", "--once"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if "157549165270794240" in line]
    assert [row.split("157549165270794240")[1][0] for row in rows] == ["2", "3", "1"]
    assert "Waiting for an approval" in rows[0]
    assert "an operator" in rows[0]
    assert r"Second \x1b[31m [redacted]" in rows[0]
    assert "Paused" in rows[1]
    assert "Ann" in rows[1]
    assert "Thinking" in rows[2]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (THREAD, [THREAD]),
        (f"<#{THREAD}>", [THREAD]),
        ("x0123456789abcde", ["x0123456789abcde"]),
        (LINK, [THREAD, "1575491652707941000"]),
        (f"{LINK}/1575491652707949999", ["1575491652707949999", THREAD, "1575491652707941000"]),
        (f"http://127.0.0.1:38811/t/{THREAD}/x0123456789abcde#turn-7", ["x0123456789abcde", THREAD]),
    ],
)
def test_ids_and_links_name_a_task(text: str, names: list[str]) -> None:
    assert names_in(text) == names


def test_at_80_columns_the_task_has_the_room() -> None:
    title = "Add up the report of"
    row = RunningTask("x", "1", f"{title} the week with all its sums", "Thinking", False, "", 1, 2, 0.01, 4_000.0)
    screen = Console(width=80)
    with screen.capture() as printed:
        screen.print(table([row], 80))
    assert title in printed.get()
