"""Sections of the report: what lessons are worth and what waits for a person, each lesson, and the judge.

The judge's section says how far it agrees with what came out, and what its word is worth in the score.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.lessons import fact_text
from bot.lessons.report.html import Html, tag, together
from bot.lessons.report.report_words import (
    STATUS,
    day,
    number_of,
    percent,
    said_of,
)
from bot.lessons.report.svg import (
    Span,
    agreement,
    band_sign,
    effect_bar,
    life_lane,
    share_bar,
    sign,
)
from reflexion.lessons.fact import Fact
from reflexion.lessons.judge_trust import LABELLED
from reflexion.lessons.lesson import Lesson, LessonStatus
from reflexion.lessons.lifecycle import Arm
from reflexion.measurement.report import JudgeAccount, LessonsReport, Told
from reflexion.measurement.uplift import points


def _and_more(there: int, shown: int) -> tuple[Html, ...]:
    """A last row that says how many are not shown; nothing where all are."""
    left = there - shown
    return (tag("div", f"and {left} more", class_="row quiet small"),) if left > 0 else ()


def judge(report: LessonsReport) -> Html:
    """The section: a card for each model that judged."""
    title = tag("h2", "The judge")
    if not report.judges:
        said = (
            f"No model has judged a task yet. Its opinion counts for nothing until {LABELLED} tasks with a known "
            "outcome show that it can tell good from bad."
        )
        return tag("section", title, tag("p", said, class_="nothing"))
    said = "A model of another family answers yes or no about each task. What counts is how often it is right."
    cards = (
        tag("div", _drawn(each), tag("div", _facts(each), _worth(each)), class_="card pair") for each in report.judges
    )
    return tag("section", title, tag("p", said, class_="quiet"), *cards)


def _drawn(account: JudgeAccount) -> Html:
    if not account.points:
        return tag("p", "None of the tasks it judged has a known outcome.", class_="nothing")
    said = "; ".join(f"{percent(p.said)} yes: {percent(p.came)} of {p.count} went well" for p in account.points)
    ends = tag("p", tag("span", "0% yes"), tag("span", "100% yes"), class_="ends quiet small")
    axes = "Across: the judge's share of yes. Up: the share that went well, 0 to 100%. On the dotted line they agree."
    return tag("figure", agreement(account.points, said), ends, tag("p", axes, class_="quiet small"))


def _facts(account: JudgeAccount) -> Html:
    auc = "not known" if account.auc is None else f"{account.auc:.2f} (a coin has 0.50)"
    rows = (
        ("Model", account.model or "not recorded"),
        ("Tasks judged", number_of(account.read, "execution")),
        ("Of these, known outcome", str(account.labelled)),
        ("Tells good from bad (AUC)", auc),
        ("Its weight in the score", f"{account.weight:.2f} of 1"),
    )
    parts = [tag(name, words) for row in rows for name, words in zip(("dt", "dd"), row, strict=True)]
    return tag("dl", *parts, class_="facts")


def _worth(account: JudgeAccount) -> Html:
    if account.missing:
        said = f"It has no say yet: it needs {number_of(account.missing, 'more task')} with a known outcome."
    elif account.weight == 0:
        said = "It has no say: it tells good from bad no better than a coin."
    else:
        said = f"It gives up to {15 * account.weight:.1f} of the 100 points of a task's score."
    return tag("p", said, style="margin-top:16px")


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
            *_and_more(len(measured), MOST_ROWS),
            class_="rows",
        )
    else:
        body = tag("p", "No lesson was both used and held back yet, so there is nothing to compare.", class_="nothing")
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
        tag("p", "Each mark is a task that the lesson fitted: above, those that went well; below, those that did not. The "
            "band under them is its status.", class_="quiet"),
        tag("div", head, *rows, *_and_more(len(lived), MOST_LANES), _legend(), class_="rows"),
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
        tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), *_and_more(len(found), MOST_HELD_BACK),
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
        tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), *_and_more(len(found), MOST_ROWS), class_="rows"),
    )  # fmt: skip


def every_lesson(report: LessonsReport) -> Html:
    """All of them, each to be opened."""
    if not report.lessons:
        return Html("")
    rows = [_whole(told) for told in report.lessons[:MOST_LESSONS]]
    more = _and_more(len(report.lessons), MOST_LESSONS)
    return tag("section", tag("h2", "Every lesson"), tag("div", *rows, *more, class_="rows"))


def remembered(facts: Sequence[Fact]) -> Html:
    """The facts that agents remember, those that wait first; nothing where there are none."""
    if not facts:
        return Html("")
    ordered = sorted(facts, key=lambda fact: (fact_text.ORDER.index(fact.status), -fact.created.timestamp()))
    rows = [
        tag("tr", tag("td", tag("code", fact.id)), tag("td", fact.text, class_="words"),
            tag("td", fact.note or fact_text.SIGNS[fact.status], class_="words"),
            tag("td", fact.scope.repository or ("the server" if fact.scope.guild else "a direct conversation")),
            tag("td", day(fact.created), class_="quiet small"))
        for fact in ordered[:MOST_ROWS]
    ]  # fmt: skip
    head = tag("tr", *(tag("th", name) for name in ("Id", "Fact", "Status", "About", "Since")))
    return tag(
        "section", tag("h2", "Facts"),
        tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), *_and_more(len(facts), MOST_ROWS), class_="rows"),
    )  # fmt: skip


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
    words = f"{points(uplift.difference)} points, 95% interval {interval}"
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
        parts += [tag("dt", "History"), tag("dd", *steps)]
    if lesson.error_signature:
        parts += [tag("dt", "The error it belongs to"), tag("dd", tag("pre", lesson.error_signature))]
    if lesson.evidence:
        parts += [tag("dt", "The output it is based on"), tag("dd", tag("pre", "\n".join(lesson.evidence)))]
    title = tag("summary", together(tag("span", lesson.trigger, class_="words"), _pill(lesson.status)))
    return tag("details", title, tag("div", tag("dl", *parts, class_="said")))


def _rate(tries: int, ok: int) -> str:
    return f"{ok} of {tries} went well ({percent(ok / tries)})" if tries else "not shown"


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
        _tile(str(report.known), f"of {number_of(len(report.verdicts), 'task')} with a known outcome", "tile"),
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
        tag("p", "No task uses these until an owner of the server approves them: ",
            tag("code", "/lessons approve"), " or ", tag("code", "/lessons retire"), " in Discord.", class_="quiet"),
        tag("div", *(_waiting(lesson) for lesson in found[:MOST]), *_and_more(len(found), MOST), class_="rows"),
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
    interval = f"95% interval {points(uplift.low)} to {points(uplift.high)} points."
    return (
        tag("div", points(uplift.difference), unit, class_=f"number {tone}"),
        tag("p", _verdict(tone), " ", tag("span", interval, class_="quiet"), class_="verdict"),
        *((tag("p", report.too_little, class_="verdict quiet small"),) if report.too_little else ()),
    )


def _verdict(tone: str) -> str:
    return {
        "up": "Tasks go well more often with their lesson than with the same lesson left out at random.",
        "down": "Tasks go well less often with their lesson than with the same lesson left out at random.",
        "unsure": "It is too early to tell whether lessons help or hurt: both are still possible.",
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
    note = tag("p", f"{said} Thin lines are 95% intervals.", class_="quiet small")
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
        tag("p", lesson.note or "A person has to check it first.", class_="why words"),
        class_="waiting",
    )  # fmt: skip
