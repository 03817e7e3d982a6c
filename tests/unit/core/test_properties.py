"""What must hold of every execution, whatever models, tools, people and crashes do (events.md, 'Properties to test')."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.core.events.execution_events import (
    Asked,
    CancelRequested,
    CheckpointSaved,
    DeadlinePassed,
    Decided,
    Escalated,
    Gated,
    InputReceived,
    Intervened,
    ModelRequested,
    OwnerChanged,
    ToolFinished,
    ToolStarted,
    Watched,
    WorkspaceFound,
)
from agentic.core.fold.fold import evolve, fold
from agentic.core.fold.people import ALLOW, DENY
from agentic.core.prompt.user_messages import guidance, pending_message
from agentic.core.rules import decide as rules
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Record
from agentic.core.state.execution import Execution
from agentic.core.text.answers import at_least
from agentic.core.text.foreign_text import mark_of
from tests.unit.core.building import YOU
from tests.unit.core.simulating import GATED, Drawn, simulate

many = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@many
@given(st.data())
def test_decide_is_total_deterministic_and_legal_on_every_prefix(data: st.DataObject) -> None:
    drawn = simulate(data)
    execution = Execution(id="x1")
    for envelope in drawn.log.envelopes:
        execution = evolve(execution, envelope)
        assert decide(execution) == decide(execution)
        assert set(vars(execution)) == {field.name for field in fields(Execution)}
    assert execution == drawn.log.execution == fold(drawn.log.envelopes)


@many
@given(st.data())
def test_chains_of_records_end(data: st.DataObject) -> None:
    length = 0
    for _, action in simulate(data).actions:
        length = length + 1 if isinstance(action, Record) else 0
        assert length < 12


@many
@given(st.data())
def test_every_execution_whose_people_answer_ends(data: st.DataObject) -> None:
    execution = simulate(data).log.execution
    assert execution.finished is not None


@many
@given(st.data())
def test_after_a_stop_nothing_begins_every_call_is_closed_and_it_ends_as_stopped(data: st.DataObject) -> None:
    drawn = simulate(data)
    events = [envelope.event for envelope in drawn.log.envelopes]
    stops = [i for i, event in enumerate(events) if isinstance(event, InputReceived) and event.sort == "stop"]
    if not stops:
        return
    after = events[stops[0] :]
    assert not [event for event in after if isinstance(event, ModelRequested | ToolStarted)]
    assert drawn.log.execution.finished is not None
    assert drawn.log.execution.finished.reason == "stopped"
    assert not drawn.log.execution.open_calls
    assert drawn.log.execution.request is None


@many
@given(st.data())
def test_nothing_new_begins_while_it_is_paused(data: st.DataObject) -> None:
    execution = Execution(id="x1")
    begun: set[str] = set()
    for envelope in simulate(data).log.envelopes:
        event = envelope.event
        if execution.paused is not None:
            assert not isinstance(event, ModelRequested | ToolStarted | Escalated | Intervened)
            assert not isinstance(event, Asked) or event.call in begun
        if isinstance(event, ToolStarted):
            begun.add(event.call)
        execution = evolve(execution, envelope)


@many
@given(st.data())
def test_a_person_alone_lifts_the_pause_of_a_person(data: st.DataObject) -> None:
    holder = ""
    execution = Execution(id="x1")
    for envelope in simulate(data).log.envelopes:
        event = envelope.event
        if isinstance(event, InputReceived) and event.sort == "pause":
            holder = holder if holder == YOU.id else event.author.id
        if isinstance(event, InputReceived) and event.sort == "resume" and (event.author.id, holder) != ("0", YOU.id):
            holder = ""
        execution = evolve(execution, envelope)
        assert (execution.paused.author.id if execution.paused is not None else "") == holder


@many
@given(st.data())
def test_no_gated_call_runs_without_an_approval_of_the_same_arguments_and_state_by_who_may(
    data: st.DataObject,
) -> None:
    drawn = simulate(data)
    asked: dict[str, Asked] = {}
    gated: dict[str, Gated] = {}
    decided: dict[str, Decided] = {}
    runs: Counter[str] = Counter()
    for envelope in drawn.log.envelopes:
        event = envelope.event
        if isinstance(event, Gated):
            gated[event.call] = event
        elif isinstance(event, Asked):
            asked[event.question] = event
        elif isinstance(event, Decided):
            decided[event.question] = event
        elif isinstance(event, ToolStarted) and event.tool in GATED:
            question, decision = asked[event.approval], decided[event.approval]
            assert (question.sort, question.call, question.args_sha) == ("approval", event.call, event.args_sha)
            assert decision.choice == ALLOW
            assert at_least(decision.by.level, question.who_may)
            assert envelope.seq not in drawn.looked or drawn.looked[envelope.seq] == gated[event.call].state_sha
            runs[event.approval] += envelope.seq in drawn.looked
    assert all(count == 1 for count in runs.values())


@many
@given(st.data())
def test_an_approval_that_nobody_gave_in_time_is_a_denial(data: st.DataObject) -> None:
    late: set[str] = set()
    days: set[str] = set()
    for envelope in simulate(data).log.envelopes:
        event = envelope.event
        if isinstance(event, DeadlinePassed) and event.ref.startswith("q"):
            late.add(event.ref)
        if isinstance(event, Asked) and event.what == "day":
            days.add(event.question)
        if isinstance(event, Decided) and event.question in late - days:
            assert event.choice == DENY
        if isinstance(event, ToolStarted):
            assert event.approval not in late


@many
@given(st.data())
def test_nothing_is_changed_before_the_workspace_is_saved(data: st.DataObject) -> None:
    saved = 0
    for envelope in simulate(data).log.envelopes:
        saved += isinstance(envelope.event, CheckpointSaved)
        if isinstance(envelope.event, ToolStarted) and envelope.event.tool in ("put", "shell", *GATED):
            assert saved >= 1


@many
@given(st.data())
def test_each_intent_has_one_result_and_an_unkeyed_one_never_begins_twice(data: st.DataObject) -> None:
    drawn = simulate(data)
    events = [envelope.event for envelope in drawn.log.envelopes]
    results = Counter(event.call for event in events if isinstance(event, ToolFinished))
    assert all(count == 1 for count in results.values())
    begun = Counter(event.call for event in events if isinstance(event, ToolStarted) and event.effect == "unkeyed")
    begun.subtract(call for event in events if isinstance(event, WorkspaceFound) for call in event.never_begun)
    assert all(0 <= count <= 1 for count in begun.values()), "what never began may begin, and nothing else twice"
    if drawn.log.execution.finished is not None:
        assert {event.call for event in events if isinstance(event, ToolStarted)} <= set(results)


@many
@given(st.data())
def test_what_ran_when_its_owner_died_is_unknown_unless_it_may_run_again(data: st.DataObject) -> None:
    begun: set[str] = set()
    lost: set[str] = set()
    drawn = simulate(data)
    for envelope in drawn.log.envelopes:
        event = envelope.event
        if isinstance(event, ToolStarted) and event.effect == "unkeyed":
            begun.add(event.call)
        elif isinstance(event, Asked):
            begun.discard(event.call)
        elif isinstance(event, OwnerChanged):
            lost |= begun
            begun = set()
        elif isinstance(event, WorkspaceFound):
            lost -= set(event.never_begun)
        elif isinstance(event, ToolFinished):
            begun.discard(event.call)
            assert (event.outcome == "unknown") == (event.call in lost - drawn.recalled)


@many
@given(st.data())
def test_guidance_stands_in_at_most_one_message_and_what_is_still_told_in_none(data: st.DataObject) -> None:
    execution = simulate(data).log.execution
    sent = [line for message in execution.history for line in message.text.splitlines() if line.startswith("hint ")]
    waiting = [line for text in execution.told.texts for line in text.splitlines() if line.startswith("hint ")]
    assert all(count == 1 for count in Counter([*sent, *waiting]).values())


@many
@given(st.data())
def test_guidance_that_came_before_the_end_was_seen_or_the_end_was_not_a_completion(data: st.DataObject) -> None:
    drawn = simulate(data)
    finished = drawn.log.execution.finished
    if finished is not None and finished.reason == "done":
        assert drawn.log.execution.told.unseen == ()
        given_ = [e.event for e in drawn.log.envelopes if isinstance(e.event, InputReceived)]
        texts = "\n".join(message.text for message in drawn.log.execution.history)
        for event in given_:
            if event.sort == "guidance":
                known = guidance(event, mark_of(drawn.log.execution.started)) in texts or _answered_a_question(
                    drawn, event
                )
                assert known


def _answered_a_question(drawn: Drawn, event: InputReceived) -> bool:
    return any(e.event.kind == "decided" and e.event.text == event.text for e in drawn.log.envelopes)


@many
@given(st.data())
def test_a_call_that_a_watcher_holds_runs_only_with_an_approval_and_each_call_is_looked_at_once(
    data: st.DataObject,
) -> None:
    held: set[str] = set()
    seen: Counter[tuple[str, str]] = Counter()
    for envelope in simulate(data).log.envelopes:
        event = envelope.event
        if isinstance(event, Watched):
            held.update(event.held)
            seen.update((event.watcher, call) for call in event.calls)
        elif isinstance(event, ToolStarted):
            assert event.approval or event.call not in held
    assert not [each for each, times in seen.items() if times > 1]


@many
@given(st.data())
def test_requests_pair_every_call_with_its_result_in_call_order(data: st.DataObject) -> None:
    execution = Execution(id="x1")
    for envelope in simulate(data).log.envelopes:
        execution = evolve(execution, envelope)
        if isinstance(envelope.event, ModelRequested) and envelope.event.purpose == "turn":
            waiting: list[str] = []
            for message in execution.history:
                if message.role == "assistant":
                    assert not waiting
                    waiting = [call.provider_id for call in message.calls]
                else:
                    assert [answer.provider_id for answer in message.answers] == waiting
                    waiting = []
            assert not waiting
            assert execution.told.texts == ()
            assert pending_message(execution) is None


@many
@given(st.data())
def test_reads_never_run_beside_writes_and_never_more_than_eight(data: st.DataObject) -> None:
    execution = Execution(id="x1")
    for envelope in simulate(data).log.envelopes:
        execution = evolve(execution, envelope)
        running = [call.intent.effect for call in execution.calls_in_flight if call.intent]
        assert len(running) <= execution.policy.parallel_reads
        assert len(running) <= 1 or all(effect == "read" for effect in running)


def test_the_generator_reaches_the_hard_cases() -> None:
    """At least 5 % of the drawn executions hold a stop in flight, an older fence, a crash between intent and result."""
    held: Counter[str] = Counter()
    runs = 0

    @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        nonlocal runs
        drawn = simulate(data)
        runs += 1
        held.update({name: 1 for name, count in drawn.held.items() if count})
        held["gated call run"] += bool(drawn.looked)
        held.update({e.event.what for e in drawn.log.envelopes if isinstance(e.event, Asked) and e.event.what})
        held["cancelled"] += any(isinstance(e.event, CancelRequested) for e in drawn.log.envelopes)

    draw()
    hard = ("stop in flight", "older fence", "crash between intent and result", "pause in flight")
    shares = {name: held[name] / runs for name in hard}
    assert all(share >= 0.05 for share in shares.values()), shares
    more = ("stop while paused", "expired", "gated call run", "day", "usd", "tokens", "minutes", "objected")
    assert all(held[name] for name in more), [name for name in more if not held[name]]


def test_rules_are_read_when_they_are_needed() -> None:
    """``decide`` reads the tuple anew, so that a rule taken out is really out (``make mutants`` relies on it)."""
    before = rules.RULES
    try:
        rules.RULES = ()
        assert isinstance(decide(Execution(id="x1")), rules.Think)
    finally:
        rules.RULES = before


@many
@given(st.data())
def test_between_two_changes_of_tier_there_is_time_unless_a_person_wants_it_or_it_would_end(
    data: st.DataObject,
) -> None:
    at, tier = -9, 0
    execution = Execution(id="x1")
    for envelope in simulate(data).log.envelopes:
        event = envelope.event
        if isinstance(event, Escalated):
            assert event.from_tier == execution.tier != event.to_tier
            assert tier in (0, event.from_tier)
            hurried = event.rule in ("person", "empty_answers", "gave_up")
            assert hurried or at < 0 or execution.turn.number - at > execution.policy.escalation_hysteresis
            at, tier = execution.turn.number, event.to_tier
        if isinstance(event, Intervened) and event.rule == "advice":
            at = execution.turn.number
        execution = evolve(execution, envelope)
