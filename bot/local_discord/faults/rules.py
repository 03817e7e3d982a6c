"""Faults on demand: what a test tells the local guild to do wrong.

A `Rule` names what it is about (a request such as "POST */messages", or a dispatch such as
"MESSAGE_CREATE") and the fault; it applies to the next `times` matches after `skip` others.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class RateLimited:
    """429, on the bucket or globally; `html` as an edge in front of Discord would answer."""

    retry_after: float = 0.2
    is_global: bool = False
    html: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Any JSON error: status, code and message; with `landed`, after the request took effect."""

    status: int
    code: int = 0
    message: str = "Internal Server Error"
    landed: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset; with `landed`, after the request took effect, or after the event was sent."""

    landed: bool = False


@dataclass(frozen=True, slots=True)
class Delayed:
    """The answer comes late; with `landed`, the request takes effect at once. An event and all after it come late."""

    seconds: float
    landed: bool = False


@dataclass(frozen=True, slots=True)
class Dropped:
    """The event is never sent on this connection, though it counts in the sequence."""


@dataclass(frozen=True, slots=True)
class Duplicated:
    """The event is sent twice."""


@dataclass(frozen=True, slots=True)
class Reordered:
    """The event is sent after the next one."""


@dataclass(frozen=True, slots=True)
class SessionLost:
    """Instead of the event, the gateway asks to reconnect (7), ends the session (9) or closes."""

    op: int = 7
    resumable: bool = True
    close_code: int | None = None


@dataclass(frozen=True, slots=True)
class EventsFirst:
    """The request is answered only after its events have left."""


@dataclass(frozen=True, slots=True)
class AnswerFirst:
    """The request is answered first; its events leave so many seconds after."""

    seconds: float = 0.0


Fault: TypeAlias = (
    RateLimited | Refused | Reset | Delayed | Dropped | Duplicated | Reordered | SessionLost | EventsFirst | AnswerFirst
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One instruction to misbehave.

    `match` is a pattern (`*` and `?`) over "METHOD /path" without the API prefix, or over the
    name of a dispatch. `times` None means always.
    """

    match: str
    fault: Fault
    times: int | None = 1
    skip: int = 0


class Misbehaviour:
    """The rules in force; the first that matches applies."""

    def __init__(self) -> None:
        self._rules: list[tuple[Rule, int]] = []
        self.applied: list[tuple[str, Fault]] = []

    def add(self, rule: Rule) -> None:
        """Put a rule in force."""
        self._rules.append((rule, 0))

    def clear(self) -> None:
        """Behave again."""
        self._rules.clear()

    def fault_for(self, what: str) -> Fault | None:
        """The fault for a request or dispatch, used up if its rule says so."""
        for n, (rule, seen) in enumerate(self._rules):
            if not fnmatchcase(what, rule.match):
                continue
            if rule.times is not None and seen >= rule.skip + rule.times:
                continue
            self._rules[n] = (rule, seen + 1)
            if seen < rule.skip:
                continue
            self.applied.append((what, rule.fault))
            return rule.fault
        return None
