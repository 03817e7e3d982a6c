"""What a task's shell did, and outputs that are shown in pieces."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    BlobRef,
    Envelope,
    Event,
    Gated,
    ModelRequested,
    OwnerChanged,
    ToolFinished,
    ToolStarted,
)
from agentic.tools.base.terminal_text import clean_bytes
from bot.console.views.shell_session import FIRST, LAST, MARGIN, PIECE, ShellSession, piece, pieces
from bot.rendering.secrets import Discretion

BEGUN = datetime(2026, 11, 26, 9, tzinfo=UTC)


def of(*log: Event) -> ShellSession:
    session = ShellSession()
    for seq, event in enumerate(log, 1):
        session.take(Envelope(execution="e", seq=seq, at=BEGUN + timedelta(seconds=seq), fence=1, event=event))
    return session


def typed(call: str, tool: str = "shell", **arguments: JsonValue) -> Event:
    return ToolStarted(call=call, provider_id=call, tool=tool, effect="read", arguments=arguments, args_sha="")


def came(call: str, preview: str, **more: object) -> Event:
    return ToolFinished.model_validate({"call": call, "outcome": "ok", "preview": preview, **more})


def test_a_command_runs_until_its_result_comes() -> None:
    asked = ModelRequested(request="r", turn=4, tier=1, model="m")
    log = [
        asked,
        typed("a", command="make\nmake test", cwd="src"),
        typed("b", command="ls"),
        typed("c", "read", path="x"),
    ]
    session = of(*log)
    assert [(one.prompt, one.cwd, one.state, one.turn) for one in session.commands] == [
        ("$ make\n> make test", "src", "running", 4), ("$ ls", "", "running", 4),
    ]  # fmt: skip
    failed = came("a", "exit 2 after 1.3 s\nmake: no rule", outcome="failed", exit_code=2, seconds=1.3)
    first = of(*log, failed).commands[0]
    assert (first.state, first.exit_code, first.seconds, first.output) == ("failed", 2, 1.3, "make: no rule")
    assert [one.prompt for one in of(*log, failed).changed_since(len(log))] == ["$ make\n> make test"]


def test_how_it_was_ended_is_told_where_no_exit_code_tells_it() -> None:
    killed = came("a", "timed out after 120.0 s and was killed with everything it had started\nhalf", outcome="failed")
    one = of(typed("a", command="sleep 999"), killed).commands[0]
    assert one.verdict.startswith("timed out after 120.0 s")
    assert one.output == "half"


def test_colours_and_whatever_else_a_terminal_acts_on_are_taken_out() -> None:
    evil = "\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07ok 10%\r20%\r30%\x08"
    one = of(typed("a", command="\x1b[2Jls"), came("a", evil)).commands[0]
    assert "\x1b" not in one.prompt + one.output
    assert one.output == "30"
    assert one.prompt == "$ ls"


def test_the_interpreter_shows_its_prompts() -> None:
    one = of(typed("a", "python", code="x = 1\nx"), came("a", "1")).commands[0]
    assert (one.prompt, one.output) == (">>> x = 1\n... x", "1")


def test_a_background_job_is_as_it_was_looked_at_last_and_ends_with_its_process() -> None:
    begun: list[Event] = [typed("a", command="npm run dev", background=True), came("a", "Started", job="x1")]
    assert [(job.command, job.state) for job in of(*begun).jobs.values()] == [("npm run dev &", "running")]
    looked = [*begun, typed("b", "job", job="x1"), came("b", "Ended with exit 1.\nport taken", outcome="failed")]
    assert of(*looked).jobs["x1"].state == "ended with exit 1"
    stopped = [*begun, typed("b", "job", job="x1", action="stop"), came("b", "Stopped; 3 processes ended.")]
    assert of(*stopped).jobs["x1"].state == "stopped"
    assert of(*begun, OwnerChanged(worker="w")).jobs["x1"].state == "ended with its process"


def test_a_call_that_was_put_back_and_begun_again_stands_twice() -> None:
    again = of(
        typed("a", command="rm x"),
        Gated(call="a", args_sha="", reason="deletes", put_back=True),
        typed("a", command="rm x"),
    )
    assert [one.state for one in again.commands] == ["put back", "running"]


def test_a_long_output_shows_its_beginning_and_its_end_and_where_the_whole_is() -> None:
    ref = BlobRef(sha="a" * 64, size=10_000_000)
    one = of(typed("a", command="x"), came("a", "b" * 20_000 + "end", output=ref)).commands[0]
    assert one.cut
    assert one.whole == ref
    assert one.output.startswith("b" * FIRST + "\n… ")
    assert one.output.endswith("end")
    assert len(one.output) < FIRST + LAST + 100


@pytest.mark.parametrize("line", ["short line of ünïcode\n", "without any line end ü", "\xff\xfe"])
def test_pieces_lie_side_by_side_without_gaps(line: str) -> None:
    content = (line * (2 * PIECE // len(line) + 1_000)).encode("latin-1" if line.startswith("\xff") else "utf-8")
    whole = "".join(piece(content, number, str) for number in range(pieces(len(content))))
    assert whole == clean_bytes(content)


@pytest.mark.parametrize("before", [-30, -1, 12])
def test_a_secret_on_the_edge_of_two_pieces_is_in_neither(before: int) -> None:
    """Half a secret has no known form, so the edge is looked at with what lies around it."""
    secret = "sk-ant-" + "a1B2c3D4" * 5
    content = ("x " * (PIECE // 2 - 20) + " " * (20 + before) + secret + " y" * PIECE).encode()
    hide = Discretion([secret]).text
    shown = [piece(content, number, hide) for number in range(pieces(len(content)))]
    for at in range(len(secret) - 7):
        assert all(secret[at : at + 8] not in one for one in shown)
    assert "".join(shown).replace(" ", "").startswith("x" * 100)
    assert "[redacted]" in "".join(shown)


def test_a_piece_reads_little_more_than_itself() -> None:
    """So a piece of 10 MB costs what a piece of 100 kB does."""
    read: list[int] = []

    def counting(text: str) -> str:
        read.append(len(text))
        return text

    piece(b"line\n" * 2_000_000, 80, counting)
    assert sum(read) < PIECE + 4 * MARGIN + 10_000
