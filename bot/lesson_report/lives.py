"""Each lesson: what it does, what became of it, what was held back, why it was retired."""

from __future__ import annotations

from bot.lesson_report.drawing import Span, band_sign, effect_bar, life_lane, sign
from bot.lesson_report.markup import Html, tag, together
from bot.lesson_report.tables import and_more
from bot.lesson_report.words import STATUS, day, number_of, percent, points, said_of
from reflexion.lessons import Lesson, LessonStatus
from reflexion.lifecycle import Arm
from reflexion.report import LessonsReport, Told

MOST_ROWS, MOST_LANES, MOST_HELD_BACK, MOST_LESSONS = 60, 40, 15, 400
MOST_MARKS = 300
"""Of a lesson that fitted more executions than that, the newest are drawn."""
ARMS: dict[Arm, str] = {"shown": "shown", "held_back": "held back at random", "crowded": "left out for better ones"}

SIGNS: tuple[tuple[Arm, bool, str], ...] = (
    ("shown", True, "shown, went well"), ("shown", False, "shown, did not"),
    ("held_back", True, "left out, went well"), ("held_back", False, "left out, did not"),
)  # fmt: skip


def each_effect(report: LessonsReport) -> Html:
    """Uplift by lesson, the best first."""
    measured = [told for told in report.lessons if told.uplift is not None]
    measured.sort(key=lambda told: -(told.uplift.difference if told.uplift else 0.0))
    body: Html
    if measured:
        reach = max(0.2, *(max(abs(u.low), abs(u.high)) for told in measured if (u := told.uplift)))
        head = tag(
            "div",
            tag("span", "Lesson"),
            tag("span", f"Worse ← 0 → better, to ±{points(reach)[1:]} points"),
            tag("span", "Uplift"),
            class_="row effect head",
        )
        body = tag(
            "div",
            head,
            *(_effect(told, min(reach, 1.0)) for told in measured[:MOST_ROWS]),
            *and_more(len(measured), MOST_ROWS),
            class_="rows",
        )
    else:
        body = tag("p", "No lesson was both shown and held back yet, so there is nothing to compare.", class_="nothing")
    return tag(
        "section",
        tag("h2", "What each lesson does"),
        tag("p", "How much more often a task went well with the lesson than with the same lesson held back. A bar whose "
            "thin line crosses the middle may still be luck.", class_="quiet"),
        body,
    )  # fmt: skip


def lives(report: LessonsReport) -> Html:
    """Each lesson over time: its status, and each execution that it fitted."""
    lived = sorted((told for told in report.lessons if told.showings), key=lambda told: -len(told.showings))
    if not lived or report.first is None or report.last is None:
        return _section("The lessons' lives", "No lesson was shown or held back yet.")
    span = Span(report.first, report.last)
    head = tag("div", tag("span", "Lesson"), _ends(span), class_="row life head")
    rows = [_lane(told, span) for told in lived[:MOST_LANES]]
    return tag(
        "section",
        tag("h2", "The lessons' lives"),
        tag("p", "Each mark is an execution that the lesson fitted: above, those that went well; below, those that did not. "
            "The band under them is its status.", class_="quiet"),
        tag("div", head, *rows, *and_more(len(lived), MOST_LANES), _legend(), class_="rows"),
    )  # fmt: skip


def held_back(report: LessonsReport) -> Html:
    """What was left out, newest first."""
    found = [
        (told.lesson, showing)
        for told in report.lessons
        for showing in told.showings
        if showing.says and showing.arm != "shown"
    ]
    found.sort(key=lambda each: each[1].at, reverse=True)
    if not found:
        return _section("What was held back", "Nothing was held back yet. About one showing in ten is, at random.")
    count = {arm: sum(showing.arm == arm for _, showing in found) for arm in ARMS}
    rows = [
        tag("tr", tag("td", day(showing.at), class_="quiet small"), tag("td", ARMS[showing.arm], class_="quiet small"),
            tag("td", lesson.trigger, class_="words"), tag("td", "went well" if showing.ok else "did not go well"))
        for lesson, showing in found[:MOST_HELD_BACK]
    ]  # fmt: skip
    head = tag("tr", *(tag("th", name) for name in ("Day", "Why it was left out", "Lesson", "Without it the task")))
    return tag(
        "section",
        tag("h2", "What was held back"),
        tag("p", f"{number_of(count['held_back'], 'time')} a lesson that fitted was left out at random, so that its effect "
            f"can be measured; {number_of(count['crowded'], 'time')} because others fitted better.", class_="quiet"),
        tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), *and_more(len(found), MOST_HELD_BACK),
            class_="rows"),
    )  # fmt: skip


