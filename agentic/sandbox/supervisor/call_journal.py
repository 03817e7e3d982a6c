"""What was asked for under a key, written down where no command can reach it: that it began, and what it came to.

Whoever has the thread after our owner died reads there what ended and what never began
(``agentic/sandbox/protocol/call_journal.py``).
What began is written before it begins, what it came to before the owner hears of it.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os

from .frames import Json

MOST = 4 * 1024 * 1024
"""Above so many bytes only that something ended is written, and no longer what it came to."""
TITLE = 1024


class Diary:
    """``where`` is a descriptor or a path; '' for none.  We hold its lock until we are gone."""

    def __init__(self, where: str) -> None:
        self.id = ""
        """Under which name intents refer to it, '' where nothing is written."""
        self._file = -1
        if where:
            self._open(where)

    def _open(self, where: str) -> None:
        try:
            self._file = int(where) if where.isdecimal() else os.open(where, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            os.set_inheritable(self._file, False)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            title = json.loads(os.pread(self._file, TITLE, 0).partition(b"\n")[0])
            self.id = str(title["diary"])
        except (OSError, ValueError, KeyError, TypeError):
            return

    def began(self, key: str) -> None:
        """It begins now.  Raises ``OSError`` where that can neither be written nor the whole be made void."""
        self._write({"began": key})

    def ended(self, key: str, header: dict[str, Json], payload: bytes) -> None:
        """It came to this."""
        line: dict[str, Json] = {"ended": key}
        if self.id and os.fstat(self._file).st_size + len(payload) < MOST:
            line.update({"header": header, "payload": base64.b64encode(payload).decode()})
        self._write(line)

    def _write(self, line: dict[str, Json]) -> None:
        if not self.id:
            return
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            whole = os.write(self._file, data) == len(data)
        except OSError:
            whole = False
        if not whole:  # what is missing from now on would be taken for what never began
            self.id = ""
            os.ftruncate(self._file, 0)
