"""Why something happened: the rule that decided it, what the rule read, and which rules were asked before and passed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentic.core.audit.verification import EventOrigin, Source, origin_of
from agentic.core.events.execution_events import (
    Asked,
    BudgetRefused,
    BudgetReserved,
    BudgetSettled,
    CommitCreated,
    DeadlinePassed,
    Envelope,
    Escalated,
    Event,
    Gated,
    InputReceived,
    Intervened,
    ModelAnswered,
    ModelFailed,
    Noted,
    Perceived,
    PlanEntered,
    PolicyChanged,
    PullRequestOpened,
    Reported,
    Started,
    StrongerWanted,
    SubagentFinished,
    TodoChanged,
    ToolFinished,
    Watched,
    WorkspaceRestored,
)
from agentic.core.rules import nudges
from agentic.core.rules.decide import RULES, RULES_VERSION, think
from agentic.core.state.actions import (
    Action,
    Ask,
    Cancel,
    Checkpoint,
    Consult,
    Finish,
    Record,
    Think,
    UseTools,
    Wait,
)
from agentic.core.state.execution import Execution
from bot.console.views.read_facts import ReadFact, Reads
from bot.messages.log_text import told

DECISIVE = 3
"""How many of the last facts that a rule read say why it passed."""
MOST_FACTS = 60
NEAR = 500
"""So many events before an event its decision is found, nearly always."""


@dataclass(frozen=True, slots=True)
class AskedRule:
    """A rule that was asked, with what it read."""

    name: str
    says: str
    """The first line of its description."""
    facts: tuple[ReadFact, ...]
    more: int = 0
    """Facts that are left out."""

    @property
    def decisive(self) -> tuple[ReadFact, ...]:
        """The last that it read before it answered."""
        direct = tuple(fact for fact in self.facts if not fact.through)
        return (direct or self.facts)[-DECISIVE:]


@dataclass(frozen=True, slots=True)
class Trace:
    """Where an event comes from.

    ``rule`` decided it where ``decided``; otherwise it is the rule that answered next, in the state with the event.
    """

    seq: int
    what: str
    """The event in words."""
    source: Source
    words: str
    """Where it comes from, as sentences."""
    decided: bool
    rule: AskedRule | None = None
    action: str = ""
    passed: tuple[AskedRule, ...] = ()
    state_seq: int = 0
    """The last event of the state that the rules read."""
    copied_from: str = ""
    """The execution whose log has the original."""


def trace_of(log: Sequence[Envelope], seq: int, begin: Execution | None = None) -> Trace:
    """Trace the event ``seq`` (from 1). ``begin``: the state after some event ``NEAR`` or more before it, to save time."""
    event = log[seq - 1].event
    origin = origin_of(log, seq, begin)
    what = told(event).strip() or event.kind.replace("_", " ")
    if origin.source == "copied":
        first = log[0].event
        source = first.forked_from[0] if isinstance(first, Started) and first.forked_from is not None else ""
        words = "It was copied from another task, where this one was forked from it. It was decided there."
        return Trace(seq, what, origin.source, words, False, copied_from=source)
    if origin.source == "other rules" and not isinstance(event, _OUTSIDE):
        return Trace(seq, what, origin.source, _other_rules(origin.after), False)
    decided = origin.source in ("rules", "otherwise")
    ruled = origin.ruled
    if not decided and origin.after.rules == RULES_VERSION:
        ruled = origin.follows
    rule, passed = _asked(ruled.state) if ruled is not None else (None, ())
    return Trace(
        seq, what, origin.source, _words(event, origin), decided, rule,
        in_words(ruled.action, ids=False) if ruled is not None else "", passed, ruled.state.seq if ruled is not None else 0,
    )  # fmt: skip


def in_words(action: Action, *, ids: bool = True) -> str:
    """What the rules want done, as the end of “it decided to …”; ``ids``: with those of the calls."""
    match action:
        case Think():
            return f"ask {action.model} (tier {action.tier}, attempt {action.attempt}) for turn {action.turn}"
        case Consult():
            return f"ask {action.model} (tier {action.tier}) beside the turns: {action.purpose}"
        case UseTools(calls):
            return f"begin {', '.join(f'{call.block.tool} ({call.id})' if ids else call.block.tool for call in calls)}"
        case Checkpoint():
            return f"save the workspace ({action.moment.replace('_', ' ')})"
        case Cancel():
            return f"end what runs: {action.reason}"
        case Wait(timers):
            until = f", or until {', '.join(timer.ref for timer in timers)}" if timers else ""
            return f"wait for what runs and for people{until}"
        case Record() | Ask() | Finish():
            return _to_note(action)
        case _:
            return "look what became of the files"


def _to_note(action: Record | Ask | Finish) -> str:
    if isinstance(action, Ask):
        return f"ask a person ({action.asked.sort})"
    if isinstance(action, Finish):
        return f"end the task: {action.finished.reason.replace('_', ' ')}"
    return "note: " + "; ".join(told(event).strip() or event.kind.replace("_", " ") for event in action.events)


def _asked(state: Execution) -> tuple[AskedRule, tuple[AskedRule, ...]]:
    """The rule that answers in a state, and those that pass before it."""
    passed: list[AskedRule] = []
    for rule in RULES:
        reads = Reads(state)
        answered = rule(reads.state) is not None
        asked = _rule(rule, reads)
        if answered:
            return asked, tuple(passed)
        passed.append(asked)
    reads = Reads(state)
    think(reads.state)
    return _rule(think, reads), tuple(passed)


def _rule(rule: Callable[[Execution], Action | None], reads: Reads) -> AskedRule:
    name = rule.__name__
    facts = reads.facts
    return AskedRule(name, _first_line(rule.__doc__), facts[-MOST_FACTS:], max(len(facts) - MOST_FACTS, 0))


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


_OUTSIDE = (Started, InputReceived, ModelAnswered, ToolFinished, Perceived, PolicyChanged, WorkspaceRestored)
"""What no rule of any version decides; a result of a call that did not run is one that a rule may note."""
_BY_MODEL = (ModelAnswered, Reported, Noted, StrongerWanted, TodoChanged, PlanEntered)
_BY_TOOL = (ToolFinished, CommitCreated, PullRequestOpened, SubagentFinished)
_LEDGER = (BudgetReserved, BudgetSettled, BudgetRefused)


def _words(event: Event, origin: EventOrigin) -> str:
    if origin.source == "otherwise":
        return (
            "These rules would not have decided this here; what they would have done instead is below. "
            "The log may have been changed, or a secret in it is hidden from this page."
        )
    if origin.source == "rules":
        return _decided(event)
    if isinstance(event, Started | InputReceived):
        person = event.requester if isinstance(event, Started) else event.author
        return f"This is what {person.name} said or did; no rule chose it."
    if isinstance(event, PolicyChanged | WorkspaceRestored):
        return "A person chose this; no rule did."
    if isinstance(event, _BY_MODEL):
        return "This is the model's answer; no rule chose it."
    if isinstance(event, ModelFailed):
        return "The request to the model failed; no rule chose that."
    if isinstance(event, Asked):
        return "A tool that the model called asks this; no rule chose it."
    if isinstance(event, _BY_TOOL):
        return "This is what a tool call came to; no rule chose it."
    if isinstance(event, Perceived):
        return "The workspace was looked at before a request; no rule chose what was found."
    if isinstance(event, _LEDGER):
        return "Money was set aside or counted; no rule chose it."
    return "The process that runs the task noted this; no rule chose it."


def _decided(event: Event) -> str:
    if isinstance(event, DeadlinePassed):
        return "Time passed: the rule below waited for this moment."
    if isinstance(event, Gated):
        return "The rule below let the call begin. What the call would do was looked at first: a person must allow it."
    if isinstance(event, Intervened):
        says = _first_line(getattr(getattr(nudges, event.rule, None), "__doc__", ""))
        return f"A rule decided this, by its nudge {event.rule}{f': {says}' if says else '.'}"
    if isinstance(event, Escalated):
        return f"A rule decided this. What set it off: {event.trigger}."
    if isinstance(event, Watched):
        return f"A rule noted what the watcher {event.watcher} said."
    return "A rule decided this."


def _other_rules(execution: Execution) -> str:
    by = (
        f"version {execution.rules} of the rules" if execution.rules else "rules from before their version was recorded"
    )
    return f"It was decided by {by}. This Threadwright has version {RULES_VERSION} and cannot say why they did."