def retired(report: LessonsReport) -> Html:
    """What no longer counts, and why."""
    found = [told for told in report.lessons if told.lesson.status == "retired"]
    if not found:
        return _section("Retired", "No lesson was retired.")
    rows = [
        tag("tr", tag("td", tag("code", told.lesson.id)), tag("td", told.lesson.trigger, class_="words"),
            tag("td", told.lesson.note or "No reason was kept.", class_="words"),
            tag("td", _fared(told), class_="quiet small"))
        for told in found[:MOST_ROWS]
    ]  # fmt: skip
    head = tag("tr", *(tag("th", name) for name in ("Id", "Lesson", "Why", "How it fared")))
    return tag(
        "section", tag("h2", "Retired"),
        tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), *and_more(len(found), MOST_ROWS), class_="rows"),
    )  # fmt: skip


def every_lesson(report: LessonsReport) -> Html:
    """All of them, each to be opened."""
    if not report.lessons:
        return Html("")
    rows = [_whole(told) for told in report.lessons[:MOST_LESSONS]]
    more = and_more(len(report.lessons), MOST_LESSONS)
    return tag("section", tag("h2", "Every lesson"), tag("div", *rows, *more, class_="rows"))


def _section(title: str, nothing: str) -> Html:
    return tag("section", tag("h2", title), tag("p", nothing, class_="nothing"))


def _pill(status: LessonStatus) -> Html:
    return tag("span", STATUS[status], class_=f"pill is-{status}")


def _name(lesson: Lesson) -> Html:
    return tag(
        "div",
        tag("div", lesson.trigger, " → ", lesson.action, class_="title words"),
        tag("div", _pill(lesson.status), tag("code", lesson.id), class_="under"),
    )


def _effect(told: Told, reach: float) -> Html:
    uplift = told.uplift
    assert uplift is not None
    tone = "up" if uplift.low > 0 else "down" if uplift.high < 0 else ""
    interval = f"{points(uplift.low)} to {points(uplift.high)}"
    words = f"{points(uplift.difference)} points, 95 % interval {interval}"
    figures = tag(
        "div", tag("b", points(uplift.difference), class_=tone), tag("span", interval),
        tag("span", f"{told.lesson.life.shown} shown, {told.lesson.life.held_back} held back"), class_="figures",
    )  # fmt: skip
    picture = effect_bar(uplift.difference, uplift.low, uplift.high, reach, words)
    return tag("div", _name(told.lesson), picture, figures, class_="row effect")


def _lane(told: Told, span: Span) -> Html:
    picture = life_lane(told.stretches(span.first, span.last), told.showings[-MOST_MARKS:], span, _fared(told))
    return tag("div", _name(told.lesson), picture, class_="row life")


def _ends(span: Span) -> Html:
    return tag("span", tag("span", day(span.first)), tag("span", day(span.last)), class_="ends")


def _legend() -> Html:
    signs = [tag("span", sign(arm, ok=ok), words) for arm, ok, words in SIGNS]
    bands = [tag("span", band_sign(status), words) for status, words in STATUS.items()]
    return tag("div", *signs, *bands, class_="legend")


def _fared(told: Told) -> str:
    life = told.lesson.life
    if not life.shown:
        return "never shown"
    said = f"shown {number_of(life.shown, 'time')}, {life.shown_ok} went well"
    return f"{said}; held back {life.held_back}, {life.held_back_ok} went well" if life.held_back else said


def _whole(told: Told) -> Html:
    lesson = told.lesson
    parts: list[Html] = [
        tag("dt", "When"), tag("dd", lesson.trigger, class_="words"),
        tag("dt", "Do"), tag("dd", lesson.action, class_="words"),
        tag("dt", "How it fared"), tag("dd", _fared(told)),
        tag("dt", "Where"), tag("dd", f"{lesson.kind} · {said_of(lesson)}"),
    ]  # fmt: skip
    if lesson.note:
        parts += [tag("dt", "Note"), tag("dd", lesson.note, class_="words")]
    if len(lesson.by_model) > 1:
        models = "; ".join(
            f"{each.model or 'unknown'}: {_rate(each.life.shown, each.life.shown_ok)}" for each in lesson.by_model
        )
        parts += [tag("dt", "By model"), tag("dd", models, class_="words")]
    if lesson.history:
        steps = (
            tag("div", f"{day(step.at)}: {step.what}{f' ({step.by})' if step.by else ''}", class_="words")
            for step in lesson.history
        )
        parts += [tag("dt", "What was done to it"), tag("dd", *steps)]
    if lesson.error_signature:
        parts += [tag("dt", "The error it is known by"), tag("dd", tag("pre", lesson.error_signature))]
    if lesson.evidence:
        parts += [tag("dt", "The output it rests on"), tag("dd", tag("pre", "\n".join(lesson.evidence)))]
    title = tag("summary", together(tag("span", lesson.trigger, class_="words"), _pill(lesson.status)))
    return tag("details", title, tag("div", tag("dl", *parts, class_="said")))


def _rate(tries: int, ok: int) -> str:
    return f"{ok} of {tries} went well ({percent(ok / tries)})" if tries else "not shown"
