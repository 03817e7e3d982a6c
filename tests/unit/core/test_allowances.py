"""What a person lets the whole task do: by what was found in a call, never by its text, and only until they take it back."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    Act,
    AllowancesEnded,
    AllowanceUsed,
    CheckpointSaved,
    Departure,
    Finding,
    Gated,
    OwnerChanged,
    Person,
    ToolFinished,
    ToolStarted,
    WorkspaceRestored,
)
from agentic.core.rules.approvals import FOR_TASK_OPTION, acts_of, allowed_of, covers, is_within, reasons
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Ask, Checkpoint, Record, UseTools
from agentic.core.state.execution import Call
from tests.unit.core.building import BOSS, YOU, Log
from tests.unit.core.test_visible import shown

DATA, DOCS, NOTES = (Act(kind="delete", path=path) for path in ("data", "docs", "data/old/notes"))
EMPTIED = Act(kind="empty", path="data")
LEAVING = Departure(to="github.com", untrusted=("a page",), private=("files",))


def gate(log: Log, *acts: Act, state: str = "s", **more: object) -> Call:
    """A call in which these were found; without any, one that is found to rewrite history."""
    log.answer(("shell", {"command": "rm -rf things"}))
    return again(log, *acts, state=state, **more)


def again(log: Log, *acts: Act, state: str = "s", **more: object) -> Call:
    """The same call, as it is gated now."""
    each = tuple(Finding(text=f"deletes `{act.path}`", acts=(act,)) for act in acts)
    findings = each or (Finding(text="rewrites history"),)
    event = {"reason": reasons(findings), "findings": findings, **more}
    call = log.execution.turn.calls[0].id
    log.add(Gated.model_validate({"call": call, "args_sha": "a", "state_sha": state, **event}))
    if isinstance(decide(log.execution), Checkpoint):  # before anybody is asked, and before what is allowed runs
        log.add(CheckpointSaved(manifest="m1", through_seq=log.execution.seq, why="question"))
    return log.execution.turn.calls[0]


def ended(log: Log) -> None:
    """The call has run, and the turn is over."""
    call = log.execution.turn.calls[0]
    log.add(
        ToolStarted(
            call=call.id, provider_id=call.block.provider_id, tool="shell", effect="unkeyed", arguments={}, args_sha="a",
            approval=call.approval, allowed=allowed_of(call),
        )
    )  # fmt: skip
    log.add(ToolFinished(call=call.id, outcome="ok", preview=""))
    log.settle()


def allowed(*acts: Act, by: Person = BOSS) -> Log:
    """A task in which somebody allowed these for all of it, and the call that asked has run."""
    log = Log()
    gate(log, *acts)
    log.settle()
    log.say("answer", FOR_TASK_OPTION.label, by=by)
    log.settle()
    assert isinstance(decide(log.execution), UseTools)
    ended(log)
    return log


def used(log: Log) -> AllowanceUsed | None:
    """The fact that the rules record of the open call; None where a person is asked."""
    action = decide(log.execution)
    if isinstance(action, Record):
        (event,) = action.events
        return event if isinstance(event, AllowanceUsed) else None
    assert isinstance(action, Ask)
    return None


def test_it_is_offered_last_with_all_that_was_found_and_covers_the_call_that_asks() -> None:
    log = Log()
    gate(log, DATA, DOCS)
    action = decide(log.execution)
    assert isinstance(action, Ask)
    assert [option.label for option in action.asked.options] == [
        "Allow once",
        "Deny",
        "Always allow this for this task",
    ]
    assert action.asked.allows == (DATA, DOCS)
    assert "It deletes `data`; it also deletes `docs`." in action.asked.text
    log.settle()
    log.say("answer", "3", by=YOU)
    assert log.execution.question is not None, "an executor may not"
    log.say("answer", "3", by=BOSS)
    log.settle()
    call = log.execution.turn.calls[0]
    assert covers(call, "a", "s")
    assert not covers(call, "other", "s")
    assert [(each.by, each.acts, each.used) for each in log.execution.allowances] == [(BOSS, (DATA, DOCS), 0)]


@pytest.mark.parametrize("acts", [(DATA,), (DATA, DOCS), (DOCS,), (NOTES,), (NOTES, DOCS, DATA)])
def test_a_later_call_of_which_all_is_covered_runs_without_a_question_and_the_log_says_by_whom(
    acts: tuple[Act, ...],
) -> None:
    log = allowed(DATA, DOCS)
    call = gate(log, *acts)
    found = used(log)
    assert found == AllowanceUsed(call=call.id, question=log.execution.allowances[0].question, by=BOSS, acts=acts)
    log.settle()
    call = log.execution.turn.calls[0]
    assert allowed_of(call) == found
    assert covers(call, "a", "s")
    assert not covers(call, "a", "another state")
    assert log.execution.allowances[0].used == 1


@pytest.mark.parametrize(
    "acts",
    [(), (DOCS,), (DATA, DOCS), (EMPTIED,), (Act(kind="delete", path="data2"),), (Act(kind="delete", path="dat"),)],
)
def test_whatever_is_not_covered_is_asked(acts: tuple[Act, ...]) -> None:
    log = allowed(DATA)
    gate(log, *acts)
    assert used(log) is None


def test_a_finding_without_a_named_target_beside_one_that_is_covered_is_asked_and_not_offered() -> None:
    log = allowed(DATA)
    both = (Finding(text="deletes `data`", acts=(DATA,)), Finding(text="overwrites a branch"))
    call = gate(log, DATA, findings=both)
    assert call.gated is not None
    assert acts_of(call.gated) == ()
    action = decide(log.execution)
    assert isinstance(action, Ask)
    assert (FOR_TASK_OPTION not in action.asked.options, action.asked.allows) == (True, ())


@pytest.mark.parametrize(
    "more", [{"leaving": LEAVING}, {"put_back": True}, {"publishes": True}, {"hosts": ("a.example",)}]
)
def test_what_leaves_what_was_put_back_what_publishes_and_hosts_are_asked_each_time(more: dict[str, object]) -> None:
    log = allowed(DATA)
    gate(log, DATA, state="s", **more)
    assert used(log) is None
    assert FOR_TASK_OPTION not in decide(log.execution).asked.options  # type: ignore[union-attr]


def test_two_allowances_do_not_add_up_to_one() -> None:
    log = allowed(DATA)
    gate(log, DOCS)
    log.settle()
    log.say("answer", "3", by=BOSS)
    log.settle()
    ended(log)
    assert len(log.execution.allowances) == 2
    gate(log, DOCS)
    assert used(log) is not None
    ended(log)
    gate(log, DATA, DOCS)
    assert used(log) is None


def test_a_call_that_comes_back_is_put_to_a_person() -> None:
    log = allowed(DATA)
    gate(log, DATA)
    log.settle()
    again(log, DATA, state="changed meanwhile")
    assert used(log) is None


def test_taken_back_it_is_asked_also_for_the_call_that_was_about_to_begin() -> None:
    log = allowed(DATA)
    gate(log, DATA)
    log.settle()
    assert log.execution.turn.calls[0].allowed is not None
    log.say("revoke", "", by=YOU)
    assert (log.execution.turn.calls[0].allowed, log.execution.allowances) == (None, ())
    assert used(log) is None
    assert [item.text for item in shown(log) if item.sort == "receipt"][-1:] == [
        "OK, I'll ask again from the next step on."
    ]


def test_taken_back_where_nothing_is_allowed_nobody_is_told() -> None:
    log = Log()
    log.say("revoke", "", by=YOU)
    assert [item for item in shown(log) if item.sort == "receipt"] == []


def test_what_has_begun_goes_on_when_it_is_taken_back() -> None:
    log = allowed(DATA)
    call = gate(log, DATA)
    log.settle()
    log.add(
        ToolStarted(
            call=call.id, provider_id=call.block.provider_id, tool="shell", effect="unkeyed", arguments={}, args_sha="a",
            allowed=allowed_of(log.execution.turn.calls[0]),
        )
    )  # fmt: skip
    log.say("revoke", "", by=YOU)
    assert log.execution.turn.calls[0].allowed is not None


def test_of_a_person_who_may_no_longer_only_theirs_ends() -> None:
    other = Person(id="77", name="eve", level="operator")
    log = allowed(DATA)
    gate(log, DOCS)
    log.settle()
    log.say("answer", "3", by=other)
    log.settle()
    ended(log)
    gate(log, DOCS)
    log.settle()
    log.add(AllowancesEnded(person=BOSS.id, why="boss may no longer allow this"))
    assert [each.by for each in log.execution.allowances] == [other]
    assert log.execution.turn.calls[0].allowed is not None
    log.add(AllowancesEnded(person=other.id, why="eve may no longer allow this"))
    assert log.execution.turn.calls[0].allowed is None


def test_another_owner_lets_the_rules_decide_again() -> None:
    log = allowed(DATA)
    gate(log, DATA)
    log.settle()
    log.add(OwnerChanged(worker="next"))
    assert log.execution.turn.calls[0].allowed is None
    assert used(log) is not None


def test_what_goes_on_from_an_earlier_position_or_in_a_fork_asks_again() -> None:
    log = allowed(DATA)
    log.add(WorkspaceRestored(manifest="m", way="rewind"))
    gate(log, DATA)
    assert used(log) is None


def test_where_nobody_attends_nothing_is_allowed() -> None:
    log = Log(attended=False)
    gate(log, DATA)
    action = decide(log.execution)
    assert isinstance(action, Record)
    assert isinstance(action.events[0], ToolFinished)


def test_a_choice_that_was_not_offered_allows_nothing_for_the_task() -> None:
    log = Log()
    gate(log)
    log.settle()
    assert log.execution.question is not None
    assert log.execution.question.allows == ()
    log.say("answer", FOR_TASK_OPTION.label, by=BOSS)
    log.settle()
    assert log.execution.allowances == ()
    assert log.execution.turn.calls[0].approval == ""


def test_below_a_folder_is_a_matter_of_its_parts() -> None:
    assert is_within(NOTES, (DATA,))
    assert not is_within(DATA, (NOTES,))
    assert not is_within(Act(kind="empty", path="data/x"), (EMPTIED,))
