"""An execution that goes on from where it was put back: what ended or held it is over, and the model is told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from agentic.core.display.outbox_items import visible
from agentic.core.events.execution_events import (
    DeadlinePassed,
    ModelFailed,
    OwnerChanged,
    PolicyChanged,
    ToolFinished,
    WorkspaceRestored,
)
from agentic.core.fold.fold import MINUTES
from agentic.core.prompt.build import build_prompt
from agentic.core.rules.decide import decide
from agentic.core.state.actions import (
    Action,
    Finish,
    Think,
    UseTools,
)
from tests.unit.core.building import YOU, Log

LOST = "the Python interpreter's variables"
BACK = WorkspaceRestored(manifest="m", lost=LOST, by=YOU, way="rewind", turn=1)


def action(log: Log) -> Action:
    return decide(log.settle())


def ended(log: Log) -> Log:
    """Everything up to the end, and not the end itself."""
    log.settle()
    assert isinstance(decide(log.execution), Finish)
    return log


def stopped() -> Log:
    log = Log()
    log.answer(("shell", {"command": "make"}))
    log.start()
    log.say("stop")
    log.add(ToolFinished(call=log.execution.turn.calls[0].id, outcome="cancelled", preview="cancelled"))
    return ended(log)


def out_of_time() -> Log:
    log = Log(attended=False)
    log.answer(("shell", {}))
    log.use()
    log.add(DeadlinePassed(ref=MINUTES))
    return ended(log)


def without_a_model() -> Log:
    log = Log()
    log.fail("bad_request")
    return ended(log)


def done() -> Log:
    log = Log()
    log.answer("a", ("finish", {"answer": "done"}))
    log.use(1) if len(log.execution.turn.calls) > 1 else log.use()
    return ended(log)


def withdrawn() -> Log:
    log = Log()
    log.say("deleted", message="100")
    return ended(log)


@pytest.mark.parametrize("end", [stopped, out_of_time, without_a_model, done, withdrawn])
def test_whatever_had_ended_it_is_over(end: Callable[[], Log]) -> None:
    """And it is no crash, nor any time of its own, that nobody worked on it for a day."""
    log = end()
    log.now += timedelta(days=1)
    log.add(BACK)
    log.fence += 1
    log.add(OwnerChanged(worker="w2"))
    assert log.execution.crashes == 0
    assert isinstance(action(log), Think)
    log.request()
    assert log.execution.spent.waiting >= 86_400
    prompt = build_prompt(log.execution, None, ())
    assert any(LOST in message.text and "as they were after turn 1" in message.text for message in prompt.messages)


def test_at_the_beginning_of_its_turns_it_says_so() -> None:
    log = Log()
    log.add(WorkspaceRestored(manifest="m", way="rewind"))
    assert "A person lets this go on from here" in log.execution.told.texts[-1]
    assert "before the first turn" in log.execution.told.texts[-1]


def test_what_held_it_holds_it_no_more() -> None:
    for hold in ("pause", "question"):
        log = Log(turns_medium=1)
        log.answer(("shell", {}))
        log.use()
        if hold == "pause":
            log.say("pause")
        else:
            assert log.settle().question is not None
        log.add(BACK)
        assert (log.execution.paused, log.execution.question, log.execution.resting_since) == (None, None, None), hold
        assert log.settle().question is not None, "at the limit it is asked anew"


def test_calls_that_had_not_begun_begin_where_it_was_put_back_between_them() -> None:
    """A checkpoint before the first change stands in the middle of a turn: its calls are still to be made."""
    log = Log(saved=False)
    log.answer(("look", {}), ("shell", {}))
    log.use(0)
    log.settle()
    log.add(BACK)
    made = action(log)
    assert isinstance(made, UseTools)
    assert [call.block.tool for call in made.calls] == ["shell"]


def test_money_that_was_used_up_stays_used_up_until_more_is_given() -> None:
    log = Log(max_usd=0.01, attended=False)
    log.answer(("shell", {}), usd=0.02)
    log.use()
    ended(log)
    log.add(BACK)
    assert isinstance(action(log), Finish)
    log.add(PolicyChanged(by="Ann", add_usd=1.0))
    assert isinstance(action(log), Think)


def test_the_next_owner_is_not_announced_as_one_after_a_break() -> None:
    log = stopped()
    log.add(BACK)
    before = log.execution
    log.fence += 1
    log.add(OwnerChanged(worker="w2"))
    assert visible(before, log.envelopes[-1]) == ()
    log.add(*[ModelFailed(request=log.request(), failure="lost")])
    before = log.execution
    log.add(OwnerChanged(worker="w3"))
    assert "interrupted" in visible(before, log.envelopes[-1])[0].text


def test_what_a_person_says_where_it_was_put_back_is_heard_too() -> None:
    log = done()
    log.add(BACK)
    log.say("guidance", "try the other way")
    assert log.execution.told.put_back
    assert log.execution.told.unseen != ()
    assert isinstance(action(log), Think)
