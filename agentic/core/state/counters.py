"""What the rules of judgement count beside ``Judged``: parts of the state, each with one rule that owns it."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentic.core.events.execution_events import Purpose, Whose


@dataclass(frozen=True)
class Result:
    """What came of a call, numbered; ``mark`` tells most of them apart at once."""

    number: int
    text: str
    mark: int


@dataclass(frozen=True)
class Check:
    """A call whose last result was a failure."""

    call: str
    number: int
    """Which result it was."""
    error: str
    changes: int = 0
    """Through how many changes it failed alike."""
    since: int = 0
    """How often there had been progress by then."""


@dataclass(frozen=True)
class Repeats:
    """What repeats itself, for ``repetition``; all of it counts from the last escalation or decision of a person."""

    steps: tuple[tuple[str, int], ...] = ()
    """(call, number of its result) since real progress, oldest first; 0 where it succeeded in silence."""
    results: tuple[Result, ...] = ()
    count: int = 0
    """How many different results there were."""
    checks: tuple[Check, ...] = ()
    changes: int = 0
    """How often there was real progress."""
    contents: frozenset[str] = frozenset()
    """Contents that files had."""
    moved: frozenset[str] = frozenset()
    """Calls that made progress; done again as they are, they make none."""
    most_passed: int | None = None
    """The most tests that passed in one run."""
    patience: int = 0
    """Results since real progress that were waited through: a server that is not up yet, or has trouble."""
    news: bool = False
    """This turn told something new, or made progress."""
    stepped: bool = False
    """This turn had a step that counts."""
    acted: bool = False
    """This turn used a tool that looks or acts."""
    stale_turns: int = 0
    """Turns running that told nothing new."""
    idle_turns: int = 0
    """Turns running without a tool that looks or acts."""


@dataclass(frozen=True)
class Climb:
    """What calls for a stronger model, for ``escalation_signs``; the counts begin anew with each escalation and advice."""

    low_turns: int = 0
    """Turns running whose confidence was under the threshold."""
    unchanged_turns: int = 0
    """Turns without a file changed since one was, but those that count as learned."""
    learned_turns: int = 0
    """Turns since a file was changed that told something new, as many as that counts for."""
    corrections: int = 0
    wanted: str = ""
    """Why a person or the model itself asked for a stronger model, in words; '' where nobody did."""
    by_person: bool = False
    """It was a person who asked."""
    calm_turns: int = 0
    """Turns running in which nothing failed, the last tests included."""
    advised: int = 0
    """Advices of a stronger model since the last escalation."""
    rests_through: int = 0
    """Through this turn no trigger fires."""
    risen: int = 0
    """Escalations so far, in the whole execution."""
    came_down: bool = False
    """It went back to a lower tier, which it does once."""


@dataclass(frozen=True)
class DayRaise:
    """What people added to a cap that executions share, for a day; it counts once for its ``question``."""

    question: str
    whose: Whose
    day: str
    usd: float


@dataclass(frozen=True)
class Consulted:
    """What a request beside the turns (triage, advice, a summary) came to, until a rule has made something of it."""

    purpose: Purpose
    text: str = ""
    failed: str = ""
    """Why there is no answer, in words; '' where there is one."""
    model: str = ""
    tier: int = 0
    lost: bool = False
    """Its request was ended from our side, so the same can be asked again."""


@dataclass(frozen=True)
class Watches:
    """What watchers have looked at, and what the next request says of it."""

    looked: dict[str, int] = field(default_factory=dict[str, int])
    """The turn after which each of them looked last, before a model was asked."""
    failed: dict[str, int] = field(default_factory=dict[str, int])
    """How often each gave no answer in a row."""
    notes: tuple[tuple[str, str], ...] = ()
    """(watcher, words) until an answer has been given in their sight."""
