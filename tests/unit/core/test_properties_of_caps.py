"""What must hold of the caps of every execution, whatever requests cost, fail with or lose, and whatever people answer."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.core.events.execution_events import (
    Asked,
    DeadlinePassed,
    Decided,
    Escalated,
    Intervened,
    ModelAnswered,
    ModelRequested,
    PolicyChanged,
    ToolStarted,
)
from agentic.core.fold.fold import MINUTES, evolve
from agentic.core.state.execution import Execution
from agentic.core.text.answers import at_least
from tests.unit.core.simulating import simulate

many = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@many
@given(st.data())
def test_spending_stays_within_the_cap_and_one_call(data: st.DataObject) -> None:
    """Whatever requests cost, fail with or lose, and whatever people add: each was made with something left of every cap."""
    drawn = simulate(data)
    policy = drawn.log.execution.policy
    cap, tokens, dearest, minutes = policy.max_usd, policy.max_tokens, 0.0, False
    execution = Execution(id="x1")
    for envelope in drawn.log.envelopes:
        event = envelope.event
        if isinstance(event, ModelRequested):
            assert execution.spent.usd < cap
            assert execution.spent.tokens < tokens
            assert not minutes
            assert execution.refused is None
            dearest = max(dearest, event.reserved_usd)
        if isinstance(event, ModelAnswered):
            dearest = max(dearest, event.usd)
        if isinstance(event, PolicyChanged):
            cap, tokens = cap + event.add_usd, tokens + event.add_tokens
            minutes = minutes and not event.add_minutes
        minutes = minutes or (isinstance(event, DeadlinePassed) and event.ref == MINUTES)
        execution = evolve(execution, envelope)
    assert execution.spent.usd <= cap + dearest


@many
@given(st.data())
def test_money_is_added_by_operators_alone_and_only_what_they_said(data: st.DataObject) -> None:
    asked: dict[str, Asked] = {}
    decided: Decided | None = None
    for envelope in simulate(data).log.envelopes:
        event = envelope.event
        if isinstance(event, Asked):
            asked[event.question] = event
        elif isinstance(event, Decided):
            decided = event
        elif isinstance(event, PolicyChanged) and (event.add_usd or event.add_tokens or event.add_day_usd):
            assert decided is not None
            assert decided.question == event.question
            assert asked[decided.question].what in ("usd", "tokens", "day")
            assert at_least(decided.by.level, "operator")
            assert decided.choice != "stop"


@many
@given(st.data())
def test_nothing_begins_while_more_of_a_cap_is_asked_for(data: st.DataObject) -> None:
    execution = Execution(id="x1")
    for envelope in simulate(data).log.envelopes:
        if execution.question is not None and execution.question.sort == "extension":
            assert not isinstance(envelope.event, ModelRequested | ToolStarted | Intervened | Escalated)
        execution = evolve(execution, envelope)
