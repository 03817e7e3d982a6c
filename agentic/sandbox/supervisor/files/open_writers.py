"""Whether a file's times tell of every change to it.

What is written through a mapping (``mmap``) shows in no event, and in the times only when a page is first touched: a
process that goes on writing to it changes content and nothing else.  The kernel grants a read lease only on a file that
nobody has open for writing, and a mapping that can be written keeps it open, also without a descriptor and in a process
that lets nobody look into it.  So where the lease can be had, all that is written later begins with an event and new times.
"""

# ruff: noqa: PTH123

from __future__ import annotations

import fcntl
import os
import signal

from ..processes.proc_table import table


def may_be_written(descriptor: int) -> bool:
    """Somebody has this file of ours open, or mapped, for writing; also where that cannot be told."""
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # whoever opens it meanwhile: this one is ignored
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:
        return True
    return False


def mapped_below(root: str) -> bool:
    """One of our processes can write to a file below this folder through a mapping, or cannot be looked into."""
    below = f" {root}/".encode()
    for pid in table(os.getpid()):
        try:
            with open(f"/proc/{pid}/maps", "rb") as source:
                if any(below in line and line.split(None, 2)[1].endswith(b"s") for line in source):
                    return True
        except FileNotFoundError:
            continue
        except OSError:
            return True
    return False
