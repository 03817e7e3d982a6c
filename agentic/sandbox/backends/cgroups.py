"""Control groups: where we may make one for a sandbox, the kernel holds its memory and processes, and ends all of it at once.

Both versions are written to; version 2 where memory is counted there.  A group of version 2 lies in the nearest folder above
us that lets its groups count memory and processes, since the one we are in ourselves cannot; one of version 1 lies below
us.  Where nothing may be written there is none, and the supervisor counts (``supervisor/memory.py``).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentic.sandbox.limits import Limits
from agentic.sandbox.ownership_marks import home_mark, lives, process_mark

ROOT, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
CONTROLLERS = ("memory", "pids", "cpu")
MORE_PROCESSES = 16
"""What a sandbox needs beside its commands."""
WEIGHT, SHARES = 20, 204
"""A fifth of what others have: where the processor is short, the bot goes first, and with it every other thread."""
JOIN = 'while [ "$1" != -- ]; do echo 0 > "$1" || :; shift; done 2>/dev/null; shift; exec "$@"'
END_SECONDS, AGAIN_SECONDS = 2.0, 0.01
HELD, COUNTED = "limited by its control group", "checked twice a second"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """A sandbox's control group: one folder in version 2, one a controller in version 1."""

    folders: tuple[Path, ...]

    def joined_by(self, argv: Sequence[str]) -> list[str]:
        """A command line that enters the group and becomes ``argv``."""
        return [
            "/bin/sh",
            "-euc",
            JOIN,
            "join",
            *(str(folder / "cgroup.procs") for folder in self.folders),
            "--",
            *argv,
        ]

    def holds(self) -> bool:
        """Somebody is in each of its folders."""
        return all(_read(folder / "cgroup.procs") for folder in self.folders)

    def deaths(self) -> tuple[str, str]:
        """The file that says how often the kernel killed for lack of memory, and where the supervisor looks for it."""
        own, told = self.folders[0] / "memory.events", ROOT / "memory.events"
        if not own.exists():
            own, told = self.folders[0] / "memory.oom_control", ROOT / "memory" / "memory.oom_control"
        return str(own), str(told)

    def kill(self) -> None:
        """Kill everybody in it; nobody is born meanwhile."""
        for folder in self.folders:
            if not _written(folder, {"cgroup.kill": 1}):
                _written(folder, {"pids.max": 0})
                for pid in _read(folder / "cgroup.procs").split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)

    def remove(self) -> bool:
        """Remove it if nobody is in it; whether it is gone."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                folder.rmdir()
        return not any(folder.exists() for folder in self.folders)

    async def end(self) -> None:
        """Kill everybody in it, and remove it."""
        until = time.monotonic() + END_SECONDS
        while not self.remove():
            if time.monotonic() > until:
                log.warning("the control group %s could not be removed; the next start tries again", self.folders[0])
                return
            self.kill()
            await asyncio.sleep(AGAIN_SECONDS)


class ControlGroups:
    """The groups of a home's sandboxes; names begin with the home's mark and the process that made them."""

    def __init__(self, state: Path) -> None:
        self._prefix = f"threadwright-{home_mark(state)}-"

        self.memory = COUNTED
        """How the memory of the newest sandbox is held, in words."""

    def make(self, limits: Limits) -> ControlGroup | None:
        """A group with these limits, None where none can be made."""
        self.memory = COUNTED
        owner = process_mark(os.getpid()).replace(":", ".")
        name = f"{self._prefix}{owner}-{secrets.token_hex(4)}"
        group = ControlGroup(tuple(folder / name for folder in _parents()))
        with contextlib.suppress(OSError):
            for folder in group.folders:
                folder.mkdir()
                folder.chmod(0o755)  # whatever our umask is: the sandbox's user reads in it how memory ran out
            if group.folders and _limit(group.folders, limits):
                return group
        group.remove()
        return None

    def note(self, group: ControlGroup | None) -> None:
        """A sandbox that was started with this group answers: it is in there, or could not enter it."""
        self.memory = HELD if group is not None and group.holds() else COUNTED

    async def reap(self) -> tuple[str, ...]:
        """End the groups whose owner is dead; returns those that could not be."""
        dead = [
            ControlGroup((folder,))
            for folder in await asyncio.to_thread(list, self._found())
            if not self._lives(folder)
        ]
        for group in dead:
            await group.end()
        return tuple(str(group.folders[0]) for group in dead if group.folders[0].exists())

    def _found(self) -> Iterator[Path]:
        for top in [ROOT] if _counts_in_version_2() else [ROOT / controller for controller in CONTROLLERS]:
            for folder, names, _ in os.walk(top):  # others' groups go while it is walked, which it passes over
                yield from (Path(folder, name) for name in names if name.startswith(self._prefix))

    def _lives(self, folder: Path) -> bool:
        return lives(folder.name.removeprefix(self._prefix).rpartition("-")[0].replace(".", ":"))


def _limit(folders: Iterable[Path], limits: Limits) -> bool:
    """Write the limits where the files for them are; whether memory and processes are held."""
    memory = limits.memory + limits.memory // 8  # the supervisor's own watch acts first, and says why
    needed = {"memory.max": memory, "memory.limit_in_bytes": memory, "pids.max": limits.processes + MORE_PROCESSES}
    wanted = {"memory.swap.max": 0, "memory.memsw.limit_in_bytes": memory, "cpu.weight": WEIGHT, "cpu.shares": SHARES}
    held = sum(_written(folder, needed) for folder in folders)
    for folder in folders:
        _written(folder, wanted)
    return held == 2


def _written(folder: Path, numbers: Mapping[str, int]) -> int:
    """How many of these files are there and took their number."""
    written = 0
    for name, number in numbers.items():
        with contextlib.suppress(OSError):
            (folder / name).write_text(str(number))
            written += 1
    return written


def _read(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text()
    return ""


def _counts_in_version_2() -> bool:
    return "memory" in _read(ROOT / "cgroup.controllers").split()


def _parents() -> tuple[Path, ...]:
    """The folders that a group is made in, memory's first; none where nothing may be written."""
    ours: dict[str, Path] = {}
    for line in _read(OWN).splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            ours[name] = (ROOT / name / path.lstrip("/")) if name else ROOT / path.lstrip("/")
    if _counts_in_version_2():
        here = ours.get("", ROOT)
        above = (here, *here.parents[: len(here.relative_to(ROOT).parts)])
        return next(((folder,) for folder in above if _open(folder) and _shares(folder)), ())
    folders = tuple(ours[name] for name in CONTROLLERS if name in ours)
    return folders if all(_open(folder) for folder in folders) else ()


def _open(folder: Path) -> bool:
    """We may make groups there, and enter them."""
    return os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)


def _shares(folder: Path) -> bool:
    """Groups below it count memory and processes; refused by the kernel where somebody is in it."""
    control = folder / "cgroup.subtree_control"
    for more in ("+memory +pids", "+cpu"):
        with contextlib.suppress(OSError):
            control.write_text(more)
    return {"memory", "pids"} <= set(_read(control).split())
