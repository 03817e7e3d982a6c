"""``python`` for every sandbox that has ``python3``: Debian has no such name, and models type it."""

from __future__ import annotations

import os
from pathlib import Path

SCRIPT = '#!/bin/sh\nexec python3 "$@"\n'
"""Whichever python3 comes first on the caller's PATH, so both names mean the same."""


def python_folder(state: Path) -> Path:
    """A folder below ``state`` with the command in it, readable by all; it goes to the end of a sandbox's PATH."""
    folder = state / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    command = folder / "python"
    if not command.is_file() or command.is_symlink() or command.read_text() != SCRIPT:
        fresh = folder / f".python.{os.getpid()}"
        fresh.write_text(SCRIPT)
        fresh.chmod(0o755)
        fresh.replace(command)
    return folder
