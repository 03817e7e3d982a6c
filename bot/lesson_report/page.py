"""The whole page; pure."""

from __future__ import annotations

from datetime import datetime

from bot.lesson_report.judge import judge
from bot.lesson_report.lives import each_effect, every_lesson, held_back, lives, retired
from bot.lesson_report.markup import Html, style_sheet, tag, whole
from bot.lesson_report.overview import hero, tiles, waiting
from bot.lesson_report.style import STYLE
from bot.lesson_report.words import day
from reflexion.report import LessonsReport

TITLE = "What the lessons are worth"
GENERATOR = "threadwright lessons report"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Nothing runs and nothing is fetched, whatever a lesson holds."""


def page(report: LessonsReport, *, guild: str, at: datetime) -> str:
    """The document; ``guild`` '' is all servers."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="generator", content=GENERATOR),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{TITLE} · Threadwright"),
        style_sheet(STYLE),
    )
    sections = (
        hero(report), tiles(report), waiting(report), each_effect(report), lives(report), held_back(report), judge(report),
        retired(report), every_lesson(report),
    )  # fmt: skip
    return whole(head, tag("body", tag("main", _header(report, guild, at), *sections, _footer())))


def _header(report: LessonsReport, guild: str, at: datetime) -> Html:
    where = f"Server {guild}" if guild else "All servers"
    when = ""
    if report.first is not None and report.last is not None:
        first, last = day(report.first), day(report.last)
        when = f" · {first}" if first == last else f" · {first} to {last}"
    written = f"{where}{when} · written {day(at)}, {at:%H:%M} UTC"
    return tag("header", tag("h1", TITLE), tag("p", written, class_="quiet"))


def _footer() -> Html:
    return tag(
        "footer",
        tag("p", "An execution counts where something outside of the agent says how it went: a check that ran, or people's "
            "votes. A lesson that fits a task is left out at random about one time in ten, however good it looks; "
            "the uplift is the difference between the times it was shown and those it was held back, compared lesson by "
            "lesson."),
        tag("p", "Lessons quote models and the output of commands. They are shown here as text; nothing on this page runs, "
            "and nothing is fetched from anywhere."),
    )  # fmt: skip
