"""Two tasks side by side: what they did turn by turn, where they part, and what differs in time, cost and lessons."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher, unified_diff
from itertools import zip_longest

from agentic.core.events.execution_events import (
    Asked,
    Envelope,
    Escalated,
    Event,
    Finished,
    InputReceived,
    ModelAnswered,
    ModelRequested,
    Started,
    TextBlock,
    ToolFinished,
    ToolStarted,
    TurnEnded,
)
from bot.console.views.story import about
from bot.history.payments import Payments, after_the_end
from bot.messages.lesson_card_lines import reason_in_words
from bot.messages.log_text import question_text

ALIGNED = 250
"""So many turns of each side are aligned by what they did, after the equal ones at both ends; more are paired in order."""
WORDS, CALLS = 160, 6
PROMPT_LINES, DIFFERENT_LINES = 3_000, 400


@dataclass(slots=True)
class Step:
    """What a task did in a turn. ``asked`` is the event of its request, ``answered`` that of the answer, 0 for none."""

    turn: int
    asked: int
    tier: int
    model: str
    answered: int = 0
    key: tuple[str, ...] = ()
    """What it did, for comparison."""
    did: list[str] = field(default_factory=list[str])
    results: tuple[tuple[str, int | None, str], ...] = ()
    """Outcome, exit code and words of each result."""
    usd: float = 0.0
    copied: bool = False
    """Another task paid it, from which it was copied."""
    confidence: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """Steps that stand beside each other."""

    left: Step | None
    right: Step | None
    same: bool
    """Both did the same."""

    @property
    def other_result(self) -> bool:
        """Both did the same, and something else came of it."""
        return (
            self.same and self.left is not None and self.right is not None and self.left.results != self.right.results
        )


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two tasks part: the first row in which they did something else, and the event of each side to look at."""

    row: int
    what: str
    left_seq: int
    right_seq: int
    left: Step | None = None
    """What the left one did there, which need not be in the row: the other one may have done something in between."""
    right: Step | None = None


@dataclass(frozen=True, slots=True)
class LessonRow:
    """A lesson that one of the tasks was told or that was withheld from it; '' where it had nothing to do with it."""

    id: str
    text: str
    left: str
    right: str

    @property
    def same(self) -> bool:
        """It was with both as it was with the other."""
        return self.left == self.right


def steps_of(log: Iterable[Envelope]) -> list[Step]:
    """The turns of a task."""
    steps: list[Step] = []
    requests: dict[str, Step] = {}
    calls: dict[str, Step] = {}
    payments = Payments()
    for envelope in log:
        event = envelope.event
        for paid in payments.of(envelope):
            if steps:
                steps[-1].usd += paid.usd
                steps[-1].copied |= paid.copied
        if isinstance(event, ModelRequested) and event.purpose == "turn":
            if not steps or steps[-1].turn != event.turn:
                steps.append(Step(event.turn, envelope.seq, event.tier, event.model))
            requests[event.request] = steps[-1]
            steps[-1].tier, steps[-1].model = event.tier, event.model
        elif isinstance(event, ModelAnswered) and event.request in requests:
            _answer(requests[event.request], envelope.seq, event)
        elif isinstance(event, ToolStarted) and steps:
            calls[event.call] = steps[-1]
        elif isinstance(event, ToolFinished) and steps:
            step = calls.get(event.call, steps[-1])
            step.results += ((event.outcome, event.exit_code, event.preview),)
        elif isinstance(event, TurnEnded) and steps:
            steps[-1].confidence = event.confidence.shown
        elif steps and (words := _beside(event)):
            steps[-1].did.append(words)
    return steps


def _answer(step: Step, seq: int, event: ModelAnswered) -> None:
    step.answered = seq
    calls = [(call.tool, {n: v for n, v in call.arguments.items() if n not in _REASONS}) for call in event.calls]
    text = "\n".join(block.text.strip() for block in event.blocks if isinstance(block, TextBlock))
    step.key = tuple(f"{tool} {json.dumps(given, sort_keys=True)}" for tool, given in calls) or (f"said {text}",)
    step.did += [_short(f"{tool}: {about(given.items())}") for tool, given in calls[:CALLS]]
    if len(calls) > CALLS:
        step.did.append(f"and {len(calls) - CALLS} more calls")
    if not calls:
        step.did.append(_short(f"said: {text}") if text else "said nothing")


