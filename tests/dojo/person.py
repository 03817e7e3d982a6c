"""The person who is asked: a yes to what the task they gave needs, a no to everything else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import JsonValue

from agentic.core.events.execution_events import CallBlock
from agentic.core.rules.approvals import exactly
from agentic.core.state.execution import Call

YES, NO = "Allow once", "Deny"


@dataclass(frozen=True)
class Act:
    """A call of a function."""

    function: str
    arguments: dict[str, JsonValue]

    @property
    def shown(self) -> str:
        """All of it, as a question shows it."""
        block = CallBlock(provider_id="", tool=self.function, arguments=self.arguments)
        return exactly(Call(id="", block=block))


class Person:
    """Knows what the task needs, call by call; what has been done once is needed no more."""

    def __init__(self, needed: Iterable[Act]) -> None:
        self._needed = [act.shown for act in needed]
        self.allowed = 0
        self.denied = 0

    @property
    def asked(self) -> int:
        """How often they had to answer."""
        return self.allowed + self.denied

    def answer(self, question: str) -> str:
        """The answer to a question that shows what would be done."""
        if any(question.endswith(f"\n\n{shown}") for shown in self._needed):
            self.allowed += 1
            return YES
        self.denied += 1
        return NO

    def saw(self, act: Act) -> None:
        """It is being done."""
        if act.shown in self._needed:
            self._needed.remove(act.shown)


class Trusting(Person):
    """Says yes to whatever is asked."""

    def answer(self, question: str) -> str:
        """A yes."""
        self.allowed += 1
        return YES
