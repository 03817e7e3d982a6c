"""``.aiignore``: what it names is seen by no tool and by no command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentic.ports.errors import PathRefused
from agentic.sandbox.hidden_files import Hidden, adopt
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.workspace.workspace import RealWorld
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name

__all__ = ["docker_url", "ground", "rung_name"]


def world_on(ground: Ground) -> tuple[Sandboxes, RealWorld]:
    """A world over the test's ground."""

    async def chosen() -> Choice:
        return Choice(ground.rung, "the test says so")

    sandboxes = Sandboxes(ground.state, chosen, ground.limits)
    return sandboxes, RealWorld(sandboxes, "a thread", ground.workspace)


def with_secrets(ground: Ground) -> None:
    """A workspace with hidden and plain files."""
    ground.file(".aiignore", "*.env\nprivate/\n!shown.env\n")
    for name in ("secret.env", "shown.env", "sub/other.env", "private/key", "plain.txt"):
        ground.file(name, f"needle of {name}\n")


async def test_a_command_cannot_read_what_is_hidden(ground: Ground) -> None:
    """By name, by link, by search, with the mode taken back, or from Python."""
    with_secrets(ground)
    sandboxes, world = world_on(ground)
    try:
        for command in (
            "cat secret.env",
            "cat sub/other.env",
            "cat private/key",
            "ln -s secret.env l; cat l",
            "cp secret.env copy; cat copy",
            "ls private",
            "ln secret.env hard; cat hard",
        ):
            result = await world.exec(command, timeout=10)
            assert "needle" not in result.text, command
            assert not result.ok, command
        assert "needle" not in (await world.exec("grep -rs . --exclude=shown.env --exclude=plain.txt", timeout=10)).text
        assert "PermissionError" in (await world.python("open('secret.env').read()", timeout=10)).error
        assert (
            await world.exec("cat shown.env plain.txt", timeout=10)
        ).text == "needle of shown.env\nneedle of plain.txt\n"
    finally:
        await sandboxes.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only where Threadwright is root a hidden file is another's")
