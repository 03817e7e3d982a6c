"""Summaries of logs for people: costs, confidence, notes, the log itself; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from agentic.core.claims.confidence import MOST_SHOWN, told
from agentic.core.events.execution_events import (
    CommitCreated,
    Envelope,
    Evaluated,
    FeedbackGiven,
    Finished,
    InputReceived,
    ModelAnswered,
    ModelRequested,
    Noted,
    Person,
    PolicyChanged,
    Started,
    SubagentFinished,
    TodoChanged,
    TurnEnded,
    WorkspaceRestored,
)
from agentic.core.fold.fold import fold


@dataclass(frozen=True, slots=True)
class Cost:
    """What one execution used; ``models`` are US dollars by the model that was asked."""

    execution: str
    thread: str
    task: str
    requester: Person
    at: datetime
    usd: float
    tokens: int
    turns: int
    models: tuple[tuple[str, float], ...] = ()
    finished: str = ""
    side: bool = False
    """Whether it was a side question, which is no task of its own."""


@dataclass(frozen=True, slots=True)
class Trend:
    """The confidence of one execution: the score after each turn, and the number on its card."""

    execution: str
    task: str
    scores: tuple[int, ...]
    shown: int | None = None
    """The one number that people see, None where there is none."""
    reason: str = ""
    """How it ended, '' while it runs."""
    evaluated: int | None = None
    """The evaluator's score of the whole execution."""
    votes: tuple[str, ...] = ()
    """The last vote of each person."""
    heuristics: tuple[int, ...] = ()
    """The heuristic score after each turn."""
    labels: int = 0
    """Number of outcomes that the calibrator was fitted on; 0 where the heuristic itself is shown."""


def cost_of(envelopes: Sequence[Envelope]) -> Cost | None:
    """Return what an execution cost; None for a log without a beginning, and for the tour.

    Requests that were copied from another execution are counted there.
    """
    first = envelopes[0].event if envelopes else None
    if not isinstance(first, Started) or first.policy.tour:
        return None
    execution = fold(list(envelopes))
    copied = first.forked_from[1] if first.forked_from is not None else 0
    before = fold(envelopes[:copied]).spent
    asked = {e.event.request: e.event.model for e in envelopes if isinstance(e.event, ModelRequested)}
    spent: dict[str, float] = {}
    for each in (e.event for e in envelopes[copied:]):
        if isinstance(each, ModelAnswered):
            model = asked.get(each.request) or each.served_by or "unknown"
            spent[model] = spent.get(model, 0.0) + each.usd
        elif isinstance(each, SubagentFinished):
            for model, usd in each.models.items():
                spent[model] = spent.get(model, 0.0) + usd
    return Cost(
        envelopes[0].execution, first.thread, first.task, first.requester, envelopes[0].at,
        execution.spent.usd - before.usd, execution.spent.tokens - before.tokens, execution.turn.number,
        tuple(sorted(spent.items(), key=lambda pair: -pair[1])),
        execution.finished.reason if execution.finished else "", first.side,
    )  # fmt: skip


def with_learning(cost: Cost, outcome: Iterable[Envelope]) -> Cost:
    """Add what was asked of models after the end, such as for a lesson, which the log's outcome holds."""
    events = [each.event for each in outcome]
    asked = {each.request: each.model for each in events if isinstance(each, ModelRequested)}
    answers = [each for each in events if isinstance(each, ModelAnswered)]
    models = dict(cost.models)
    for each in answers:
        model = asked.get(each.request) or each.served_by or "unknown"
        models[model] = models.get(model, 0.0) + each.usd
    return replace(
        cost, usd=cost.usd + sum(each.usd for each in answers),
        tokens=cost.tokens + sum(each.usage.total for each in answers),
        models=tuple(sorted(models.items(), key=lambda pair: -pair[1])),
    )  # fmt: skip


