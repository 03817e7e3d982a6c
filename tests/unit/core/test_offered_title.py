"""The title that a model offers for a thread: read once, taken out of what people see, asked for where one is missing."""

from __future__ import annotations

import pytest

from agentic.core.display.outbox_items import visible
from agentic.core.events.execution_events import (
    Finished,
    ModelAnswered,
    ModelRequested,
    OutboxItem,
    Started,
    TextBlock,
    Triaged,
)
from agentic.core.fold.fold import evolve
from agentic.core.prompt.build import system_text
from agentic.core.state.execution import Execution
from agentic.core.text.offered_title import without_title
from agentic.prompts import identity
from tests.unit.core.building import YOU, Log


@pytest.mark.parametrize(
    ("text", "title", "rest"),
    [
        ("title: Fix the login test\nI look at it.", "Fix the login test", "I look at it."),
        ("I look.\n\nTitle: “Fix the login test.”\n", "Fix the login test", "I look."),
        ("`title: Fix the login test`\nI look.", "Fix the login test", "I look."),
        ("title: 修复登录测试", "修复登录测试", ""),
        ("title: Tests\nI look.", "", "I look."),
        ("title: one two three four five six seven\nI look.", "", "I look."),
        ("title: Tests\nI look.\ntitle: Fix the login test", "Fix the login test", "I look."),
        ("title: Fix the login test\n\ntitle: Mend the login test", "Fix the login test", ""),
        (f"title: {'long' * 20} b c", "", f"title: {'long' * 20} b c"),
        ("title:\nthe subtitle: of a book is", "", "title:\nthe subtitle: of a book is"),
        ("```yaml\ntitle: The page of mine\n```", "", "```yaml\ntitle: The page of mine\n```"),
        ("```\na\n```\ntitle: Fix the login test", "Fix the login test", "```\na\n```"),
        ("```yaml\na\ntitle: The page of mine", "", "```yaml\na\ntitle: The page of mine"),
        *(
            (text, "", text)
            for text in (
                "A book has\n- title: string, the book's name\n- author",
                "- title: string, the book's name",
                "1. title: string of the name",
                "---\ntitle: The page of mine\n---\nText.",
                "**Title: The Old Man and Sea**\nIt is short.",
                "# Title: The Old Man\nIt is short.",
                "> title: The Old Man\nit says.",
                "I look.\ntitle: Fix the login test\nconfidence: 70",
                "I look.\n    title: The page of mine",
            )
        ),
    ],
)
def test_a_title_is_the_first_or_last_line_of_its_own_and_what_it_offers_has_three_to_six_words(
    text: str, title: str, rest: str
) -> None:
    assert without_title(text) == (title, rest)


def answering(log: Log, *texts: str) -> list[OutboxItem]:
    """What becomes visible by these answers."""
    execution, items = Execution(id="x1"), list[OutboxItem]()
    for text in texts:
        name = log.request()
        log.add(ModelAnswered(request=name, blocks=(TextBlock(text=text),)))
    for envelope in log.envelopes:
        items += visible(execution, envelope)
        execution = evolve(execution, envelope)
    return [item for item in items if item.sort == "title"]


def started(*, untitled: bool, talk: bool = False) -> Log:
    log = Log(triaged=False)
    log.envelopes.clear()
    log.execution = Execution(id="x1")
    log.add(Started(thread="100", task="Fix it.", requester=YOU, inbox="100", untitled=untitled), Triaged(talk=talk))
    return log


def test_the_first_title_that_is_offered_is_the_title_and_its_line_is_not_part_of_the_answer() -> None:
    log = started(untitled=True)
    said = "I look.", "title: Fix the login test\nStill looking.", "title: Another one of these\nDone."
    (item,) = answering(log, *said)
    assert (item.text, item.key, item.thread) == ("Fix the login test", f"x1.{6}.1", "100")
    assert log.execution.title == "Fix the login test"
    assert log.execution.turn.text == "Done."
    told = [message.text for message in log.execution.history if message.role == "assistant"]
    assert told == list(said), "what it offered it reads, and need not offer again"


def test_what_later_answers_say_of_titles_belongs_to_them() -> None:
    log = started(untitled=True)
    for _ in range(3):
        log.answer("I look.", ("look", {}))
        log.use(0)
        log.settle()
    assert answering(log, "title: The Old Man\nIt is short.") == []
    assert log.execution.turn.text == "title: The Old Man\nIt is short."


def test_what_small_talk_says_of_titles_belongs_to_it() -> None:
    log = started(untitled=True, talk=True)
    assert answering(log, "title: The Old Man\nIt is short.") == []
    assert log.execution.turn.text == "title: The Old Man\nIt is short."


@pytest.mark.parametrize(
    ("untitled", "talk", "said", "gives_up"),
    [
        (True, False, "I look.", True),
        (True, False, "", False),
        (True, False, "title: Fix the login test\nI look.", False),
        (True, True, "Hello.", False),
        (False, False, "I look.", False),
    ],
)
def test_work_that_ends_without_a_title_says_so_and_no_later_task_is_asked(
    untitled: bool, talk: bool, said: str, gives_up: bool
) -> None:
    log = started(untitled=untitled, talk=talk)
    if said:
        log.answer(said)
    before = log.execution
    log.add(Finished(reason="done", answer="Done."))
    items = visible(before, log.envelopes[-1])
    assert [(item.sort, item.text) for item in items] == [*[("title", "")] * gives_up, ("answer", "Done.")]
    assert len({item.key for item in items}) == len(items)


def test_where_no_title_is_asked_for_such_a_line_is_text() -> None:
    log = started(untitled=False)
    assert answering(log, "title: Fix the login test\nStill looking.") == []
    assert log.execution.turn.text == "title: Fix the login test\nStill looking."


def test_what_a_cheap_model_says_beside_the_turns_is_no_title() -> None:
    log = started(untitled=True)
    log.add(ModelRequested(request="t1", turn=0, tier=1, model="small-a", purpose="triage"))
    before = log.execution
    log.add(ModelAnswered(request="t1", blocks=(TextBlock(text="title: Fix the login test"),)))
    assert visible(before, log.envelopes[-1]) == ()
    assert log.execution.title == ""


def test_a_title_is_asked_for_in_the_system_text_all_through_or_not_at_all() -> None:
    log = started(untitled=True)
    first = system_text(log.execution.started, log.execution)
    answering(log, "title: Fix the login test\nStill looking.")
    assert identity.TITLE in first
    assert system_text(log.execution.started, log.execution) == first
    other = started(untitled=False)
    assert identity.TITLE not in system_text(other.execution.started, other.execution)
