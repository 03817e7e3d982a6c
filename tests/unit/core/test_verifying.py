"""The rules are run again over a log: they say what it says, and one decision altered is found out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from agentic.core.audit.verification import as_written, origin_of, verify
from agentic.core.events.execution_events import (
    Asked,
    CheckpointSaved,
    Envelope,
    Event,
    Finished,
    Intervened,
    ModelRequested,
    OwnerChanged,
    Perceived,
    PolicyChanged,
    RulesChanged,
    ToolFinished,
    ToolStarted,
    Triaged,
    TurnEnded,
    WorkspaceFound,
    WorkspaceRestored,
)
from agentic.core.events.values import FileChange
from agentic.core.fold.fold import evolve, fold
from agentic.core.rules.decide import RULES_VERSION, decide
from agentic.core.state.actions import (
    Ask,
    Finish,
    Inspect,
    Record,
    Think,
    Wait,
)
from agentic.core.state.execution import Execution
from tests.unit.console.test_read_facts import RUNS, log_of
from tests.unit.core.building import BOSS, Log
from tests.unit.core.simulating import simulate

_ALTERED: dict[str, Callable[[Event], dict[str, object]]] = {
    "triaged": lambda e: {"talk": not cast(Triaged, e).talk},
    "model_requested": lambda e: {"model": "another"},
    "checkpoint_saved": lambda e: {"why": "end"},
    "deadline_passed": lambda e: {"ref": "another"},
    "cancel_requested": lambda e: {"refs": ("another",)},
    "tool_started": lambda e: {"tool": "another"},
    "gated": lambda e: {"call": "another"},
    "tool_finished": lambda e: {"call": "another"},
    "model_failed": lambda e: {"message": "another"},
    "turn_ended": lambda e: {"turn": cast(TurnEnded, e).turn + 1},
    "asked": lambda e: {"text": "another"},
    "decided": lambda e: {"choice": "another"},
    "policy_changed": lambda e: {"add_turns": 999},
    "intervened": lambda e: {"text": "another"},
    "escalated": lambda e: {"to_tier": 9},
    "watched": lambda e: {"text": "another"},
    "finished": lambda e: {"answer": "another"},
}
"""What another decision would have written."""
many = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def stamped(log: Sequence[Envelope], version: int = RULES_VERSION, **more: object) -> list[Envelope]:
    """The log as one that says which rules it was decided by."""
    first = log[0].event.model_copy(update={"rules": version, **more})
    return [log[0].model_copy(update={"event": first}), *log[1:]]


def changed_at(log: Sequence[Envelope], seq: int, event: Event) -> list[Envelope]:
    return [e.model_copy(update={"event": event}) if e.seq == seq else e for e in log]


def numbered(log: Log, *events: Event) -> Log:
    log.add(*events)
    return log


@many
@given(st.data())
def test_the_rules_decide_again_what_they_decided(data: st.DataObject) -> None:
    log = stamped(simulate(data).log.envelopes)
    again = verify(log)
    assert again.divergence is None
    assert again.others == ()
    own = {"triaged", "model_requested", "turn_ended", "tool_started", "gated", "cancel_requested", "escalated"}
    assert {e.seq for e in log if e.event.kind in own} <= set(again.decisions)


@many
@given(st.data())
def test_one_decision_altered_is_found_out(data: st.DataObject) -> None:
    log = stamped(simulate(data).log.envelopes)
    decisions = verify(log).decisions
    assume(decisions)
    seq = data.draw(st.sampled_from(decisions))
    event = log[seq - 1].event
    again = verify(changed_at(log, seq, event.model_copy(update=_ALTERED[event.kind](event))))
    assert again.divergence is not None
    assert again.divergence.seq == seq
    assert again.decisions == tuple(earlier for earlier in decisions if earlier < seq)


@settings(many, max_examples=20)
@given(st.data())
def test_one_decision_left_out_is_found_out_by_what_follows_from_it(data: st.DataObject) -> None:
    log = stamped(simulate(data).log.envelopes)
    decisions = [seq for seq in verify(log).decisions if log[seq - 1].event.kind in ("turn_ended", "triaged")]
    assume(decisions)
    seq = data.draw(st.sampled_from(decisions))
    rest = [e.model_copy(update={"seq": e.seq - 1}) for e in log[seq:]]
    if any(e.event.kind == "model_requested" for e in rest):
        assert verify([*log[: seq - 1], *rest]).divergence is not None


@many
@given(st.data())
def test_a_fork_is_verified_from_where_it_goes_on(data: st.DataObject) -> None:
    """What is copied stands under one fence, with another requester, and is verified where it was decided."""
    log = stamped(simulate(data).log.envelopes)
    through = data.draw(st.sampled_from([1, *(e.seq for e in log if isinstance(e.event, CheckpointSaved))]))
    copy = [e.model_copy(update={"fence": 40}) for e in log[:through]]
    fork = going_on(stamped(copy, thread="200", forked_from=("x0", through), requester=BOSS))
    fork.add(
        WorkspaceRestored(manifest="m"), PolicyChanged(by="boss", add_usd=9.0), PolicyChanged(by="boss", add_turns=9)
    )
    fork.say("stop")
    fork.settle()
    action = decide(fork.execution)
    assert isinstance(action, Finish)
    fork.add(action.finished)
    again = verify(fork.envelopes)
    assert (again.divergence, again.copied, again.others) == (None, through, ())
    assert again.decisions[-1] == fork.execution.seq
    assert all(seq > through for seq in again.decisions)
    altered = changed_at(fork.envelopes, fork.execution.seq, action.finished.model_copy(update={"answer": "another"}))
    assert verify(altered).divergence is not None


def going_on(copy: list[Envelope]) -> Log:
    log = Log()
    log.envelopes, log.execution, log.now, log.fence = copy, fold(copy), copy[-1].at, copy[-1].fence
    return log


def test_the_fences_of_a_copy_change_where_its_owners_did() -> None:
    log = Log(saved=False)
    log.add(OwnerChanged(worker="w2"), OwnerChanged(worker="w3"))
    log.fence = 2
    log.add(OwnerChanged(worker="w4"))
    copy = stamped(log.envelopes, forked_from=("x0", 4))
    assert [e.fence for e in as_written(copy)] == [-1, -1, 0, 1, 2]
    assert as_written(log.envelopes) == log.envelopes


def test_more_is_granted_by_people_only_where_it_is_gone_on_with() -> None:
    log = Log(saved=False)
    log.add(PolicyChanged(by="boss", add_usd=1.0))
    assert verify(stamped(log.envelopes)).divergence is not None


def test_the_divergence_says_what_the_rules_would_have_noted() -> None:
    log = Log(saved=False)
    log.answer("confidence: 40")
    told = verify(stamped(numbered(log, Intervened(rule="mine", text="?")).envelopes)).divergence
    assert told is not None
    assert (told.seq, told.logged) == (5, Intervened(rule="mine", text="?"))
    assert isinstance(told.ruled, Record)
    assert isinstance(told.expected, TurnEnded)


def test_where_the_rules_think_ask_or_wait_the_divergence_has_their_action() -> None:
    thinks = verify(stamped(numbered(Log(saved=False), Finished(reason="done", answer="")).envelopes)).divergence
    assert thinks is not None
    assert isinstance(thinks.ruled, Think)
    assert thinks.expected is None
    waits = Log(saved=False)
    waits.request()
    told = verify(stamped(numbered(waits, Finished(reason="done", answer="")).envelopes)).divergence
    assert told is not None
    assert isinstance(told.ruled, Wait)
    asks = Log(saved=False, turns_medium=1)
    asks.answer("I think.")
    asks.settle()
    asked = changed_at(asks.envelopes, asks.execution.seq, Triaged(talk=True))
    told = verify(stamped(asked)).divergence
    assert told is not None
    assert isinstance(told.ruled, Ask)
    assert told.expected == told.ruled.asked


def test_where_the_rules_finish_another_end_is_a_divergence() -> None:
    log = Log(saved=False)
    log.say("stop")
    told = verify(stamped(numbered(log, Finished(reason="done", answer="It works.")).envelopes)).divergence
    assert told is not None
    assert isinstance(told.ruled, Finish)
    assert told.expected == told.ruled.finished


def test_what_was_perceived_stands_between_a_decision_and_its_request() -> None:
    log = numbered(Log(saved=False), Perceived(changes=("b.py by ben",)))
    log.request()
    assert verify(stamped(log.envelopes)).decisions == (2, 4)


def test_a_checkpoint_that_ends_later_was_still_asked_for() -> None:
    """It began before the first change; a stop came while it was taken."""
    log = Log(saved=False)
    log.answer(("shell", {}))
    log.say("stop")
    log.settle()
    saved = CheckpointSaved(manifest="m", through_seq=5)
    log.add(saved)
    assert verify(stamped(log.envelopes)).divergence is None
    log.add(saved)
    divergence = verify(stamped(log.envelopes)).divergence
    assert divergence is not None
    assert divergence.seq == log.execution.seq, "it was asked for once"


def test_calls_that_begin_together_may_be_left_when_somebody_speaks() -> None:
    log = Log(saved=False)
    log.answer(("look", {}), ("look", {}), ("look", {}))
    log.start(0)
    log.say("guidance", "wait")
    log.finish(0)
    log.start(1)
    log.start(2)
    assert verify(stamped(log.envelopes)).divergence is None


def test_calls_that_begin_together_begin_in_their_order() -> None:
    log = Log(saved=False)
    log.answer(("look", {}), ("look", {}))
    log.start(1)
    divergence = verify(stamped(log.envelopes)).divergence
    assert divergence is not None
    assert divergence.seq == 5


def test_arguments_that_a_tool_refuses_are_a_result_of_its_call() -> None:
    log = Log(saved=False)
    log.answer(("look", {}), ("look", {}))
    refused = ToolFinished(call=log.execution.turn.calls[0].id, outcome="refused", preview="no")
    log.add(refused)
    log.start(1)
    assert verify(stamped(log.envelopes)).divergence is None
    log.add(refused.model_copy(update={"call": "another"}))
    divergence = verify(stamped(log.envelopes)).divergence
    assert divergence is not None


def test_an_intent_under_an_approval_that_nobody_gave_is_a_divergence() -> None:
    log = Log(saved=False)
    log.answer(("look", {}))
    log.start(0)
    event = cast(ToolStarted, log.envelopes[-1].event)
    approved = changed_at(log.envelopes, 5, event.model_copy(update={"approval": "q1"}))
    assert verify(stamped(log.envelopes)).divergence is None
    assert verify(stamped(approved)).divergence is not None


def test_a_question_with_another_id_is_a_divergence() -> None:
    log = Log(saved=False, turns_medium=1)
    log.answer("I think.")
    log.settle()
    asked = cast(Asked, log.envelopes[-1].event)
    assert asked.sort == "extension"
    other = changed_at(log.envelopes, log.execution.seq, asked.model_copy(update={"question": "qother"}))
    assert verify(stamped(other)).divergence is not None


def test_who_leaves_in_order_keeps_a_copy_that_no_rule_asked_for() -> None:
    log = Log(saved=False)
    log.add(CheckpointSaved(manifest="m", through_seq=2, why="leaving"))
    log.request()
    assert verify(stamped(log.envelopes)).decisions == (2, 4)


def test_who_leaves_in_order_looks_unasked_what_a_command_that_it_ended_had_changed() -> None:
    log = Log(saved=False)
    log.answer(("shell", {}))
    log.settle()
    log.start()
    log.finish(outcome="cancelled")
    log.add(WorkspaceFound(changes=(FileChange(path="a.txt", kind="added"),)))
    log.add(CheckpointSaved(manifest="m", through_seq=2, why="leaving"))
    assert verify(stamped(log.envelopes)).divergence is None
    log.add(WorkspaceFound())
    assert verify(stamped(log.envelopes)).divergence is not None, "nothing was touched since"


def test_a_look_at_the_workspace_is_one_that_a_rule_asked_for() -> None:
    """An owner who finds a command cut off looks once what became of the files."""
    log = Log(saved=False)
    log.answer(("shell", {}))
    log.settle()
    log.start()
    log.fence = 2
    log.add(OwnerChanged(worker="b"))
    log.settle(saving=False)
    assert isinstance(decide(log.execution), Inspect)
    log.add(WorkspaceFound())
    seq = log.execution.seq
    log.settle()
    assert verify(stamped(log.envelopes)).divergence is None
    assert seq in verify(stamped(log.envelopes)).decisions


@pytest.mark.parametrize("version", [0, RULES_VERSION + 1])
def test_what_other_rules_decided_is_not_judged(version: int) -> None:
    log = numbered(Log(saved=False), Finished(reason="done", answer="whatever"))
    again = verify(stamped(log.envelopes, version))
    assert again.divergence is None
    assert (again.decisions, again.others) == ((), ((1, 3, version),))


def test_a_log_that_other_rules_went_on_with_is_judged_in_part() -> None:
    log = Log(saved=False)
    log.add(RulesChanged(rules=RULES_VERSION + 1))
    log.say("guidance", "go on")
    log.add(RulesChanged(rules=RULES_VERSION))
    log.request()
    again = verify(stamped(log.envelopes))
    assert (again.decisions, again.divergence) == ((2, 6), None)
    assert again.others == ((3, 4, RULES_VERSION + 1),)
    wrong = cast(ModelRequested, log.envelopes[-1].event).model_copy(update={"turn": 7})
    assert verify(changed_at(stamped(log.envelopes), 6, wrong)).divergence is not None


def test_other_parts_stand_apart_where_these_rules_decided_between() -> None:
    log = Log(saved=False)
    for version in (8, RULES_VERSION, 9):
        log.add(RulesChanged(rules=version))
        log.say("guidance", "go on")
    assert verify(stamped(log.envelopes)).others == ((3, 4, 8), (7, 8, 9))


def test_an_empty_log_and_one_without_a_beginning_hold_nothing_to_judge() -> None:
    assert verify([]).decisions == ()
    log = Log(saved=False)
    assert verify(log.envelopes[1:]).decisions == ()


@pytest.mark.parametrize("scene", ["asked", "interrupted", "out_of_time", "work"])
def test_each_event_comes_from_the_same_state_wherever_the_walk_begins(scene: str) -> None:
    """From a state nearby as from the first event, also where the decision came before that state."""
    log = log_of(next(run for run in RUNS if run.stem == f"{scene}_{RULES_VERSION}"))
    states = [Execution()]
    for envelope in log:
        states.append(evolve(states[-1], envelope))
    whole = [origin_of(log, envelope.seq) for envelope in log]
    assert {origin.source for origin in whole} == {"rules", "outside"}
    for seq, origin in enumerate(whole, 1):
        assert origin.after == states[seq]
        if origin.ruled is not None:
            assert decide(origin.ruled.state) == origin.ruled.action
            assert origin.ruled.state == states[origin.ruled.state.seq]
        for before in (1, 2, 12):
            near = origin_of(log, seq, states[max(seq - before, 0)])
            assert (near.source, near.ruled, near.follows) == (origin.source, origin.ruled, origin.follows), seq
