"""Requests beside the turns: what they come to is kept until a rule uses it, and their failure blocks nothing."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    Intervened,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Purpose,
    TextBlock,
    Usage,
)
from agentic.core.state.counters import Consulted
from agentic.runtime.request_refs import BESIDE, prompt_for
from tests.unit.core.building import Log


def asked(log: Log, purpose: Purpose = "triage") -> Log:
    log.add(ModelRequested(request="r9", turn=0, purpose=purpose, tier=1, model="m", reserved_usd=0.5))
    return log


@pytest.mark.parametrize("purpose", sorted(BESIDE))
def test_every_purpose_has_a_prompt(purpose: Purpose) -> None:
    log = Log()
    log.answer(("look", {}))
    prompt = prompt_for(log.execution, (), purpose)
    assert prompt.tail or prompt.messages


def test_an_answer_beside_the_turns_is_no_turn_and_costs_what_it_costs() -> None:
    log = asked(Log())
    told, turn = log.execution.told, log.execution.turn
    answer = ModelAnswered(request="r9", blocks=(TextBlock(text="talk"),), usage=Usage(input=5, output=2), usd=0.25)
    after = log.add(answer)
    assert after.consulted == Consulted(purpose="triage", text="talk", model="m", tier=1)
    assert (after.told, after.turn, after.history, after.request) == (told, turn, (), None)
    assert (after.spent.tokens, after.spent.usd) == (7, 0.25)


def test_an_empty_answer_beside_the_turns_is_a_failure_of_it() -> None:
    after = asked(Log()).add(ModelAnswered(request="r9", blocks=()))
    assert after.consulted is not None
    assert after.consulted.failed == "it answered nothing"


def test_a_failure_beside_the_turns_is_no_failure_of_the_turn() -> None:
    after = asked(Log()).add(ModelFailed(request="r9", failure="timed_out", message="no answer"))
    assert after.consulted == Consulted(purpose="triage", failed="no answer", model="m", tier=1)
    assert after.failure.count == 0
    assert after.spent.usd == 0.5  # nobody knows what it cost


def test_what_was_made_of_it_closes_it() -> None:
    log = asked(Log(), "advice")
    log.add(ModelAnswered(request="r9", blocks=(TextBlock(text="look there"),)))
    assert log.add(Intervened(rule="advice", text="look there")).consulted is None
