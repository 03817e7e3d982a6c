"""Ids, triage, timers: the small pure parts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentic.core import failing
from agentic.core.events import Asked, DeadlinePassed, Started
from agentic.core.execution import Execution
from agentic.core.identity import batch_id, call_id, execution_id, question_id, request_id
from agentic.core.triage import triage
from tests.unit.core.building import BEGUN, YOU, Log


def test_ids_derive_from_their_place_and_differ_by_it() -> None:
    assert execution_id("1", "2") == execution_id("1", "2") != execution_id("2", "1")
    assert len(execution_id("1", "2")) == 16
    assert len(request_id("x", 3)) == 8
    assert call_id("r", 1) == "r.1"
    assert len({batch_id("x", 3), request_id("x", 3), question_id("x", 3)[1:9]}) == 3


@pytest.mark.parametrize(
    ("text", "talk"),
    [
        ("hello", True),
        ("Thanks!", True),
        ("what can you do?", True),
        ("hi, fix the failing test in api/", False),
        ("hello world in Rust, please write it", False),
        ("ok now run the migrations and tell me what breaks in staging", False),
    ],
)
def test_talk_is_told_from_tasks(text: str, talk: bool) -> None:
    assert triage(Started(thread="1", task=text, requester=YOU)).talk == talk


def test_the_cap_on_time_stands_still_while_a_person_is_asked_and_after_it_passed() -> None:
    log = Log()
    (timer,) = failing.standing_timers(log.execution)
    assert timer.at == BEGUN + timedelta(seconds=1, minutes=60)
    log.add(Asked(question="q", text="?"))
    assert failing.standing_timers(log.execution) == ()
    log.say("answer", "x")
    log.settle()
    (later,) = failing.standing_timers(log.execution)
    assert later.at == timer.at + timedelta(seconds=log.execution.spent.waiting)
    log.add(DeadlinePassed(ref="minutes"))
    assert failing.standing_timers(log.execution) == ()
    assert failing.standing_timers(Execution()) == ()


def test_back_off_doubles_with_each_pass_and_is_spread_by_a_quarter() -> None:
    log = Log(tiers=({"number": 2, "models": ("only",)},))
    waits: list[float] = []
    for _ in range(4):
        log.fail("unavailable")
        timer = failing.back_off(log.execution)
        assert timer is not None
        waits.append((timer.at - log.now).total_seconds())
        log.add(DeadlinePassed(ref=timer.ref))
        assert failing.back_off(log.execution) is None
    for wait, base in zip(waits, [1, 2, 4, 8], strict=True):
        assert 0.75 * base <= wait <= 1.25 * base


def test_a_lost_request_is_not_waited_for() -> None:
    log = Log()
    log.fail("lost")
    assert failing.back_off(log.execution) is None
    assert not failing.is_final(log.execution)
    assert failing.ended(Log().execution).reason == "failed"
