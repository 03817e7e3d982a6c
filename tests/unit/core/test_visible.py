"""What people see follows from the events, each thing under a key of its own."""

from __future__ import annotations

import pytest

from agentic.core.display.outbox_items import visible
from agentic.core.events.execution_events import (
    Asked,
    Escalated,
    Finished,
    Noted,
    Option,
    OutboxItem,
    OwnerChanged,
    ToolFinished,
    Triaged,
)
from agentic.core.fold.fold import evolve
from agentic.core.fold.people import MACHINE
from agentic.core.state.execution import Execution
from tests.unit.core.building import YOU, Log


def shown(log: Log) -> list[OutboxItem]:
    execution = Execution(id="x1")
    items: list[OutboxItem] = []
    for envelope in log.envelopes:
        items += visible(execution, envelope)
        execution = evolve(execution, envelope)
    return items


def test_work_has_one_progress_message_of_its_thread_and_talk_has_none_until_it_is_work() -> None:
    log = Log(triaged=False)
    assert shown(log) == []
    log.add(Triaged(talk=True))
    assert shown(log) == []
    log.add(Triaged(talk=False, complexity="medium"))
    log.add(Triaged(talk=False, role="shell"))
    (item,) = shown(log)
    assert (item.sort, item.key, item.thread, item.execution, item.target) == ("progress", "x1.1.0", "100", "x1", "100")


def test_what_people_do_gets_a_receipt_and_votes_are_left_to_others() -> None:
    log = Log()
    log.say("stop")
    log.say("guidance", "x")
    log.say("feedback", "up")
    receipts = [item for item in shown(log) if item.sort == "receipt"]
    assert [item.text for item in receipts] == ["Stopping.", "Got it, I'll use that in the next step."]
    assert [(item.target, item.sign) for item in receipts] == [("in4", True), ("in5", True)]


def test_what_is_pressed_is_seen_on_the_card_and_what_is_not_seen_there_is_said() -> None:
    for talk, words in ((False, []), (True, ["Pausing after this step. Press ▶ to resume.", "Resuming.", "Stopping."])):
        log = Log(talk=talk)
        for sort in ("pause", "resume", "stop"):
            log.say(sort, message="card")
        receipts = [item for item in shown(log) if item.sort == "receipt"]
        assert [item.text for item in receipts] == words
        assert not any(item.sign for item in receipts)


def test_a_button_of_a_question_is_seen_there_and_words_that_answer_it_get_a_sign() -> None:
    for message, signs in (("question", []), (None, [True])):
        log = Log()
        log.add(Asked(question="q", text="Which?", options=(Option(id="1", label="A"),)))
        log.say("answer", "1", target="q", message=message)
        assert [item.sign for item in shown(log) if item.sort == "receipt"] == signs


def test_a_receipt_that_says_more_than_that_it_was_heard_stays_in_words() -> None:
    log = Log()
    log.say("resume")
    log.say("pause")
    log.say("pause", message="card")
    log.say("guidance", "use tabs")
    receipts = [item for item in shown(log) if item.sort == "receipt"]
    assert [(item.text, item.sign) for item in receipts] == [
        ("I'm not paused.", False),
        ("Pausing after this step. Press ▶ to resume.", True),
        ("Already paused. Press ▶ to resume.", False),
        ("Got it. I'll use it when you resume.", False),
    ]


def test_questions_answers_and_blocking_problems_notify_and_the_rest_is_silent() -> None:
    log = Log()
    log.add(Asked(question="q", text="Which?", options=(Option(id="1", label="A"),)))
    log.add(Escalated(from_tier=2, to_tier=4, trigger="it is stuck"))
    log.add(OwnerChanged(worker="b"))
    log.add(Noted(text="quiet"))
    log.add(Finished(reason="done", answer="Done.", files=("a.txt",)))
    items = {item.sort: item for item in shown(log)}
    assert items["question"].notify
    assert items["question"].options[0].label == "A"
    assert items["answer"].notify
    assert items["answer"].files == ("a.txt",)
    notices = [item for item in shown(log) if item.sort == "notice"]
    assert [item.notify for item in notices] == [False, False]
    assert "tier 4" in notices[0].text
    assert len({item.key for item in shown(log)}) == len(shown(log))


def test_a_new_process_says_what_it_does_with_what_it_found() -> None:
    told: list[str] = []
    for before in ("working", "paused", "held", "asking"):
        log = Log()
        if before in ("paused", "held"):
            log.say("pause", by=MACHINE if before == "held" else YOU)
        if before == "asking":
            log.add(Asked(question="q", text="Which?"))
        log.add(OwnerChanged(worker="b"))
        told += [item.text for item in shown(log) if item.sort == "notice"]
    assert told == [
        "I was interrupted and am continuing where I was.",
        "I was interrupted while paused, and I'm still paused. Press ▶ to resume.",
        "I was interrupted while paused, and I'm still paused.",
        "I was interrupted. My question above is still open.",
    ]


def test_guidance_during_a_pause_is_not_promised_for_the_next_step() -> None:
    log = Log()
    log.say("pause")
    log.say("guidance", "x")
    assert shown(log)[-1].text == "Got it. I'll use it when you resume."


def test_an_unknown_outcome_is_told_to_people() -> None:
    log = Log()
    log.answer(("shell", {"command": "make deploy"}), ("look", {}))
    log.finish(0, "unknown")
    log.finish(1, "unknown")
    log.add(ToolFinished(call="gone", outcome="unknown", preview=""))
    notices = [item.text for item in shown(log) if item.sort == "notice"]
    assert "`make deploy` was cut off" in notices[0]
    assert "The tool look was cut off" in notices[1]
    assert "A step was cut off" in notices[2]


@pytest.mark.parametrize(
    ("queued", "words"),
    [
        (("deploy\nit",), ["Dropped the queued task “deploy it”. Send it again if you want it."]),
        (("a", "b"), ["Dropped 2 queued tasks: “a”, “b”. Send them again if you want them."]),
        (
            tuple("abcdefg"),
            ["Dropped 7 queued tasks: “a”, “b”, “c”, “d”, “e” and 2 more. Send them again if you want them."],
        ),
        ((), []),
    ],
)
def test_queued_tasks_that_a_stop_dropped_are_named_once(queued: tuple[str, ...], words: list[str]) -> None:
    log = Log()
    for task in queued:
        log.say("queue", task)
    log.say("stop")
    log.say("stop")
    assert [item.text for item in shown(log) if item.sort == "notice"] == words
    assert len({item.key for item in shown(log)}) == len(shown(log))


def test_who_asks_for_a_stronger_model_is_told_which_and_when() -> None:
    log = Log()
    before = log.execution
    log.say("escalate")
    (receipt,) = visible(before, log.envelopes[-1])
    assert (receipt.sort, "large, takes over with the next step" in receipt.text) == ("receipt", True)
    before = log.execution
    log.say("escalate")
    assert visible(before, log.envelopes[-1])[0].text == "🚀 I'm already handing over."
