"""Limits: what the kernel holds for each process, and a watch over what it cannot hold (memory and files together)."""
# ruff: noqa: PTH123

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import time
from collections.abc import Callable, Collection

from .event_loop import ignored
from .files.background_walk import Walks
from .files.disk_usage import usage
from .frames import Json, Request
from .processes import proc_table, shared_memory

SET_DUMPABLE, SET_CHILD_SUBREAPER, SET_NO_NEW_PRIVS = 4, 36, 38
TICK = 0.4
REST = 4
"""After a look at memory, so many times what it took is left to other work: who opens many files must not hold up a kill."""
SLACK = 64 * 1024 * 1024
OUT_OF_MEMORY = "it ran out of memory"
SLACK_INODES = 2_000
Over = Callable[["int | None", str], object]
"""Told what to end and why: (None, reason) every command, (pid, reason) the one that this process belongs to.

True if there was one.
"""
TRIED = 8
PAGE = os.sysconf("SC_PAGE_SIZE")


def guard_this_process(kept: int = 2) -> None:
    """No tracing by processes of the same user, orphans come to us, no signal ends us; this descriptor stays open."""
    os.closerange(3, kept)  # what the rung needed to build the sandbox leads outside of it
    os.closerange(kept + 1, 4096)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT):
        signal.signal(number, ignored)


class Limits:
    """The numbers of ``hello``; 0 = no limit."""

    def __init__(self, numbers: dict[str, Json]) -> None:
        request = Request(numbers, b"")
        self.memory = request.integer("memory")
        self.processes = request.integer("processes")
        self.open_files = request.integer("open_files")
        self.file_size = request.integer("file_size")
        self.workspace = request.integer("workspace")
        self.inodes = request.integer("inodes")

    def apply(self) -> None:
        """Set them on this process; commands inherit them."""
        for what, limit in (
            (resource.RLIMIT_DATA, self.memory),
            (resource.RLIMIT_NPROC, self.processes),
            (resource.RLIMIT_NOFILE, self.open_files),
            (resource.RLIMIT_FSIZE, self.file_size),
        ):
            if limit:
                _lower(what, limit)
        _lower(resource.RLIMIT_CORE, 0)


def _lower(what: int, limit: int) -> None:
    hard = resource.getrlimit(what)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(what, (limit, limit))


class Watch:
    """Looks at memory and files while commands run; going through the files is left to a thread."""

    def __init__(
        self,
        limits: Limits,
        folders: list[str],
        walks: Walks,
        hidden: Callable[[], Collection[str]] = frozenset[str],
    ) -> None:
        self._limits = limits
        self._folders = folders
        self._hidden = hidden
        self._known = usage(folders)
        self._start: tuple[int, int] | None = self._known
        self._known_is_old = False
        self._next_memory = self._next_files = 0.0
        self._walks, self._walking = walks, False
        self._oom = oom_kills()

    def begin(self) -> None:
        """Commands run from now on: growth counts from what was last seen.

        A command that was ended for growth went on writing until it was dead: where that was not counted yet
        (``counts_what_is_left``), the first look counts.
        """
        self._start = None if self._known_is_old else self._known
        self._next_files = 0.0

    def look(self, over: Over) -> None:
        """Look once."""
        now = time.monotonic()
        if now >= self._next_memory:
            self._look_at_memory(over)
            after = time.monotonic()
            self._next_memory, now = after + REST * (after - now), after
        if now >= self._next_files and not self._walking:
            self._walking = True
            self._walks.do(
                lambda: usage(self._folders, self._hidden()), lambda used: self._look_at_files(used, now, over)
            )

    def counts_what_is_left(self) -> bool:
        """Count once more after a command that was ended for growth, before the next one could fill the disk; true until
        that is done.
        """
        if self._known_is_old and not self._walking:
            self._walking = True
            self._walks.do(lambda: usage(self._folders, self._hidden()), self._counted)
        return self._known_is_old

    def _counted(self, used: tuple[int, int]) -> None:
        self._walking, self._known, self._known_is_old = False, used, False
        if self._start is None:
            self._start = used

    def _look_at_memory(self, over: Over) -> None:
        if not self._limits.memory:
            return
        used = {pid: _resident(pid) for pid in proc_table.table(os.getpid())}
        if not used:
            return
        total = sum(used.values())
        for pid, shared in shared_memory.shared(list(used)).items():
            used[pid] += shared
            total += shared
        if self.ran_out_of_memory():
            reason = OUT_OF_MEMORY
        elif total > self._limits.memory:
            reason = f"it used {total >> 20} MB of memory"
        else:
            return
        for pid in sorted(used, key=lambda pid: used[pid], reverse=True)[:TRIED]:
            if over(pid, reason):  # the largest may have ended meanwhile, at the kernel's hand
                return

    def ran_out_of_memory(self) -> bool:
        """The kernel killed something for lack of memory since we last asked."""
        before, self._oom = self._oom, oom_kills()
        return self._oom > before

    def _look_at_files(self, used: tuple[int, int], began: float, over: Over) -> None:
        self._counted(used)
        took = time.monotonic() - began
        self._next_files = began + took + min(10 * took, max(0.9, took))
        size, inodes = used
        assert self._start is not None
        # a folder that is over the limit already must still let a command clean it up
        most = max(self._limits.workspace, self._start[0] + SLACK)
        most_inodes = max(self._limits.inodes, self._start[1] + SLACK_INODES)
        if self._limits.workspace and size > most:
            reason = f"the files of the thread grew to {size >> 20} MB, over {most >> 20} MB"
        elif self._limits.inodes and inodes > most_inodes:
            reason = f"the files of the thread became {inodes}, over {most_inodes}"
        else:
            return
        self._known_is_old = True
        over(None, reason)


def oom_kills() -> int:
    """How often the kernel killed a process of our control group for lack of memory; 0 where that is not told."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as source:
            for line in source:
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
    return 0


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as source:
            fields = source.read().split()
        return (int(fields[1]) - int(fields[2])) * PAGE
    except (OSError, IndexError):
        return 0
