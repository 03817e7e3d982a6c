"""What an answer says of attempts at its task, and when it offers another one."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import Policy, Reason, Started
from bot.history.attempts import Tried, tried
from reflexion.evaluation.trajectory import read_trajectory
from tests.unit.reflexion.logs import Did, Log

PASSES, FAILS = Did("pytest -q", 0), Did("pytest -q", 1)
AGAIN = "{} of 3"


def of(did: Did, reason: Reason, attempt: int = 1, trials: str = "offer") -> Tried:
    log = Log(policy=Policy.model_validate({"trials": trials})).does(did).ends(reason)
    first = log.events[0].event
    assert isinstance(first, Started)
    started = first.model_copy(update={"attempt": attempt})
    return tried(started, read_trajectory([log.events[0].model_copy(update={"event": started}), *log.events[1:]]))


def test_after_an_outage_nothing_was_learned_and_it_can_still_be_tried_again() -> None:
    log = Log().does(Did("ls")).fails_to_ask().ends("failed")
    first = log.events[0].event
    assert isinstance(first, Started)
    assert tried(first, read_trajectory(log.events)) == Tried((), offered="2 of 3")


@pytest.mark.parametrize(
    ("did", "reason", "attempt", "trials", "lines", "offered"),
    [
        (PASSES, "done", 1, "offer", (), ""),
        (PASSES, "done", 2, "offer", ("-# That took 2 attempts.",), ""),
        (FAILS, "failed", 1, "offer", (), AGAIN.format(2)),
        (FAILS, "failed", 2, "offer", ("-# That was attempt 2 of 3.",), AGAIN.format(3)),
        (FAILS, "done", 3, "offer", ("-# That was attempt 3 of 3.",), ""),
        (FAILS, "failed", 5, "offer", ("-# That was attempt 5 of 5.",), ""),
        (FAILS, "failed", 1, "auto", (), AGAIN.format(2)),  # it goes on by itself, or says why not
        (Did("x", 1), "failed", 1, "auto", (), AGAIN.format(2)),
        (FAILS, "limit", 1, "auto", (), AGAIN.format(2)),
        (FAILS, "stopped", 1, "offer", (), ""),
        (FAILS, "failed", 1, "never", (), ""),
    ],
)
def test_an_answer_says_how_many_attempts_there_were_and_offers_the_next(
    did: Did, reason: Reason, attempt: int, trials: str, lines: tuple[str, ...], offered: str
) -> None:
    assert of(did, reason, attempt, trials) == Tried(lines, offered)
