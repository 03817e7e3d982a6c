"""The page of the lessons: its words, its marks, and that it stays small whatever a store holds."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.lessons.report.html import tag
from bot.lessons.report.page import page
from reflexion.measurement.report import lessons_report
from reflexion.measurement.uplift import points
from tests.unit.reflexion.logs import EPOCH
from tests.unit.reflexion.test_facts import SUNDAY, fact
from tests.unit.reflexion.test_report import lesson, showings, verdicts


def test_every_text_and_every_attribute_is_escaped_and_nothing_unseen_is_left() -> None:
    made = tag("p", "<b>&", tag("b", "x"), title='" onload="y', class_="a")
    assert made == '<p title="&quot; onload=&quot;y" class="a">&lt;b&gt;&amp;<b>x</b></p>'
    assert tag("p", "a\u202eb\x00c\ud800") == "<p>a�b�c�</p>"
    assert tag("line", x1=1.0, x2=2.345) == '<line x1="1" x2="2.35"/>'


@pytest.mark.parametrize(("difference", "said"), [(0.124, "+12"), (-0.3, "−30"), (0.001, "±0"), (-0.004, "±0")])
def test_a_difference_is_said_in_points(difference: float, said: str) -> None:
    assert points(difference) == said


def test_a_page_of_nothing_says_what_is_missing() -> None:
    made = page(lessons_report([], [], []), guild="77", at=EPOCH)
    for words in (
        "Server 77", "0 with a lesson, 0 with it withheld", "No lesson was shown or held back yet", "No lesson was retired",
        "No model has judged a task yet",
    ):  # fmt: skip
        assert words in made
    assert "Waiting for approval" not in made


def test_a_judge_says_what_its_word_is_worth() -> None:
    for rows, said in (
        ([(0.9, True)] * 5, "it needs 45 more tasks with a known outcome"),
        ([(0.5, True), (0.5, False)] * 30, "no better than a coin"),
        ([(0.9, True), (0.1, False)] * 30, "up to 15.0 of the 100 points"),
        ([(0.9, None)] * 3, "None of the tasks it judged has a known outcome"),
    ):
        assert said in page(lessons_report([], [], verdicts(*rows)), guild="", at=EPOCH)


def test_a_large_store_makes_a_page_that_a_phone_can_open() -> None:
    names = [f"l{number}" for number in range(300)]
    statuses = ("active", "retired", "quarantined")
    many = [
        lesson(name, status=statuses[number % 3], trigger="t" * 200, action="a" * 200)
        for number, name in enumerate(names)
    ]
    seen = [
        each for name in names[:50] for each in showings("shown", 300, 500, name) + showings("held_back", 40, 90, name)
    ]
    made = page(lessons_report(many, seen, []), guild="", at=EPOCH + timedelta(days=40))
    assert len(made) < 4_000_000
    assert "and 50 more" in made, "of 100 that wait, 50 are shown whole"
    assert "and 10 more" in made, "lanes"


def test_facts_stand_under_the_lessons_those_that_wait_first_and_as_text() -> None:
    waits = fact("<b>Releases</b> are approved by the vendor.", status="waiting", note="its task read a page")
    made = page(lessons_report([], [], []), guild="", at=EPOCH, facts=(fact(SUNDAY), waits))
    assert made.index("&lt;b&gt;Releases") < made.index(SUNDAY)
    assert "its task read a page" in made
    assert "<h2>Facts</h2>" not in page(lessons_report([], [], []), guild="", at=EPOCH)
