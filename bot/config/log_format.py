"""Logging to standard error: each record is one entry, whatever names are in it, and holds no prompt unless asked for.

An entry is a line for people, or a line of JSON with the ids of the thread, execution, request and call that it is about.
Secrets are taken out of both.
"""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

from agentic.log_context import about
from bot.rendering.secrets import Discretion

OURS = ("agentic", "bot", "reflexion", "threadwright")
FORMS = "discord.gateway"
"""Writes whole events at ``debug``, also the forms in which people give us their tokens; so it never does."""
FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"
BESIDE = "\n  | "
"""Begins each further line of an entry, such as its traceback; no entry begins with it."""
MESSAGE_CHARACTERS, ERROR_CHARACTERS = 8_000, 16_000
"""So much of a message and of a traceback stands in a line of JSON."""


def log_to_standard_error(
    level: str, *, prompts: bool, form: Literal["text", "json"] = "text", secrets: Iterable[str] = ()
) -> None:
    """Log from this level on, without ``secrets``. Libraries log whole requests at ``debug``, so they log from ``info``
    on unless ``prompts`` is set.
    """
    handler = logging.StreamHandler()
    discretion = Discretion(secrets)
    handler.setFormatter(JsonEntries(discretion) if form == "json" else Entries(FORM, discretion))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    if level == "debug":
        logging.getLogger(FORMS).setLevel(logging.INFO)
    if level == "debug" and not prompts:
        logging.getLogger().setLevel(logging.INFO)
        for name in OURS:
            logging.getLogger(name).setLevel(logging.DEBUG)


class Entries(logging.Formatter):
    """Escapes characters that would end a line or steer a terminal, since a file's name may hold anything."""

    def __init__(self, form: str, discretion: Discretion | None = None) -> None:
        super().__init__(form)
        self._discretion = discretion or Discretion()

    def format(self, record: logging.LogRecord) -> str:
        """Return the entry without secrets."""
        return self._discretion.text(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name that logging calls
        """Return the entry's first line."""
        return one_line(super().formatMessage(record))

    def formatException(self, ei: object) -> str:  # noqa: N802
        """Return a traceback with each line marked as part of the entry; an error's message may hold a file's name."""
        return _marked(super().formatException(ei))  # pyright: ignore[reportArgumentType]

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        """Return the stack with each line marked as part of the entry."""
        return _marked(super().formatStack(stack_info))


class JsonEntries(logging.Formatter):
    """Writes each entry as one line of JSON; characters beyond ASCII are escaped in it."""

    def __init__(self, discretion: Discretion) -> None:
        super().__init__()
        self._discretion = discretion

    def format(self, record: logging.LogRecord) -> str:
        """Return the line: time, level, logger, message, the ids of what it is about, and a traceback if there is one."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._discretion.text(record.getMessage())[:MESSAGE_CHARACTERS],
            **about(),
        }
        if record.exc_info:
            line["error"] = self._discretion.text(self.formatException(record.exc_info))[-ERROR_CHARACTERS:]
        return json.dumps(line)


def one_line(value: object) -> str:
    """Escape everything in a text that ends a line, steers a terminal or turns the direction of reading."""
    return "".join(
        sign if unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp") else ascii(sign)[1:-1]
        for sign in str(value)
    )


def _marked(text: str) -> str:
    return BESIDE[1:] + BESIDE.join(one_line(line) for line in text.split("\n"))
