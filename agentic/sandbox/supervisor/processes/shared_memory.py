"""Memory that no process has for itself: shared pages that are mapped, and files that lie in memory and have no name."""
# ruff: noqa: PTH115, PTH116, PTH123, PTH208

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence

LOOKED_AT = 8_192
"""Open files that one look goes through at most."""


def shared(pids: Sequence[int]) -> dict[int, int]:
    """Bytes that each process holds together with others, each byte counted once; mapped and in a file is the larger."""
    left, seen = LOOKED_AT, set[tuple[int, int]]()
    found: dict[int, int] = {}
    for pid in pids:
        files = 0
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd")[:left]:
                left -= 1
                files += _unnamed(f"/proc/{pid}/fd/{name}", seen)
        found[pid] = max(files, _mapped(pid))
    return found


def _unnamed(path: str, seen: set[tuple[int, int]]) -> int:
    with contextlib.suppress(OSError):
        if os.readlink(path).startswith("/memfd:"):
            known = os.stat(path)
            if stat.S_ISREG(known.st_mode) and (known.st_dev, known.st_ino) not in seen:
                seen.add((known.st_dev, known.st_ino))
                return known.st_blocks * 512
    return 0


def _mapped(pid: int) -> int:
    """Its share of the shared pages that it has mapped; without a look into it, all of them."""
    for path, name in ((f"/proc/{pid}/smaps_rollup", b"Pss_Shmem:"), (f"/proc/{pid}/status", b"RssShmem:")):
        with contextlib.suppress(OSError, ValueError), open(path, "rb") as source:
            for line in source:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
    return 0
