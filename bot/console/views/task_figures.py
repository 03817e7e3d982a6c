"""What each turn of a task cost and took, how sure it was, and all together by model, tier and purpose.

Events are taken one by one, so that a running task costs what is new. The cost of a turn is all that was spent from its
request to that of the next one: also on failed requests, summaries, advice and watchers, and on helpers that ended in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime

from agentic.core.claims.confidence import MOST_SHOWN, band, before_votes, stated_in
from agentic.core.events.execution_events import (
    Confidence,
    Envelope,
    Escalated,
    ModelAnswered,
    ModelRequested,
    Reported,
    SubagentFinished,
    TextBlock,
    ToolFinished,
    TurnEnded,
)
from bot.console.page_templates import many, seconds, tokens, usd
from bot.console.views.chart import Drawing, Frame, Series, bars, lines
from bot.console.views.time_split import TurnTime
from bot.history.payments import HELPER, Payment, Payments, after_the_end

BANDS = (("critical", 0, 30), ("low", 30, 50), ("moderate", 50, 70), ("high", 70, 100))
"""Bands of the confidence, as ``band`` has them, to be drawn."""


@dataclass(slots=True)
class Spend:
    """Requests and what they came to; ``tokens_in`` with those from the provider's cache."""

    requests: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    usd: float = 0.0
    estimated: bool = False
    """The provider did not say everything; some of it is our own count."""

    @property
    def cache_share(self) -> float | None:
        """Share of the input that came from the cache, 0-1; None where nothing was read."""
        return self.cached / self.tokens_in if self.tokens_in else None

    def add(self, paid: Payment) -> None:
        """Count a request."""
        self.requests += 1
        self.failed += paid.failed
        self.tokens_in += paid.used.input + paid.used.cache_read + paid.used.cache_write
        self.tokens_out += paid.used.output
        self.cached += paid.used.cache_read
        self.usd += paid.usd
        self.estimated = self.estimated or paid.estimated


@dataclass(slots=True)
class SpendTables:
    """Requests by what they have in common."""

    by_model: dict[str, Spend] = field(default_factory=dict[str, Spend])
    by_tier: dict[int, Spend] = field(default_factory=dict[int, Spend])
    by_purpose: dict[str, Spend] = field(default_factory=dict[str, Spend])

    def add(self, paid: Payment) -> None:
        """Count a request."""
        self.by_model.setdefault(paid.model, Spend()).add(paid)
        self.by_tier.setdefault(paid.tier, Spend()).add(paid)
        self.by_purpose.setdefault(paid.purpose, Spend()).add(paid)


@dataclass(frozen=True, slots=True)
class ConfidenceGrounds:
    """What parts of a turn's confidence rest on; where there is nothing, the sum goes on with an assumption."""

    reported: int | None = None
    """What the agent said last of how sure it is."""
    in_turn: int = 0
    counted: bool = False
    """Its calls stand in for a report, since it gave none for a while."""
    calls: int = 0
    """All calls so far that ran."""
    tests: tuple[int, int] | None = None
    """(passed, failed) of the last test run."""


@dataclass(slots=True)
class TurnFigures:
    """The figures of a turn; 0 is what came before the first."""

    number: int
    seq: int
    at: datetime
    model: str = ""
    tier: int = 0
    spend: Spend = field(default_factory=Spend)
    helpers_usd: float = 0.0
    """What helpers that ended in it had spent; not in ``spend``."""
    copied_usd: float = 0.0
    """What of it the task had paid that this one goes on from."""
    confidence: Confidence | None = None
    grounds: ConfidenceGrounds = ConfidenceGrounds()
    changes: list[str] = field(default_factory=list[str])
    """Changes of the tier, in words."""

    @property
    def usd(self) -> float:
        """What it cost in all."""
        return self.spend.usd + self.helpers_usd

    @property
    def shown(self) -> int | None:
        """The confidence that people see."""
        return min(self.confidence.shown, MOST_SHOWN) if self.confidence is not None else None

    @property
    def band(self) -> str:
        """The same as a word."""
        return band(self.shown) if self.shown is not None else ""

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """What the confidence is made of, in words; what is only assumed is called so."""
        return _parts(self.confidence, self.grounds, self.number) if self.confidence is not None else ()


