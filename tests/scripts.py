"""Scripts that tests run in sandboxes: what they wait at, whether they still run, what they fetch and what they leave."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from tests.waiting import eventually


class Gate:
    """A FIFO in a workspace at which a script waits until a test opens it: ``cat NAME``."""

    def __init__(self, folder: Path, name: str = "gate") -> None:
        self.path = folder / name
        folder.mkdir(parents=True, exist_ok=True)
        os.mkfifo(self.path)
        self.path.chmod(0o666)
        self._way: int | None = None

    async def reached(self) -> None:
        """Wait until a script is at the gate: what it does before is done."""
        if self._way is None:
            self._way = await eventually(self._entered, f"a script reaches {self.path}")

    async def open(self) -> None:
        """Let the script that is at the gate, or comes to it, go on."""
        await self.reached()
        assert self._way is not None
        os.close(self._way)
        self._way = None

    def __del__(self) -> None:
        if self._way is not None:
            os.close(self._way)

    def _entered(self) -> int | None:
        try:
            return os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody is there yet
            return None


FETCH = """import sys, urllib.request
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url).read().decode())
    except OSError as refused:
        print(refused)
"""


def fetch(*urls: str) -> str:
    """A command that fetches addresses one after the other, without a program that a bare machine has not."""
    return shlex.join(["python3", "-c", FETCH, *urls])


def reopen(folder: Path) -> None:
    """Give the owner back what a sandbox hid in a folder or locked: as it is, only root may read and delete it."""
    for at, folders, files in os.walk(folder):
        for path in (Path(at, name) for name in (*folders, *files)):
            if not path.is_symlink() and not os.access(path, os.R_OK):
                path.chmod(0o700)


def supervisors(folder: Path) -> list[int]:
    """The supervisors of sandboxes over a folder, by their mounts; the programs that started them too."""
    disk = next(above for above in (folder, *folder.parents) if above.is_mount())
    shown, found = f"/{folder.relative_to(disk)}", list[int]()
    for entry in Path("/proc").iterdir():
        try:
            ours = entry.name.isdigit() and b"supervisor.pyz" in (entry / "cmdline").read_bytes()
            if ours and os.fsencode(shown) in (entry / "mountinfo").read_bytes():
                found.append(int(entry.name))
        except OSError:  # it has just ended
            continue
    return found


def running(token: str) -> list[int]:
    """The processes of this machine, those in sandboxes too, in whose command line a token stands."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and token.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:  # it has just ended
            continue
    return found
