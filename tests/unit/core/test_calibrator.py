"""What people are shown: the calibrated number where there is a calibrator, the heuristic else; bands; a session's own."""

from __future__ import annotations

import pytest

from agentic.core.claims.confidence import (
    band,
    model_of,
    of_turn,
    role_of,
    session_ended,
    session_voted,
)
from agentic.core.claims.features import FEATURES, features_of
from agentic.core.events.calibrator import Calibrator, interpolated, probability
from agentic.core.events.execution_events import (
    Envelope,
    Reported,
    Started,
    Triaged,
    TurnEnded,
)
from agentic.core.events.values import FileChange
from agentic.core.fold.fold import evolve, fold
from agentic.core.state.execution import Execution
from tests.unit.core.building import BEGUN, TIERS, YOU, Log

LOGISTIC = Calibrator(
    id="abc",
    labels=50,
    kind="logistic",
    intercept=0.5,
    roles={"shell": -1.0},
    models={"large": 2.0},
    features=("failed", "no longer known"),
    means=(0.5, 3.0),
    weights=(-1.0, 7.0),
)


def begun(calibrator: Calibrator | None, role: str = "") -> Log:
    log = Log()
    started = log.execution.started
    assert started is not None
    log.execution = Execution(id="x1")
    log.envelopes = []
    log.add(started.model_copy(update={"calibrator": calibrator, "role": role}), Triaged(talk=False))
    return log


@pytest.mark.parametrize(
    ("calibrator", "role", "model", "features", "expected"),
    [
        (LOGISTIC, "", "", {"failed": 0.5}, 0.62),
        (LOGISTIC, "shell", "", {"failed": 0.5}, 0.38),
        (LOGISTIC, "shell", "large", {"failed": 0.5}, 0.82),
        (LOGISTIC, "", "", {"failed": 2.5}, 0.18),
        (LOGISTIC, "", "", {}, 0.62),
        (LOGISTIC.model_copy(update={"intercept": 900.0}), "", "", {}, 0.99),
        (LOGISTIC.model_copy(update={"intercept": -900.0}), "", "", {}, 0.01),
        (Calibrator(id="b", kind="base_rate", intercept=0.0, roles={"shell": 1.0}), "shell", "", {"failed": 9}, 0.73),
        (LOGISTIC.model_copy(update={"kind": "isotonic", "knots": ((0.5, 0.2), (0.7, 0.4))}), "", "", {}, 0.32),
    ],
)
def test_a_calibrator_is_applied_to_what_it_knows(
    calibrator: Calibrator, role: str, model: str, features: dict[str, float], expected: float
) -> None:
    value = probability(calibrator, role, model, features)
    assert value == pytest.approx(expected, abs=0.005)


def test_one_that_says_nothing_leaves_the_heuristic() -> None:
    assert probability(Calibrator(id="n"), "", "", {}) is None
    log = begun(Calibrator(id="n"))
    log.answer("Looking.")
    value = of_turn(log.execution)
    assert (value.shown, value.calibrator) == (value.heuristic, "none")


def test_between_two_knots_it_is_a_straight_line_and_level_beyond_them() -> None:
    knots = ((0.2, 0.1), (0.4, 0.5), (0.8, 0.6))
    assert interpolated((), 0.3) == 0.3
    assert [interpolated(knots, value) for value in (0.0, 0.2, 0.3, 0.4, 0.6, 0.9)] == pytest.approx(
        [0.1, 0.1, 0.3, 0.5, 0.55, 0.6]
    )


def test_people_are_shown_the_calibrated_number_and_rules_read_the_heuristic() -> None:
    log = begun(LOGISTIC, role="shell")
    log.answer("confidence: 100", ("shell", {}))
    log.use(0, "failed", error="it broke")
    log.settle()
    ended = [each.event for each in log.envelopes if isinstance(each.event, TurnEnded)][-1]
    assert ended.confidence.calibrator == "abc"
    assert ended.confidence.shown == 38
    plain = begun(None, role="shell")
    plain.answer("confidence: 100", ("shell", {}))
    plain.use(0, "failed", error="it broke")
    plain.settle()
    same = [each.event for each in plain.envelopes if isinstance(each.event, TurnEnded)][-1]
    assert same.confidence.calibrator == "none"
    assert same.confidence.shown == same.confidence.heuristic == ended.confidence.heuristic


