"""Where the time of a task went: model, tools, waiting for a person, suspended, and what is explained by none of these.

Each moment counts once, for the first of ``KINDS`` that explains it, so that the parts add up to the whole however much
ran side by side. Of a process that died nobody knows when: from its last event on the time counts as suspended.
A fork's time begins where it goes on by itself; what was copied before is the time of another task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from agentic.core.events.execution_events import (
    Asked,
    DeadlinePassed,
    Decided,
    Envelope,
    Event,
    Finished,
    Gated,
    HandedOver,
    InputReceived,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OwnerChanged,
    Quarantined,
    ToolFinished,
    ToolStarted,
    WorkspaceRestored,
)
from agentic.core.fold.people import MACHINE, pause_holder

TimeKind = Literal["model", "tool", "person", "suspended", "other"]
KINDS: tuple[TimeKind, ...] = ("model", "tool", "person", "suspended", "other")


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Something that took time, beside others or alone. ``begun`` and ``ended`` are seconds since the beginning."""

    kind: TimeKind
    what: str
    """The model, the tool, or what was waited for."""
    turn: int
    seq: int
    """The event that began it."""
    begun: float
    ended: float
    note: str = ""
    """What it came to, or what the request was for."""
    open: bool = False
    """It had not ended yet."""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended - self.begun


@dataclass(frozen=True, slots=True)
class TurnTime:
    """The part of a turn; 0 is what came before the first. ``begun`` is in seconds since the beginning."""

    number: int
    begun: float
    seconds: Mapping[TimeKind, float]

    @property
    def total(self) -> float:
        """How long it took."""
        return sum(self.seconds.values())


@dataclass(frozen=True, slots=True)
class TimeSplit:
    """The whole time in parts. ``seconds`` add up to ``total``, as do those of the turns."""

    begun: datetime
    total: float
    seconds: Mapping[TimeKind, float]
    turns: tuple[TurnTime, ...]
    spans: tuple[TimeSpan, ...]
    moments: tuple[tuple[TimeKind, float, float], ...]
    """What explains each moment, from its beginning to its end, without gaps."""
    copied: int = 0
    """Events of another task that it goes on from, whose time is not counted."""


@dataclass(slots=True)
class _Begun:
    kind: TimeKind
    what: str
    turn: int
    seq: int
    at: float
    note: str = ""


