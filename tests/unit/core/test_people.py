"""What people say, taken as they mean it: answers, refusals, corrections, more words than were asked for."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    Asked,
    Intervened,
    OwnerChanged,
    Reported,
    Sort,
)
from agentic.core.fold.fold import EVIDENCE
from agentic.core.rules.decide import decide
from agentic.core.rules.triage import triage
from agentic.core.state.actions import Finish, Think
from tests.unit.core.building import YOU, Log, Started
from tests.unit.core.test_decide_ends import _at_limit as at_limit  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    "order",
    ["ok run the tests", "hey fix the tests", "okay delete the branch", "great now deploy it", "hello list all files"],
)
def test_a_short_order_is_a_task(order: str) -> None:
    assert not triage(Started(thread="1", task=order, requester=YOU)).talk


@pytest.mark.parametrize("greeting", ["hi", "Hello there!", "thanks a lot", "hey Threadwright", "ok, thank you"])
def test_a_greeting_is_talk(greeting: str) -> None:
    assert triage(Started(thread="1", task=greeting, requester=YOU)).talk


def test_guidance_turns_talk_into_a_task() -> None:
    log = Log("hi", talk=True)
    log.answer("Hello!")
    log.say("guidance", "please fix the failing tests")
    log.settle()
    assert not log.execution.talk
    assert isinstance(decide(log.execution), Think)


def test_a_second_message_while_asking_reaches_the_model_too() -> None:
    log = Log()
    log.answer(("ask_user", {}))
    log.add(Asked(question="q1", text="Which?", call=log.start()))
    log.say("answer", "Postgres")
    log.say("answer", "but never touch the table users")
    log.settle()
    assert "never touch" in "\n".join(log.execution.told.texts)
    result = log.execution.turn.calls[0].result
    assert result is not None
    assert result.preview == "you answered: Postgres"


@pytest.mark.parametrize("sort", ["continue", "retry", "extend"])
def test_what_concerns_only_people_reaches_no_model(sort: Sort) -> None:
    log = Log()
    before = log.execution.told
    log.say(sort, "go on")
    assert log.execution.told == before


def test_a_correction_is_no_answer_to_an_open_question() -> None:
    log = at_limit()
    log.say("correction", "")
    log.settle()
    assert log.execution.question is not None
    assert log.execution.judged.corrections == 1


def test_an_answer_to_another_question_is_not_taken_for_this_one() -> None:
    log = Log()
    log.add(Asked(question="qB", text="Delete the database?"))
    before = log.execution.told
    log.say("answer", "Yes", target="qA")
    assert log.execution.answer is None
    assert log.execution.told == before
    log.say("answer", "Yes", target="qB")
    assert log.execution.answer is not None


@pytest.mark.parametrize("words", ["no thanks", "don't", "nope", "no, please stop", "please not", "not now"])
def test_a_refusal_to_extend_ends_it(words: str) -> None:
    log = at_limit()
    log.say("answer", words)
    log.settle()
    assert isinstance(decide(log.execution), Finish)


@pytest.mark.parametrize(
    ("words", "turns", "told"),
    [
        ("yes", 10, False),
        ("ok, go on", 10, False),
        ("15", 15, False),
        ("5 turns", 5, True),
        ("0", 1, False),
        ("yes, but use python 3 and leave docs alone", 10, True),
        ("take 7 more turns and mind the cache", 7, True),
    ],
)
def test_words_beside_a_yes_or_a_number_reach_the_model(words: str, turns: int, told: bool) -> None:
    log = at_limit()
    log.say("answer", words)
    log.settle()
    assert log.execution.turn_limit == 1 + turns
    assert any(words in text for text in log.execution.told.texts) == told


def test_an_empty_answer_is_said_to_be_empty() -> None:
    log = Log()
    log.answer(("ask_user", {}))
    log.add(Asked(question="q1", text="Which?", call=log.start()))
    log.say("answer", "")
    log.settle()
    result = log.execution.turn.calls[0].result
    assert result is not None
    assert result.preview == "you answered: (nothing)"


def test_what_was_not_taken_in_any_more_is_said_at_the_end() -> None:
    log = Log()
    log.answer(("look", {}))
    log.say("guidance", "instead compress the logs")
    log.say("stop")
    log.settle()
    action = decide(log.execution)
    assert isinstance(action, Finish)
    assert action.finished.answer.startswith("Stopped by ")
    assert action.finished.answer.endswith(". Not used: “instead compress the logs”.")
    for words in ("two", "three", "", "five"):
        log.say("guidance", words)
    more = decide(log.execution)
    assert isinstance(more, Finish)
    assert more.finished.answer.endswith("Not used: “instead compress the logs”, “two”, “three” and 2 more.")
    wordless = Log()
    wordless.say("correction", "")
    wordless.say("stop")
    ended = decide(wordless.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.answer.endswith("Not used: your last message.")
    silent = Log()
    silent.say("stop")
    ended = decide(silent.execution)
    assert isinstance(ended, Finish)
    assert "Not used" not in ended.finished.answer


def test_the_time_between_two_owners_counts_for_no_cap() -> None:
    from datetime import timedelta

    log = Log()
    log.now += timedelta(hours=2)
    log.fence = 2
    log.add(OwnerChanged(worker="b"))
    assert log.execution.spent.waiting == 7201.0
    asking = Log()
    asking.add(Asked(question="q", text="?"))
    asking.fence = 2
    asking.add(OwnerChanged(worker="b"))
    assert asking.execution.spent.waiting == 0.0


def _claims_too_much(log: Log) -> None:
    log.answer(("shell", {"command": "pytest"}))
    log.use(0, "failed", exit_code=1)
    log.settle()
    log.answer(("finish", {"answer": "All green.", "claims": [{"text": "tests pass", "command": "pytest"}]}))
    log.use(0)
    log.settle()


def test_a_completion_that_the_log_denies_is_sent_back_once_and_then_ends_as_failed() -> None:
    log = Log(failure_escalates=False)
    _claims_too_much(log)
    assert isinstance(decide(log.execution), Think)
    assert "its last run ended with 1" in "\n".join(log.execution.told.texts)
    _claims_too_much(log)
    action = decide(log.execution)
    assert isinstance(action, Finish)
    assert action.finished.reason == "failed"
    assert action.finished.claims[0].verdict == "contradicted"
    assert sum(isinstance(e.event, Intervened) and e.event.rule == EVIDENCE for e in log.envelopes) == 1


def test_a_text_that_was_cut_off_is_no_answer() -> None:
    log = Log()
    for _ in range(3):
        log.answer("and then I w", stop="length")
        log.settle()
        assert isinstance(decide(log.execution), Think)
    marked = Log()
    marked.answer("THREADWRIGHT DONE: and then I w", stop="length")
    marked.settle()
    assert isinstance(decide(marked.execution), Think)


def test_a_report_of_being_stuck_is_taken_back_by_a_later_one() -> None:
    log = Log(tiers=({"number": 2, "models": ("only",)},))
    log.answer(("look", {}))
    log.add(Reported(status="stuck", confidence=20), Reported(status="progressing", confidence=90))
    log.use(0)
    log.settle()
    assert log.execution.question is None


def test_a_newly_passing_test_is_progress() -> None:
    log = Log()
    log.answer(("shell", {}), ("shell", {}))
    log.use(0, tests=(3, 2))
    assert not log.execution.turn.changed
    log.use(1, tests=(4, 1))
    assert log.execution.turn.changed


def test_done_that_is_only_reported_is_progress_where_the_tests_pass() -> None:
    from agentic.core.claims.confidence import of_turn

    log = Log()
    log.answer(("shell", {}))
    log.add(Reported(status="done", confidence=90))
    assert of_turn(log.execution).parts.progress == 0.0
    log.use(0, tests=(4, 0))
    assert of_turn(log.execution).parts.progress == 1.0


def test_a_refused_key_moves_to_another_provider_of_the_tier_but_not_to_the_same() -> None:
    log = Log(tiers=({"number": 2, "models": ("anthropic/a", "openai/b")},), attended=False)
    log.fail("key_refused")
    action = decide(log.execution)
    assert isinstance(action, Think)
    assert action.model == "openai/b"
    log.fail("key_refused")
    assert isinstance(decide(log.execution), Finish)


def test_a_provider_that_asks_for_too_long_a_pause_is_not_waited_for() -> None:
    log = Log()
    log.fail("rate_limited", retry_after=3600)
    assert isinstance(decide(log.execution), Finish)
