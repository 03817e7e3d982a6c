"""The sign of life that every sandbox of a process needs: one thread gives it to all of them.

A supervisor ends everything when it hears nothing of its owner for some seconds.  That is for an owner who is dead or
frozen, and a thread is both exactly when its process is; the event loop may stand for a while (a slow disk, a long
computation) and loses nothing by it.

But an owner may lose a thread while its loop stands: nobody renews the lease then, and another process takes the thread.
So whoever holds a lease says until when its effects may go on (``allow``), and past that the sandbox of the thread hears
nothing more, and ends before the lease runs out.  Where no lease is held, a loop that stands for ``STANDS_SECONDS`` is
given up: nobody could stop what runs there.
"""

from __future__ import annotations

import asyncio
import json
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from agentic.core.events.ids import thread_of

STANDS_SECONDS = 30.0
SHARE = 6
"""So many beats in the time after which a sandbox misses them."""


class BeatTarget(Protocol):
    """The way to one sandbox."""

    def beat(self, frame: bytes) -> None:
        """Send it, or whatever waits to be sent; without waiting."""
        ...


def _frame() -> bytes:
    header = json.dumps({"op": "beat"}).encode()
    return struct.pack("!II", len(header), 0) + header


class Heartbeat:
    """Beats for the sandboxes that were added; its thread lives while there is one."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._outlets: dict[BeatTarget, tuple[str, float]] = {}
        self._until: dict[str, float] = {}
        self._changed = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._heard = 0.0

    def add(self, thread: str, outlet: BeatTarget, seconds: float) -> None:
        """Beat for a sandbox of this thread, which gives its owner up after so many seconds without."""
        with self._lock:
            self._outlets[outlet] = (thread_of(thread), seconds)
            self._loop, self._heard = asyncio.get_running_loop(), self._monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat_on, name="sandbox-heartbeat", daemon=True)
                self._thread.start()
        self._changed.set()

    def remove(self, outlet: BeatTarget) -> None:
        """Beat for it no longer."""
        with self._lock:
            self._outlets.pop(outlet, None)
        self._changed.set()

    def allow(self, thread: str, until: float | None) -> None:
        """Effects in the thread may go on until then, on the monotonic clock; None: no lease is held there."""
        with self._lock:
            if until is None:
                self._until.pop(thread, None)
            else:
                self._until[thread] = until

    def _beat_on(self) -> None:
        frame = _frame()
        while True:
            self._changed.clear()
            with self._lock:
                if not self._outlets:
                    self._thread = None
                    return
                loop, outlets = self._loop, self._due()
                pause = min(seconds for _, seconds in self._outlets.values()) / SHARE
            for outlet in outlets:
                outlet.beat(frame)
            if loop is not None:
                with suppress(RuntimeError):  # it is closed
                    loop.call_soon_threadsafe(self._hear)
            self._changed.wait(pause)

    def _due(self) -> list[BeatTarget]:
        now, stands = self._monotonic(), self._heard + STANDS_SECONDS
        return [outlet for outlet, (thread, _) in self._outlets.items() if now < self._until.get(thread, stands)]

    def _hear(self) -> None:
        self._heard = self._monotonic()
