"""Whose a sandbox is: marks by which what a dead process left behind is told from what a living one uses."""

from __future__ import annotations

import hashlib
from pathlib import Path


def home_mark(state: Path) -> str:
    """The home that a sandbox belongs to."""
    return hashlib.sha256(str(state.resolve()).encode()).hexdigest()[:24]


def process_mark(pid: int) -> str:
    """A process, told apart from any later one with its number: boot, number, start time; '' if there is none."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        started = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except OSError:
        return ""
    return f"{boot}:{pid}:{started}"


def lives(mark: str) -> bool:
    """The process with this mark is still there."""
    parts = mark.split(":")
    return len(parts) == 3 and parts[1].isdecimal() and process_mark(int(parts[1])) == mark
