"""Scripts that tests run in sandboxes: what they wait at, and whether they still run."""

from __future__ import annotations

import os
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
