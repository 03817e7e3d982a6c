"""👍 and 👎 in the middle of a run move how sure it counts as; the one number that people are shown of it."""

from __future__ import annotations

import pytest

from agentic.core.claims.confidence import (
    MOST_SHOWN,
    before_votes,
    is_fitted,
    told,
    voted,
)
from agentic.core.events.execution_events import (
    Confidence,
    ConfidenceParts,
    Escalated,
    Finished,
    TurnEnded,
)
from agentic.core.events.values import Reason
from tests.unit.core.building import BOSS, GUEST, YOU, Log

PARTS = ConfidenceParts(self_report=70, tool_ok=1, same_error=0, tests=0.5, progress=1, corrections=0)


def sure(shown: int, heuristic: int | None = None, calibrator: str = "none") -> Confidence:
    return Confidence(
        shown=shown, heuristic=shown if heuristic is None else heuristic, parts=PARTS, calibrator=calibrator
    )


def turn(log: Log, said: str = "confidence: 70") -> Confidence:
    """A turn that looks, and what it ended with."""
    log.answer(said, ("look", {"path": str(log.execution.seq)}))
    log.use(0)
    log.settle()
    ended = [e.event.confidence for e in log.envelopes if isinstance(e.event, TurnEnded)]
    return ended[-1]


def now(log: Log) -> tuple[int, int]:
    assert log.execution.confidence is not None
    return log.execution.confidence.shown, log.execution.confidence.heuristic


def test_a_vote_moves_the_confidence_at_once_and_in_the_turns_that_follow() -> None:
    log = Log()
    before = turn(log)
    log.say("feedback", "down", "x1/turn:1")
    assert now(log) == (before.shown - 20, before.heuristic - 20)
    after = turn(log)
    assert before_votes(after) == (before_votes(after)[0], after.heuristic + 20)
    assert after.moved_from is not None


def test_the_last_vote_of_each_person_stands_and_one_that_is_taken_back_moves_nothing() -> None:
    log = Log()
    before = turn(log)
    log.say("feedback", "up", by=BOSS)
    log.say("feedback", "down")
    assert now(log)[1] == before.heuristic - 5
    log.say("feedback", "up")
    assert now(log)[1] == min(before.heuristic + 30, 100)
    log.say("feedback", "none")
    log.say("feedback", "none", by=BOSS)
    assert log.execution.confidence == before


def test_a_vote_before_the_first_turn_has_ended_counts_from_its_end() -> None:
    log = Log()
    log.say("feedback", "down")
    assert log.execution.confidence is None
    assert turn(log).moved_from is not None


@pytest.mark.parametrize(
    ("score", "points", "moved"),
    [(95, 15, 100), (25, -20, 10), (5, -20, 5), (12, -40, 10), (50, -5, 45), (100, -20, 80), (100, 15, 100)],
)
def test_a_vote_moves_within_ten_and_a_hundred_and_never_against_itself(score: int, points: int, moved: int) -> None:
    came = voted(sure(min(score, 99), score), points)
    assert came.heuristic == moved
    assert came.shown <= MOST_SHOWN
    assert voted(came, 0) == sure(min(score, 99), score)


def test_a_run_that_is_voted_down_reaches_the_threshold_of_escalation() -> None:
    """Its turns alone would not: they are held against the same ones without the votes."""
    climbed: list[bool] = []
    for votes in ((), (YOU, BOSS, GUEST)):
        log = Log()
        for _ in range(3):
            turn(log, "confidence: 60")
            for person in votes:
                log.say("feedback", "down", by=person)
        climbed.append(any(isinstance(e.event, Escalated) for e in log.envelopes))
    assert climbed == [False, True]


def test_nobody_is_shown_a_hundred() -> None:
    log = Log()
    log.answer("confidence: 100", ("shell", {"command": "pytest"}))
    log.use(0, exit_code=0, tests=(1, 0))
    log.settle()
    log.answer("confidence: 100", ("shell", {"command": "pytest"}))
    log.use(0, exit_code=0, tests=(2, 0))
    log.settle()
    assert now(log) == (99, 100)
    assert told(sure(100), None) == 99
    assert told(None, Finished(reason="done", answer="", confidence=100)) == 99


@pytest.mark.parametrize(
    ("last", "end", "unchanged", "number"),
    [
        (None, None, False, None),
        (sure(61), None, False, 61),
        (sure(61), "done", False, 73),
        (sure(61), "failed", False, None),
        (sure(61), "failed", True, 73),
        (sure(61), "stuck", False, None),
    ],
)
def test_the_number_is_that_of_the_end_where_it_is_one_and_of_the_last_turn_before_it(
    last: Confidence | None, end: Reason | None, number: int | None, *, unchanged: bool
) -> None:
    finished = Finished(reason=end, answer="", confidence=73, unchanged=unchanged) if end is not None else None
    assert told(last, finished) == number


def test_it_is_an_estimate_until_it_is_fitted() -> None:
    assert not is_fitted(None)
    assert not is_fitted(sure(61))
    assert is_fitted(sure(61, calibrator="abc"))
