"""When a reflection is written, and when it is left."""

from __future__ import annotations

from agentic.core.events.execution_events import (
    Asked,
    DeadlinePassed,
    Envelope,
    Event,
    FeedbackGiven,
    ModelRequested,
    Policy,
    Reflected,
)
from reflexion.evaluation.trajectory import read_trajectory
from reflexion.reflection.trigger import (
    AskWhy,
    NoReflection,
    Reflect,
    decide_reflection,
)
from tests.unit.reflexion.logs import ANN, EPOCH, Did, Log

FAILS, PASSES = Did("pytest", 1), Did("pytest", 0)


def decide(log: Log, *outcome: Event, asks: bool = False) -> Reflect | AskWhy | NoReflection:
    envelopes = [Envelope(execution="x1", seq=n, at=EPOCH, fence=0, event=event) for n, event in enumerate(outcome, 1)]
    return decide_reflection(read_trajectory(log.events, envelopes), envelopes, asks=asks)


def test_a_success_is_left() -> None:
    assert decide(Log().does(PASSES).ends()) == NoReflection("nothing failed")


def test_an_unverified_answer_is_left() -> None:
    assert decide(Log().does(Did("ls")).ends()) == NoReflection("nothing failed")


def test_a_failure_is_reflected_on() -> None:
    assert decide(Log().does(FAILS).ends("stuck")) == Reflect("its last check failed")
    assert decide(Log().does(Did("x", 1)).ends("limit")) == Reflect("it ended as limit")
    assert decide(Log().does(FAILS).ends("done")) == Reflect("its last check failed")


def test_a_vote_against_and_a_correction_are_reflected_on() -> None:
    log = Log().does(PASSES).ends()
    assert decide(log, FeedbackGiven(by=ANN, vote="down")) == Reflect("a person voted it down")
    assert decide(log, FeedbackGiven(by=ANN, vote="down"), FeedbackGiven(by=ANN, vote="up")) == NoReflection(
        "nothing failed"
    )
    corrected = Log().does(PASSES).hears("correction", "no, the other file").ends()
    assert decide(corrected) == Reflect("a person said that it was wrong")


def test_of_a_vote_alone_a_person_is_asked_once_what_was_wrong() -> None:
    log, down, asked = Log().does(PASSES).ends(), FeedbackGiven(by=ANN, vote="down"), Asked(question="w1")
    assert decide(log, down, asks=True) == AskWhy()
    assert decide(log, down, asked, asks=True) == NoReflection("a person is asked what was wrong")
    over = DeadlinePassed(ref="w1")
    assert decide(log, down, asked, over, asks=True) == Reflect("a person voted it down")
    assert decide(log, down, asked, over, Reflected(reflection="r1"), asks=True) == NoReflection("it has a reflection")
    assert decide(log, down, asked, FeedbackGiven(by=ANN, vote="none"), asks=True) == NoReflection("nothing failed")


def test_what_a_person_says_was_wrong_is_a_correction_and_is_not_waited_for_any_more() -> None:
    log, asked = Log().does(PASSES).ends(), Asked(question="w1")
    down, why = FeedbackGiven(by=ANN, vote="down"), FeedbackGiven(by=ANN, vote="down", why="The last day is missing.")
    assert decide(log, down, asked, why, asks=True) == Reflect("a person said that it was wrong")
    assert decide(log, why, asks=True) == Reflect("a person said that it was wrong"), "nothing is left to ask"
    up = FeedbackGiven(by=ANN, vote="up")
    assert decide(log, down, asked, why, up, asks=True) == NoReflection("nothing failed"), "and may take it back"


def test_after_a_reflection_on_its_own_a_vote_is_still_asked_about() -> None:
    log, reflected = Log().does(FAILS).ends("failed"), Reflected(reflection="r1")
    assert decide(log, reflected, FeedbackGiven(by=ANN, vote="down"), asks=True) == AskWhy()


def test_nothing_runs_after_a_stop() -> None:
    assert decide(Log().does(FAILS).ends("stopped")) == NoReflection("nothing failed")


def test_an_outage_of_the_provider_teaches_nothing() -> None:
    assert decide(Log().does(Did("ls")).fails_to_ask().ends("failed")) == NoReflection("nothing failed")
    assert isinstance(decide(Log().fails_to_ask().does(FAILS).ends("failed")), Reflect)


def test_an_execution_has_one_reflection() -> None:
    log = Log().does(FAILS).ends("failed")
    assert decide(log, Reflected(reflection="r1")) == NoReflection("it has a reflection")


def test_it_is_given_up_after_two_that_could_not_be_used() -> None:
    log, unusable = Log().does(FAILS).ends("failed"), Reflected(reflection="", problem="no JSON")
    assert isinstance(decide(log, unusable), Reflect)
    assert decide(log, unusable, unusable) == NoReflection("it was tried often enough")


def test_requests_that_a_crash_cut_off_count() -> None:
    asked = ModelRequested(request="r", turn=1, purpose="reflection", tier=2, model="m")
    assert decide(Log().does(FAILS).ends("failed"), *[asked] * 4) == NoReflection("it was tried often enough")


def test_money_that_is_used_up_is_not_overspent() -> None:
    log = Log(policy=Policy(max_usd=1.0)).does(FAILS, usd=1.0).ends("budget")
    assert decide(log) == NoReflection("the money of this execution is used up")


def test_a_running_execution_and_an_empty_one_are_left() -> None:
    assert decide(Log().does(FAILS)) == NoReflection("it has not finished")
    assert decide(Log().ends("failed", "")) == NoReflection("there is nothing to learn from")
