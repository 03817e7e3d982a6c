"""Rules by which a test makes the local Discord misbehave.

A `Rule` names what it is about (a request such as "POST */messages", or a dispatch such as
"MESSAGE_CREATE") and the fault; it applies to the next `times` matches after `skip` others.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class RateLimited:
    """Answer 429, for the bucket or globally; with `html`, as the edge in front of Discord does."""

    retry_after: float = 0.2
    is_global: bool = False
    html: bool = False


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """Answer with any JSON error; with `landed`, after the request took effect."""

    status: int
    code: int = 0
    message: str = "Internal Server Error"
    landed: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the connection; with `landed`, after the request took effect, or after the event was sent."""

    landed: bool = False


@dataclass(frozen=True, slots=True)
class Delayed:
    """Answer late; with `landed`, the request takes effect at once. An event is sent late, with all that follow it."""

    seconds: float
    landed: bool = False


@dataclass(frozen=True, slots=True)
class Dropped:
    """Never send the event on this connection, though it counts in the sequence."""


@dataclass(frozen=True, slots=True)
class Duplicated:
    """Send the event twice."""


@dataclass(frozen=True, slots=True)
class Reordered:
    """Send the event after the next one."""


@dataclass(frozen=True, slots=True)
class SessionLost:
    """Instead of the event, ask to reconnect (7), end the session (9) or close."""

    op: int = 7
    resumable: bool = True
    close_code: int | None = None


@dataclass(frozen=True, slots=True)
class EventsFirst:
    """Answer the request only after its events were sent."""


@dataclass(frozen=True, slots=True)
class AnswerFirst:
    """Answer the request first; send its events so many seconds later."""

    seconds: float = 0.0


Fault: TypeAlias = (
    RateLimited
    | ErrorAnswer
    | Reset
    | Delayed
    | Dropped
    | Duplicated
    | Reordered
    | SessionLost
    | EventsFirst
    | AnswerFirst
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One instruction to misbehave.

    `match` is a pattern (`*` and `?`) over "METHOD /path" without the API prefix, or over the name of a dispatch.
    `times` None means always.
    """

    match: str
    fault: Fault
    times: int | None = 1
    skip: int = 0


class Misbehaviour:
    """The active rules; the first that matches applies."""

    def __init__(self) -> None:
        self._rules: list[tuple[Rule, int]] = []
        self.applied: list[tuple[str, Fault]] = []

    def add(self, rule: Rule) -> None:
        """Activate a rule."""
        self._rules.append((rule, 0))

    def clear(self) -> None:
        """Remove all rules."""
        self._rules.clear()

    def fault_for(self, what: str) -> Fault | None:
        """Return the fault for a request or dispatch, and count it against its rule."""
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
