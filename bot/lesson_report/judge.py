"""How far the judge agrees with what came out, and what its word is worth in the score."""

from __future__ import annotations

from bot.lesson_report.drawing import agreement
from bot.lesson_report.markup import Html, tag
from bot.lesson_report.words import number_of, percent
from reflexion.judging import LABELLED
from reflexion.report import JudgeAccount, LessonsReport


def judge(report: LessonsReport) -> Html:
    """The section: a card for each model that judged."""
    title = tag("h2", "The judge")
    if not report.judges:
        said = (
            f"No model has judged an execution yet. Its opinion counts nothing in the score until {LABELLED} executions with "
            "a known outcome show that it can tell good from bad."
        )
        return tag("section", title, tag("p", said, class_="nothing"))
    said = "A model of another family answers yes or no about each execution. What counts is how far that fits what came out."
    cards = (
        tag("div", _drawn(each), tag("div", _facts(each), _worth(each)), class_="card pair") for each in report.judges
    )
    return tag("section", title, tag("p", said, class_="quiet"), *cards)


def _drawn(account: JudgeAccount) -> Html:
    if not account.points:
        return tag("p", "None of the executions that it read has a known outcome.", class_="nothing")
    said = "; ".join(f"{percent(p.said)} yes: {percent(p.came)} of {p.count} went well" for p in account.points)
    ends = tag("p", tag("span", "0 % yes"), tag("span", "100 % yes"), class_="ends quiet small")
    axes = "Across: the judge's share of yes. Up: the share that went well, 0 to 100 %. On the dotted line they agree."
    return tag("figure", agreement(account.points, said), ends, tag("p", axes, class_="quiet small"))


def _facts(account: JudgeAccount) -> Html:
    auc = "not known" if account.auc is None else f"{account.auc:.2f} (a coin has 0.50)"
    rows = (
        ("Model", account.model or "not recorded"),
        ("Read by it", number_of(account.read, "execution")),
        ("Of these, known outcome", str(account.labelled)),
        ("Tells good from bad (AUC)", auc),
        ("Its weight λ in the score", f"{account.weight:.2f} of 1"),
    )
    parts = [tag(name, words) for row in rows for name, words in zip(("dt", "dd"), row, strict=True)]
    return tag("dl", *parts, class_="facts")


def _worth(account: JudgeAccount) -> Html:
    if account.missing:
        said = f"It has no say yet: {number_of(account.missing, 'more execution')} with a known outcome are needed."
    elif account.weight == 0:
        said = "It has no say: it tells good from bad no better than a coin."
    else:
        said = f"It gives up to {15 * account.weight:.1f} of the 100 points of an execution's score."
    return tag("p", said, style="margin-top:16px")