def test_folding_a_log_again_gives_the_same_numbers() -> None:
    log = begun(LOGISTIC)
    log.answer(("shell", {}))
    log.use(0)
    log.settle()
    read = [Envelope.model_validate_json(each.model_dump_json()) for each in log.envelopes]
    assert fold(read).confidence == log.execution.confidence
    state = Execution()
    for each in read:
        if isinstance(each.event, TurnEnded):
            assert of_turn(state) == each.event.confidence
        state = evolve(state, each)


def test_the_role_is_triages_and_the_model_is_the_tiers_own() -> None:
    log = begun(None, role="shell")
    assert (role_of(log.execution), model_of(log.execution)) == ("shell", "small-a")
    log.add(Triaged(talk=False, role="researcher"))
    assert role_of(log.execution) == "researcher"
    assert (role_of(Execution()), model_of(Execution())) == ("", "")
    none = Envelope(
        execution="x", seq=1, at=BEGUN, fence=1,
        event=Started(thread="1", task="t", requester=YOU, policy=log.execution.policy.model_copy(update={"tiers": ()})),
    )  # fmt: skip
    assert model_of(evolve(Execution(), none)) == ""
    assert TIERS[0].models[0] == "small-a"


def test_features_are_counts_that_end_somewhere() -> None:
    log = begun(None)
    assert set(features_of(log.execution, 75)) == set(FEATURES)
    for turn in range(12):
        log.answer(("shell", {}), ("look", {}))
        log.use(0, "failed", error="it broke")
        log.use(1)
        log.add(TurnEnded(turn=turn + 1, confidence=of_turn(log.execution)))
    failing = features_of(log.execution, 75)
    assert (failing["same_error"], failing["errors"]) == (2.0, 0.5)
    assert (failing["tests_share"], failing["tests_all"]) == (0.0, 0.0)
    log.answer(("shell", {}))
    log.use(0, tests=(9, 0), changes=(FileChange(path="a", kind="added"),))
    values = features_of(log.execution, 50, proven=True)
    assert values["failed"] == 4.0
    assert values["failed_lately"] == 1.0
    assert values["succeeded"] == 13 / 5
    assert (values["tests_share"], values["tests_all"]) == (1.0, 1.0)
    assert values["turns"] == 13 / 5
    assert values["changed"] == pytest.approx(1 / 3)
    assert values["unchanged"] == 0.0
    assert values["self_report"] == -1.0
    assert (values["done"], values["proven"]) == (1.0, 1.0)
    unproven = features_of(log.execution, 50, proven=False)
    assert (unproven["done"], unproven["proven"]) == (1.0, 0.0)
    log.add(TurnEnded(turn=13, confidence=of_turn(log.execution)))
    log.answer("confidence: 10", ("look", {}))
    log.use(0, tests=(1, 3))
    later = features_of(log.execution, 75)
    assert (later["tests_share"], later["tests_all"], later["unchanged"]) == (-0.5, -1.0, 0.5)
    assert (later["done"], later["stuck"]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("score", "word"),
    [(100, "high"), (71, "high"), (70, "moderate"), (50, "moderate"), (49, "low"), (30, "low"), (29, "critical")],
)
def test_bands(score: int, word: str) -> None:
    assert band(score) == word


def test_a_sessions_confidence_follows_executions_and_votes() -> None:
    assert session_ended(80, 40) == 60
    assert session_voted(60, up=1, down=0) == 75
    assert session_voted(60, up=0, down=1) == 40
    assert session_voted(95, up=1, down=0) == 100
    assert session_voted(20, up=0, down=1) == 10
    assert session_voted(60, up=0, down=0) == 60


def test_saying_that_it_is_done_counts_as_progress_only_with_tests_that_pass() -> None:
    log = begun(None)
    log.answer(("look", {}))
    log.use(0)
    log.add(Reported(status="done", confidence=90))
    assert of_turn(log.execution).parts.progress == 0.0
    log.answer(("look", {}))
    log.use(0, tests=(3, 0))
    log.add(Reported(status="done", confidence=90))
    assert of_turn(log.execution).parts.progress == 1.0
    log.add(Reported(status="progressing", confidence=90))
    assert of_turn(log.execution).parts.progress == 0.8


def test_what_is_said_this_turn_counts_more_than_how_calls_went() -> None:
    log = begun(None)
    log.answer(("look", {}))
    log.use(0, "failed", error="it broke")
    log.add(TurnEnded(turn=1, confidence=of_turn(log.execution)))
    log.answer("confidence: 90", ("look", {}))
    log.use(0, "failed", error="it broke otherwise")
    assert of_turn(log.execution).parts.self_report == 90
