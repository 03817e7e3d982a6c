"""Output of commands: results to standard output, errors to standard error; Discord's markup as plain text."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import shutil
import sys
import textwrap
import threading
from datetime import datetime
from typing import TextIO

_CODE = re.compile(r"(?<!\\)(?:```.*?```|`[^`\n]+`)", re.DOTALL)
_KEPT = re.compile("\x00(\\d+)\x00")
_SMALL = re.compile(r"^-# ", re.MULTILINE)
_BOLD = re.compile(r"(?<!\\)\*\*(?=\S)(.{1,300}?)(?<=\S)(?<!\\)\*\*")
_TIME = re.compile(r"<t:(\d{1,11})(?::[tTdDfFR])?>")
_PING = re.compile(r"(?: · |^-# )<@&?\d{15,20}>$", re.MULTILINE)
_ESCAPED = re.compile(r"\\([\\*_~`|>\[\]#<])")


def plainly(text: str) -> str:
    """Return the text without pings and the marks of small print and bold, with times as clocks show them; code stays."""
    codes: list[str] = []

    def keep(found: re.Match[str]) -> str:
        codes.append(found[0])
        return f"\x00{len(codes) - 1}\x00"

    bare = _CODE.sub(keep, text.replace("\x00", ""))
    bare = _BOLD.sub(r"\1", _SMALL.sub("", _TIME.sub(_clock, _PING.sub("", bare))))
    return _KEPT.sub(lambda found: codes[int(found[1])], _ESCAPED.sub(r"\1", bare))


def _clock(found: re.Match[str]) -> str:
    return f"{datetime.fromtimestamp(int(found[1])).astimezone():%Y-%m-%d %H:%M:%S}"


NO_WALLS = (
    "⚠ No sandbox: commands run on this machine with all your rights (THREADWRIGHT_SANDBOX=host). "
    "THREADWRIGHT_SANDBOX=auto brings the sandbox back."
)
NO_FOLDER = "There is no folder {folder}. Make it first, or name another one."


def say(text: str) -> None:
    """Print a line of the result."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def tell(text: str) -> None:
    """Print lines of a result, at a terminal broken between words and with their indentation; a link stays whole."""
    if sys.stdout.isatty():
        width = max(shutil.get_terminal_size().columns, 40)
        text = "\n".join(_wrapped(line, width) for line in text.split("\n"))
    say(text)


def _wrapped(line: str, width: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, replace_whitespace=False
    )


def note(text: str) -> None:
    """Print a line beside the result."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def fail(text: str) -> int:
    """Print what went wrong; returns the exit code."""
    note(text)
    return 1


class InputLines:
    """Reads standard input beside other work. Its thread may wait for ever, so it ends with the process."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str] | None = None

    async def next(self) -> str:
        """Return the next line; '' at the end of the input."""
        if self._lines is None:
            self._lines, loop = asyncio.Queue(), asyncio.get_running_loop()
            threading.Thread(target=_read, args=(self._lines, loop), daemon=True, name="standard input").start()
        return await self._lines.get()


def _read(lines: asyncio.Queue[str], loop: asyncio.AbstractEventLoop) -> None:
    while True:
        line = sys.stdin.readline()
        try:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        except RuntimeError:  # the loop is closed: nobody asks any more
            return
        if not line:
            return


def not_written(target: object, error: OSError) -> str:
    """Say why a file could not be written, and what to do; it names the final file, not a temporary one."""
    room = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{target} ({error.strerror or error}). {'Make room, or name' if room else 'Name'} another folder."


def print_to(out: TextIO, text: str) -> None:
    """Print lines of a result; never raises, since printing about work must not end it."""
    try:
        out.write(text + "\n")
        out.flush()
    except OSError as error:
        nobody_reads(out.fileno())
        if not isinstance(error, BrokenPipeError):
            with contextlib.suppress(OSError):
                note(f"Standard output can't be written to ({error.strerror}), so nothing more is printed.")


def nobody_reads(descriptor: int) -> None:
    """Discard further output, because the reader of a pipe is gone, as `head` is after its lines."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def open_standard_streams() -> None:
    """Open standard streams that were closed for the process (`<&-`) as empty ones, so that nothing else takes their
    numbers.
    """
    for descriptor, stream, mode in ((0, sys.__stdin__, "r"), (1, sys.__stdout__, "w"), (2, sys.__stderr__, "w")):
        if stream is None:
            _open_nowhere(descriptor, mode)


def _open_nowhere(descriptor: int, mode: str) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
    stream = os.fdopen(descriptor, mode, encoding="utf-8", closefd=False)
    setattr(sys, ("stdin", "stdout", "stderr")[descriptor], stream)
