"""When a task that failed is tried again by itself, when that is offered, and when it is left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentic.core.events.execution_events import (
    Event,
    FeedbackGiven,
    Policy,
    Reason,
    WorkspaceRestored,
)
from reflexion.evaluation.score import evaluate
from reflexion.evaluation.trajectory import Trajectory, read_trajectory
from reflexion.reflection.retry_policy import (
    Again,
    Around,
    NoRetry,
    Offer,
    decide_trial,
    worth_offering,
)
from tests.unit.reflexion.logs import ANN, Did, Log

FAILS, PASSES = Did("pytest -q", 1), Did("pytest -q", 0)
AUTO, OFFER, NEVER = Policy(trials="auto"), Policy(), Policy(trials="never")
WELL = Around(learned=True, left_usd=1.0)
FAILING = "`pytest -q` fails"
DOWN = FeedbackGiven(by=ANN, vote="down")
ASKED_FOR_MORE: tuple[Reason, ...] = ("limit", "budget", "stuck")


def of(log: Log, *outcome: Event, attempt: int = 1) -> Trajectory:
    begun = len(log.events)
    for event in outcome:
        log.add(event)
    return replace(read_trajectory(log.events[:begun], log.events[begun:]), attempt=attempt)


def decide(trajectory: Trajectory, policy: Policy = AUTO, around: Around = WELL) -> Again | Offer | NoRetry:
    return decide_trial(trajectory, evaluate(trajectory), policy, around)


def failed(reason: Reason = "failed") -> Log:
    return Log().does(FAILS).ends(reason, "I could not.")


def test_a_failed_check_and_something_learned_are_tried_again_by_itself() -> None:
    assert decide(of(failed())) == Again(2, FAILING)
    assert decide(of(failed("done"))) == Again(2, FAILING), "it says it is done, and the check says no"
    assert decide(of(failed(), attempt=2)) == Again(3, FAILING)


def test_at_the_last_attempt_it_ends() -> None:
    for policy in (AUTO, OFFER):
        assert decide(of(failed(), attempt=3), policy) == NoRetry("it was attempt 3 of 3")
    assert decide(of(failed(), attempt=3), Policy(trials="auto", trials_most=4)) == Again(4, FAILING)


LEFT = [
    ("it runs", of(Log().does(FAILS)), "it has not finished"),
    ("success", of(Log().does(PASSES).ends()), "nothing failed"),
    ("unverified", of(Log().does(Did("ls")).ends()), "nothing failed"),
    ("stopped", of(failed("stopped")), "a person ended it"),
    ("cancelled", of(failed("cancelled")), "a person ended it"),
    ("undone", of(failed(), WorkspaceRestored(manifest="m", by=ANN)), "a person took it back"),
    ("cleaned", of(failed(), WorkspaceRestored(manifest="", by=ANN, way="clean")), "a person took it back"),
    ("deleted", of(Log().does(FAILS).hears("deleted").ends("failed")), "a person took it back"),
    ("talk", replace(of(failed()), talk=True), "it was talk"),
]


@pytest.mark.parametrize(("name", "trajectory", "why"), LEFT, ids=[name for name, *_ in LEFT])
def test_it_is_left(name: str, trajectory: Trajectory, why: str) -> None:
    for policy in (AUTO, OFFER):
        assert decide(trajectory, policy) == NoRetry(why)
        assert not worth_offering(trajectory, policy)


def test_where_nothing_is_tried_again_that_is_so_whatever_failed() -> None:
    assert decide(of(failed()), NEVER) == NoRetry("nothing is tried again here")
    assert not worth_offering(of(failed()), NEVER)


def test_an_undo_that_is_taken_back_is_none() -> None:
    undone = WorkspaceRestored(manifest="m", by=ANN)
    again = undone.model_copy(update={"way": "redo"})
    assert isinstance(decide(of(failed(), undone, again)), Again)


OFFERED = [
    (
        "an outage",
        of(Log().does(Did("ls")).fails_to_ask().ends("failed")),
        WELL,
        "the provider failed, not the attempt",
    ),
    (
        "no check",
        of(Log().does(Did("x", 1)).ends("failed")),
        WELL,
        "nothing could say whether a further attempt worked",
    ),
    ("a vote", of(failed(), DOWN), WELL, "a person voted it down"),
    ("not learned", of(failed()), replace(WELL, learned=False), "nothing was learned from it"),
    ("its money", of(failed()), replace(WELL, left_usd=0.0), "what one task may cost is spent"),
    ("the day", of(failed()), replace(WELL, room=False), "the budget of the day is used up"),
    ("news", of(failed()), replace(WELL, newer=True), "somebody wrote something new"),
    *((end, of(failed(end)), WELL, f"it ended as {end}, which a person decided") for end in ASKED_FOR_MORE),
]


@pytest.mark.parametrize(("name", "trajectory", "around", "why"), OFFERED, ids=[name for name, *_ in OFFERED])
def test_it_is_only_offered(name: str, trajectory: Trajectory, around: Around, why: str) -> None:
    assert decide(trajectory, AUTO, around) == Offer(2, why)
    assert isinstance(decide(trajectory, OFFER, around), Offer)
    assert worth_offering(trajectory, AUTO)


def test_a_vote_after_a_success_offers_it_and_is_never_a_reason_to_try_again_by_itself() -> None:
    voted = of(Log().does(PASSES).ends(), DOWN)
    assert decide(voted) == Offer(2, "nothing could say whether a further attempt worked")
    said = of(Log().does(FAILS).ends(), DOWN.model_copy(update={"why": "the wrong file"}))
    assert decide(said) == Offer(2, "a person voted it down")


def test_by_default_a_person_decides() -> None:
    assert decide(of(failed()), OFFER) == Offer(2, "a person decides on further attempts here")
