"""Which bubblewrap is used, what a machine may refuse it, and how that is told.

A machine that refuses is played by namespaces of the test's own and by a stand-in that gives Ubuntu's error.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentic.sandbox.backends import bwrap_programs
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.backends.bwrap_programs import (
    BINARY,
    LIBRARIES,
    Bwrap,
    bundled_folder,
    held_by_root,
    programs,
)
from agentic.sandbox.backends.selection import choose
from agentic.sandbox.hidden_files import adopt
from bot.cli.doctor import sandbox_component
from tests.integration.world.rungs import SMALL, missing

UBUNTU = "bwrap: setting up uid map: Permission denied"
UBUNTU_LATER = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted"
CHOICE = """
import asyncio, pathlib, sys
from agentic.sandbox.backends.selection import choose
choice = asyncio.run(choose("bubblewrap", pathlib.Path(sys.argv[1])))
print(choice.name, choice.why, choice.todo, sep="\\n")
"""
"""Chooses in a process of its own."""


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder first on the PATH, which every user reaches and in which a test may put a bwrap of the system."""
    folder = Path(tempfile.mkdtemp(prefix="tw-bwrap-"))
    folder.chmod(0o755)
    monkeypatch.setattr(bwrap_programs, "COMMAND", "bwrap")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    yield folder
    shutil.rmtree(folder)


def stand_in(path: Path, *, version: str = "0.11.0", words: str = "") -> None:
    """A bwrap that says its version, and else only these words."""
    path.write_text(
        f"#!/bin/sh\n[ \"$1\" = --version ] && echo 'bubblewrap {version}' && exit\necho '{words}' >&2\nexit 1\n"
    )
    path.chmod(0o755)


def with_the_bundled(folder: Path) -> Path:
    """A copy of the bundled binary that every user reaches."""
    bundled = bundled_folder()
    if bundled is None:
        missing("no bubblewrap is bundled for this machine")
    assert bundled is not None
    for name in (Path(BINARY).parent, LIBRARIES):
        shutil.copytree(bundled / name, folder / name)
    return folder / BINARY


@pytest.fixture
def without_the_bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bwrap_programs, "PACKAGE", "no_such_package")


