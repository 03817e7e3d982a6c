"""The sign of life of a command that waits long: what it does, and for how many seconds, on standard error."""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from typing import TextIO

FIRST_SECONDS = (2.0, 5.0, 10.0, 20.0)
EACH_SECONDS = 30.0
"""After how many seconds of one wait a line is printed where nothing moves, and how often after that."""
_ERASE = "\r\x1b[K"


class LifeLine:
    """Shows what is done now: at a terminal a line with moving seconds, elsewhere lines that come ever more seldom.

    A thread shows it, so also what keeps the event loop or the imports busy does not silence it. It begins with the first
    words. At a terminal the cursor stays at the line's beginning, so what others print there goes over it.
    """

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._moves = self._out.isatty()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._over = False
        self._doing, self._since, self._due = "", 0.0, 0.0

    def __enter__(self) -> LifeLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.now("")
        with self._changed:
            self._over = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def now(self, doing: str, *, printed: bool = False) -> None:
        """Begin something else, '' for nothing that takes time; ``printed``: a line says so at once everywhere."""
        with self._changed:
            if doing == self._doing:
                return
            if self._doing:
                self._erase()
            self._doing, self._since, self._due = doing, time.monotonic(), FIRST_SECONDS[0]
            if printed and not self._moves:
                self._write(f"{doing} …\n")
            if self._thread is None and doing:
                thread = threading.Thread(target=self._show, daemon=True, name="life line")
                thread.start()
                self._thread = thread  # a signal may come at any moment, and what never began cannot be waited for
            self._changed.notify()

    def note(self, text: str) -> None:
        """Print a line that stays."""
        with self._changed:
            self._erase()
            self._write(f"{text}\n")
            self._changed.notify()

    def _show(self) -> None:
        with self._changed:
            while not self._over:
                self._changed.wait(self._shown() if self._doing else None)

    def _shown(self) -> float:
        """Show what is due; returns the seconds until there is more to show."""
        waited = time.monotonic() - self._since
        if self._moves:
            columns = max(shutil.get_terminal_size().columns - 1, 1)
            self._write(f"{_ERASE}{f'{self._doing} ({seconds_in_words(int(waited))})'[:columns]}\r")
            return 1.0 - waited % 1.0
        if waited >= self._due:
            self._write(f"{self._doing} ({seconds_in_words(int(waited))}) …\n")
            later = (each for each in FIRST_SECONDS if each > waited)
            self._due = next(later, (waited // EACH_SECONDS + 1) * EACH_SECONDS)
        return self._due - waited

    def _erase(self) -> None:
        if self._moves:
            self._write(_ERASE)

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the reader is gone: what is shown must not end the work
            self._out.write(text)
            self._out.flush()


def seconds_in_words(seconds: int) -> str:
    """Return ``12 s`` or ``2 min 5 s``."""
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"
