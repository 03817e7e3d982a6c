"""What agents remember beyond their thread: facts of a server, or of a repository in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from agentic.core.events.execution_events import Exposure

PRIVATE = "a fact from a task with something private"
FOREIGN = "a fact that somebody else's task remembered"
About = Literal["server", "repository"]


@dataclass(frozen=True, slots=True)
class FactFound:
    """A fact with where it is from."""

    id: str
    text: str
    about: str
    """"this server", or the repository's name."""
    since: datetime
    thread: str
    """The thread whose task said it first."""
    turn: int
    approved: bool = False
    """A person looked at it."""
    private: bool = False
    """Something private was at hand where it was said."""
    foreign: bool = False
    """Nobody vouches for its words before the person whose task asks."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """Facts that fit a question, best first, of so many that are kept."""

    facts: tuple[FactFound, ...]
    kept: int


@dataclass(frozen=True, slots=True)
class FactKept:
    """What became of a fact that was to be remembered."""

    fact: FactFound
    waits: str = ""
    """Why a person has to approve it before it is used; '' where nobody has to."""
    replaces: str = ""
    """The fact whose place it takes."""
    alike: tuple[FactFound, ...] = ()
    """Others that are about much the same."""
    moved: bool = False
    """It is kept for the repository, which is private, and not for the server."""


class FactMemory(Protocol):
    """What the agents of one thread may remember and recall."""

    async def remember(self, call: str, fact: str, about: About, replaces: str) -> FactKept | str:
        """Keep a fact durably, once for each call; a text says why it is not kept."""
        ...

    async def recall(self, call: str, query: str) -> Recalled | str:
        """The facts that fit a call's question and hold in this thread; a text says why nobody can tell."""
        ...


def exposure_of(facts: Sequence[FactFound]) -> Exposure:
    """What a task is exposed to that is shown these facts."""
    return Exposure(
        untrusted=(FOREIGN,) if any(fact.foreign for fact in facts) else (),
        private=(PRIVATE,) if any(fact.private for fact in facts) else (),
    )
