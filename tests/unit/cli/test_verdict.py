"""What a log must hold, each promise broken once."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.core.events.execution_events import (
    Asked,
    BranchMerged,
    BranchRejected,
    CallBlock,
    CheckpointSaved,
    CommitCreated,
    Decided,
    Envelope,
    Evaluated,
    Event,
    Finished,
    Gated,
    InputReceived,
    ModelAnswered,
    ModelRequested,
    Noted,
    OwnerChanged,
    Person,
    Policy,
    Reflected,
    Sort,
    Started,
    ToolFinished,
    ToolStarted,
    TurnEnded,
)
from bot.cli.replay.invariants import broken_promises, owners
from bot.messages.log_text import story
from tests.golden.writing import SURE
from tests.unit.core.building import GUEST, YOU
from tests.unit.core.simulating import simulate

STARTED = Started(thread="1", task="fix it", requester=Person(id="7", name="Ann"))
ASKED = ModelRequested(request="r1", turn=1, tier=2, model="m")
ANSWERED = ModelAnswered(request="r1", blocks=(CallBlock(provider_id="p", tool="shell"),))
BEGAN = ToolStarted(call="r1.0", provider_id="p", tool="shell", effect="unkeyed", arguments={}, args_sha="s")
ENDED = ToolFinished(call="r1.0", outcome="ok", preview="fine", exit_code=0)
STRAY = ToolFinished(call="r1", outcome="cancelled", preview="Cancelled while it ran.")
DONE = Finished(reason="done", answer="it works")
WHOLE = (STARTED, ASKED, ANSWERED, BEGAN, ENDED, DONE)


def log(*events: Event, fences: tuple[int, ...] = ()) -> list[Envelope]:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        Envelope(execution="x1", seq=seq, at=at, fence=fences[seq - 1] if fences else 1, event=event)
        for seq, event in enumerate(events, 1)
    ]


def test_a_whole_log_holds() -> None:
    assert broken_promises(log(*WHOLE)) == ()


def test_an_unfinished_log_may_hold_open_calls_and_requests() -> None:
    assert broken_promises(log(STARTED, ASKED)) == ()
    assert broken_promises(log(STARTED, ASKED, ANSWERED, BEGAN)) == ()


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ((), "empty"),
        ((ASKED,), "begins with"),
        ((*WHOLE, ASKED), "follows the end"),
        ((STARTED, BEGAN, BEGAN, ENDED, DONE), "begun 2 times"),
        ((STARTED, BEGAN, ENDED, ENDED, DONE), "has 2 results"),
        ((STARTED, BEGAN, DONE), "has no result"),
        ((STARTED, BEGAN, ENDED, DONE), "was begun at 2, and no answer made it"),
        ((STARTED, ASKED, ANSWERED, STRAY, DONE), "has a result at 4, and no answer made it"),
        ((STARTED, ASKED, ANSWERED, ANSWERED, DONE), "has 2 answers"),
        ((STARTED, ANSWERED, DONE), "never made"),
        ((STARTED, ASKED, DONE), "has no answer"),
    ],
)
def test_each_broken_promise_is_named(events: tuple[Event, ...], said: str) -> None:
    assert any(said in one for one in broken_promises(log(*events)))


def test_a_fence_never_falls_and_numbers_follow_each_other() -> None:
    assert any("fence" in one for one in broken_promises(log(STARTED, ASKED, ANSWERED, fences=(2, 3, 2))))
    gap = [envelope.model_copy(update={"seq": envelope.seq + (envelope.seq > 1)}) for envelope in log(STARTED, ASKED)]
    assert any("numbered" in one for one in broken_promises(gap))


KEYED = BEGAN.model_copy(update={"effect": "keyed", "key": "k"})


def test_a_keyed_call_may_be_begun_again_by_another_owner_with_its_key() -> None:
    def again(*events: Event, fences: tuple[int, ...] = (1, 1, 1, 1, 2, 2, 2, 2)) -> tuple[str, ...]:
        return broken_promises(log(STARTED, ASKED, ANSWERED, KEYED, *events, ENDED, DONE, fences=fences))

    assert again(OwnerChanged(worker="w"), KEYED) == ()
    assert any("same owner" in one for one in again(Noted(text=""), KEYED, fences=(1,) * 8))
    other = KEYED.model_copy(update={"key": "other"})
    assert any("another key" in one for one in again(OwnerChanged(worker="w"), other))


def test_a_fork_has_its_owners_under_one_fence() -> None:
    fork = STARTED.model_copy(update={"forked_from": ("x0", 6)})
    events = (fork, ASKED, ANSWERED, KEYED, OwnerChanged(worker="w"), KEYED, ENDED)
    assert broken_promises(log(*events)) == ()
    assert owners(log(*events)) == 2


def said(sort: Sort, text: str = "", inbox: str = "i1", by: Person = YOU) -> InputReceived:
    return InputReceived(inbox=inbox, sort=sort, author=by, text=text)


APPROVED = (
    Gated(call="r1.0", args_sha="s", reason="deletes"),
    Asked(question="q1", sort="approval", call="r1.0", args_sha="s"),
    Decided(question="q1", by=YOU, choice="allow"),
    BEGAN.model_copy(update={"approval": "q1"}),
)
STOPPED = Finished(reason="stopped", answer="Stopped.")
CHECKPOINT = CheckpointSaved(manifest="m", through_seq=3)
POOR = STARTED.model_copy(update={"policy": Policy(max_usd=0.01)})
DEAR = ANSWERED.model_copy(update={"usd": 0.02})


@pytest.mark.parametrize(
    ("events", "broken"),
    [
        ((*WHOLE[:5], STARTED, DONE), "begins again at 6"),
        ((STARTED, ASKED, ANSWERED, ENDED, BEGAN, DONE), "begun at 5, after its result"),
        ((STARTED, ASKED, ASKED), "made 2 times"),
        ((STARTED, ASKED.model_copy(update={"turn": 2})), "turn 2 was begun at 2 where turn 1 was due"),
        ((STARTED, ASKED, ASKED.model_copy(update={"request": "r2"})), "made at 3 while r1 ran"),
        ((STARTED, ASKED, ANSWERED, Asked(question="q1"), Asked(question="q2")), "q2 was asked at 5 while q1 was open"),
        ((STARTED, Decided(question="q1", by=YOU, choice="1")), "decided at 2 and was not open"),
        ((STARTED, Asked(question="q1"), Decided(question="q1", by=GUEST, choice="1")), "by guest, who may not"),
        ((STARTED, ASKED, ANSWERED, APPROVED[0], BEGAN), "without the approval"),
        ((STARTED, ASKED, ANSWERED, *APPROVED[:2], Decided(question="q1", by=YOU, choice="deny"), APPROVED[3]), "without"),
        ((STARTED, ASKED, ANSWERED, APPROVED[3]), "without the approval"),
        (
            (STARTED, ASKED, ANSWERED, *APPROVED[:3], APPROVED[3].model_copy(update={"args_sha": "t"})),
            "other arguments than were approved",
        ),
        ((STARTED, said("guidance", "a"), said("guidance", "b")), "taken in 2 times"),
        ((STARTED, said("stop"), ASKED), "begun after you had stopped it"),
        ((STARTED, said("stop"), Finished(reason="failed", answer="")), "stopped by you and ended as failed"),
        ((STARTED, STOPPED), "ended as stopped, and nothing in the log says why"),
        ((STARTED, Finished(reason="limit", answer="")), "ended as limit, and nothing"),
        ((STARTED, Finished(reason="budget", answer="")), "ended as budget, and nothing"),
        ((STARTED, DONE), "ended as done, and nothing"),
        ((POOR, ASKED, DEAR, ASKED.model_copy(update={"request": "r2"})), "made at 4 with the budget used up"),
        ((*WHOLE[:5], said("guidance", "and mind the end"), DONE), "had not reached the model"),
        ((STARTED, said("guidance", "a"), Finished(reason="stuck", answer="I am stuck.")), "the end does not say so"),
        ((STARTED, CHECKPOINT), "holds the log through 3"),
        ((STARTED, CheckpointSaved(manifest="m", through_seq=1, turn=2)), "of turn 2, which had not begun"),
        ((STARTED, CheckpointSaved(manifest="", through_seq=1)), "neither a copy nor why"),
    ],
)  # fmt: skip
def test_each_broken_promise_to_people_is_named(events: tuple[Event, ...], broken: str) -> None:
    found = broken_promises(log(*events))
    assert any(broken in one for one in found), found


def test_a_turn_does_not_end_before_its_calls() -> None:
    call = {"type": "call", "provider_id": "p", "tool": "shell"}
    answered = ModelAnswered.model_validate({"request": "r1", "blocks": [call]})
    ended = TurnEnded(turn=1, confidence=SURE)
    assert any("before all of it was done" in one for one in broken_promises(log(STARTED, ASKED, answered, ended)))


def test_what_was_approved_may_run_and_what_was_stopped_may_end() -> None:
    assert broken_promises(log(STARTED, ASKED, ANSWERED, *APPROVED, ENDED, DONE)) == ()
    assert broken_promises(log(STARTED, ASKED, ANSWERED, BEGAN, said("stop"), ENDED, STOPPED)) == ()
    asks = Asked(question="q1", call="r1.0")
    assert broken_promises(log(STARTED, ASKED, ANSWERED, BEGAN, said("stop"), asks, ENDED, STOPPED)) == ()


def test_an_event_of_another_execution_is_named() -> None:
    mixed = [*log(STARTED), log(STARTED, ASKED)[1].model_copy(update={"execution": "x2"})]
    assert any("of another execution, x2" in one for one in broken_promises(mixed))


OFFER = CommitCreated(offer="o1", branch="b", commit="c", base="main")
MERGED = BranchMerged(offer="o1", branch="b", commit="c", by=YOU)
TURNED_DOWN = BranchRejected(offer="o1", branch="b", commit="c", by=YOU)
SCORED = Evaluated(score=80, parts={})


def with_outcome(*outcome: Event, ended: bool = True) -> tuple[str, ...]:
    before = (*WHOLE[:4], OFFER, *WHOLE[4:]) if ended else (*WHOLE[:4], OFFER)
    return broken_promises(log(*before), log(*outcome))


def test_what_came_after_the_end_holds() -> None:
    assert with_outcome(SCORED, TURNED_DOWN, MERGED, Reflected(reflection="r"), CHECKPOINT) == ()
    assert any("has not ended" in one for one in with_outcome(SCORED, ended=False))
    assert any("never offered" in one for one in with_outcome(MERGED.model_copy(update={"offer": "o9"})))
    assert any("merged before" in one for one in with_outcome(MERGED, TURNED_DOWN))
    assert any("belongs into the log" in one for one in with_outcome(ENDED))
    paid = ASKED.model_copy(update={"purpose": "reflection", "request": "r9"})
    answered = ANSWERED.model_copy(update={"request": "r9"})
    assert (
        with_outcome(SCORED, paid, answered, Reflected(reflection="r"), paid.model_copy(update={"request": "r8"})) == ()
    )
    assert any("belongs into the log" in one for one in with_outcome(ASKED))
    assert any("never made" in one for one in with_outcome(answered))
    gap = [envelope.model_copy(update={"seq": 2}) for envelope in log(SCORED)]
    assert any("numbered x1/2" in one for one in broken_promises(log(*WHOLE), gap))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.data())
def test_whatever_the_rules_do_holds(data: st.DataObject) -> None:
    log = simulate(data).log.envelopes
    assert broken_promises(log) == ()
    cut = data.draw(st.integers(1, len(log)))
    assert broken_promises(log[:cut]) == ()


def test_the_story_tells_who_asked_what_was_done_and_how_it_ended() -> None:
    told = "\n".join(line for _, line in story(log(*WHOLE)))
    assert "Ann asked: fix it" in told
    assert "{" not in told
    assert "->" not in told
    assert "started shell" in told
    assert "ok (exit 0): fine" in told
    assert "done: it works" in told
