"""Logs that have reached a cap, and what an answer there leads to."""

from __future__ import annotations

from agentic.core.display.outbox_items import visible
from agentic.core.events.execution_events import (
    Asked,
    BudgetRefused,
    DeadlinePassed,
    Event,
    Person,
    PolicyChanged,
    Whose,
)
from agentic.core.fold.fold import MINUTES
from tests.unit.core.building import BOSS, Log


def at_money(usd: float = 0.02, **policy: object) -> Log:
    """Its dollars are used up, with a call still to be made."""
    log = Log(**{"max_usd": 0.01, **policy})
    log.answer("I look.", ("look", {}), usd=usd)
    log.settle()
    return log


def at_tokens() -> Log:
    log = Log(max_tokens=1_000)
    log.answer(("look", {}), tokens=1_200)
    log.settle()
    return log


def at_time() -> Log:
    log = Log(max_minutes=30)
    log.answer(("look", {}))
    log.use()
    log.add(DeadlinePassed(ref=MINUTES))
    log.settle()
    return log


def at_day(whose: Whose = "guild", spent: float = 19.9) -> Log:
    log = Log()
    log.add(BudgetRefused(whose=whose, day="2026-01-01", cap_usd=20.0, spent_usd=spent, needed_usd=0.4))
    log.settle()
    return log


def asked_of(log: Log) -> Asked:
    assert log.execution.question is not None
    return log.execution.question


def answered(log: Log, words: str, by: Person = BOSS, *, click: bool = False) -> list[Event]:
    """What an answer leads to, up to the next effect, question or end."""
    before = len(log.envelopes)
    log.say("answer", words, asked_of(log).question if click else "", by=by)
    log.settle()
    return [envelope.event for envelope in log.envelopes[before:]]


def raised(events: list[Event]) -> PolicyChanged:
    (found,) = [event for event in events if isinstance(event, PolicyChanged)]
    return found


def receipt(log: Log, words: str, by: Person, *, click: bool = True) -> str:
    before = log.execution
    log.say("answer", words, asked_of(log).question if click else "", by=by)
    (item,) = visible(before, log.envelopes[-1])
    return item.text
