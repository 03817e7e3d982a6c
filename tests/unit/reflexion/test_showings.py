"""Which executions say something of the lessons that fitted them, and of which model."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    ChosenLesson,
    FeedbackGiven,
    ModelAnswered,
    ModelRequested,
    Policy,
    Started,
    Tier,
    Triaged,
    WithheldLesson,
)
from reflexion.evaluation.score import evaluate
from reflexion.evaluation.trajectory import Trajectory, read_trajectory
from reflexion.lessons.lesson import Verdict
from reflexion.measurement.showings import arms_of, known_outcome, verdict_of
from tests.unit.reflexion.logs import BEN, EPOCH, MODEL, Did, Log

SHOWN = (ChosenLesson(id="l1", kind="pitfall", text="…"),)
HELD = (WithheldLesson(id="l2", arm="held_back"),)
FAILS = Did("pytest -q", 1, "1 failed", tests=(2, 1))
PASSES = Did("pytest -q", 0, "3 passed", tests=(3, 0))
ABOVE = "anthropic/claude-opus-4-8"


def talked(log: Log) -> Log:
    """It was answered as talk, whose prompt is another."""
    log.add(Triaged(talk=True, complexity="simple", by="rule"))
    return log.add(
        ModelRequested(request="t", turn=1, tier=2, model=MODEL), ModelAnswered(request="t", blocks=(), usd=0)
    )


def disliked(log: Log) -> Trajectory:
    votes = Log(execution=log.execution).add(FeedbackGiven(by=BEN, vote="down")).events[1:]
    return read_trajectory(log.events, votes)


def counted(trajectory: Trajectory) -> Verdict:
    return verdict_of(trajectory, evaluate(trajectory), None, "g1", EPOCH)


def begun(**update: object) -> Log:
    """A log whose first event says more."""
    log = Log(lessons=SHOWN)
    first = log.events[0]
    log.events[0] = first.model_copy(update={"event": first.event.model_copy(update={"withheld": HELD, **update})})
    return log


def from_copy(log: Log, execution: str = "x2", cut: int = 0) -> Log:
    """Another execution that goes on after a copy of this one."""
    through = cut or len(log.events)
    copy = Log(execution=execution)
    first = log.events[0].event
    assert isinstance(first, Started)
    update = {"event": first.model_copy(update={"forked_from": (log.execution, through)})}
    kept = [log.events[0].model_copy(update=update), *log.events[1:through]]
    copy.events, copy.turn = [each.model_copy(update={"execution": execution}) for each in kept], log.turn
    return copy


def test_an_answer_to_talk_says_nothing_of_lessons_that_stood_in_no_request() -> None:
    trajectory = disliked(talked(begun()).ends("done", "A monad is …"))
    assert (known_outcome(trajectory), arms_of(trajectory)) == (None, {})
    row = counted(trajectory)
    assert (row.ok, row.lessons_shown, row.right) == (None, 0, False), "nor how tasks go without lessons"


def test_talk_that_became_a_task_was_told_its_lessons() -> None:
    log = talked(begun()).add(Triaged(talk=False, complexity="medium", by="rule"))
    trajectory = disliked(log.does(FAILS).ends("failed"))
    assert (known_outcome(trajectory), arms_of(trajectory)) == (False, {"l1": "shown", "l2": "held_back"})


def test_what_no_model_answered_was_read_by_none() -> None:
    for log in (begun(), begun().fails_to_ask()):
        trajectory = disliked(log.ends("failed", "I could not."))
        assert (known_outcome(trajectory), arms_of(trajectory)) == (None, {})


def test_of_two_executions_with_one_beginning_the_first_says_what_its_lessons_did() -> None:
    first = begun().does(FAILS)
    again = from_copy(first).does(PASSES).ends()
    told = read_trajectory(first.ends("failed").events)
    assert (known_outcome(told), arms_of(told)["l1"]) == (False, "shown")
    trajectory = read_trajectory(again.events)
    assert (known_outcome(trajectory), arms_of(trajectory)) == (None, {})
    assert (counted(trajectory).ok, counted(trajectory).right) == (None, True), "a judge may be measured by it still"
    twice = read_trajectory(from_copy(again, "x3").events)
    assert arms_of(twice) == {}, "nor a copy of a copy that has its end"


@pytest.mark.parametrize("talk", [False, True])
def test_a_copy_from_before_the_lessons_were_told_is_a_try_of_its_own(talk: bool) -> None:
    log = talked(begun()) if talk else begun()
    again = from_copy(log).add(Triaged(talk=False, complexity="medium", by="rule"))
    trajectory = read_trajectory(again.does(PASSES).ends().events)
    assert (known_outcome(trajectory), arms_of(trajectory)["l1"]) == (True, "shown")


def test_it_counts_for_the_model_that_lessons_were_chosen_for_whoever_took_over() -> None:
    tiers = (Tier(number=2, models=(MODEL, "mistral/m")), Tier(number=3, models=(ABOVE,)))
    log = begun(policy=Policy(tiers=tiers)).does(FAILS).does(FAILS)
    log.add(ModelRequested(request="up", turn=3, tier=3, model=ABOVE), ModelAnswered(request="up", blocks=(), usd=0))
    trajectory = read_trajectory(log.does(FAILS).ends("failed").events)
    assert counted(trajectory).model == MODEL
    log = begun(policy=Policy(tiers=tiers))
    log.add(ModelRequested(request="up", turn=1, tier=3, model=ABOVE), ModelAnswered(request="up", blocks=(), usd=0))
    trajectory = read_trajectory(log.ends("failed").events)
    assert (trajectory.model, counted(trajectory).model) == (ABOVE, MODEL), "also where the first model was never asked"
    old = read_trajectory(Log().does(FAILS).ends("failed").events)
    assert counted(old).model == MODEL, "a log that names no models says whom it asked first"