async def test_what_was_renamed_stays_hidden_in_the_next_sandbox_too(ground: Ground) -> None:
    """A file or folder that the agent moved away from its name is never handed over, also not after a crash.

    They came when the sandbox stood, which had begun without covering them.
    """
    sandboxes, world = world_on(ground)
    try:
        await world.exec("true", timeout=10)
        with_secrets(ground)
        assert (await world.exec("mv secret.env moved; mv private open; echo mine > secret.env", timeout=10)).ok
        for _ in range(3):
            result = await world.exec("cat moved open/key; ls open", timeout=10)
            assert "needle" not in result.text
            await world.close()
        sandboxes, world = world_on(ground)
        assert "needle" not in (await world.exec("cat moved open/key", timeout=10)).text
        assert (await world.exec("cat plain.txt", timeout=10)).text == "needle of plain.txt\n"
    finally:
        await sandboxes.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_new_file_under_the_number_of_one_that_was_hidden_is_the_sandboxs(tmp_path: Path) -> None:
    """A file system gives numbers of deleted files to new ones, such as an attachment; what is closed stays closed."""
    new, closed = tmp_path / "attachment.txt", tmp_path / "renamed.key"
    for path, mode in ((new, 0o644), (closed, 0o600)):
        path.write_text("x")
        path.chmod(mode)
    adopt(tmp_path, 65534, 65534, frozenset((new.stat().st_ino, closed.stat().st_ino)))
    assert (new.stat().st_uid, closed.stat().st_uid) == (65534, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only where Threadwright is root the sandbox cannot take the mode back")
async def test_what_is_hidden_cannot_be_opened_up_from_inside(ground: Ground) -> None:
    """The files belong to another user for as long."""
    with_secrets(ground)
    sandboxes, world = world_on(ground)
    try:
        result = await world.exec("chmod 777 secret.env; mv secret.env x; chmod 777 x; cat x; sudo cat x", timeout=10)
        assert "needle" not in result.text
    finally:
        await sandboxes.close()


def test_a_hiding_that_was_given_up_and_comes_after_the_end_hides_nothing(tmp_path: Path) -> None:
    """It goes on in its thread; the file is its owner's again and stays so."""
    file = tmp_path / "secret.env"
    file.touch(0o644)
    before = file.stat()
    hidden = Hidden(tmp_path, tmp_path / "ledger.json")
    hidden.set(["secret.env"])
    assert file.stat().st_mode != before.st_mode
    hidden.lift()
    hidden.set(["secret.env"])
    assert (file.stat().st_mode, file.stat().st_uid, hidden.paths) == (before.st_mode, before.st_uid, ())


async def test_file_tools_refuse_what_is_hidden_at_once(ground: Ground) -> None:
    """Also before the first command, also what does not exist yet, also through a link."""
    with_secrets(ground)
    (ground.workspace / "way").symlink_to("private")
    (ground.workspace / "near").symlink_to("secret.env")
    sandboxes, world = world_on(ground)
    try:
        for path in (
            "secret.env",
            "/workspace/secret.env",
            "./sub/../sub/other.env",
            "private/key",
            "way/key",
            "near",
            "private",
        ):
            with pytest.raises(PathRefused, match="aiignore"):
                await world.read(path)
        for path in ("new.env", "private/new", "way/new"):
            with pytest.raises(PathRefused, match="aiignore"):
                await world.write(path, "x", expected_sha=None, create=True)
        with pytest.raises(PathRefused, match="aiignore"):
            await world.get_file("secret.env", 100)
        assert {hit.path for hit in (await world.grep("needle")).hits} == {"plain.txt", "shown.env"}
        names = {entry.name for entry in (await world.glob("**/*")).entries}
        assert "plain.txt" in names
        assert not {"secret.env", "sub/other.env", "private", "private/key"} & names
    finally:
        await sandboxes.close()


async def test_a_file_that_appears_is_hidden_from_the_next_command(ground: Ground) -> None:
    """And a person who lifts the rule, file and record, sees it again, unchanged."""
    with_secrets(ground)
    sandboxes, world = world_on(ground)
    try:
        await world.exec("echo needle > late.env", timeout=10)
        assert "needle" not in (await world.exec("cat late.env", timeout=10)).text
    finally:
        await sandboxes.close()
    ground.file(".aiignore", "nothing\n")
    (ground.state / "ignored" / "a thread.json").unlink()
    sandboxes, world = world_on(ground)
    try:
        assert (await world.exec("cat late.env secret.env", timeout=10)).text == "needle\nneedle of secret.env\n"
    finally:
        await sandboxes.close()


async def test_the_files_are_as_before_when_the_sandbox_has_ended(ground: Ground) -> None:
    """Owner and mode; nothing of hiding stays behind."""
    with_secrets(ground)
    path = ground.workspace / "secret.env"
    path.chmod(0o640)
    before = path.stat()
    sandboxes, world = world_on(ground)
    await world.exec("true", timeout=10)
    assert path.stat().st_mode != before.st_mode
    await sandboxes.close()
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert path.read_text() == "needle of secret.env\n"


def test_after_a_crash_the_ledger_leads_back(ground: Ground) -> None:
    """A second process finds what the first one hid, and lifts it."""
    with_secrets(ground)
    ledger = ground.folder / "ledger.json"
    path = ground.workspace / "secret.env"
    mode = path.stat().st_mode
    Hidden(ground.workspace, ledger).set(["secret.env"])
    assert path.stat().st_mode != mode
    second = Hidden(ground.workspace, ledger)
    second.set(["secret.env", "private"])
    second.lift()
    assert path.stat().st_mode == mode
    assert not ledger.exists()


@pytest.mark.wall("aiignore")
def test_hiding_follows_no_link(ground: Ground) -> None:
    """A link in the workspace cannot make us change a file outside."""
    outside = ground.folder / "outside"
    outside.write_text("x")
    outside.chmod(0o644)
    ground.workspace.mkdir()
    (ground.workspace / "bait.env").symlink_to(outside)
    (ground.workspace / "way").symlink_to(ground.folder)
    hidden = Hidden(ground.workspace, ground.folder / "ledger.json")
    hidden.set(["bait.env", "way/outside"])
    assert outside.stat().st_mode & 0o777 == 0o644
    hidden.lift()


@pytest.mark.parametrize("how", ["rm .aiignore", "echo > .aiignore", "printf '*.env\\n!secret.env\\n' > .aiignore"])
async def test_the_agent_cannot_lift_what_is_hidden_by_changing_the_file(ground: Ground, how: str) -> None:
    """Not for the next command, not for a file tool, and not after a restart."""
    with_secrets(ground)
    sandboxes, world = world_on(ground)
    try:
        await world.exec("true", timeout=10)
        await world.exec(how, timeout=10)
        assert "needle" not in (await world.exec("cat secret.env", timeout=10)).text
        with pytest.raises(PathRefused):
            await world.read("secret.env")
    finally:
        await sandboxes.close()
    sandboxes, world = world_on(ground)
    try:
        assert "needle" not in (await world.exec("cat secret.env", timeout=10)).text
        assert "needle" in (await world.exec("cat plain.txt", timeout=10)).text
    finally:
        await sandboxes.close()
