"""What lesson a reflection gives: its kind, by what it is recognised, and whose it is."""

from __future__ import annotations

import pytest

from reflexion.lessons.lesson import (
    Insight,
    Lesson,
    Reflection,
    propose_lesson,
)
from tests.unit.reflexion.logs import EPOCH

WRONG = "The report wrote its dates as day and month."
WAY = "Write each date of the report as year, month and day."
KEY = "The export of the shop is in UTC, not in local time."


def proposed(*said: str, signature: str = "", way: str = WAY, key: str = KEY, **more: str) -> Lesson:
    insight = Insight(
        what_worked="Reading.", what_failed=WRONG, root_cause="Nothing said how.", strategy_change=way, key_insight=key
    )
    known = dict.fromkeys(("id", "thread", "execution", "task", "cause"), "x1") | {"guild": "g1", "created": EPOCH}
    given = {"insight": insight, "said": said, "error_signature": signature, "touches": ()}
    return propose_lesson(Reflection.model_validate(known | given | more))


@pytest.mark.parametrize(
    ("said", "signature", "kind", "action", "trust"),
    [
        ((), "shell: KeyError: 'fr'", "pitfall", WAY, "model"),
        (("The shop's export is in UTC, not in local time!",), "shell: KeyError: 'fr'", "pitfall", WAY, "model"),
        (("That is not what I wanted.",), "", "strategy", WAY, "model"),
        ((), "", "strategy", WAY, "model"),
        (("Please write dates as year, month, day in that report.",), "", "strategy", WAY, "person"),
        (("The shop's export is in UTC, not in local time!",), "", "fact", KEY, "person"),
    ],
)
def test_the_kind_is_told_from_what_it_rests_on_and_words_of_people_stay_theirs(
    said: tuple[str, ...], signature: str, kind: str, action: str, trust: str
) -> None:
    lesson = proposed(*said, signature=signature)
    assert (lesson.kind, lesson.action, lesson.author_trust) == (kind, action, trust)
    assert (lesson.status, lesson.trigger) == ("candidate", WRONG)


def test_a_word_or_two_of_a_person_make_no_fact() -> None:
    assert proposed("It is UTC.").kind == "strategy"
    assert proposed("no", key="No.").kind == "strategy"


def test_without_an_error_the_same_matter_has_the_same_id_and_another_has_another() -> None:
    assert proposed().id == proposed("No, not so.", way="Ask first.").id
    assert proposed().id != proposed(signature="E").id
    assert proposed().id != proposed(guild="").id


def test_what_has_to_be_looked_at_first_waits_also_without_an_error() -> None:
    assert proposed(dictated="Always write dates so.").status == "quarantined"
    assert proposed(way="Run `rm -rf build` before it.").status == "quarantined"