@dataclass(slots=True)
class TaskFigures:
    """The figures of a task so far. What was copied from the task that it goes on from is in its turns, and in no sum."""

    turns: list[TurnFigures] = field(default_factory=list[TurnFigures])
    tables: SpendTables = field(default_factory=SpendTables)
    own: Spend = field(default_factory=Spend)
    """All requests that it made."""
    helpers: list[SubagentFinished] = field(default_factory=list[SubagentFinished])
    helpers_usd: float = 0.0
    tokens: int = 0
    """Of all requests, those of helpers too."""
    copied_usd: float = 0.0
    """What the copied part had cost the task that it was copied from."""
    _payments: Payments = field(default_factory=Payments)
    _grounds: ConfidenceGrounds = ConfidenceGrounds()
    _ended: int = 0
    """Turns that ended since the last report."""
    _ran: tuple[int, ...] = (0,)
    """Calls that ran in each of the last turns."""

    @property
    def usd(self) -> float:
        """What all of it cost, failed requests and helpers too."""
        return self.own.usd + self.helpers_usd

    def take(self, envelope: Envelope) -> None:
        """Add an event."""
        event, paid = envelope.event, self._payments.of(envelope)
        if not self.turns:
            self.turns.append(TurnFigures(0, envelope.seq, envelope.at))
        for each in paid:
            self._pay(each)
        match event:
            case ModelRequested():
                if event.purpose == "turn":
                    if event.turn != self.turns[-1].number:
                        self.turns.append(TurnFigures(event.turn, envelope.seq, envelope.at))
                    self.turns[-1].model, self.turns[-1].tier = event.model, event.tier
            case ModelAnswered():
                if paid and paid[0].purpose == "turn":
                    self._read_report(event)
            case SubagentFinished():
                if not any(each.copied for each in paid):
                    self.helpers.append(event)
            case Escalated():
                self.turns[-1].changes.append(f"tier {event.from_tier} → {event.to_tier}: {event.trigger}")
            case Reported() | ToolFinished() | TurnEnded():
                self._judge(event)
            case _:
                pass

    def confidence_at(self, turn: int) -> TurnFigures | None:
        """The turn whose confidence stood at the end of this one; None before the first."""
        return next((one for one in reversed(self.turns) if one.number <= turn and one.confidence is not None), None)

    def tables_with(self, outcome: Sequence[Envelope]) -> SpendTables:
        """The tables with what was paid after the end, to learn from the task."""
        later = after_the_end(outcome)
        if not later:
            return self.tables
        whole = deepcopy(self.tables)
        for paid in later:
            whole.add(paid)
        return whole

    def _pay(self, paid: Payment) -> None:
        turn = self.turns[-1]
        if paid.purpose == HELPER:
            turn.helpers_usd += paid.usd
        else:
            turn.spend.add(paid)
        if paid.copied:
            turn.copied_usd += paid.usd
            self.copied_usd += paid.usd
            return
        self.tokens += paid.tokens
        if paid.purpose == HELPER:
            self.helpers_usd += paid.usd
        else:
            self.own.add(paid)
            self.tables.add(paid)

    def _read_report(self, event: ModelAnswered) -> None:
        """Take the report that a turn's answer makes in its text."""
        text = "\n".join(block.text for block in event.blocks if isinstance(block, TextBlock))
        if (said := stated_in(text)) is not None:
            self._judge(said)

    def _judge(self, event: Reported | ToolFinished | TurnEnded) -> None:
        turn, grounds = self.turns[-1], self._grounds
        match event:
            case Reported():
                self._grounds = replace(grounds, reported=event.confidence, in_turn=turn.number)
                self._ended = 0
            case ToolFinished():
                ran = event.outcome in ("ok", "failed")
                self._ran = (*self._ran[:-1], self._ran[-1] + ran)
                tests = (event.tests_passed, event.tests_failed)
                known = tests != (None, None)
                self._grounds = replace(
                    grounds,
                    calls=grounds.calls + ran,
                    tests=(tests[0] or 0, tests[1] or 0) if known else grounds.tests,
                )
            case TurnEnded():
                own = grounds.reported is not None and grounds.in_turn == turn.number
                counted = not own and self._ended > 0 and sum(self._ran) > 0
                turn.confidence, turn.grounds = event.confidence, replace(grounds, counted=counted)
                self._ended = 0 if own else self._ended + 1
                self._ran = (*self._ran, 0)[-3:]


