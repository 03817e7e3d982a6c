"""File operations through the supervisor."""

from __future__ import annotations

import asyncio
import hashlib

import pytest

from agentic.ports.errors import (
    EditConflict,
    OutputGone,
    PathRefused,
    SandboxError,
)
from agentic.sandbox.sandbox import Sandbox
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name, sandbox
from tests.scripts import Gate

__all__ = ["docker_url", "ground", "rung_name", "sandbox"]


def sha(content: bytes) -> str:
    """The hash that the supervisor gives."""
    return hashlib.sha256(content).hexdigest()


async def test_a_write_over_something_else_than_expected_is_a_conflict(sandbox: Sandbox) -> None:
    """With the hash of what is there; nothing was written."""
    await sandbox.write("f", b"one")
    with pytest.raises(EditConflict) as conflict:
        await sandbox.write("f", b"two", expected_sha=sha(b"zero"))
    assert conflict.value.current_sha == sha(b"one")
    with pytest.raises(EditConflict):
        await sandbox.write("f", b"two", expected_sha="")
    with pytest.raises(EditConflict):
        await sandbox.write("absent", b"two", create=False)
    assert (await sandbox.read("f"))[0] == b"one"
    await sandbox.write("f", b"two", expected_sha=sha(b"one"))
    assert (await sandbox.read("f"))[0] == b"two"


async def test_a_reader_sees_the_old_file_or_the_new_one_never_a_part(sandbox: Sandbox) -> None:
    """A command reads all the time while the file is replaced."""
    old, new = b"a" * 300_000, b"b" * 300_000
    await sandbox.write("f", old)
    watch = "for i in $(seq 300); do head -c 400000 f | md5sum; done | sort -u | wc -l"
    reading = asyncio.create_task(sandbox.exec(watch, timeout=60))
    for n in range(60):
        await sandbox.write("f", new if n % 2 else old)
    assert int((await reading).text) <= 2


async def test_the_mode_of_a_file_outlives_a_write(sandbox: Sandbox) -> None:
    """A script stays executable."""
    await sandbox.exec("printf '#!/bin/sh\\necho one\\n' > s; chmod 755 s", timeout=5)
    await sandbox.write("s", b"#!/bin/sh\necho two\n")
    assert (await sandbox.exec("./s", timeout=5)).text == "two\n"


async def test_deleting_takes_a_file_and_no_folder(sandbox: Sandbox) -> None:
    """And says what it was."""
    await sandbox.write("d/f", b"x")
    with pytest.raises(PathRefused):
        await sandbox.delete("d")
    with pytest.raises(EditConflict):
        await sandbox.delete("d/f", expected_sha=sha(b"y"))
    change = await sandbox.delete("d/f", expected_sha=sha(b"x"))
    assert (change.kind, change.sha_before) == ("deleted", sha(b"x"))
    assert (await sandbox.list("d")).entries == ()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", {"top.py"}),
        ("**/*.py", {"top.py", "a/one.py", "a/b/two.py"}),
        ("a/**", {"a/one.py", "a/b", "a/b/two.py", "a/b/x.txt"}),
        ("**/*.{txt,md}", {"a/b/x.txt", "r.md"}),
        ("[a-r].md", {"r.md"}),
        ("[!r].md", set[str]()),
    ],
)
async def test_glob_patterns_mean_what_people_expect(sandbox: Sandbox, pattern: str, expected: set[str]) -> None:
    """``**`` any folders, ``*`` within one name."""
    await sandbox.exec("mkdir -p a/b .git; touch top.py a/one.py a/b/two.py a/b/x.txt r.md .git/c.py", timeout=5)
    assert {entry.name for entry in (await sandbox.glob(pattern)).entries} == expected


async def test_grep_finds_lines_with_context_and_passes_binaries_over(sandbox: Sandbox) -> None:
    """Paths, line numbers, a filter on names, a limit."""
    await sandbox.write("a.txt", b"one\ntwo needle\nthree\nfour\n")
    await sandbox.write("b/c.py", b"needle\n")
    await sandbox.write("bin", b"needle\0needle\n")
    found = await sandbox.grep("NEEDLE", ignore_case=True, context=1)
    assert [(h.path, h.line, h.context) for h in found.hits] == [
        ("a.txt", 1, True),
        ("a.txt", 2, False),
        ("a.txt", 3, True),
        ("b/c.py", 1, False),
    ]
    assert [h.path for h in (await sandbox.grep("needle", glob="*.py")).hits] == ["b/c.py"]
    assert (await sandbox.grep("needle", limit=1)).more
    assert [h.path for h in (await sandbox.grep("needle", "b/c.py")).hits] == ["b/c.py"]
    with pytest.raises(SandboxError, match="regular expression"):
        await sandbox.grep("(")


async def test_names_that_are_no_text_do_not_break_a_listing(sandbox: Sandbox) -> None:
    """They are shown with replacements."""
    await sandbox.exec("touch $'bad\\xff' $'new\\nline'", timeout=5)
    assert {entry.name for entry in (await sandbox.list()).entries} == {"bad\ufffd", "new\nline"}
    assert len((await sandbox.exec("touch again", timeout=5)).changes.files) == 1


async def test_an_output_that_is_gone_says_so(sandbox: Sandbox) -> None:
    """And a made-up reference leads nowhere."""
    result = await sandbox.exec("seq 10000", timeout=5, cap=100)
    await sandbox.exec("rm -rf ~/.threadwright", timeout=5)
    for ref in (result.output_ref, "../../../etc/passwd", "", "x/y"):
        with pytest.raises(OutputGone):
            await sandbox.read_output(ref)


async def test_many_file_operations_run_beside_a_command(ground: Ground, sandbox: Sandbox) -> None:
    """One pipe, answers paired by their numbers."""
    gate = Gate(ground.workspace)
    waiting = asyncio.create_task(sandbox.exec("cat gate; echo done", timeout=60))
    await asyncio.gather(*(sandbox.write(f"f{n}", str(n).encode()) for n in range(100)))
    answers = await asyncio.gather(*(sandbox.read(f"f{n}") for n in range(100)))
    assert [content for content, _ in answers] == [str(n).encode() for n in range(100)]
    assert not waiting.done()
    await gate.open()
    assert (await waiting).text == "done\n"
