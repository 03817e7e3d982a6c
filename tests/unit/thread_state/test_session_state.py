"""The state of a thread: what each event makes of it, and what no sequence of events can make of it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    Event,
    Finished,
    InputReceived,
    Person,
    Quarantined,
    Sort,
    Started,
)
from agentic.core.fold.people import MACHINE
from bot.thread_state.session_state import (
    IDLE,
    ActBegan,
    ActEnded,
    Appended,
    BegunBeside,
    BrokenOff,
    Chosen,
    Discarded,
    Dropped,
    EndedBeside,
    FetchBegan,
    FetchEnded,
    InboxRead,
    LoopBegan,
    LoopEnded,
    NothingOpen,
    Output,
    Phase,
    ProcessEnding,
    Queued,
    ReleaseSlot,
    Rested,
    RetakeSlot,
    SessionEvent,
    SessionState,
    StopExecution,
    StopRequested,
    Stored,
    Storing,
    TakenUp,
    advance,
)

ANN = Person(id="7", name="Ann")
QUESTION = Asked(question="q1", text="Which one?")
BEGUN: tuple[SessionEvent, ...] = (Chosen("x1", "7"), LoopBegan("x1"))


def said(kind: Sort, by: Person = ANN, inbox: str = "8") -> InputReceived:
    return InputReceived(inbox=inbox, sort=kind, author=by)


def lived(*events: SessionEvent, state: SessionState = IDLE) -> SessionState:
    for event in events:
        state, _ = advance(state, event)
    return state


def told(*events: Event, execution: str = "x1") -> tuple[SessionEvent, ...]:
    return tuple(Appended(execution, event) for event in events)


# --- phases ---------------------------------------------------------------------------------------------------------

PHASES: list[tuple[Phase, tuple[SessionEvent, ...]]] = [
    (Phase.IDLE, ()),
    (Phase.STARTING, (Storing("8", "7"),)),
    (Phase.IDLE, (Storing("8", "7"), Stored("8"))),
    (Phase.STARTING, (Storing("8", "7"), Queued("8"), Stored("8"))),
    (Phase.STARTING, (FetchBegan("8"),)),
    (Phase.IDLE, (FetchBegan("8"), FetchEnded("8"))),
    (Phase.STARTING, (Queued("8"), InboxRead(frozenset()), Chosen("x1", "7"))),
    (Phase.IDLE, (Queued("8"), Discarded(("8",)))),
    (Phase.WORKING, BEGUN),
    (Phase.ASKING, (*BEGUN, *told(QUESTION))),
    (Phase.WORKING, (*BEGUN, *told(QUESTION, Decided(question="q1", by=ANN, choice="a")))),
    (Phase.PAUSED, (*BEGUN, *told(QUESTION, said("pause")))),
    (Phase.ASKING, (*BEGUN, *told(QUESTION, said("pause"), said("resume")))),
    (Phase.SUSPENDED, (*BEGUN, *told(said("pause", MACHINE)))),
    (Phase.WORKING, (*BEGUN, *told(said("pause", MACHINE), said("resume", MACHINE)))),
    (Phase.PAUSED, (*BEGUN, *told(said("pause", MACHINE), said("pause"), said("resume", MACHINE)))),
    (Phase.PAUSED, (*BEGUN, *told(said("pause"), said("pause", MACHINE)))),
    (Phase.QUARANTINED, (*BEGUN, *told(Quarantined(), said("feedback")))),
    (Phase.WORKING, (*BEGUN, *told(Quarantined(), said("guidance")))),
    (Phase.INTERRUPTED, (*BEGUN, *told(QUESTION), BrokenOff("x1"), LoopEnded("x1"), Rested())),
    (Phase.ASKING, (*BEGUN, *told(QUESTION), BrokenOff("x1"), Rested(), TakenUp("x1"))),
    (Phase.IDLE, (*BEGUN, BrokenOff("x1"), Rested(), NothingOpen())),
    (Phase.IDLE, (*BEGUN, *told(Finished(reason="done", answer="")))),
    (Phase.STARTING, (*BEGUN, Queued("9"), *told(Finished(reason="done", answer="")))),
    (Phase.WORKING, (*BEGUN, BegunBeside("x2"))),
    (Phase.ENDING, (*BEGUN, BegunBeside("x2"), *told(Finished(reason="done", answer="")))),
    (Phase.IDLE, (*BEGUN, BegunBeside("x2"), *told(Finished(reason="done", answer="")), EndedBeside("x2"))),
    (Phase.IDLE, (Chosen("x1", "7"), Dropped("x1"))),
    (Phase.IDLE, (*BEGUN, LoopEnded("x1"), Rested())),
    (Phase.ACTING, (ActBegan(),)),
    (Phase.IDLE, (ActBegan(), ActEnded())),
    (Phase.ASKING, (*BEGUN, *told(QUESTION), ProcessEnding(), LoopEnded("x1"), Rested())),
]


@pytest.mark.parametrize(("phase", "events"), PHASES)
def test_a_thread_is_what_happened_in_it(phase: Phase, events: tuple[SessionEvent, ...]) -> None:
    assert lived(*events).phase is phase


def test_every_phase_of_a_session_is_reached() -> None:
    assert {phase for phase, _ in PHASES} == set(Phase) - {Phase.UNKNOWN}


def test_what_an_execution_took_in_begins_nothing_after_it() -> None:
    taken_in = lived(*BEGUN, Queued("8"), Queued("9"), *told(said("guidance", inbox="8")))
    assert taken_in.waiting == {"9"}
    begun = lived(*BEGUN, Queued("9"), *told(Started(thread="100", task="go", requester=ANN, inbox="9")))
    assert begun.waiting == frozenset()


def test_it_is_the_work_of_who_asked_first_until_something_else_is_chosen() -> None:
    state = lived(Storing("8", "7"), Storing("9", "6"))
    assert state.requester == "7"
    assert lived(Chosen("x2", "6"), state=state).requester == "6"
    assert lived(InboxRead(frozenset("8"), "5")).requester == "5"


# --- slots and stops belong to an execution -------------------------------------------------------------------------


def outputs_of(*events: SessionEvent) -> list[Output]:
    state, outputs = IDLE, list[Output]()
    for event in events:
        state, more = advance(state, event)
        outputs += more
    return outputs


def test_a_slot_is_given_away_while_a_person_is_waited_for_and_held_again_when_nobody_is() -> None:
    decided = Decided(question="q1", by=ANN, choice="a")
    events = told(QUESTION, said("pause"), decided, said("resume"))
    assert outputs_of(*BEGUN, *events) == [ReleaseSlot("x1"), RetakeSlot("x1")]


def test_a_stop_is_for_all_that_is_open_or_for_one_execution() -> None:
    beside = (*BEGUN, BegunBeside("x2"))
    assert outputs_of(*beside, StopRequested(5)) == [StopExecution("x1"), StopExecution("x2")]
    assert outputs_of(*beside, StopRequested(5, "x2")) == [StopExecution("x2")]
    assert lived(*beside, StopRequested(5), StopRequested(3), StopRequested(9, "x2")).stopped == 5


# --- what no sequence of events can make of it ------------------------------------------------------------------------

IDS = st.sampled_from(("x1", "x2", "x3"))
ITEMS = st.sampled_from(("8", "9"))
PEOPLE = st.sampled_from((ANN, MACHINE))
LOGGED = st.one_of(
    st.just(QUESTION),
    st.just(Decided(question="q1", by=ANN, choice="a")),
    st.just(Finished(reason="done", answer="")),
    st.just(Quarantined()),
    st.builds(said, st.sampled_from(("pause", "resume", "guidance", "feedback")), PEOPLE, ITEMS),
)
EVENTS: st.SearchStrategy[SessionEvent] = st.one_of(
    st.builds(Storing, ITEMS, st.just("7")), st.builds(Stored, ITEMS), st.builds(Queued, ITEMS),
    st.builds(Discarded, st.tuples(ITEMS)), st.builds(FetchBegan, ITEMS), st.builds(FetchEnded, ITEMS),
    st.builds(InboxRead, st.frozensets(ITEMS)), st.builds(StopRequested, st.integers(0, 9), st.sampled_from(("", "x1"))),
    st.builds(TakenUp, IDS), st.builds(Chosen, IDS, st.just("7")), st.builds(LoopBegan, IDS), st.builds(LoopEnded, IDS),
    st.builds(BrokenOff, IDS), st.builds(Dropped, IDS), st.just(NothingOpen()), st.just(Rested()),
    st.builds(BegunBeside, IDS), st.builds(EndedBeside, IDS), st.just(ActBegan()), st.just(ActEnded()),
    st.just(ProcessEnding()), st.builds(Appended, IDS, LOGGED),
)  # fmt: skip
many = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@many
@given(st.lists(EVENTS, max_size=25))
def test_no_sequence_of_events_reaches_a_state_that_must_not_be(events: list[SessionEvent]) -> None:
    state = IDLE
    for event in events:
        before, (state, outputs) = state, advance(state, event)
        ids = [one.id for one in state.executions]
        assert len(ids) == len(set(ids)), "an execution is known once"
        assert state.main == "" or state.main in ids, "people speak to an execution that is known"
        assert all(not one.finished or one.question is None for one in state.executions), "no question outlives its end"
        assert (state.phase is Phase.IDLE) <= (state.current is None and not state.waiting), (
            "idle means that nothing is open"
        )
        assert (state.phase.activity == "asking") <= bool(state.question)
        assert state.stopped >= before.stopped
        assert state.left >= before.left
        assert {output.execution for output in outputs} <= set(ids), "no output for what is not known"


@many
@given(st.lists(EVENTS, max_size=25))
def test_slots_are_given_away_and_held_again_in_turns(events: list[SessionEvent]) -> None:
    state, away = IDLE, set[str]()
    for event in events:
        before, (state, outputs) = state, advance(state, event)
        away &= {one.id for one in before.executions if not one.needs_slot}
        for output in outputs:
            match output:
                case ReleaseSlot(execution):
                    assert execution not in away
                    away.add(execution)
                case RetakeSlot(execution):
                    away.discard(execution)
                    one = state.execution(execution)
                    assert one is not None
                    assert one.needs_slot
                case StopExecution():
                    pass


@many
@given(st.lists(EVENTS, max_size=25))
def test_what_is_left_to_the_next_owner_stays_as_it_is_when_the_worker_rests(events: list[SessionEvent]) -> None:
    state = lived(*events, ProcessEnding())
    assert lived(Rested(), state=state) == state


@many
@given(st.lists(EVENTS, max_size=25))
def test_a_worker_that_rests_leaves_nothing_open_but_what_it_broke_off(events: list[SessionEvent]) -> None:
    state = lived(*events)
    if not state.left:
        assert lived(Rested(), state=state).phase in (
            Phase.IDLE, Phase.STARTING, Phase.ACTING, Phase.INTERRUPTED,
        )  # fmt: skip