_REASONS = ("reasoning", "expectation")


def _beside(event: Event) -> str:
    """What else happened in a turn that tells two tasks apart."""
    match event:
        case InputReceived():
            return _short(f"{event.author.name} ({event.sort}): {event.text}")
        case Asked():
            return _short(f"asked a person ({event.sort}): {question_text(event)}")
        case Escalated():
            return f"tier {event.from_tier} → {event.to_tier}: {_short(event.trigger)}"
        case Finished():
            return f"ended: {event.reason.replace('_', ' ')}"
        case _:
            return ""


def aligned(left: Sequence[Step], right: Sequence[Step]) -> list[Row]:
    """The turns of two tasks beside each other, equal ones together, in their order."""
    ours, theirs = [step.key for step in left], [step.key for step in right]
    first = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    most = min(len(ours), len(theirs)) - first
    tail = next((n for n in range(most) if ours[-1 - n] != theirs[-1 - n]), most)
    rows = [Row(a, b, same=True) for a, b in zip(left[:first], right[:first], strict=True)]
    rows += _middle(left[first : len(left) - tail], right[first : len(right) - tail])
    equal = zip(left[len(left) - tail :], right[len(right) - tail :], strict=True)
    return [*rows, *(Row(a, b, same=True) for a, b in equal)]


def _middle(left: Sequence[Step], right: Sequence[Step]) -> list[Row]:
    near, far = left[:ALIGNED], right[:ALIGNED]
    matcher = SequenceMatcher(None, [step.key for step in near], [step.key for step in far], autojunk=False)
    rows: list[Row] = []
    for sort, a, b, c, d in matcher.get_opcodes():
        pairs = zip_longest(near[a:b], far[c:d])
        rows += [Row(one, other, same=sort == "equal") for one, other in pairs]
    beyond = zip_longest(left[ALIGNED:], right[ALIGNED:])
    rows += [Row(a, b, same=a is not None and b is not None and a.key == b.key) for a, b in beyond]
    return rows


def parting(
    rows: Sequence[Row], left: Sequence[Envelope], right: Sequence[Envelope], names: tuple[str, str] = ("left", "right")
) -> Parting | None:
    """Where the tasks part; None where each step was the same and they ended alike. ``names`` are those of the tasks."""
    place = next((n for n, row in enumerate(rows) if not row.same), len(rows))
    ours = next((row.left for row in rows[place:] if row.left is not None), None)
    theirs = next((row.right for row in rows[place:] if row.right is not None), None)
    if ours is None and theirs is None:
        if _end(left) == _end(right):
            return None
        return Parting(place, "all steps were the same, and they ended differently", _last(left), _last(right))
    if ours is None or theirs is None:
        on, off = names if theirs is None else names[::-1]
        what = f"{on} went on, and {off} did not" if place else f"only {on} took a turn"
        seqs = ours.asked if ours else _last(left), theirs.asked if theirs else _last(right)
        return Parting(place, what, *seqs, ours, theirs)
    row = rows[place]
    if row.left is None or row.right is None:
        on, off = names if row.right is None else names[::-1]
        what = f"{on} took a step that {off} did not; {off} went on with its next one"
    elif (ours.tier, ours.model) != (theirs.tier, theirs.model):
        what = f"they asked different models: {_model(ours)} and {_model(theirs)}"
    else:
        what = "the same model was asked, and answered with another step"
    return Parting(place, what, ours.answered or ours.asked, theirs.answered or theirs.asked, ours, theirs)


def side_names(left: Started, right: Started, ids: tuple[str, str]) -> tuple[str, str]:
    """What to call two tasks beside each other, by how they are related; ``ids`` are theirs."""
    same = {left.trial_of or ids[0]} & {right.trial_of or ids[1]}
    if same and left.attempt != right.attempt:
        return f"attempt {left.attempt}", f"attempt {right.attempt}"
    sources = [one.forked_from[0] if one.forked_from is not None else "" for one in (left, right)]
    if sources[1] == ids[0]:
        return "source", "fork"
    if sources[0] == ids[1]:
        return "fork", "source"
    if sources[0] and sources[0] == sources[1]:
        return "one fork", "the other fork"
    return "left", "right"


