"""Why something happened: the rule that decided it, what it read, and why those before it passed."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import CallBlock, InputReceived, ModelAnswered, Started
from agentic.core.fold.fold import fold
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Record
from bot.console.views.decision_trace import Trace, trace_of
from tests.integration.console import logs
from tests.unit.console.test_read_facts import RUNS, log_of


def traced(scene: str, kind: str, nth: int = -1) -> Trace:
    """The trace of an event of a golden run: of its kind the last one, or the ``nth``."""
    log = log_of(next(run for run in RUNS if run.stem == scene))
    return trace_of(log, [envelope.seq for envelope in log if envelope.event.kind == kind][nth])


@pytest.mark.parametrize(
    ("scene", "rule"),
    [
        ("work_5", "completed"), ("talk_5", "completed"), ("stopped_5", "stopping"), ("unattended_5", "limit"),
        ("out_of_money_5", "budget"), ("forked_5", "completed"),
    ],
)  # fmt: skip
def test_the_rule_that_ended_a_task_is_named(scene: str, rule: str) -> None:
    trace = traced(scene, "finished")
    assert trace.rule is not None
    assert (trace.source, trace.decided, trace.rule.name) == ("rules", True, rule)
    assert trace.rule.says
    assert trace.action.startswith("end the task")


def test_each_rule_that_was_asked_before_says_why_it_passed() -> None:
    trace = traced("asked_5", "finished")
    why = {rule.name: [fact.words for fact in rule.decisive] for rule in trace.passed}
    assert list(why)[:4] == ["finished", "unrestored", "stopping", "withdrawn"]
    assert why["stopping"] == ["stopping is none"]
    assert why["paused"] == ["paused is none"]
    assert why["out_of_time"] == ["spent.minutes_passed is no"]
    assert why["in_flight"] == ["request_in_flight is none", "calls_in_flight is none"]
    assert "completed" not in why


def test_a_rule_is_asked_in_the_state_in_which_it_decided() -> None:
    """Facts that are recorded together follow from one decision; calls that begin together too."""
    together = [traced("work_5", "tool_started", nth) for nth in (0, 1)]
    assert [(trace.state_seq, trace.seq) for trace in together] == [(4, 5), (4, 6)]
    assert together[0].action == together[1].action == "begin look, look"
    gated = traced("asked_5", "gated", 0)
    assert gated.rule is not None
    assert gated.rule.name == "open_calls"
    assert "a person must allow it" in gated.words


def test_facts_that_are_recorded_together_follow_from_one_decision() -> None:
    request, answer = logs.turn(1)[:2]
    assert isinstance(answer, ModelAnswered)
    call = CallBlock(provider_id="p2", tool="shell", arguments={"command": "ls"})
    stop = InputReceived(inbox="1", sort="stop", author=logs.ANN)
    events = [logs.started(), request, answer.model_copy(update={"blocks": (*answer.blocks, call)}), stop]
    decided = decide(fold(logs.enveloped("x1", events)))
    assert isinstance(decided, Record)
    log = logs.enveloped("x1", [*events, *decided.events])
    traces = [trace_of(log, seq) for seq in (5, 6)]
    assert [(trace.source, trace.rule and trace.rule.name, trace.state_seq) for trace in traces] == [
        ("rules", "stopping", 4), ("rules", "stopping", 4),
    ]  # fmt: skip


def test_what_came_from_outside_says_so_with_the_rule_that_answered_next() -> None:
    stop = traced("stopped_5", "input_received")
    assert (stop.source, stop.decided) == ("outside", False)
    assert "what you said or did" in stop.words
    assert stop.rule is not None
    assert (stop.rule.name, stop.action) == ("stopping", "end what runs: stopped by you")
    assert "the model's answer" in traced("work_5", "model_answered").words
    assert "what a tool call came to" in traced("work_5", "tool_finished", 0).words
    assert "A tool that the model called asks" in traced("asked_5", "asked", 0).words
    time = traced("out_of_time_5", "deadline_passed")
    assert time.decided
    assert "Time passed" in time.words


def test_a_nudge_is_named_with_what_it_is_for() -> None:
    assert "act_or_finish: Text without a call, in a task." in traced("work_5", "intervened").words


def test_what_was_copied_or_decided_by_other_rules_is_not_judged() -> None:
    log = log_of(next(run for run in RUNS if run.stem == "forked_5"))
    first = log[0].event
    assert isinstance(first, Started)
    assert first.forked_from is not None
    copied = trace_of(log, 2)
    assert (copied.source, copied.rule, copied.copied_from) == ("copied", None, first.forked_from[0])
    older = traced("work", "finished")
    assert (older.source, older.rule) == ("other rules", None)
    assert "cannot say why" in older.words


def test_what_the_rules_would_not_have_decided_is_said() -> None:
    log = log_of(next(run for run in RUNS if run.stem == "work_5"))
    last = log[-1]
    log[-1] = last.model_copy(update={"event": last.event.model_copy(update={"answer": "Something else."})})
    trace = trace_of(log, last.seq)
    assert trace.source == "otherwise"
    assert trace.rule is not None
    assert (trace.rule.name, trace.action) == ("completed", "end the task: done")
    assert trace_of(log, last.seq, fold(log[: last.seq - 9])) == trace, "nor does a walk from nearby find a decision"
    turned = next(envelope.seq for envelope in log if envelope.event.kind == "turn_ended")
    wrong = [e.model_copy(update={"event": last.event}) if e.seq == turned else e for e in log]
    assert trace_of(wrong, turned).source == "otherwise"
    assert trace_of(wrong, turned + 1).what, "what follows is still shown"
