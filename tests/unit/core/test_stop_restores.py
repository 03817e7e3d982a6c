"""A stop while files are restored: people are told, and whoever takes it up after a crash restores them first."""

from __future__ import annotations

import pytest

from agentic.core.display.outbox_items import visible
from agentic.core.events.execution_events import (
    CancelRequested,
    Event,
    Gated,
    OwnerChanged,
    ToolStarted,
    WorkspaceFound,
)
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Inspect, Record
from tests.unit.core.building import Log


def stopped(*, asked_to_end: bool = True) -> Log:
    """A command runs, its stop was given, and (``asked_to_end``) the command was told to end."""
    log = Log()
    log.answer(("shell", {"command": "rm -r src"}))
    call = log.execution.turn.calls[0]
    log.add(
        ToolStarted(
            call=call.id, provider_id="p0", tool="shell", effect="unkeyed", arguments=call.block.arguments,
            args_sha="sha", diary="d1",
        )
    )  # fmt: skip
    log.say("stop")
    if asked_to_end:
        log.add(CancelRequested(refs=(call.id,), reason="stopped by you"))
    return log


def told(log: Log, event: Event) -> list[str]:
    before = log.execution
    log.add(event)
    return [item.text for item in visible(before, log.envelopes[-1])]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (CancelRequested(refs=("c",), restoring=1200), "still restoring 1,200 files that it destroyed"),
        (CancelRequested(refs=("c",), restoring=0), "still looking for files that it destroyed"),
        (
            Gated(call="c", args_sha="s", reason="deleted 9 files", put_back=True),
            "The stopped command deleted 9 files.",
        ),
    ],
)
def test_people_are_told_what_a_stop_still_has_restored_and_that_it_is(event: Event, words: str) -> None:
    (text,) = told(stopped(), event)
    assert words in text
    assert "restored" in text or "next task waits" in text


def test_that_a_stop_ends_what_runs_is_said_by_the_stop_itself() -> None:
    log = stopped(asked_to_end=False)
    assert told(log, CancelRequested(refs=(log.execution.turn.calls[0].id,))) == []


@pytest.mark.parametrize("asked_to_end", [True, False])
def test_what_the_next_owner_does_first_with_a_stopped_call_of_the_one_before(asked_to_end: bool) -> None:
    """It looks at what the call left, which restores files; where the call was never told to end, the stop goes first."""
    log = stopped(asked_to_end=asked_to_end)
    log.fence += 1
    log.add(OwnerChanged(worker="w2"))
    action = decide(log.execution)
    assert isinstance(action, Inspect) is asked_to_end
    log.add(WorkspaceFound())
    assert isinstance(decide(log.execution), Record)


def test_what_ends_its_owners_again_and_again_is_not_restored_for_ever() -> None:
    log = stopped()
    for _ in range(log.execution.policy.crashes):
        assert not isinstance(decide(log.execution), Record)
        log.fence += 1
        log.add(OwnerChanged(worker="w"))
    assert isinstance(decide(log.execution), Record)
