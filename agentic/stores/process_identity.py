"""Which process holds a lease, and whether it is provably dead.

A process is named by the boot of its machine, its process id's name space, its process id and its start time, so that
a process id used again is another process.  Death is proved only where we can look: in our own name space, or
for an earlier boot (a store shared through SQLite's WAL is shared within one boot of one machine).
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_SPACE = Path("/proc/self/ns/pid")


def this_process() -> str:
    """The name of this process; '' parts where the system does not tell."""
    pid = os.getpid()
    return f"{_boot()}/{_space()}/{pid}/{_started(pid)}"


def provably_dead(process: str) -> bool:
    """Whether the process of that name can no longer write; False where that cannot be known."""
    boot, space, pid, started = process.split("/")
    if not boot or not _boot():
        return False
    if boot != _boot():
        return True
    if space != _space() or not started:
        return False
    return _started(int(pid)) != started


def dead_here(process: str) -> bool:
    """The same where many machines share a store: another boot may be that of another machine, which proves nothing."""
    return bool(_boot()) and process.partition("/")[0] == _boot() and provably_dead(process)


def in_words(process: str) -> str:
    """A process for people: its id, and whether it is to be looked for here."""
    boot, _, rest = process.partition("/")
    space, _, number = rest.partition("/")
    pid = number.partition("/")[0]
    if not pid.isdecimal():
        return process
    here = boot == _boot() and space == _space()
    return f"process {pid} {'on this machine' if here else 'on another machine or in another container'}"


def seconds_since_boot() -> float:
    """Seconds that all processes of this boot agree on; it counts sleep and ignores changes of the wall clock."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _boot() -> str:
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _space() -> str:
    try:
        return str(_SPACE.stat().st_ino)
    except OSError:
        return ""


def _started(pid: int) -> str:
    """Field 22 of /proc/<pid>/stat, '' for a process that is not there or has ended and was not waited for."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = stat[stat.rindex(")") + 2 :].split()
    state, started = fields[0], fields[19]
    return "" if state in "ZX" else started
