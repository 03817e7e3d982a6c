"""Rules on a recorded state: they decide the same, and what they read is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.core.events.execution_events import Envelope
from agentic.core.events.upcasting import read_envelope
from agentic.core.fold.fold import evolve
from agentic.core.rules.decide import RULES, decide, think
from agentic.core.state.execution import Execution, Spent
from agentic.core.state.replace import changed
from bot.console.views.read_facts import Reads

RUNS = sorted((Path(__file__).parents[2] / "golden").glob("*/runs/*.jsonl"))


def log_of(run: Path) -> list[Envelope]:
    return [read_envelope(line) for line in run.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.stem)
def test_each_rule_decides_the_same_on_a_recorded_state(run: Path) -> None:
    execution = Execution()
    for envelope in log_of(run):
        execution = evolve(execution, envelope)
        for rule in (*RULES, think):
            plain, recorded = rule(execution), rule(Reads(execution).state)
            assert (recorded, type(recorded)) == (plain, type(plain)), (envelope.seq, rule.__name__)
            assert (plain, recorded) == (recorded, plain)
        assert decide(Reads(execution).state) == decide(execution)


def test_what_is_read_is_told_once_in_order_and_through_what() -> None:
    log = log_of(next(run for run in RUNS if run.stem == "asked_5"))
    asked = next(n for n, envelope in enumerate(log) if envelope.event.kind == "tool_started")
    execution = Execution()
    for envelope in log[: asked + 1]:
        execution = evolve(execution, envelope)
    reads = Reads(execution)
    state = reads.state
    assert state.paused is None
    assert state.policy.parallel_reads == execution.policy.parallel_reads
    assert state.calls_in_flight[0].block.tool == state.calls_in_flight[0].block.tool == "ask_user"
    told = [(fact.name, fact.through) for fact in reads.facts]
    assert told[0] == ("paused", "")
    assert [name for name, _ in told].count("started.policy.parallel_reads") == 1
    assert not {"policy", "started"} & {name for name, _ in told}
    assert ("turn.calls[0].block.tool", "") in told
    assert ("calls_in_flight", "") in told
    assert ("turn.calls[0].fence", "calls_in_flight") in told
    assert "turn" not in [name for name, _ in told], "the whole turn says less than what was read of it"
    assert reads.facts[0].value == "none"


def test_a_recorded_state_is_used_like_the_state_itself() -> None:
    execution = Execution(id="x1", spent=Spent(usd=1.5))
    state = Reads(execution).state
    assert isinstance(state, Execution)
    assert state.__class__ is Execution
    assert state == execution == state
    assert hash(state.spent) == hash(execution.spent)
    assert changed(state, tier=3) == changed(execution, tier=3)
    assert changed(state.spent, tokens=4).usd == 1.5
