"""Owners that come and go: what goes with them is told, what they left is looked at, and after three crashes nobody tries."""

from __future__ import annotations

import pytest

from agentic.core.display.outbox_items import visible
from agentic.core.events.execution_events import (
    Asked,
    CheckpointSaved,
    Event,
    FileChange,
    FileRef,
    Finished,
    HandedOver,
    InputReceived,
    OwnerChanged,
    Quarantined,
    ToolStarted,
    WorkspaceFound,
)
from agentic.core.fold.ownership import (
    INTERPRETER,
    TEMPORARY,
    base,
    in_background,
)
from agentic.core.fold.people import MACHINE
from agentic.core.rules.decide import decide
from agentic.core.state.actions import (
    Inspect,
    Record,
    Think,
    UseTools,
    Wait,
)
from agentic.workspace.snapshots.manifest import Entry, Manifest
from agentic.workspace.snapshots.undo_plan import unexplained
from tests.unit.core.building import YOU, Log

CHANGE = FileChange(path="a.py", kind="modified", sha_before="1", sha_after="2")


def told(log: Log, event: Event) -> list[str]:
    """What people are told of an event that is added."""
    before = log.execution
    log.add(event)
    return [item.text for item in visible(before, log.envelopes[-1])]


def succeed(log: Log, *, in_order: bool = False) -> list[str]:
    """The next owner."""
    if in_order:
        log.add(HandedOver(worker="a"))
    log.fence += 1
    return told(log, OwnerChanged(worker="b", lost=log.execution.beside))


def begun(log: Log, tool: str, **arguments: object) -> None:
    log.add(
        ToolStarted.model_validate(
            {"call": "c", "provider_id": "p", "tool": tool, "effect": "unkeyed", "arguments": arguments, "args_sha": ""}
        )
    )


def test_what_lives_beside_the_workspace_goes_with_its_owner_and_is_told_to_the_agent_and_to_people() -> None:
    log = Log()
    log.answer(("shell", {}))
    begun(log, "unheard_of", command="x", background=True)
    assert log.execution.beside == ()
    begun(log, "shell", command="ls")
    assert log.execution.beside == (TEMPORARY,)
    assert "Gone" not in succeed(log)[0], "/tmp alone is nothing to people"
    assert TEMPORARY in log.execution.told.texts[-1]
    begun(log, "python", code="x = 1")
    begun(log, "shell", command="npm `start` " + "y" * 100, background=True)
    server = in_background("npm `start` " + "y" * 100)
    assert log.execution.beside == (INTERPRETER, server, TEMPORARY)
    assert "`npm 'start'" in server
    assert "…`" in server
    [text] = succeed(log)
    assert INTERPRETER in text
    assert server in text
    assert server in log.execution.told.texts[-1]
    before = log.execution.told
    succeed(log)
    assert log.execution.told == before, "it is told once"


def test_a_checkpoint_says_best_what_lives_beside_it() -> None:
    log = Log()
    log.answer(("shell", {}))
    begun(log, "python", code="x = 1")
    log.add(CheckpointSaved(manifest="", through_seq=3, problem="the disk is full"))
    assert INTERPRETER in log.execution.beside
    assert base(log.execution) == "m0", "the one before the first change"
    log.add(CheckpointSaved(manifest="m1", through_seq=3, not_kept=(TEMPORARY,)))
    assert log.execution.beside == (TEMPORARY,)
    assert base(log.execution) == "m1"
    assert base(Log(saved=False).execution) == ""


@pytest.mark.parametrize(
    "found", [WorkspaceFound(changes=(CHANGE,) * 9), WorkspaceFound(problem="no room"), WorkspaceFound()]
)
def test_what_a_cut_off_call_did_to_files_is_looked_at_before_anything_else(found: WorkspaceFound) -> None:
    log = Log()
    log.answer(("shell", {}))
    log.settle()
    log.start(0)
    succeed(log)
    assert isinstance(decide(log.execution), Inspect)
    said = told(log, found)
    assert isinstance(decide(log.execution), Record), "then its outcome is said to be unknown"
    assert log.execution.deeds.changes[-9:] == found.changes
    assert log.execution.unsaved == found.changes
    texts = "\n".join(log.execution.told.texts)
    if found.changes:
        assert "`a.py` (modified)" in said[0]
        assert "and 1 more" in said[0]
        assert "- modified a.py" in texts
    else:
        assert said == []
        assert ("no room" in texts) == bool(found.problem)