@dataclass(slots=True)
class TimeReading:
    """Takes events one by one, so that a running task costs what is new."""

    begun: datetime | None = None
    _now: float = 0.0
    """Seconds since the beginning, at the last event."""
    _turns: list[TurnTime] = field(default_factory=list[TurnTime])
    _spans: list[TimeSpan] = field(default_factory=list[TimeSpan])
    _moments: list[tuple[TimeKind, float, float]] = field(default_factory=list[tuple[TimeKind, float, float]])
    _copied: int = 0
    _turn: int = 0
    _seconds: dict[TimeKind, float] = field(default_factory=lambda: dict.fromkeys(KINDS, 0.0))
    """Of the turn that is not over yet."""
    _turn_begun: float = 0.0
    _requests: dict[str, _Begun] = field(default_factory=dict[str, _Begun])
    _calls: dict[str, _Begun] = field(default_factory=dict[str, _Begun])
    _questions: dict[str, _Begun] = field(default_factory=dict[str, _Begun])
    _holder: str = ""
    """Whose pause stands."""
    _held: _Begun | None = None
    """A pause, or being left alone after crashes: it goes on when a person says so."""
    _away: _Begun | None = None
    """Nobody works on it."""
    _restored: bool = False
    """The last event put an earlier state back: the new owner that follows is part of that."""

    def take(self, envelope: Envelope) -> None:
        """Add an event."""
        event = envelope.event
        if self.begun is None:
            self.begun = envelope.at
        if isinstance(event, WorkspaceRestored) and event.way == "rewind":
            self._restart(event, envelope)
        before, self._now = self._now, max(self._now, (envelope.at - self.begun).total_seconds())
        crashed = isinstance(event, OwnerChanged) and self._away is None and not self._restored
        self._restored = isinstance(event, WorkspaceRestored)
        if crashed:
            self._leave(before, envelope.seq, "its process ended")
        kind = self._kind()
        self._seconds[kind] += self._now - before
        if self._now > before:
            begun = self._moments.pop()[1] if self._moments and self._moments[-1][0] == kind else before
            self._moments.append((kind, begun, self._now))
        if self._away is not None:
            self._end("suspended", self._away)
            self._away = None
        self._change(event, envelope.seq)

    def split(self, now: datetime | None = None) -> TimeSplit:
        """The time so far; ``now``: up to there, for a task that still runs."""
        begun = self.begun or datetime.fromtimestamp(0).astimezone()
        end = max(self._now, (now - begun).total_seconds()) if now is not None else self._now
        seconds = dict(self._seconds)
        seconds[self._kind()] += end - self._now
        turns = (*self._turns, TurnTime(self._turn, self._turn_begun, seconds))
        waits = [each for each in (self._held, self._away) if each is not None]
        opened = [*self._requests.values(), *self._calls.values(), *self._questions.values(), *waits]
        still = [TimeSpan(one.kind, one.what, one.turn, one.seq, one.at, end, one.note, open=True) for one in opened]
        whole: dict[TimeKind, float] = {kind: sum(turn.seconds[kind] for turn in turns) for kind in KINDS}
        spans = (*self._spans, *sorted(still, key=lambda span: span.seq))
        moments = list(self._moments)
        if end > self._now:
            moments.append((self._kind(), self._now, end))
        return TimeSplit(begun, end, whole, turns, spans, tuple(moments), self._copied)

    def _kind(self) -> TimeKind:
        """What explains this moment."""
        if self._requests:
            return "model"
        if self._calls:
            return "tool"
        if self._questions or self._held is not None:
            return "person"
        return "suspended" if self._away is not None else "other"

    def _restart(self, event: WorkspaceRestored, envelope: Envelope) -> None:
        """What came before was copied of another task."""
        for each in (self._turns, self._spans, self._moments, self._requests, self._calls, self._questions):
            each.clear()
        self.begun, self._now, self._turn_begun = envelope.at, 0.0, 0.0
        self._seconds = dict.fromkeys(KINDS, 0.0)
        self._holder, self._held, self._away = "", None, None
        self._turn, self._copied = event.turn, envelope.seq - 1

    def _leave(self, at: float, seq: int, why: str) -> None:
        """Nobody works on it from then on; what ran ended by that."""
        for one in (*self._requests.values(), *self._calls.values()):
            self._spans.append(TimeSpan(one.kind, one.what, one.turn, one.seq, one.at, at, "cut off"))
        self._requests.clear()
        self._calls.clear()
        self._away = _Begun("suspended", why, self._turn, seq, at)

    def _end(self, kind: TimeKind, begun: _Begun | None, note: str = "") -> None:
        if begun is not None:
            self._spans.append(
                TimeSpan(kind, begun.what, begun.turn, begun.seq, begun.at, self._now, note or begun.note)
            )

    def _change(self, event: Event, seq: int) -> None:
        match event:
            case ModelRequested():
                if event.purpose == "turn" and event.turn != self._turn:
                    self._turns.append(TurnTime(self._turn, self._turn_begun, self._seconds))
                    self._turn, self._turn_begun, self._seconds = event.turn, self._now, dict.fromkeys(KINDS, 0.0)
                note = "" if event.purpose == "turn" else event.purpose
                self._requests[event.request] = self._begin("model", event.model, seq, note)
            case ModelAnswered():
                self._end("model", self._requests.pop(event.request, None))
            case ModelFailed():
                self._end("model", self._requests.pop(event.request, None), event.failure.replace("_", " "))
            case ToolStarted():
                self._calls[event.call] = self._begin("tool", event.tool, seq)
            case ToolFinished():
                self._end("tool", self._calls.pop(event.call, None), "" if event.outcome == "ok" else event.outcome)
            case Gated():
                self._end("tool", self._calls.pop(event.call, None), "put back")
            case HandedOver():
                self._leave(self._now, seq, "between two processes")
            case Finished():
                self._finish()
            case _:
                self._wait(event, seq)

    def _wait(self, event: Event, seq: int) -> None:
        match event:
            case Asked():
                if event.call:
                    self._end("tool", self._calls.pop(event.call, None), "asked")
                self._questions[event.question] = self._begin("person", event.sort, seq)
            case Decided():
                self._end("person", self._questions.pop(event.question, None))
            case DeadlinePassed():
                self._end("person", self._questions.pop(event.ref, None), "nobody answered in time")
            case Quarantined() if self._held is None:
                self._held = self._begin("person", "left alone after crashes", seq)
            case InputReceived(sort="pause" | "resume"):
                self._holder = pause_holder(self._holder, event)
                if self._holder and self._held is None:
                    self._held = self._begin("person", "pause", seq)
                elif not self._holder:
                    self._resume()
            case InputReceived() if not self._holder and event.author.id != MACHINE.id and event.sort != "feedback":
                self._resume()
            case _:
                pass

    def _resume(self) -> None:
        self._end("person", self._held)
        self._held = None

    def _finish(self) -> None:
        self._resume()
        for begun in (*self._requests.values(), *self._calls.values(), *self._questions.values()):
            self._end(begun.kind, begun, "unfinished")
        for opened in (self._requests, self._calls, self._questions):
            opened.clear()

    def _begin(self, kind: TimeKind, what: str, seq: int, note: str = "") -> _Begun:
        return _Begun(kind, what, self._turn, seq, self._now, note)


def split(events: Iterable[Envelope], now: datetime | None = None) -> TimeSplit:
    """The time of a task in parts; ``now``: up to there, for one that still runs."""
    reading = TimeReading()
    for envelope in events:
        reading.take(envelope)
    return reading.split(now)