@pytest.mark.parametrize(
    "origin", [pytest.param("system", marks=pytest.mark.needs("the system's bubblewrap")), "bundled"]
)
async def test_each_bubblewrap_holds_what_a_sandbox_promises(
    origin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walls' own tests run in the bundled one; these few in both."""
    monkeypatch.setattr(bwrap_programs, "COMMAND", "bwrap")
    program = next((each for each in programs() if each.origin == origin), None)
    if program is None:
        missing(f"there is no bubblewrap here that is {bwrap_programs.WORDS[origin]}")  # type: ignore[index]
    assert program is not None
    rung = Bubblewrap(tmp_path / "state", program)
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    (tmp_path / "secret").write_text("nobody's business")
    for folder in (workspace, home):
        adopt(folder, *rung.owner)
    sandbox = await rung.start("t", workspace, home, SMALL)
    try:
        result = await sandbox.exec(
            f"cat {tmp_path}/secret; cat /etc/shadow; ls /sys/class/net; ls -d /proc/[0-9]* | wc -l; touch /usr/x; "
            "grep -E 'NoNewPrivs|Seccomp:|CapEff' /proc/self/status | tr -d '\\t '; cat /proc/1/environ | tr '\\0' '\\n'; "
            "unshare --user true; echo $?; echo kept > kept.txt",
            timeout=60,
        )
    finally:
        await sandbox.close()
    assert "nobody's business" not in result.text
    assert "root:" not in result.text
    assert "/usr/x" in result.text
    assert "Read-only file system" in result.text
    assert [line for line in result.text.splitlines() if ":" in line and line[0] in "CNS"] == [
        "CapEff:0000000000000000", "NoNewPrivs:1", "Seccomp:2"
    ]  # fmt: skip
    assert result.text.splitlines()[-1] != "0", "no namespace inside of it"
    assert str(tmp_path) not in result.text.replace(f"{tmp_path}/secret", "")
    assert (workspace / "kept.txt").read_text() == "kept\n"
    assert rung.said == f"bubblewrap ({program.said})"


async def test_the_systems_is_used_first_and_doctor_names_it(system: Path, tmp_path: Path) -> None:
    """Where both run."""
    (system / "bwrap").write_text(f'#!/bin/sh\nexec {with_the_bundled(system)} "$@"\n')
    (system / "bwrap").chmod(0o755)
    choice = await choose("bubblewrap", tmp_path / "state")
    assert choice.rung is not None
    assert sandbox_component(choice).adapter == choice.rung.said == "bubblewrap (of the system, 0.11.0)"
    await choice.rung.close()


async def test_the_bundled_one_runs_out_of_an_environment_that_only_its_owner_reaches(tmp_path: Path) -> None:
    """As in the home of root, whose commands run as another user."""
    path = with_the_bundled(tmp_path)
    tmp_path.chmod(0o700)
    rung = Bubblewrap(tmp_path / "state", Bwrap(path, "bundled", "0.11.0", folder=tmp_path))
    for folder in (tmp_path / "w", tmp_path / "h"):
        adopt(folder, *rung.owner)
    sandbox = await rung.start("t", tmp_path / "w", tmp_path / "h", SMALL)
    try:
        result = await sandbox.exec("id -u; ls /run /opt/threadwright", timeout=60)
    finally:
        await sandbox.close()
    assert result.text.splitlines()[0] == str(rung.owner[0])
    assert "bwrap" not in result.text, "it is not shown inside"


@pytest.mark.parametrize(
    ("version", "words"), [("0.11.0", UBUNTU), ("0.11.0", UBUNTU_LATER), ("0.7.1", ""), ("what?", "")]
)
async def test_where_the_systems_does_not_pass_the_trial_the_bundled_one_is_used(
    version: str, words: str, system: Path, tmp_path: Path
) -> None:
    stand_in(system / "bwrap", version=version, words=words)
    choice = await choose("bubblewrap", tmp_path / "state")
    assert choice.rung is not None
    assert choice.rung.said == "bubblewrap (bundled, 0.11.0)"


@pytest.mark.usefixtures("without_the_bundled")
@pytest.mark.parametrize("words", [UBUNTU, UBUNTU_LATER])
async def test_what_ubuntu_refuses_is_said_with_the_command_that_mends_it(
    words: str, system: Path, tmp_path: Path
) -> None:
    stand_in(system / "bwrap", words=words)
    choice = await choose("bubblewrap", tmp_path / "state")
    assert choice.rung is None
    assert "AppArmor refuses user namespaces" in choice.why
    assert choice.todo == "run: sudo threadwright doctor --mend"
    assert choice.refused is not None
    assert choice.refused.mendable


@pytest.mark.usefixtures("without_the_bundled")
async def test_one_that_is_too_old_is_said_with_what_is_needed(system: Path, tmp_path: Path) -> None:
    stand_in(system / "bwrap", version="0.4.1")
    choice = await choose("bubblewrap", tmp_path / "state")
    assert "of the system, 0.4.1: 0.4.1 is too old; 0.8 is needed" in choice.why
    assert "bubblewrap" in choice.todo


@pytest.mark.usefixtures("without_the_bundled")
async def test_one_made_for_another_c_library_is_told_from_one_that_is_not_there(system: Path, tmp_path: Path) -> None:
    """The kernel says of both "no such file"."""
    (system / "bwrap").write_text("#!/lib/no-such-loader.so.1\n")
    (system / "bwrap").chmod(0o755)
    choice = await choose("bubblewrap", tmp_path / "state")
    assert "made for the GNU C library" in choice.why
    (system / "bwrap").unlink()
    assert all(each.origin != "copy" for each in programs())


async def test_user_namespaces_that_are_switched_off_are_said_with_the_command_that_switches_them_on(
    tmp_path: Path,
) -> None:
    """In a user namespace of the test's own, whose count is its own too."""
    off = 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all "$@"'
    walled = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--keep-caps", "sh", "-c", off, "sh"]
    chosen = [sys.executable, "-c", CHOICE, str(tmp_path / "state")]
    done = await asyncio.to_thread(subprocess.run, [*walled, *chosen], capture_output=True, text=True, check=False)
    if "unshare" in done.stderr:
        missing(f"this machine lets no test make a user namespace: {done.stderr}")
    name, why, todo = done.stdout.splitlines()
    assert name == "none"
    assert why.endswith("user namespaces are switched off on this machine (user.max_user_namespaces is 0)")
    assert todo.startswith("run: sudo sysctl -w user.max_user_namespaces=15000")
    assert Path("/proc/sys/user/max_user_namespaces").read_text() != "0\n", "nothing of this machine was changed"


def test_a_copy_that_others_could_change_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below /tmp anybody could put another in its place."""
    copied = tmp_path / BINARY
    copied.parent.mkdir(parents=True)
    stand_in(copied)
    monkeypatch.setattr(bwrap_programs, "COPY", tmp_path)
    assert all(each.origin != "copy" for each in programs())
    assert held_by_root(Path("/usr/bin"))
    assert not held_by_root(copied)


async def test_one_that_was_refused_is_tried_again_and_used_once_that_is_mended(system: Path, tmp_path: Path) -> None:
    program = system / "bwrap"
    stand_in(program, words=UBUNTU)
    rung = Bubblewrap(tmp_path / "state", Bwrap(program, "system", "0.11.0"))
    for folder in (tmp_path / "w", tmp_path / "h"):
        adopt(folder, *rung.owner)
    with pytest.raises(Exception, match="AppArmor"):
        await rung.start("t", tmp_path / "w", tmp_path / "h", SMALL)
    program.write_text(f'#!/bin/sh\nexec {with_the_bundled(system)} "$@"\n')
    sandbox = await rung.start("t", tmp_path / "w", tmp_path / "h", SMALL)
    await sandbox.close()
