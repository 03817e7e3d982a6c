"""Ctrl-C and SIGTERM: how a command is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager


def heed_interrupts(*, termination: bool) -> None:
    """Have Ctrl-C end this process, and with ``termination`` SIGTERM the same way.

    A shell's script starts what it puts into the background with Ctrl-C ignored, which Python keeps: `threadwright logs
    --follow` would have no end there.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if termination:
        signal.signal(signal.SIGTERM, signal.default_int_handler)


@contextmanager
def stop_signals(stopped: asyncio.Event) -> Generator[None]:
    """End in order at the first Ctrl-C or SIGTERM, at once at the second, as a crash would: everything that matters is
    durable.
    """
    loop = asyncio.get_running_loop()

    def ask(signal_number: int) -> None:
        if stopped.is_set():
            os._exit(128 + signal_number)
        stopped.set()

    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, ask, signal_number)
    try:
        yield
    finally:
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(ValueError):
                loop.remove_signal_handler(signal_number)
