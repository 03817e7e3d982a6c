"""What a command changed, as the scan after it tells."""

from __future__ import annotations

import hashlib

import pytest

from agentic.sandbox.protocol.results import Changes
from agentic.sandbox.sandbox import Sandbox
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name, sandbox
from tests.scripts import Gate
from tests.waiting import eventually

__all__ = ["docker_url", "ground", "rung_name", "sandbox"]


def told(changes: Changes) -> dict[str, str]:
    """path -> kind."""
    return {change.path: change.kind for change in changes.files}


async def test_each_command_tells_what_it_changed_and_nothing_twice(sandbox: Sandbox) -> None:
    """Added, modified, deleted; with hashes."""
    first = await sandbox.exec("mkdir -p a/b; echo 1 > top; echo 2 > a/b/deep", timeout=5)
    assert told(first.changes) == {"top": "added", "a/b/deep": "added"}
    second = await sandbox.exec("echo 3 > a/b/deep; rm top", timeout=5)
    assert told(second.changes) == {"a/b/deep": "modified", "top": "deleted"}
    deep = next(change for change in second.changes.files if change.path == "a/b/deep")
    assert (deep.sha_before, deep.sha_after) == tuple(hashlib.sha256(text).hexdigest() for text in (b"2\n", b"3\n"))
    assert told((await sandbox.exec("cat a/b/deep", timeout=5)).changes) == {}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("touch old", {}),
        ("chmod 600 old; touch -d 2001-01-01 old", {}),
        ("printf abc > old; touch -r other old", {"old": "modified"}),
        ("printf OLD > old", {"old": "modified"}),
        ("mv dir moved", {"dir/in/x": "deleted", "moved/in/x": "added"}),
        ("mv dir/in dir/out; echo y > dir/out/x", {"dir/in/x": "deleted", "dir/out/x": "added"}),
        ("rm -r dir; mkdir -p dir/in; printf x > dir/in/x", {}),
        ("rm old; ln -s other old", {"old": "modified"}),
        (
            "python3 -c \"import mmap; f=open('old','r+b'); m=mmap.mmap(f.fileno(),0); m[0:1]=b'Z'; m.close()\"",
            {"old": "modified"},
        ),
        ("mkdir -p .git node_modules; echo x > .git/x; echo x > node_modules/x", {}),
        ("echo x > temporary; rm temporary", {}),
    ],
)
async def test_a_change_is_what_differs_in_content(ground: Ground, command: str, expected: dict[str, str]) -> None:
    """Not times or modes, however the change was made."""
    for name, text in (("old", "old"), ("other", "other"), ("dir/in/x", "x")):
        ground.file(name, text)
    async with ground.open() as sandbox:
        assert told((await sandbox.exec(command, timeout=10)).changes) == expected
        assert told(await sandbox.scan()) == {}


async def test_changes_from_outside_and_from_the_background_are_seen(ground: Ground) -> None:
    """By the next scan."""
    gate = Gate(ground.workspace)
    async with ground.open() as sandbox:
        ground.file("sub/outside", "x")
        assert told(await sandbox.scan()) == {"sub/outside": "added"}
        number = await sandbox.start("cat gate; echo x > sub/background")
        await gate.reached()
        assert told(await sandbox.scan()) == {}
        await gate.open()

        async def ended() -> bool:
            return not (await sandbox.poll(number)).running

        await eventually(ended)
        assert told(await sandbox.scan()) == {"sub/background": "added"}


async def test_what_a_file_operation_wrote_is_not_told_again(sandbox: Sandbox) -> None:
    """The write said it itself; a change on top of it is told with the hash in between."""
    change = await sandbox.write("d/f", b"one")
    assert told((await sandbox.exec("true", timeout=5)).changes) == {}
    on_top = (await sandbox.exec("printf two > d/f", timeout=5)).changes.files
    assert [(c.path, c.sha_before) for c in on_top] == [("d/f", change.sha_after)]
    await sandbox.delete("d/f")
    assert told(await sandbox.scan()) == {}


async def test_thousands_of_changes_are_cut_with_a_count(sandbox: Sandbox) -> None:
    """The state stays right."""
    result = await sandbox.exec("for n in $(seq 1200); do echo $n > f$n; done", timeout=30)
    assert (len(result.changes.files), result.changes.more) == (500, 700)
    assert told((await sandbox.exec("echo x > f7", timeout=5)).changes) == {"f7": "modified"}


async def test_a_flood_of_events_loses_no_change(sandbox: Sandbox) -> None:
    """More events than the kernel keeps: everything is read then."""
    flood = "for r in range(30):\n for n in range(400):\n  open(f'g{n}', 'w').write(str(r)); os.utime(f'g{n}')"
    result = await sandbox.exec(["python3", "-c", f"import os\n{flood}"], timeout=60)
    assert len(result.changes.files) + result.changes.more == 400