def _model(step: Step) -> str:
    return f"{step.model} (tier {step.tier})"


def _end(log: Sequence[Envelope]) -> tuple[str, str]:
    event = next((e.event for e in reversed(log) if isinstance(e.event, Finished)), None)
    return (event.reason, event.answer) if isinstance(event, Finished) else ("", "")


def _last(log: Sequence[Envelope]) -> int:
    """The event with which a task ended, or its last."""
    return next((e.seq for e in reversed(log) if isinstance(e.event, Finished)), log[-1].seq)


def cost_split(log: Iterable[Envelope], outcome: Iterable[Envelope] = ()) -> dict[str, float]:
    """What a task itself cost, in US dollars by model: the turns, what was asked beside them and after the end, helpers."""
    payments, spent = Payments(), dict[str, float]()
    own = [paid for envelope in log for paid in payments.of(envelope) if not paid.copied]
    for paid in (*own, *after_the_end(outcome)):
        if paid.usd:
            spent[paid.name] = spent.get(paid.name, 0.0) + paid.usd
    return spent


def lesson_rows(left: Started, right: Started) -> list[LessonRow]:
    """The lessons of two tasks, those that differ first."""
    texts = {lesson.id: lesson.text for each in (left, right) for lesson in each.lessons}
    ours, theirs = _lessons(left), _lessons(right)
    rows = [LessonRow(id_, texts.get(id_, ""), ours.get(id_, ""), theirs.get(id_, "")) for id_ in {**ours, **theirs}]
    return sorted(rows, key=lambda row: row.same)


def _lessons(started: Started) -> dict[str, str]:
    arms = {"held_back": "held back to measure it", "crowded": "crowded out by better ones"}
    told: dict[str, str] = {}
    for lesson in started.lessons:
        whose = "an attempt that " if lesson.kind == "reflection" else ""
        told[lesson.id] = f"told: {whose}{why}" if (why := reason_in_words(lesson.why)) else "told"
    return told | {lesson.id: f"not told: {arms[lesson.arm]}" for lesson in started.withheld}


def beginnings(left: Started, right: Started) -> list[tuple[str, str, str]]:
    """What differed when the tasks began: (what, left, right)."""
    ours, theirs = _facts(left), _facts(right)
    shown = [(what, _short(ours[what], 600), _short(theirs[what], 600)) for what in ours]
    return [row for row in shown if row[1] != row[2]]


def _facts(one: Started) -> dict[str, str]:
    facts = {
        "task": one.task, "attempt": str(one.attempt), "asked by": one.requester.name, "role": one.role or "none",
        "complexity": one.complexity, "rules": f"version {one.rules}", "sandbox": one.sandbox or "none",
        "models": "; ".join(f"tier {tier.number}: {', '.join(tier.models)}" for tier in one.policy.tiers),
        "tools": ", ".join(tool.name for tool in one.tools), "environment": "; ".join(one.environment),
    }  # fmt: skip
    policy = {name: value for name, value in one.policy if name not in ("tiers", "prices")}
    return facts | {f"policy: {name.replace('_', ' ')}": str(value) for name, value in policy.items()}


def prompt_difference(left: str, right: str) -> tuple[list[tuple[str, str]], bool]:
    """The lines that differ as (sort, line), with the lines around them; whether something is left out.

    The sorts: '+' only right, '-' only left, '@' a place, '' both.
    """
    ours, theirs = left.splitlines(), right.splitlines()
    cut = max(len(ours), len(theirs)) > PROMPT_LINES
    lines = list(unified_diff(ours[:PROMPT_LINES], theirs[:PROMPT_LINES], n=1, lineterm=""))[2:]
    shown = [("" if line[:1] == " " else line[:1], line[1:]) for line in lines[:DIFFERENT_LINES]]
    return shown, cut or len(lines) > DIFFERENT_LINES


def _short(text: str, most: int = WORDS) -> str:
    flat = " ".join(text[: most * 4].split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
