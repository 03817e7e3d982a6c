"""What a terminal shows of Discord's markup and of steps."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    Envelope,
    Event,
    ToolFinished,
    ToolStarted,
)
from bot.cli.console import plainly, print_to
from bot.cli.life_line import LifeLine
from bot.cli.task_command.command import Steps


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("-# ✔ Ran `ls`", "✔ Ran `ls`"),
        ("🔧 **Running `ls -l`** · turn 1", "🔧 Running `ls -l` · turn 1"),
        ("it is `2**3**4`", "it is `2**3**4`"),
        ("```python\n-# 2**3**4\n```", "```python\n-# 2**3**4\n```"),
        ("2 ** 3 ** 4", "2 ** 3 ** 4"),
        (r"a\_name and \*\*this\*\*", "a_name and **this**"),
    ],
)
def test_markup_is_shown_plainly_and_code_as_it_is(written: str, shown: str) -> None:
    assert plainly(written) == shown


def test_a_time_is_a_date_and_a_clock() -> None:
    assert plainly("started <t:1789000000:R>").startswith("started 2026-09-")


def test_printing_to_a_reader_that_is_gone_never_raises(capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as out:
        print_to(out, "first")
        print_to(out, "second")
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_printing_to_a_full_disk_never_raises_and_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with Path("/dev/full").open("w") as out:
        print_to(out, "first")
        print_to(out, "second")
    assert capsys.readouterr().err.count("No space left") == 1


def test_a_step_is_one_line_when_it_begins() -> None:
    out = StringIO()
    began = ToolStarted(
        call="c", provider_id="p", tool="shell", effect="unkeyed", arguments={"command": "ls"}, args_sha="0"
    )
    ended = ToolFinished(call="c", outcome="ok", preview="")
    events: tuple[Event, ...] = (began, ended)
    with LifeLine(out) as life:
        for number, event in enumerate(events, 1):
            at = datetime(2026, 1, 2, tzinfo=UTC)
            Steps(life).saw(Envelope(execution="x1", seq=number, at=at, fence=1, event=event))
    assert out.getvalue() == "🔧 Looking around (`ls`)\n"
