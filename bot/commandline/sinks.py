"""What `threadwright task` shows of events as they come; a reader that is gone never stops the work."""

from __future__ import annotations

import contextlib
from typing import TextIO

from agentic.core.events import Envelope, ToolStarted
from bot.commandline.markup import plainly
from bot.commandline.output import print_to
from bot.progress import Progress
from bot.wording import progress_text


class JsonLines:
    """A sink that prints each event as one line."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def saw(self, envelope: Envelope) -> None:
        """Print it."""
        print_to(self._out, envelope.model_dump_json())

    def streamed(self, execution: str, text: str) -> None:
        """Pieces of text are no events."""


class Steps:
    """A sink that prints a line when a step begins, for somebody who waits at a terminal."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def saw(self, envelope: Envelope) -> None:
        """Print it if it is a step."""
        if isinstance(envelope.event, ToolStarted):
            alone = Progress(envelope.execution)
            alone.take(envelope)
            with contextlib.suppress(OSError):
                self._out.write(plainly(progress_text(alone).partition("\n")[0]) + "\n")
                self._out.flush()

    def streamed(self, execution: str, text: str) -> None:
        """Pieces of text are no steps."""
