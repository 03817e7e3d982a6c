"""Answers to what a task asks on the command line: from ``--answer``, ``--yes``, standard input, or a person there."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence

from agentic.core.events.execution_events import Asked
from agentic.core.fold.people import ALLOW, DENY
from bot.cli.console import InputLines, note, plainly

FROM_INPUT = "-"
"""The value of ``--answer`` that reads standard input, a line for each question."""
_YES, _NO = frozenset(("yes", "y", "allow", "allow once")), frozenset(("no", "n", "deny"))
YES_OR_NO = "Answer with yes or no."


class Answers:
    """Gives the answers in their order; those of the command line first."""

    def __init__(self, given: Sequence[str] = (), *, yes: bool = False) -> None:
        self._given = deque(one for one in given if one != FROM_INPUT)
        self._yes = yes
        self._input = InputLines()
        self._person = sys.stdin.isatty()
        self._reads = self._person or FROM_INPUT in given
        self.possible = self._reads or yes or bool(given)
        """Whether anything can be answered at all."""

    async def to(self, asked: Asked) -> str | None:
        """Return the id of an option, or words; None where there is no answer."""
        if asked.sort in ("approval", "plan") and self._yes:
            return ALLOW
        note(_shown(asked))
        while (words := await self._next()) is not None:
            if choice := chosen(asked, words):
                note(f"Answered: {words}")
                return choice
            note(YES_OR_NO)
        return None

    async def _next(self) -> str | None:
        while self._given or self._reads:
            words = self._given.popleft() if self._given else await self._line()
            if not words:
                return None
            if words.strip():
                return words.strip()
        return None

    async def _line(self) -> str:
        if self._person:
            sys.stderr.write("> ")
            sys.stderr.flush()
        return await self._input.next()


def chosen(asked: Asked, words: str) -> str:
    """Return the id of the option that is meant by its label or number, else the words; '' where they do not answer."""
    if asked.sort == "approval":
        known = ALLOW if words.casefold() in _YES else DENY if words.casefold() in _NO else ""
        return known or next((each.id for each in asked.options if each.label.casefold() == words.casefold()), "")
    for number, option in enumerate(asked.options, 1):
        if words.casefold() in (option.label.casefold(), str(number)):
            return option.id
    return words


def _shown(asked: Asked) -> str:
    lines = [f"❓ {plainly(asked.text)}"] if asked.text else []
    lines += [f"   {part.text}" for part in asked.parts]
    lines += [f"   {number}. {option.label}" for number, option in enumerate(asked.options, 1)]
    return "\n".join(lines)
