"""Write a file that only the bot's user can read, whole or not at all: tokens, approvals, what was agreed to."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_private(file: Path, content: str | bytes, *, runs: bool = False) -> None:
    """Put a text in place of what a file holds; the folder is made where it is missing.  ``runs``: it may be executed.

    It is on the disk before what was there is gone, and readable by nobody else at any moment.  What a crash leaves beside
    it begins with a dot and the file's name.  Raises ``OSError``, and then all is as it was.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}.{secrets.token_hex(6)}")
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(fresh, how, 0o700 if runs else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
