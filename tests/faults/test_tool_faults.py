"""Faults at the tools: what commands and files do to an agent, and what a model writes as a call."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from agentic.ports.runtime import Observation, Refused
from tests.integration.tools.bench import Bench, open_bench
from tests.waiting import eventually

NOISE = (
    r"\033[31mred\033[0m \033]0;title\007 \033]52;c;Y2FuYXJ5\007"
    r" \033]8;;http://evil\033\\link\033]8;;\033\\ \033[2J\033[H end"
)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with open_bench() as opened:
        yield opened


def control_characters(text: str) -> list[str]:
    return [c for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F]


def said(seen: Observation, bench: Bench) -> str:
    return seen.preview + seen.error + "".join(bench.streamed)


# --- 29: ANSI and OSC sequences in tool output ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("shell", {"command": f"printf '{NOISE}'"}, id="shell"),
        pytest.param("python", {"code": "raise ValueError('\\x1b[31mred\\x1b]0;t\\x07 end')"}, id="traceback"),
        pytest.param("read", {"path": "noise.txt"}, id="read"),
        pytest.param("list", {}, id="list"),
    ],
)
async def test_f29_escape_sequences_are_stripped_from_what_a_tool_shows(
    bench: Bench, tool: str, arguments: dict[str, JsonValue]
) -> None:
    await bench.call("shell", command=f"printf '{NOISE}\\n' > noise.txt; touch \"$(printf 'na\\033[31mme')\"")
    bench.streamed.clear()
    seen = await bench.call(tool, **arguments)
    assert control_characters(said(seen, bench)) == []
    assert "red" in seen.preview or "na" in seen.preview


async def test_f29_escape_sequences_do_not_come_back_through_a_diff_or_a_saved_output(bench: Bench) -> None:
    bench.put("a.txt", "one\x1b[31m\n")
    await bench.call("read", path="a.txt")
    edited = await bench.call("edit", path="a.txt", old="one", new="two")
    bench.put("a.txt", "three\x1b]0;t\x07\n")
    refused = await bench.call("edit", path="a.txt", old="two", new="four")
    bench.put("a.txt", "four\x1b[2J\n")
    perceived = await bench.toolbox.perceive()
    long = await bench.call("shell", command=f"for i in $(seq 3000); do printf '{NOISE}\\n'; done")
    page = await bench.call("read_output", ref=long.output_ref, offset=50_000)
    found = await bench.call("read_output", ref=long.output_ref, pattern="red")
    texts = [seen.preview for seen in (edited, refused, long, page, found)] + [file.diff for file in perceived.stale]
    assert len(texts) == 6
    assert control_characters("".join(texts)) == []
    assert "red" in page.preview


# --- 48: unknown tool, extra or wrongly typed arguments -------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments", "names"),
    [
        ("no_such_tool", {}, "no_such_tool"),
        ("shell", {"command": "ls", "sudo": True}, "sudo"),
        ("shell", {"command": "ls", "timeout": "soon"}, "timeout"),
        ("read", {}, "path"),
        ("todo", {"items": [{"text": "a", "state": "maybe"}]}, "state"),
    ],
)
async def test_f48_a_call_that_does_not_fit_is_refused_by_name_and_nothing_happens(
    bench: Bench, tool: str, arguments: dict[str, JsonValue], names: str
) -> None:
    made = bench.toolbox.prepare(tool, arguments)
    assert isinstance(made, Refused)
    assert names in made.text
    assert bench.sandboxes.existing("t1") is None


def test_f48_what_a_model_wrote_at_length_is_not_repeated_at_length(bench: Bench) -> None:
    made = bench.toolbox.prepare("read", {"x" * 100_000: "y" * 100_000, "path": json.loads("[" * 900 + "]" * 900)})
    assert isinstance(made, Refused)
    assert len(made.text) < 1_000


# --- 62: ../, absolute path, symlink, a link swapped during the call ------------------------------------------------


async def calls_on(bench: Bench, path: str) -> list[Observation]:
    return [
        await bench.call("read", path=path),
        await bench.call("write", path=path, content="overwritten"),
        await bench.call("edit", path=path, old="canary", new="overwritten"),
        await bench.call("grep", pattern="canary", path=path),
    ]


@pytest.mark.parametrize("path", ["../outside/f", "/tmp/outside/f", "chain"])
async def test_f62_a_path_that_leads_outside_is_refused(bench: Bench, path: str) -> None:
    await bench.call(
        "shell",
        command="mkdir -p a /tmp/outside; echo canary > /tmp/outside/f; ln -s /tmp/outside/f link;"
        " ln -s /tmp/outside folder; ln -s link chain",
    )
    for seen in await calls_on(bench, path):
        assert seen.outcome in ("refused", "failed"), seen
        assert "canary" not in seen.preview
    assert "canary" in (await bench.call("shell", command="cat /tmp/outside/f")).preview


# --- 63: read of a FIFO, a device, /proc ----------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["fifo", "zero", "socket", "/proc/self/environ"])
async def test_f63_what_is_no_file_of_the_workspace_is_refused_without_a_hang(bench: Bench, path: str) -> None:
    await bench.call("shell", command="mkfifo fifo; ln -s /dev/zero zero; ln -s /proc processes")
    await bench.call("python", code="import socket; s = socket.socket(socket.AF_UNIX); s.bind('socket')")
    for seen in [await _soon(bench, "read", path), await _soon(bench, "write", path), await _soon(bench, "edit", path)]:
        assert seen.outcome in ("refused", "failed"), seen
        assert "SHELL" not in seen.preview


async def test_f63_searching_passes_by_what_would_hang(bench: Bench) -> None:
    await bench.call("shell", command="mkfifo fifo; ln -s /dev/zero zero; ln -s /proc processes; echo needle > a.txt")
    assert (await bench.call("grep", pattern="needle")).preview == "a.txt:1: needle"
    assert "a.txt" in (await bench.call("glob", pattern="**/*")).preview
    assert "fifo" in (await bench.call("list")).preview
    assert (await bench.call("list", path="processes")).outcome in ("refused", "failed")


async def _soon(bench: Bench, tool: str, path: str) -> Observation:
    more: dict[str, dict[str, JsonValue]] = {"write": {"content": "x"}, "edit": {"old": "a", "new": "b"}}
    return await bench.call(tool, path=path, **more.get(tool, {}))  # which is bounded: a hang is a failure


# --- 66: 1 GB of output, binary, no newline -------------------------------------------------------------------------


async def searched(bench: Bench, ref: str, pattern: str) -> str:
    """What a search finds; on a busy machine it may take longer than it has, and then it is asked for again."""

    async def found() -> str:
        preview = (await bench.call("read_output", ref=ref, pattern=pattern)).preview
        return "" if "narrow it down" in preview else preview

    return await eventually(found, seconds=600)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("echo BEGIN-; head -c 1000000000 /dev/urandom", id="binary"),
    ],
)
async def test_f66_a_flood_of_output_is_cut_kept_and_ended(bench: Bench, command: str) -> None:
    seen = await bench.call("shell", command=command, timeout=60)
    assert len(seen.preview) <= 21_000
    assert control_characters(seen.preview) == []
    assert "BEGIN-" in seen.preview
    assert "left out here" in seen.preview
    page = await bench.call("read_output", ref=seen.output_ref, offset=10_000_000, limit=5_000)
    assert "bytes 10000000-" in page.preview
    assert (await searched(bench, seen.output_ref, "BEGIN-")).startswith("1: BEGIN-")
    assert bench.sandboxes.existing("t1") is not None


async def test_f66_a_flood_does_not_stay_in_the_memory_of_the_bot(bench: Bench) -> None:
    await bench.call("shell", command="true")
    before = _resident()
    await bench.call("shell", command="head -c 60000000 /dev/zero | tr '\\0' x", timeout=60)
    bench.streamed.clear()
    assert _resident() - before < 40 * 1024 * 1024


def _resident() -> int:
    return int(Path(f"/proc/{os.getpid()}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