def by_person(costs: Iterable[Cost]) -> list[tuple[Person, int, float]]:
    """Return (person, tasks, dollars), highest first."""
    people: dict[str, tuple[Person, int, float]] = {}
    for cost in costs:
        _, count, usd = people.get(cost.requester.id, (cost.requester, 0, 0.0))
        people[cost.requester.id] = (cost.requester, count + (not cost.side), usd + cost.usd)
    return sorted(people.values(), key=lambda row: -row[2])


def by_thread(costs: Iterable[Cost]) -> list[tuple[str, int, float]]:
    """Return (thread, tasks, dollars), highest first."""
    threads: dict[str, tuple[int, float]] = {}
    for cost in costs:
        count, usd = threads.get(cost.thread, (0, 0.0))
        threads[cost.thread] = (count + (not cost.side), usd + cost.usd)
    return sorted(((thread, *row) for thread, row in threads.items()), key=lambda row: -row[2])


def trend(envelopes: Sequence[Envelope], outcome: Iterable[Envelope] = ()) -> Trend:
    """Return the confidence turn by turn, and the outcome."""
    started = next((e.event for e in envelopes if isinstance(e.event, Started)), None)
    finished = next((e.event for e in envelopes if isinstance(e.event, Finished)), None)
    execution = fold(envelopes)
    votes: dict[str, str] = {}
    evaluated = None
    for each in (e.event for e in outcome):
        if isinstance(each, FeedbackGiven):
            votes[each.by.id] = each.vote
        elif isinstance(each, Evaluated):
            evaluated = each.score
    return Trend(
        execution=envelopes[0].execution if envelopes else "",
        task=started.task if started else "",
        scores=tuple(min(e.event.confidence.shown, MOST_SHOWN) for e in envelopes if isinstance(e.event, TurnEnded)),
        shown=None if execution.talk else told(execution.confidence, finished),
        reason=finished.reason if finished else "",
        evaluated=evaluated,
        votes=tuple(vote for vote in votes.values() if vote != "none"),
        heuristics=tuple(e.event.confidence.heuristic for e in envelopes if isinstance(e.event, TurnEnded)),
        labels=started.calibrator.labels if started and started.calibrator else 0,
    )


def is_tour(envelopes: Sequence[Envelope]) -> bool:
    """Whether no model was configured, so that the log says nothing about confidence or costs."""
    first = envelopes[0].event if envelopes else None
    return isinstance(first, Started) and first.policy.tour


def notes(envelopes: Iterable[Envelope]) -> list[str]:
    """Return the agent's notes in order, without repetition."""
    return list(dict.fromkeys(e.event.text for e in envelopes if isinstance(e.event, Noted)))


def todo(envelopes: Iterable[Envelope]) -> list[tuple[str, str]]:
    """Return (state, text) of the agent's present to-do list."""
    changed = [e.event for e in envelopes if isinstance(e.event, TodoChanged)]
    return [(item.state, item.text) for item in changed[-1].items] if changed else []


def extensions(envelopes: Iterable[Envelope]) -> list[PolicyChanged]:
    """Return people's raises of caps."""
    return [e.event for e in envelopes if isinstance(e.event, PolicyChanged)]


def offers(envelopes: Iterable[Envelope]) -> list[CommitCreated]:
    """Return the offered branches."""
    return [e.event for e in envelopes if isinstance(e.event, CommitCreated)]


def stopped_in(log: Iterable[Envelope]) -> float | None:
    """Return the seconds from a person's stop to the end; None where nobody stopped it."""
    since: datetime | None = None
    for each in log:
        if since is None and isinstance(each.event, InputReceived) and each.event.sort == "stop":
            since = each.at
        if since is not None and isinstance(each.event, Finished):
            return max((each.at - since).total_seconds(), 0.0)
    return None


def away(log: Sequence[Envelope]) -> float:
    """Return the seconds between earlier positions and the resumption from them, in which nothing ran."""
    pairs = ((before, each) for before, each in pairwise(log) if isinstance(each.event, WorkspaceRestored))
    return sum(max((each.at - before.at).total_seconds(), 0.0) for before, each in pairs)