def _parts(known: Confidence, grounds: ConfidenceGrounds, turn: int) -> tuple[tuple[str, str], ...]:
    parts = known.parts
    said = f"{parts.self_report:.0f} of 100"
    if grounds.counted or grounds.reported is None:
        since = f"not since turn {grounds.in_turn}" if grounds.reported is not None else "not reported"
        why = ", since so many of its last calls worked" if grounds.counted else ""
        report = f"{since}; {said} is assumed{why}"
    else:
        report = said if grounds.in_turn == turn else f"{said}, in turn {grounds.in_turn}"
    worked = f"{100 * parts.tool_ok:.0f}%"
    tests = f"{100 * parts.tests:.0f}%"
    passed, failed = grounds.tests or (0, 0)
    rows = [
        ("How sure it says it is", report),
        ("Calls that worked", worked if grounds.calls else f"no call ran; {worked} is assumed"),
        ("Tests", f"{passed} of {passed + failed} passed" if passed + failed else f"none were run; {tests} is assumed"),
        ("The same error", many(parts.same_error, "time") if parts.same_error else "never"),
        ("Progress", f"{100 * parts.progress:.0f}%, less with each turn that changes nothing"),
        ("Corrections by people", str(parts.corrections)),
    ]
    shown, heuristic = before_votes(known)
    if known.moved_from is not None:
        rows.append(("Before people's votes", f"{shown} of 100"))
    if known.calibrator == "none":
        rows.append(("In all", "an estimate, until enough tasks have ended to check it against"))
    else:
        rows.append(("In all", f"{heuristic} of 100 by these; {shown} by how earlier tasks came out"))
    return tuple(rows)


def charts(figures: TaskFigures, times: Sequence[TurnTime]) -> list[Drawing]:
    """The figures turn by turn: confidence, cost, tokens, cache, time."""
    turns = [turn for turn in figures.turns if turn.number]
    if len(turns) < 2:
        return []
    took = {time.number: time.seconds for time in times}
    marks = [(turn.number, change) for turn in turns for change in turn.changes]
    places = [turn.number for turn in turns]
    drawn: list[Drawing] = []
    if any(turn.confidence is not None for turn in turns):
        drawn.append(_confidence(turns, Frame("confidence", "Confidence", places, lambda value: f"{value:.0f}", marks)))
    drawn.append(
        bars(
            Frame("cost", "Cost", places, usd, marks),
            [
                Series("models", [turn.spend.usd for turn in turns], 1),
                Series("helpers", [turn.helpers_usd for turn in turns], 2),
            ][: 2 if figures.helpers else 1],
        )
    )
    spends = [turn.spend for turn in turns]
    drawn.append(
        bars(
            Frame("tokens", "Tokens", places, lambda value: tokens(round(value))),
            [
                Series("in, from the cache", [one.cached for one in spends], 1),
                Series("in, other", [one.tokens_in - one.cached for one in spends], 2),
                Series("out", [one.tokens_out for one in spends], 3),
            ],
        )
    )
    share = [100 * one.cache_share if one.cache_share is not None else None for one in spends]
    drawn.append(
        lines(Frame("cache", "Cache share", places, lambda value: f"{value:.0f}%"), [Series("share", share)], 100)
    )
    kinds = ("model", "tool", "person", "suspended", "other")
    drawn.append(
        bars(
            Frame("time", "Time", places, seconds),
            [
                Series(NAMES[kind], [took[n][kind] if n in took else 0.0 for n in places], style)
                for style, kind in enumerate(kinds, 1)
            ],
        )
    )
    return drawn


NAMES = {
    "model": "model",
    "tool": "tools",
    "person": "waiting for a person",
    "suspended": "suspended",
    "other": "unattributed",
}
"""Kinds of time in words."""


def _confidence(turns: Sequence[TurnFigures], frame: Frame) -> Drawing:
    known = [turn.confidence for turn in turns]
    shown = Series("shown", [turn.shown for turn in turns], 1)
    under = Series("before adjusting", [one.heuristic if one is not None else None for one in known], 2)
    differ = any(one is not None and one.heuristic != one.shown for one in known)
    return lines(frame, [shown, under] if differ else [shown], 100, BANDS)
