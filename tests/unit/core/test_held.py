"""Pauses, deleted tasks, side questions: what people hold, withdraw, and ask beside the work."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentic.core.events.execution_events import (
    Asked,
    CheckpointSaved,
    DeadlinePassed,
    Escalated,
    OwnerChanged,
    Quarantined,
    ToolFinished,
    WorkspaceFound,
)
from agentic.core.fold.people import MACHINE
from agentic.core.prompt.build import build_prompt
from agentic.core.rules.decide import decide
from agentic.core.state.actions import (
    Cancel,
    Checkpoint,
    Finish,
    Record,
    Think,
    UseTools,
    Wait,
)
from agentic.prompts import identity
from tests.unit.core.building import Log
from tests.unit.core.test_visible import shown


def receipts(log: Log) -> list[str]:
    return [item.text for item in shown(log) if item.sort in ("receipt", "notice")]


def test_a_pause_lets_what_runs_end_and_begins_nothing_until_it_is_resumed() -> None:
    log = Log()
    log.answer(("shell", {}), ("shell", {}))
    log.start(0)
    log.say("pause")
    assert decide(log.execution) == Wait()
    log.finish(0)
    assert decide(log.execution) == Wait()
    log.say("guidance", "mind the cache")
    log.say("resume")
    action = decide(log.execution)
    assert isinstance(action, UseTools)
    assert [call.id for call in action.calls] == [log.execution.turn.calls[1].id]
    assert "mind the cache" in "\n".join(log.execution.told.texts)
    assert receipts(log) == [
        "Pausing after this step. Press ▶ to resume.", "Got it. I'll use it when you resume.", "Resuming.",
    ]  # fmt: skip


def test_a_stop_takes_hold_while_it_is_paused() -> None:
    log = Log()
    request = log.request()
    log.say("pause")
    log.say("stop")
    action = decide(log.execution)
    assert isinstance(action, Cancel)
    assert action.refs == (request,)


def test_the_time_of_a_pause_counts_for_no_cap_and_a_question_in_it_is_not_counted_twice() -> None:
    log = Log()
    log.say("pause")
    log.add(Asked(question="q", text="?"))
    log.now += timedelta(minutes=90)
    log.say("resume")
    assert log.execution.spent.waiting == 0.0
    log.say("answer", "x")
    log.settle()
    assert log.execution.spent.waiting == 90 * 60 + 4.0
    log.request()
    action = decide(log.execution)
    assert isinstance(action, Wait)
    assert log.execution.started_at is not None
    assert action.timers[0].at == log.execution.started_at + timedelta(minutes=150, seconds=4)


def test_the_machine_pauses_and_resumes_but_lifts_no_pause_of_a_person() -> None:
    log = Log()
    log.say("pause", "the thread is locked", by=MACHINE, message="")
    assert decide(log.execution) == Wait()
    log.say("resume", by=MACHINE)
    assert isinstance(decide(log.execution), Think)
    log.say("pause", by=MACHINE)
    log.say("pause")
    log.say("pause", by=MACHINE)
    log.say("resume", by=MACHINE)
    assert decide(log.execution) == Wait()
    log.say("resume")
    assert isinstance(decide(log.execution), Think)
    assert receipts(log) == ["Resuming.", "Pausing after this step. Press ▶ to resume.", "Resuming."]


def test_a_resume_of_what_was_set_aside_says_that_it_goes_on() -> None:
    log = Log()
    log.add(Quarantined(reason="the bot crashed 3 times while it worked on this"))
    log.say("resume", by=MACHINE)
    assert log.execution.quarantined is not None
    log.say("resume")
    assert receipts(log)[-1] == "Resuming."


def test_a_second_pause_and_a_resume_of_nothing_say_so() -> None:
    log = Log()
    log.say("resume")
    log.say("resume", by=MACHINE)
    log.say("pause")
    log.say("pause")
    told = receipts(log)
    assert told[0] == "I'm not paused."
    assert told[2] == "Already paused. Press ▶ to resume."
    assert len(told) == 3


@pytest.mark.parametrize("tool", ["look", "put"])
def test_what_may_run_again_after_a_crash_waits_for_the_end_of_a_pause(tool: str) -> None:
    log = Log()
    log.answer((tool, {}))
    log.start(0)
    log.say("pause")
    log.fence = 2
    log.add(OwnerChanged(worker="b"), WorkspaceFound())
    assert decide(log.execution) == Wait()
    log.say("resume")
    assert isinstance(decide(log.execution), UseTools)


def test_the_death_of_an_owner_during_a_pause_is_not_counted_twice() -> None:
    log = Log()
    log.say("pause")
    log.now += timedelta(minutes=5)
    log.fence = 2
    log.add(OwnerChanged(worker="b"))
    log.say("resume")
    assert log.execution.spent.waiting == 302.0


# --- the task's message is deleted ------------------------------------------------------------------------------


def test_a_task_whose_message_is_deleted_before_anything_was_done_is_cancelled() -> None:
    log = Log()
    request = log.request()
    log.say("deleted", message="100")
    action = decide(log.execution)
    assert isinstance(action, Cancel)
    assert action.refs == (request,)
    unbegun = Log()
    unbegun.say("deleted", message="")
    ended = decide(unbegun.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "cancelled"
    assert "was deleted before I began" in ended.finished.answer
    assert receipts(unbegun) == []


def test_a_task_whose_message_is_deleted_later_goes_on_and_the_model_and_people_are_told() -> None:
    log = Log()
    log.answer(("shell", {}))
    log.say("deleted", message="100")
    assert isinstance(decide(log.execution), UseTools)
    assert "you deleted the message with the task" in "\n".join(log.execution.told.texts)
    assert log.execution.told.unseen == ()
    assert receipts(log) == ["The task's message was deleted, but I had already started. I'm continuing; 🛑 stops me."]
    again = Log()
    again.answer("thinking")
    again.request()
    again.say("deleted", message="100")
    assert again.execution.withdrawn is None


def test_the_deletion_of_another_message_changes_nothing() -> None:
    log = Log()
    log.say("deleted", message="555")
    assert isinstance(decide(log.execution), Think)
    assert log.execution.told.texts == Log().execution.told.texts
    assert receipts(log) == []


def test_a_person_may_ask_to_be_asked() -> None:
    log = Log()
    log.answer(("look", {}))
    log.say("ask")
    assert "put your open questions to me with ask_user" in "\n".join(log.execution.told.texts)
    assert log.execution.told.unseen != ()
    assert receipts(log) == ["I'll ask my open questions before I continue."]


# --- side questions ---------------------------------------------------------------------------------------------


def test_a_side_question_is_answered_without_tools_and_seen_only_as_a_reply() -> None:
    log = Log("what are you doing?", side=True, triaged=False)
    log.settle()
    assert log.execution.talk
    assert build_prompt(log.execution, None, ()).system == identity.SIDE
    log.answer(("shell", {}))
    log.settle()
    assert log.execution.checkpoint is None
    log.add(OwnerChanged(worker="b"), Escalated(from_tier=2, to_tier=4, trigger="x"))
    log.answer("I run the tests.")
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "done"
    log.add(ended.finished)
    (item,) = shown(log)
    assert (item.sort, item.text, item.target, item.notify) == ("answer", "I run the tests.", "100", True)


def test_a_side_question_asks_nobody_anything() -> None:
    log = Log("why?", side=True, tiers=({"number": 2, "models": ("only",)},))
    assert not log.execution.attended
    for _ in range(3):
        log.answer("")
        log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "stuck"


# --- the checkpoint before the first change ---------------------------------------------------------------------


def test_the_workspace_is_saved_before_the_first_change_and_once() -> None:
    log = Log(saved=False)
    log.answer(("look", {}), ("shell", {}), ("shell", {}))
    assert isinstance(decide(log.execution), UseTools)
    log.use(0)
    action = decide(log.execution)
    assert isinstance(action, Checkpoint)
    assert [timer.ref for timer in action.timers] == ["minutes"]
    log.add(CheckpointSaved(manifest="m1", through_seq=log.execution.seq))
    assert isinstance(decide(log.execution), UseTools)
    log.add(CheckpointSaved(manifest="m2", through_seq=log.execution.seq))
    assert log.execution.checkpoint is not None
    assert log.execution.checkpoint.manifest == "m1"


def test_work_goes_on_where_the_workspace_could_not_be_saved() -> None:
    log = Log(saved=False)
    log.answer(("shell", {}))
    log.add(CheckpointSaved(manifest="", through_seq=3, problem="the disk is full"))
    assert isinstance(decide(log.execution), UseTools)


@pytest.mark.parametrize("tool", ["ask_user", "finish", "no_such_tool"])
def test_what_changes_nothing_needs_no_checkpoint(tool: str) -> None:
    log = Log(saved=False)
    log.answer((tool, {}))
    action = decide(log.execution)
    assert isinstance(action, UseTools | Record)


def test_a_stop_and_a_used_up_time_come_before_the_checkpoint() -> None:
    for ends in ("stop", "time"):
        log = Log(saved=False, attended=ends == "stop")
        log.answer(("shell", {}))
        assert isinstance(decide(log.execution), Checkpoint)
        log.say("stop") if ends == "stop" else log.add(DeadlinePassed(ref="minutes"))
        action = decide(log.execution)
        assert isinstance(action, Record)
        assert isinstance(action.events[0], ToolFinished)
