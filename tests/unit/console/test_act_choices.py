"""What the page offers to do with a task, by what its log says."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.events.execution_events import Asked, Decided, Event, InputReceived, Option, Part
from agentic.ports.runtime import ExecutionRow
from bot.console.logs.task_log import TaskLog
from bot.console.views.act_choices import ActChoices, choices_of, settled
from bot.rendering.secrets import Discretion
from tests.integration.console.logs import ANN, end, enveloped, events, guidance, turn

TASK = "x1"
ASKED = Asked(question="q1", text="Which one?", options=(Option(id="a", label="this"), Option(id="b", label="that")))


def choices(log: Sequence[Event], task: str = TASK) -> ActChoices:
    one = TaskLog(ExecutionRow(task, "1", "Fix it", len(log)), None)
    one.take(enveloped(task, log), Discretion())
    return choices_of(one)


def said(sort: str, **more: str) -> InputReceived:
    return InputReceived.model_validate({"inbox": f"m-{sort}", "sort": sort, "author": ANN, **more})


def test_what_runs_may_be_paused_and_what_is_paused_resumed() -> None:
    running = events(2, ended=False)
    now = choices(running)
    assert (now.steers, now.paused, now.ended, now.question, now.last_turn) == (True, False, False, "", 2)
    assert choices([*running, said("pause")]).paused
    assert not choices([*running, said("pause"), said("resume")]).paused


def test_a_question_has_a_button_for_each_option_and_parts_that_are_answered_have_none() -> None:
    now = choices([*events(1, ended=False), ASKED])
    assert (now.question, now.text) == ("q1", "Which one?")
    assert [(each.do, each.label) for each in now.parts[0].options] == [("choose.0.", "this"), ("choose.1.", "that")]
    parts = (Part(id="p1", text="Colour?", options=ASKED.options), Part(id="p2", text="Size?", options=ASKED.options))
    several = [*events(1, ended=False), Asked(question="q1", text="Two things", parts=parts)]
    first, second = choices([*several, said("answer", text="1", target="q1#p1")]).parts
    assert (first.answer, first.options) == ("this", ())
    assert [each.do for each in second.options] == ["choose.0.p2", "choose.1.p2"]
    assert not choices([*events(1, ended=False), ASKED, Decided(question="q1", by=ANN, choice="a")]).question


def test_what_has_ended_may_be_tried_again_and_a_helper_is_steered_by_its_task() -> None:
    assert choices([*events(1, ended=False), *end()]).ended
    helper = choices(events(1, ended=False), "c123456789abcdef")
    assert not helper.steers
    assert not helper.ended


def test_a_form_keeps_its_name_until_somebody_was_heard() -> None:
    """A second press of the same button is the same press, also where the page has grown meanwhile."""
    before = choices(events(1, ended=False)).form
    assert choices(events(3, ended=False)).form == before
    forms = [choices([*events(1, ended=False), *more]).form for more in ([guidance("so")], [ASKED], end())]
    assert len({before, *forms}) == 4


def settled_after(*new: Event) -> bool:
    """Whether a receipt has come true once this has happened after two turns."""
    before = events(2, ended=False)
    one = TaskLog(ExecutionRow(TASK, "1", "Fix it", 0), None)
    one.take(enveloped(TASK, [*before, *new]), Discretion())
    return settled(one, len(before))


def test_a_receipt_goes_when_what_it_announced_has_come_true() -> None:
    step = turn(3)
    assert settled_after(guidance("so"), step[0]), "what was written is in the next request"
    assert settled_after(*end())
    assert not settled_after(guidance("so"))
    assert not settled_after(*step[1:3])
    assert settled_after(said("pause")), "nothing ran: it rests"
    both = [*events(2, ended=False), step[0]]
    one = TaskLog(ExecutionRow(TASK, "1", "Fix it", 0), None)
    one.take(enveloped(TASK, [*both, said("pause")]), Discretion())
    assert not settled(one, len(both)), "the step goes on"
    one.take(enveloped(TASK, step[1:2], len(both) + 1), Discretion())
    assert settled(one, len(both) + 1), "it has answered, and its call does not begin"
    one.take(enveloped(TASK, [guidance("so")], len(both) + 2), Discretion())
    assert not settled(one, len(both) + 2), "what is written during a pause has not reached the model"
