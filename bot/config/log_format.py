"""The log on standard error: a record is one entry, whatever names stand in it, and holds no prompt unless asked for."""

from __future__ import annotations

import logging
import unicodedata

OURS = ("agentic", "bot", "reflexion", "threadwright")
FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"
BESIDE = "\n  | "
"""Begins each further line of an entry, which is its traceback; no entry begins so."""


def log_to_standard_error(level: str, *, prompts: bool) -> None:
    """Log from this level on.  Libraries write whole requests at ``debug``: theirs begins at ``info`` unless ``prompts``."""
    handler = logging.StreamHandler()
    handler.setFormatter(Entries(FORM))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    if level == "debug" and not prompts:
        logging.getLogger().setLevel(logging.INFO)
        for name in OURS:
            logging.getLogger(name).setLevel(logging.DEBUG)


class Entries(logging.Formatter):
    """Writes what would end a line, or steer a terminal, as an escape: a file's name may hold anything."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name that logging calls
        """The entry's first line."""
        return one_line(super().formatMessage(record))

    def formatException(self, ei: object) -> str:  # noqa: N802
        """A traceback, each line marked as belonging to the entry before; the message of an error may hold a name."""
        return _marked(super().formatException(ei))  # pyright: ignore[reportArgumentType]

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        """Where it was logged, marked likewise."""
        return _marked(super().formatStack(stack_info))


def one_line(value: object) -> str:
    """A text in which nothing ends a line, steers a terminal or turns the direction of reading."""
    return "".join(
        sign if unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp") else ascii(sign)[1:-1]
        for sign in str(value)
    )


def _marked(text: str) -> str:
    return BESIDE[1:] + BESIDE.join(one_line(line) for line in text.split("\n"))
