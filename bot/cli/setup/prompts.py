"""Ask a person at a terminal, or read answers from a pipe, a line each; secrets are never shown."""

from __future__ import annotations

import contextlib
import sys
import termios
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import TypeVar

from bot.cli.console import note

ATTEMPTS = 5
MARKS: Mapping[str, str] = {"ok": "✔", "warning": "!", "wrong": "✘", "refused": "✘", "unknown": "?"}


class NoAnswer(Exception):
    """Nobody answered a question, or the piped input cannot be used; the message says what to do."""


class Unusable(Exception):
    """The answer cannot be used; the message says what is allowed."""


class SetupFailed(Exception):
    """An argument is wrong; the message says which and why."""


Read = TypeVar("Read")


class SetupPrompts:
    """Asks on standard error, so that standard output can be redirected; ``proposals``: accept every proposal."""

    def __init__(self, *, proposals: bool = False) -> None:
        self.proposals = proposals
        self.at_terminal = sys.stdin.isatty()

    def ask(
        self, question: str, flag: str, *, proposal: str = "", shown: str = "", secret: bool = False,
        read: Callable[[str], Read] = str,
    ) -> Read:  # fmt: skip
        """Return an answer that ``read`` accepts; Enter accepts the proposal (displayed as ``shown``). Raises
        ``NoAnswer``.
        """
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

    def _read(self, question: str, flag: str, proposal: str, read: Callable[[str], Read]) -> Read:
        try:
            return read(proposal)
        except Unusable as why:
            raise NoAnswer(f"“{question}”: {why} Give it with {flag}.") from None

    def sure(self, question: str, flag: str) -> bool:
        """Whether a person says yes; Enter, and accepted proposals, mean no."""
        return self.ask(f"{question} (y; Enter: no)", flag, read=_yes)

    def again(self, question: str) -> bool:
        """Whether a person at the terminal wants something checked again; False for a pipe."""
        if self.proposals or not self.at_terminal:
            return False
        return not self._line(f"{question} (Enter: check again, s: skip)", "", "").strip()

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


def secret_in(file: Path) -> str:
    """Return the secret in a file; raises ``SetupFailed`` where it is empty."""
    text = file.read_text(encoding="utf-8", errors="replace").strip()
    if not text:
        raise SetupFailed(f"{file} is empty.")
    return text


def _yes(said: str) -> bool:
    if said.lower() not in ("", "y", "yes", "n", "no"):
        raise Unusable("Write y or n.")
    return said.lower().startswith("y")


@contextlib.contextmanager
def _unseen() -> Generator[None]:
    """Hide typed input; what was typed before is kept."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    silent = termios.tcgetattr(descriptor)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
