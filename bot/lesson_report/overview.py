"""What the lessons are worth, all together; and what waits for a person."""

from __future__ import annotations

from bot.lesson_report.drawing import share_bar
from bot.lesson_report.markup import Html, tag, together
from bot.lesson_report.tables import and_more
from bot.lesson_report.words import number_of, percent, points, said_of
from reflexion.lessons import Lesson
from reflexion.report import LessonsReport

MOST = 50
"""Waiting lessons that are shown whole."""


def hero(report: LessonsReport) -> Html:
    """The one number, how sure it is, and the two shares it is the difference of."""
    return tag("div", tag("div", *_number(report)), _shares(report), class_="card hero")


def tiles(report: LessonsReport) -> Html:
    """How many there are of what."""
    count = report.count
    waits = count("quarantined")
    made = [
        _tile(str(count("active") + count("probation")), "in use", "tile"),
        _tile(str(count("candidate")), "seen once, not shown yet", "tile"),
        _tile(str(waits), "waiting for approval", "tile waits" if waits else "tile"),
        _tile(str(count("retired")), "retired", "tile"),
        _tile(str(report.known), f"of {number_of(len(report.verdicts), 'execution')} with a known outcome", "tile"),
    ]
    return tag("div", *made, class_="tiles")


def waiting(report: LessonsReport) -> Html:
    """Lessons that a person has to look at, each whole; nothing where there is none."""
    found = [told.lesson for told in report.lessons if told.lesson.status == "quarantined"]
    if not found:
        return Html("")
    return tag(
        "section",
        tag("h2", "Waiting for approval"),
        tag("p", "None of these is shown to an agent until an owner of the server approves it: ",
            tag("code", "/lessons approve"), " or ", tag("code", "/lessons retire"), " in Discord.", class_="quiet"),
        tag("div", *(_waiting(lesson) for lesson in found[:MOST]), *and_more(len(found), MOST), class_="rows"),
    )  # fmt: skip


def _number(report: LessonsReport) -> tuple[Html, ...]:
    uplift = report.overall
    if uplift is None:
        return (
            tag("div", "–", class_="number"),
            tag("p", report.too_little, class_="verdict"),
        )
    tone = "up" if uplift.low > 0 else "down" if uplift.high < 0 else "unsure"
    unit = tag("small", " points")
    interval = f"95 % interval {points(uplift.low)} to {points(uplift.high)} points."
    return (
        tag("div", points(uplift.difference), unit, class_=f"number {tone}"),
        tag("p", _verdict(tone), " ", tag("span", interval, class_="quiet"), class_="verdict"),
        *((tag("p", report.too_little, class_="verdict quiet small"),) if report.too_little else ()),
    )


def _verdict(tone: str) -> str:
    return {
        "up": "Tasks go well more often with their lesson than with the same lesson left out at random.",
        "down": "Tasks go well less often with their lesson than with the same lesson left out at random.",
        "unsure": "It cannot be told yet whether lessons help or hurt: the interval holds both.",
    }[tone]


def _shares(report: LessonsReport) -> Html:
    rows: list[Html] = []
    for name, share, colour in (
        ("Shown", report.shown, "var(--with)"),
        ("Held back", report.held_back, "var(--without)"),
    ):
        words = f"{percent(share.share)} of {share.of}" if share.of else "never"
        picture = (
            share_bar(share.share, share.low, share.high, colour, f"{name}: {words} went well") if share.of else ""
        )
        rows += [tag("b", name), tag("div", picture), tag("span", words, class_="quiet")]
    said = "How often a task went well, all lessons together; the uplift compares each lesson with itself."
    note = tag("p", f"{said} Thin lines are 95 % intervals.", class_="quiet small")
    return tag("div", tag("div", *rows, class_="bars"), tag("div", note, style="margin-top:12px"))


def _tile(number: str, words: str, look: str) -> Html:
    return tag("div", tag("b", number), tag("span", words, class_="quiet small"), class_=look)


def _waiting(lesson: Lesson) -> Html:
    return tag(
        "div",
        together(tag("code", lesson.id), " ", tag("span", f"{lesson.kind} · {said_of(lesson)}", class_="quiet small")),
        tag(
            "dl",
            tag("dt", "When"), tag("dd", lesson.trigger, class_="words"),
            tag("dt", "Do"), tag("dd", lesson.action, class_="words"),
            class_="said",
        ),
        tag("p", lesson.note or "A person has to look at it first.", class_="why words"),
        class_="waiting",
    )  # fmt: skip
