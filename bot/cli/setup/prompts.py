"""Asks a person at a terminal, or reads the answers from a pipe, a line each; secrets are never shown."""

from __future__ import annotations

import contextlib
import sys
import termios
from collections.abc import Callable, Generator

from bot.cli.console import note

ATTEMPTS = 5


class NoAnswer(Exception):
    """Nobody answered a question, or what was piped in cannot be used; the message says what to do."""


class Unusable(Exception):
    """An answer that cannot be used; the message says what may be written."""


class SetupPrompts:
    """Puts questions on standard error, so that standard output can be kept; ``proposals``: take what is proposed."""

    def __init__(self, *, proposals: bool = False) -> None:
        self.proposals = proposals
        self.at_terminal = sys.stdin.isatty()

    def ask(
        self, question: str, flag: str, *, proposal: str = "", shown: str = "", secret: bool = False,
        read: Callable[[str], str] = str,
    ) -> str:  # fmt: skip
        """An answer that ``read`` takes; Enter takes the proposal (told as ``shown``).  Raises ``NoAnswer``."""
        if self.proposals:
            return self._read(question, flag, proposal, read)
        for _ in range(ATTEMPTS):
            said = self._line(question, flag, shown or proposal, secret=secret).strip() or proposal
            try:
                return read(said)
            except Unusable as why:
                if not self.at_terminal:
                    raise NoAnswer(f"“{question}”: {why} Nothing was written.") from None
                note(f"  {why}")
        raise NoAnswer(f"“{question}” got no answer that can be used. Nothing was written.")

    def _read(self, question: str, flag: str, proposal: str, read: Callable[[str], str]) -> str:
        try:
            return read(proposal)
        except Unusable as why:
            raise NoAnswer(f"“{question}”: {why} Give it with {flag}.") from None

    def again(self, question: str) -> bool:
        """Whether a person at the terminal wants something to be checked again; never asked of a pipe."""
        if self.proposals or not self.at_terminal:
            return False
        return not self._line(f"{question} (Enter: check again, s: go on without)", "", "").strip()

    def _line(self, question: str, flag: str, shown: str, *, secret: bool = False) -> str:
        with _unseen() if secret and self.at_terminal else contextlib.nullcontext():
            sys.stderr.write(f"{question}{f' [{shown}]' if shown else ''}: ")
            sys.stderr.flush()
            line = sys.stdin.readline()
        if secret or not self.at_terminal:
            sys.stderr.write("\n")
        if not line:
            by = f", or give {flag}" if flag else ""
            raise NoAnswer(f"Nobody answered “{question}”. Run it in a terminal{by}. Nothing was written.")
        return line.rstrip("\r\n")


@contextlib.contextmanager
def _unseen() -> Generator[None]:
    """What is typed is not shown; what was typed ahead is kept."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    silent = termios.tcgetattr(descriptor)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
