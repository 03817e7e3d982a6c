"""Who runs in the sandbox, from /proc, and how all of a command's processes are ended.

A command's processes are its process group, its session, those that carry its tag in their environment (a setsid child
keeps that), and all their children.  What was orphaned comes to us, because we are PID 1 or a subreaper: an orphan without
a tag (its environment was emptied) belongs to nobody and is ended with any kill.
"""
# ruff: noqa: PTH208

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection

TAG = "SBX_EXEC"


class Process:
    """One line of the process table."""

    __slots__ = ("group", "name", "parent", "pid", "session", "state", "tag")

    def __init__(self, pid: int, stat: bytes, tag: str) -> None:
        open_, close = stat.index(b"("), stat.rindex(b")")
        fields = stat[close + 2 :].split()
        self.pid = pid
        self.name = stat[open_ + 1 : close].decode("utf-8", "replace")
        self.state = fields[0].decode()
        self.parent, self.group, self.session = int(fields[1]), int(fields[2]), int(fields[3])
        self.tag = tag


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 1 << 17)
    finally:
        os.close(descriptor)


def _tag(pid: int) -> str:
    with contextlib.suppress(OSError):
        for line in _read(f"/proc/{pid}/environ").split(b"\0"):
            if line.startswith(b"SBX_EXEC="):
                return line[len(TAG) + 1 :].decode("utf-8", "replace")
    return ""


def table(own: int) -> dict[int, Process]:
    """All processes that live and descend from ``own`` (the supervisor), without it."""
    found: dict[int, Process] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != own:
            with contextlib.suppress(OSError, ValueError):
                process = Process(int(name), _read(f"/proc/{name}/stat"), "")
                if process.state not in "ZX":
                    found[process.pid] = process
    ours = _descendants(found, {own})
    for pid in list(found):
        if pid not in ours:
            del found[pid]
        else:
            found[pid].tag = _tag(pid)
    return found


def _descendants(processes: dict[int, Process], roots: Collection[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def members(processes: dict[int, Process], leader: int, tag: str, adopted: Collection[int]) -> set[int]:
    """The processes of one command; ``adopted`` are orphans that were counted to it."""
    own = {
        p.pid
        for p in processes.values()
        if leader in (p.pid, p.group, p.session) or p.tag == tag or p.pid in adopted or p.session in adopted
    }
    return own | _descendants(processes, own)


def strays(processes: dict[int, Process], own: int, known: Collection[int], tags: Collection[str]) -> set[int]:
    """Orphans that belong to no command, with their children."""
    lost = {
        p.pid
        for p in processes.values()
        if p.parent == own and p.pid not in known and p.group not in known and p.tag not in tags
    }
    return lost | _descendants(processes, lost)


def send(pids: Collection[int], number: signal.Signals) -> None:
    """Signal each of them; those that are gone are passed over."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