def test_a_call_of_which_its_sandbox_never_heard_begins_under_the_next_owner() -> None:
    log = Log()
    log.answer(("shell", {}))
    log.settle()
    call = log.start(0)
    succeed(log)
    assert told(log, WorkspaceFound(never_begun=(call,))) == []
    [again] = log.execution.open_calls
    assert (again.id, again.intent, again.fence) == (call, None, 0)
    action = decide(log.execution)
    assert isinstance(action, UseTools), "it is no call whose outcome is unknown"
    assert [each.id for each in action.calls] == [call]


def test_nothing_is_looked_at_where_nothing_could_have_changed() -> None:
    log = Log()
    log.request()
    succeed(log)
    assert not log.execution.suspect


def test_after_three_crashes_it_is_left_alone_until_a_person_says_something() -> None:
    log = Log()
    assert "continuing" in succeed(log)[0]
    assert "continuing" in succeed(log)[0]
    assert succeed(log) == [], "it does not go on"
    action = decide(log.execution)
    assert isinstance(action, Record)
    [event] = action.events
    assert isinstance(event, Quarantined)
    assert "crashed 3 times" in told(log, event)[0]
    assert decide(log.execution) == Wait()
    assert succeed(log) == [], "it is said once, however often a process begins"
    log.say("resume", by=MACHINE)
    log.say("feedback", "down")
    assert decide(log.execution) == Wait()
    log.say("guidance", "try again")
    assert isinstance(decide(log.execution), Think)
    assert log.execution.crashes == 0


def test_a_stop_ends_what_is_left_alone() -> None:
    log = Log()
    for _ in range(3):
        succeed(log)
    log.settle()
    log.say("stop")
    log.settle()
    assert not isinstance(decide(log.execution), Wait)


def test_owners_that_end_in_order_are_no_crashes_and_who_waits_for_a_person_ends_no_process() -> None:
    log = Log()
    for _ in range(5):
        succeed(log, in_order=True)
    assert log.execution.crashes == 0
    assert isinstance(decide(log.execution), Think)
    log.add(Asked(question="q", text="Which?"))
    for _ in range(3):
        succeed(log)
    assert isinstance(decide(log.execution), Wait)
    assert log.execution.quarantined is None
    log.say("answer", "this", by=YOU)
    assert log.execution.crashes == 0


def test_the_end_stays_the_end() -> None:
    log = Log()
    log.add(Finished(reason="done", answer="x"))
    assert decide(log.execution) == Wait()


def test_who_was_held_while_processes_ended_goes_on_when_nobody_holds_it_any_more() -> None:
    """The thread was locked, or a question ran out: the work was not what ended the processes."""
    log = Log()
    log.say("pause", by=MACHINE)
    for _ in range(3):
        succeed(log)
    log.say("resume", by=MACHINE)
    assert isinstance(decide(log.execution), Think)


def test_a_file_that_a_person_put_there_is_not_taken_for_what_a_cut_off_call_did() -> None:
    log = Log()
    log.answer(("shell", {}))
    log.settle()
    log.start(0)
    files = (FileRef(name="a.csv", path="attachments/a.csv"), FileRef(name="b.csv", skipped="it is too large"))
    log.add(InputReceived(inbox="9", sort="guidance", author=YOU, text="use this", files=files))
    succeed(log)
    now = Manifest({"attachments/a.csv": Entry("file", sha="1"), "b.py": Entry("file", sha="2")})
    assert [change.path for change in unexplained(Manifest(), now, log.execution.unsaved)] == ["b.py"]
