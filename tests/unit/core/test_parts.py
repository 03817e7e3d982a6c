"""Several questions in one: answered part by part, or all at once in words."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    Asked,
    CommitCreated,
    Decided,
    Option,
    Part,
    PullRequestOpened,
)
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Wait
from tests.unit.core.building import BOSS, Log
from tests.unit.core.test_held import receipts
from tests.unit.core.test_visible import shown

PARTS = (
    Part(id="1", text="Which database?", options=(Option(id="1", label="PostgreSQL"), Option(id="2", label="SQLite"))),
    Part(id="2", text="Which port?"),
    Part(id="3", text="Keep the logs?", options=(Option(id="1", label="Keep"), Option(id="2", label="Drop"))),
)


def asked() -> Log:
    log = Log()
    log.answer(("ask_user", {}))
    log.add(Asked(question="q1", text="Before I begin:", parts=PARTS, call=log.start()))
    return log


def decision(log: Log) -> Decided:
    log.settle()
    (found,) = [envelope.event for envelope in log.envelopes if isinstance(envelope.event, Decided)]
    return found


def test_the_parts_reach_people() -> None:
    (item,) = [item for item in shown(asked()) if item.sort == "question"]
    assert item.parts == PARTS
    assert (item.asked, item.question, item.expires) == ("question", "q1", None)


def test_each_part_is_answered_by_itself_and_the_question_when_all_are() -> None:
    log = asked()
    log.say("answer", "SQLite", "q1#1")
    log.say("answer", "2", "q1#3")
    log.say("answer", "PostgreSQL", "q1#1")
    assert decide(log.execution) == Wait()
    log.say("answer", "5432", "q1#2", by=BOSS)
    found = decision(log)
    assert found.answers == {"1": "PostgreSQL", "2": "5432", "3": "Drop"}
    assert found.by == BOSS
    result = log.execution.turn.calls[0].result
    assert result is not None
    assert result.preview == (
        "boss answered:\nWhich database?\n-> PostgreSQL\nWhich port?\n-> 5432\nKeep the logs?\n-> Drop"
    )
    assert receipts(log) == [
        "Noted; 2 more to answer.", "Noted; 1 more to answer.", "Noted; 1 more to answer.", "Thanks, continuing.",
    ]  # fmt: skip
    assert log.execution.partial == {}


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("1: SQLite, 2: 80, 3: keep", {"1": "SQLite", "2": "80", "3": "Keep"}),
        ("1) 2\n2) 80\n3) 1", {"1": "SQLite", "2": "80", "3": "Keep"}),
        ("postgresql\n80\n\ndrop", {"1": "PostgreSQL", "2": "80", "3": "Drop"}),
        ("whatever you like", dict.fromkeys("123", "whatever you like")),
        ("see 1: none", dict.fromkeys("123", "see 1: none")),
        ("7: none", dict.fromkeys("123", "7: none")),
        ("0: none", dict.fromkeys("123", "0: none")),
    ],
)
@pytest.mark.parametrize("target", ["", "q1"])
def test_words_answer_all_by_number_by_line_or_as_a_whole(text: str, answers: dict[str, str], target: str) -> None:
    log = asked()
    log.say("answer", text, target)
    assert decision(log).answers == answers


def test_words_answer_only_the_parts_that_are_open_and_numbers_only_those_they_name() -> None:
    log = asked()
    log.say("answer", "SQLite", "q1#1")
    log.say("answer", "2: 80")
    assert log.execution.partial == {"1": "SQLite", "2": "80"}
    log.say("guidance", "as you like")
    assert decision(log).answers == {"1": "SQLite", "2": "80", "3": "as you like"}


def test_a_part_that_does_not_exist_is_answered_by_nothing() -> None:
    log = asked()
    log.say("answer", "x", "q1#9")
    assert log.execution.partial == {}
    assert log.execution.answer is None


def test_a_choice_that_comes_too_late_changes_nothing_and_words_reach_the_model() -> None:
    log = asked()
    log.say("answer", "as you like")
    log.settle()
    log.say("answer", "Drop", "q1#3")
    assert log.execution.told.texts == ()
    log.say("answer", "but mind the cache", "q1")
    assert "but mind the cache" in "\n".join(log.execution.told.texts)
    assert receipts(log)[1:] == [
        "This question is no longer open.", "This question is no longer open. Got it, I'll use that in the next step.",
    ]  # fmt: skip


def test_a_correction_beside_a_question_is_no_answer() -> None:
    log = asked()
    log.say("correction", "no", target="x1/result")
    assert receipts(log) == ["Noted: that was wrong. I'll use that in the next step."]


def test_a_part_without_an_answer_says_so() -> None:
    log = asked()
    log.say("answer", "")
    result = log.settle().turn.calls[0].result
    assert result is not None
    assert "Which port?\n-> (nothing)" in result.preview


def test_a_pull_request_is_progress_and_has_one_message_however_often_it_is_published_to() -> None:
    log = Log()
    log.answer(("publish", {}))
    log.start(0)
    opened = PullRequestOpened(
        host="github.com", repository="ada/shop", number=3, url="https://x", title="Fix it", branch="threadwright/fix",
        base="main", commit="abc",
    )  # fmt: skip
    log.add(opened)
    log.add(opened.model_copy(update={"commit": "def"}))
    log.add(opened.model_copy(update={"number": 4}))
    assert [pull.commit for pull in log.execution.mind.pulls] == ["abc", "def", "abc"]
    assert log.execution.turn.changed
    assert [item.question for item in shown(log) if item.sort == "pull"] == [
        "github.com/ada/shop/3", "github.com/ada/shop/4",
    ]  # fmt: skip


def test_an_offered_branch_is_progress_and_becomes_an_offer() -> None:
    log = Log()
    log.answer(("shell", {}))
    log.start(0)
    offer = CommitCreated(offer="o1", branch="fix", commit="abc", base="main", message="Fix it")
    log.add(offer)
    assert log.execution.mind.offers == (offer,)
    assert log.execution.turn.changed
    (item,) = [item for item in shown(log) if item.sort == "offer"]
    assert (item.question, item.text) == ("o1", "Fix it")
