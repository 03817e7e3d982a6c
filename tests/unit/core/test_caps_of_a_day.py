"""Caps of a day, where a request found no room in one: who may raise it, for whom, and what follows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agentic.core.events.execution_events import BudgetRefused, DeadlinePassed, Whose
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Finish, Think, Wait
from tests.unit.core.building import BOSS, YOU, Log
from tests.unit.core.capped import answered, asked_of, at_day, raised, receipt


@pytest.mark.parametrize("whose", ["person", "guild", "bot"])
def test_a_budget_of_the_day_is_raised_by_an_operator_for_everybody_whom_it_caps(whose: Whose) -> None:
    log = at_day(whose)
    asked = asked_of(log)
    assert (asked.what, asked.who_may, asked.expires) == ("day", "operator", datetime(2026, 1, 2, tzinfo=UTC))
    assert "of today's budget of $20 for " in asked.text
    assert "only $0.10 of today's budget" in asked.text
    assert [option.label for option in asked.options] == ["$10 more for today", "$20 more for today", "Stop here"]
    assert receipt(log, "1", YOU).startswith("Only an operator can raise today's budget.")
    change = raised(answered(log, "$4"))
    assert (change.add_day_usd, change.whose, change.day, change.by) == (4.0, whose, "2026-01-01", BOSS.id)
    (day,) = log.execution.caps.days
    assert (day.question, day.whose, day.day, day.usd) == (asked.question, whose, "2026-01-01", 4.0)
    assert isinstance(decide(log.execution), Think)


def test_the_offers_of_a_day_have_room_for_the_next_step() -> None:
    log = Log()
    log.add(BudgetRefused(whose="bot", day="2026-01-01", cap_usd=0.02, spent_usd=0.02, needed_usd=0.3))
    log.settle()
    assert "is used up" in asked_of(log).text
    assert [option.label for option in asked_of(log).options][:2] == ["$0.30 more for today", "$0.60 more for today"]


def test_when_the_day_is_over_it_goes_on_by_itself() -> None:
    log = at_day()
    asked = asked_of(log)
    action = decide(log.execution)
    assert isinstance(action, Wait)
    assert [(timer.ref, timer.at) for timer in action.timers] == [(asked.question, asked.expires)]
    log.add(DeadlinePassed(ref=asked.question))
    assert "A new day has started" in receipt(log, "1", BOSS)
    log.settle()
    assert log.execution.refused is None
    assert log.execution.caps.days == ()
    assert isinstance(decide(log.execution), Think)


def test_a_day_that_is_not_raised_ends_in_plain_words() -> None:
    log = at_day("person", 20.0)
    answered(log, "stop")
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.answer.startswith("I stopped: today's budget of $20 for you is used up.")
