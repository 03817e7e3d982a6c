"""The checkpoints after the first: every few turns of change, and before a person is asked."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import CheckpointSaved, Gated, Triaged
from agentic.core.rules.decide import decide
from agentic.core.state.actions import (
    Ask,
    Checkpoint,
    Finish,
    Record,
    UseTools,
)
from tests.unit.core.building import Log


def turn_of(log: Log, tool: str = "shell") -> None:
    """A turn with one call, to its end."""
    log.answer((tool, {}))
    if isinstance(decide(log.execution), Checkpoint):
        log.add(CheckpointSaved(manifest="m", through_seq=log.execution.seq, turn=log.execution.turn.number))
    log.use(0)
    log.settle(saving=False)


def moment_of(log: Log) -> str:
    """The moment of the checkpoint that is due, '' where none is."""
    action = decide(log.execution)
    return action.moment if isinstance(action, Checkpoint) else ""


@pytest.mark.parametrize(("complexity", "turns"), [("simple", 3), ("medium", 5)])
def test_so_many_turns_after_a_checkpoint_the_next_is_due(complexity: str, turns: int) -> None:
    log = Log(triaged=False)
    log.add(Triaged.model_validate({"talk": False, "complexity": complexity}))
    log.add(CheckpointSaved(manifest="m0", through_seq=2))
    for number in range(1, turns + 1):
        assert moment_of(log) == ""
        turn_of(log, "shell" if number == 1 else "look")
    assert moment_of(log) == "turns"
    log.add(CheckpointSaved(manifest="m1", through_seq=log.execution.seq, turn=turns, why="turns"))
    assert log.execution.saved is not None
    assert (log.execution.saved.manifest, log.execution.checkpoint and log.execution.checkpoint.manifest) == (
        "m1",
        "m0",
    )
    for _ in range(turns):
        turn_of(log, "look")
        assert moment_of(log) == ""  # nothing was touched, so nothing is saved again


def test_before_a_person_is_asked_what_was_changed_is_saved() -> None:
    log = Log()
    log.answer(("shell", {}), ("ask_user", {}))
    log.use(0)
    assert moment_of(log) == "question"
    log.add(CheckpointSaved(manifest="m1", through_seq=log.execution.seq, why="question"))
    assert isinstance(decide(log.execution), UseTools)
    untouched = Log()
    untouched.answer(("look", {}), ("ask_user", {}))
    untouched.use(0)
    assert isinstance(decide(untouched.execution), UseTools)


def test_before_an_approval_is_asked_for_what_was_changed_is_saved() -> None:
    log = Log()
    log.answer(("shell", {}), ("wipe", {}))
    log.use(0)
    wipe = log.execution.turn.calls[1]
    log.add(Gated(call=wipe.id, args_sha="sha", reason="deletes", state_sha="s"))
    assert moment_of(log) == "question"
    log.add(CheckpointSaved(manifest="m1", through_seq=log.execution.seq, why="question"))
    assert isinstance(decide(log.execution), Ask)


def test_a_call_that_nobody_can_approve_needs_no_checkpoint() -> None:
    log = Log(attended=False)
    log.answer(("shell", {}), ("wipe", {}))
    log.use(0)
    log.add(Gated(call=log.execution.turn.calls[1].id, args_sha="sha", reason="deletes", state_sha="s"))
    assert isinstance(decide(log.execution), Record)


@pytest.mark.parametrize("attended", [True, False])
def test_before_the_question_at_the_limit_what_was_changed_is_saved(attended: bool) -> None:
    log = Log(turns_medium=1, attended=attended)
    turn_of(log)
    assert moment_of(log) == ("question" if attended else "")


@pytest.mark.parametrize(("tiers", "due"), [(1, "question"), (2, "")])
def test_before_the_question_of_who_is_stuck_what_was_changed_is_saved(tiers: int, due: str) -> None:
    models = ({"number": 2, "models": ("only",)}, {"number": 4, "models": ("large",)})
    log = Log(tiers=models[:tiers])
    turn_of(log)
    log.answer("")
    log.settle(saving=False)
    for _ in range(2):
        log.answer("")
        log.settle(saving=False)
    assert moment_of(log) == due


def test_no_answer_waits_for_a_checkpoint() -> None:
    log = Log()
    for _ in range(4):
        turn_of(log)
    log.answer(("finish", {"answer": "Done."}))
    log.use(0)
    log.settle(saving=False)
    assert log.execution.turn.number == 5
    assert isinstance(decide(log.execution), Finish)
    log.say("guidance", "wait")
    assert moment_of(log) == "turns"
