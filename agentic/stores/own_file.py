"""A file that one process works on alone, found again by the next one: a copy of what is kept elsewhere."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path


def own_file(folder: Path, name: str) -> tuple[Path, Callable[[], None]]:
    """The first of ``name-0``, ``name-1``, … that no other process works on, and what lets go of it.

    It is let go of by the end of the process too, however that comes.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in count():
        path = folder / f"{name}-{number}"
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
        else:
            return path, partial(os.close, descriptor)
    raise AssertionError("numbers do not end")
