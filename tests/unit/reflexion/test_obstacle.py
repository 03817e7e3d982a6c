"""What a task that ended well got round, and how little of what succeeds is worth a reflection."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    Claim,
    Envelope,
    Event,
    FeedbackGiven,
    Policy,
    Reason,
    Reflected,
    Tier,
)
from agentic.core.events.values import TOUR
from reflexion.evaluation.trajectory import read_trajectory
from reflexion.reflection.obstacle import Obstacle, overcome
from reflexion.reflection.trigger import (
    OVERCAME,
    NoReflection,
    Reflect,
    decide_reflection,
)
from tests.unit.reflexion.logs import ANN, EPOCH, Did, Log, edit

NOT_THERE = Did("pytest -q", 127, "bash: pytest: command not found")
BLOCKED = Did("publish img", 1, "publish: /var/run/registry: Permission denied")
PASSES = Did("python -m pytest -q", 0, "3 passed", tests=(3, 0))
BUILT = Did("publish img --user", 0, "sent")
PROVEN = Claim(text="it builds", command="publish img --user", exit_code=0, verdict="proven")


def found(log: Log) -> Obstacle | None:
    return overcome(read_trajectory(log.events))


def test_a_command_that_had_to_be_found_is_a_fact() -> None:
    obstacle = found(Log().does(edit("a.py")).does(NOT_THERE).does(PASSES).ends())
    assert obstacle is not None
    assert obstacle.teaches == "fact"
    assert obstacle.signature == "shell: bash: pytest: command not found"
    assert obstacle.evidence == ("bash: pytest: command not found", "python -m pytest -q")


def test_a_way_round_is_a_strategy_and_proven_claims_are_evidence() -> None:
    log = Log(task="Build it.").does(BLOCKED).does(BUILT).ends(claims=(PROVEN,))
    obstacle = found(log)
    assert obstacle is not None
    assert obstacle.teaches == "strategy"
    assert obstacle.worked.asked == BUILT.command


def test_the_same_failure_twice_is_an_obstacle_whatever_it_is_called() -> None:
    odd = Did("deploy.sh staging", 3, "E: the slot token-7 is taken by another run")
    log = (
        Log(task="Deploy.").does(odd).does(odd).does(Did("deploy.sh staging --slot b", 0, "ok")).ends(claims=(PROVEN,))
    )
    assert found(log) is not None
    once = Log(task="Deploy.").does(odd).does(Did("deploy.sh staging --slot b", 0, "ok")).ends(claims=(PROVEN,))
    assert found(once) is None


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param((PASSES,), id="nothing stood in the way"),
        pytest.param((Did("pytest -q", 1, "E  ValueError: row 3\n1 failed", tests=(2, 1)), PASSES), id="a test failed"),
        pytest.param((NOT_THERE, edit("a.py"), PASSES), id="an edit came between"),
        pytest.param((BLOCKED, Did(BLOCKED.command, 0, "built"), PASSES), id="it went by itself"),
        pytest.param(
            (Did("cat b.py", 1, "cat: b.py: No such file or directory"), Did("cat a.py"), PASSES), id="a look"
        ),
        pytest.param((Did("frobnicate x", 127, "frobnicate: command not found"), PASSES), id="another aim"),
        pytest.param((NOT_THERE, Did("python -m pytest -q", None, "", "denied"), Did("ls")), id="denied"),
    ],
)
def test_what_is_no_obstacle_costs_nothing(calls: tuple[Did, ...]) -> None:
    log = Log()
    for call in calls:
        log.does(call)
    assert found(log.ends()) is None


@pytest.mark.parametrize("reason", ["failed", "stopped", "limit"])
def test_only_what_ended_well_teaches_by_success(reason: Reason) -> None:
    assert found(Log().does(NOT_THERE).does(PASSES).ends(reason)) is None


def test_without_evidence_nothing_is_learned_of_it() -> None:
    assert found(Log(task="Build it.").does(BLOCKED).does(BUILT).ends()) is None
    unproven = PROVEN.model_copy(update={"verdict": "unproven"})
    assert found(Log(task="Build it.").does(BLOCKED).does(BUILT).ends(claims=(PROVEN, unproven))) is None
    toured = Log(policy=Policy(tiers=(Tier(number=2, models=(TOUR,)),)))
    assert found(toured.does(NOT_THERE).does(PASSES).ends()) is None


def decide(log: Log, *outcome: Event) -> Reflect | object:
    envelopes = [Envelope(execution="x1", seq=n, at=EPOCH, fence=0, event=event) for n, event in enumerate(outcome, 1)]
    return decide_reflection(read_trajectory(log.events, envelopes), envelopes)


def test_it_is_reflected_on_once_and_what_a_person_says_against_it_afterwards_as_well() -> None:
    log = Log().does(NOT_THERE).does(PASSES).ends()
    first = decide(log)
    assert isinstance(first, Reflect)
    assert (first.cause, first.obstacle is not None) == (OVERCAME, True)
    worked = Reflected(reflection="r1", worked=True)
    assert decide(log, worked) == NoReflection("it has a reflection")
    down = FeedbackGiven(by=ANN, vote="down", why="Those were the wrong tests.")
    assert decide(log, worked, down) == Reflect("a person said that it was wrong")
    assert decide(log, worked, down, Reflected(reflection="r2")) == NoReflection("it has a reflection")
