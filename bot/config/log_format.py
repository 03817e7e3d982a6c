"""Logging to standard error: each record is one entry, whatever names are in it, and holds no prompt unless asked for."""

from __future__ import annotations

import logging
import unicodedata

OURS = ("agentic", "bot", "reflexion", "threadwright")
FORMS = "discord.gateway"
"""Writes whole events at ``debug``, also the forms in which people give us their tokens; so it never does."""
FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"
BESIDE = "\n  | "
"""Begins each further line of an entry, such as its traceback; no entry begins with it."""


def log_to_standard_error(level: str, *, prompts: bool) -> None:
    """Log from this level on. Libraries log whole requests at ``debug``, so they log from ``info`` on unless
    ``prompts`` is set.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(Entries(FORM))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    if level == "debug":
        logging.getLogger(FORMS).setLevel(logging.INFO)
    if level == "debug" and not prompts:
        logging.getLogger().setLevel(logging.INFO)
        for name in OURS:
            logging.getLogger(name).setLevel(logging.DEBUG)


class Entries(logging.Formatter):
    """Escapes characters that would end a line or steer a terminal, since a file's name may hold anything."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name that logging calls
        """Return the entry's first line."""
        return one_line(super().formatMessage(record))

    def formatException(self, ei: object) -> str:  # noqa: N802
        """Return a traceback with each line marked as part of the entry; an error's message may hold a file's name."""
        return _marked(super().formatException(ei))  # pyright: ignore[reportArgumentType]

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        """Return the stack with each line marked as part of the entry."""
        return _marked(super().formatStack(stack_info))


def one_line(value: object) -> str:
    """Escape everything in a text that ends a line, steers a terminal or turns the direction of reading."""
    return "".join(
        sign if unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp") else ascii(sign)[1:-1]
        for sign in str(value)
    )


def _marked(text: str) -> str:
    return BESIDE[1:] + BESIDE.join(one_line(line) for line in text.split("\n"))
