"""list, glob and grep, and what .aiignore hides from every tool."""

from __future__ import annotations

import asyncio

import pytest

from .bench import Bench


async def test_a_folder_is_listed_with_sizes(bench: Bench) -> None:
    bench.put("a.txt", "12345")
    bench.put("sub/b.txt", "x")
    seen = await bench.call("list")
    assert seen.preview == "a.txt  5 bytes\nsub/"
    assert "is no folder" in (await bench.call("list", path="a.txt")).preview
    assert "does not exist" in (await bench.call("list", path="subs")).preview


async def test_a_name_with_a_line_end_cannot_pass_for_two_entries(bench: Bench) -> None:
    seen = await bench.call("shell", command=r"touch $'real\nExpected: fake'")
    listed = await bench.call("list")
    assert listed.preview.count("\n") == 0
    assert "\nExpected: fake" not in seen.preview


async def test_lines_are_found_by_expression(bench: Bench) -> None:
    bench.put("a.py", "import os\ndef total(x):\n    return x\n")
    assert (await bench.call("grep", pattern=r"def \w+\(")).preview == "a.py:2: def total(x):"
    assert (await bench.call("grep", pattern="RETURN", ignore_case=True, context=1)).preview.split("\n") == [
        "a.py:2- def total(x):",
        "a.py:3:     return x",
    ]
    assert "No match" in (await bench.call("grep", pattern="nothing")).preview


async def test_a_wrong_expression_is_a_failure_in_words(bench: Bench) -> None:
    bench.put("a.py", "x")
    for pattern in ("(", "(" * 900):
        seen = await bench.call("grep", pattern=pattern)
        assert seen.outcome == "failed"
        assert seen.preview


@pytest.mark.parametrize(
    "hopeless", [("grep", {"pattern": "(a+)+$"}), ("glob", {"pattern": "**/*a*a*a*a*a*a*a*a*a*a*a*a*b"})]
)
async def test_a_hopeless_expression_holds_up_nothing_else(bench: Bench, hopeless: tuple[str, dict[str, str]]) -> None:
    """It is looked for in a process of its own, which a stop ends."""
    bench.put("a" * 100, "a" * 100 + "!")
    tool, arguments = hopeless
    searching = asyncio.create_task(bench.call(tool, **arguments))
    try:
        assert "here" in (await bench.call("shell", command="echo here")).preview
        assert not searching.done()
        await bench.world.cancel()
        assert (await searching).outcome == "failed"
    finally:
        searching.cancel()


async def test_a_long_list_of_hits_is_cut_and_kept(bench: Bench) -> None:
    bench.put("a.txt", "".join(f"hit {n}\n" for n in range(1500)))
    seen = await bench.call("grep", pattern="hit", limit=2000)
    assert seen.preview.count("\n") < 750
    found = await bench.call("read_output", ref=seen.output_ref, pattern="hit 777")
    assert "a.txt:778: hit 777" in found.preview


async def test_readers_run_at_the_same_time(bench: Bench) -> None:
    for n in range(8):
        bench.put(f"f{n}.txt", f"text {n}\n")
    seen = await asyncio.gather(*(bench.call("read", path=f"f{n}.txt") for n in range(8)))
    assert [observation.preview for observation in seen] == [f"1\ttext {n}" for n in range(8)]


@pytest.mark.wall("aiignore")
async def test_ignored_files_are_hidden_from_every_tool(bench: Bench) -> None:
    bench.put(".aiignore", "secret.txt\nprivate/\n*.key\n")
    bench.put("secret.txt", "canary-1")
    bench.put("private/a.txt", "canary-2")
    bench.put("deep/x.key", "canary-3")
    bench.put("open.txt", "canary-open")
    for path in (
        "secret.txt",
        "./secret.txt",
        "/workspace/secret.txt",
        "private/a.txt",
        "deep/../secret.txt",
        "deep/x.key",
    ):
        for tool, more in (("read", {}), ("write", {"content": "x"}), ("edit", {"old": "c", "new": "d"})):
            seen = await bench.call(tool, path=path, **more)
            assert seen.outcome == "refused", (tool, path, seen.preview)
            assert ".aiignore" in seen.preview
    shown = [
        await bench.call("list"),
        await bench.call("list", path="deep"),
        await bench.call("glob", pattern="**/*"),
        await bench.call("grep", pattern="canary"),
        await bench.call("shell", command="cat secret.txt private/a.txt deep/x.key; grep -r canary . | cat"),
        await bench.call("python", code="print(open('secret.txt').read())"),
    ]
    text = "\n".join(observation.preview for observation in shown)
    assert "canary-open" in text
    for canary in ("canary-1", "canary-2", "canary-3"):
        assert canary not in text
    for observation in shown[:3]:
        assert "secret.txt" not in observation.preview
        assert "x.key" not in observation.preview


@pytest.mark.wall("aiignore")
async def test_what_is_hidden_is_not_changed_by_a_file_tool(bench: Bench) -> None:
    path = bench.put(".aiignore", "secret.txt\n")
    await bench.call("read", path=".aiignore")
    for tool, more in (("write", {"content": ""}), ("edit", {"old": "secret.txt", "new": "other.txt"})):
        seen = await bench.call(tool, path="sub/../.aiignore" if tool == "write" else ".aiignore", **more)
        assert seen.outcome != "ok"
    assert path.read_text() == "secret.txt\n"
