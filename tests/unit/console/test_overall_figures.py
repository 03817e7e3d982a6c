"""What the pages about all tasks together say, made of small logs and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest

from agentic.core.events.execution_events import (
    Asked,
    Event,
    InputReceived,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Quarantined,
    SubagentFinished,
    Usage,
)
from agentic.core.fold.fold import fold
from agentic.ports.runtime import ExecutionRow
from agentic.text.word_query import WordQuery
from bot.cli.task_views.task_table import row_of
from bot.console.logs.task_log import TaskLog
from bot.console.overall.figures.found_words import surroundings
from bot.console.overall.figures.health_figures import told_health, troubles
from bot.console.overall.figures.judge_figures import calibration_of, judges_of, ladder_of
from bot.console.overall.figures.lesson_figures import effect_bar, lesson_lines
from bot.console.overall.figures.spend_report import OTHERS, SHOWN, spending_of
from bot.console.overall.figures.task_summary import DayCost, TaskSummary, summary_of
from bot.console.overall.health_page import ThreadLoad
from bot.console.page_templates import Pages
from bot.history.cost_summary import Spent
from bot.rendering.secrets import Discretion
from reflexion.lessons.changes import approved, changed
from reflexion.lessons.lesson import Verdict
from reflexion.measurement.uplift import uplift_of
from tests.integration.console import logs, overall
from tests.unit.reflexion.test_report import lesson, showings

TODAY = date(2026, 11, 4)
"""A Wednesday."""
SUNDAY, MONDAY = date(2026, 11, 1), date(2026, 11, 2)
HAIKU = "anthropic/claude-haiku-4-5"


def summary(log: Sequence[Event], outcome: Sequence[Event] = ()) -> TaskSummary:
    envelopes = logs.enveloped("x1", log)
    after = logs.enveloped("x1", outcome)
    return summary_of(("x1", logs.THREAD, "g"), envelopes, after, fold(envelopes), lambda _model, _usage: None)


def cost(usd: float, day: date = TODAY, model: str = HAIKU, **more: object) -> TaskSummary:
    return replace(TaskSummary("x", "1", "g", 1, requester=logs.ANN), costs=(DayCost(day, model, usd),), **more)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("last", "state", "needs"),
    [
        (Asked(question="q", sort="approval", text="May I?"), "asks", True),
        (InputReceived(inbox="p", sort="pause", author=logs.ANN), "paused", True),
        (Quarantined(reason="it crashed"), "set_aside", True),
        (logs.guidance("Go on"), "running", False),
        (logs.end()[0], "done", False),
    ],
)
def test_a_task_needs_somebody_where_only_a_person_ends_its_state(last: Event, state: str, needs: bool) -> None:
    made = summary([*logs.events(1, ended=False), last])
    assert (made.state, made.needs) == (state, needs)


def test_a_summary_has_who_asked_where_it_stands_and_what_it_cost_on_which_day() -> None:
    made = summary(logs.events(3))
    assert (made.requester, made.role, made.turn, made.tier) == (logs.ANN, "python-coder", 3, 2)
    assert made.confidence == 81
    assert made.costs == (DayCost(logs.BEGAN.date(), HAIKU, pytest.approx(0.0093)),)  # pyright: ignore[reportArgumentType]


def test_costs_fall_on_the_day_they_were_paid_with_failures_helpers_and_what_was_learned() -> None:
    asked = ModelRequested(request="f", turn=2, tier=2, model="m", reserved_usd=0.5)
    failed = ModelFailed(request="f", failure="timed_out", message="late", begun=True)
    helper = SubagentFinished(child="c1", spent_usd=0.2, models={"helper": 0.2})
    learned = ModelRequested(request="l", turn=0, tier=2, model="writer", reserved_usd=0.1, purpose="reflection")
    answered = ModelAnswered(request="l", blocks=(), usage=Usage(), usd=0.03, stop="end")
    envelopes = logs.enveloped("x1", [*logs.events(1, ended=False), asked, failed, helper, *logs.end()])
    late = [
        each.model_copy(update={"at": each.at + timedelta(days=1)})
        for each in logs.enveloped("x1", [learned, answered])
    ]
    made = summary_of(("x1", logs.THREAD, "g"), envelopes, late, fold(envelopes), lambda _model, _usage: None)
    assert {(each.day, each.model): round(each.usd, 4) for each in made.costs} == {
        (MONDAY, HAIKU): 0.0031, (MONDAY, "m"): 0.5, (MONDAY, "helper"): 0.2, (MONDAY + timedelta(days=1), "writer"): 0.03,
    }  # fmt: skip


def test_what_a_fork_copied_is_counted_in_the_task_it_was_copied_from() -> None:
    fork = logs.started(forked_from=("x0", 7))
    assert summary([fork, *logs.events(2)[1:]]).usd == pytest.approx(0.0031)


def test_spending_is_summed_by_day_and_week_and_what_is_older_counts_nowhere() -> None:
    report = spending_of([cost(1.0), cost(2.0, MONDAY), cost(4.0, SUNDAY), cost(8.0, TODAY, "other", guild="")], TODAY)
    assert (report.monday, report.today, report.week) == (MONDAY, 9.0, 11.0)
    tables = {table.title: [(each.name, each.today, each.week) for each in table.lines] for table in report.tables}
    assert tables["Server"] == [("direct messages", 8.0, 8.0), ("g", 1.0, 3.0)]
    assert tables["Person"] == [("Ann", 9.0, 11.0)]
    assert tables["Role"] == [("general", 9.0, 11.0)]
    assert tables["Model"] == [("other", 8.0, 8.0), (HAIKU, 1.0, 3.0)]


def test_many_lines_are_one_line_together() -> None:
    report = spending_of([cost(float(n + 1), model=f"m{n}") for n in range(SHOWN + 3)], TODAY)
    lines = report.tables[-1].lines
    assert (len(lines), lines[-1].name, lines[-1].week) == (SHOWN + 1, OTHERS, 6.0)


def test_found_words_are_marked_within_their_surroundings() -> None:
    pieces = surroundings("begin " * 40 + "the <b>Parser</b> failed" + " end" * 100, WordQuery.of("parser"))
    assert [piece.text for piece in pieces if piece.found] == ["Parser"]
    assert pieces[0].text == "…"
    assert "<b>" in "".join(piece.text for piece in pieces)
    assert len("".join(piece.text for piece in pieces)) < 300


def test_lessons_that_wait_come_first_and_each_says_what_it_did_and_when_it_goes() -> None:
    used = lesson("l1")
    waits, agreed = lesson("l2", status="quarantined"), approved(lesson("l3"), by="Ann", at=overall.recent())
    _, lines = lesson_lines([used, waits, agreed], [*showings("shown", 8, 10), *showings("held_back", 1, 10)])
    assert [line.lesson.id for line in lines] == ["l2", "l1", "l3"]
    assert lines[1].effect is not None
    assert (lines[1].effect.points, lines[1].effect.tone) == ("+70 points, 95% interval +27 to +87", "good")
    assert lines[1].decay.startswith("expires on ")
    assert lines[2].decay == "does not expire: a person wrote or approved it"
    assert (lines[0].meaning, lines[0].exposures) == (
        "not used until an owner approves it",
        "not told to any task as a lesson yet",
    )


def test_what_somebody_decided_stands_until_something_else_changes_the_status() -> None:
    agreed = approved(lesson("l1"), by="Ann", at=overall.recent())
    seen = changed(agreed, at=overall.recent(), what="Seen again.")
    gone = changed(seen, at=overall.recent(), what="It harms.", status="retired")
    _, lines = lesson_lines([agreed, seen, gone, lesson("l2")], [])
    said = [line.decision.what if line.decision is not None else "" for line in lines]
    assert sorted(said) == ["", "", "Approved by Ann.", "Approved by Ann."]


def test_the_picture_of_an_effect_begins_in_the_middle() -> None:
    uplift = uplift_of([*showings("shown", 1, 10), *showings("held_back", 6, 10)])
    assert uplift is not None
    bar = effect_bar(uplift)
    assert (bar.x, bar.width, bar.tone) == (50.0, 50.0, "bad")
    assert bar.low < bar.x < bar.high < 100


def test_calibration_says_nothing_without_an_outcome_and_draws_what_was_said_against_what_came() -> None:
    assert calibration_of([]).groups == ()
    made = calibration_of([overall.label(number) for number in range(40)])
    assert made.groups[0].labels == 40
    assert len(made.dots) == len(made.groups[0].points)
    assert all(dot.high <= dot.y <= dot.low for dot in made.dots)


def test_a_judge_is_held_against_people_and_against_checks() -> None:
    verdicts = [
        Verdict(
            execution=f"e{n}", guild="g", thread="1", ok=n < 6, right=n < 6, at=logs.BEGAN, judge=0.9, judge_model="j",
            verifier="pass" if n < 6 else "none",
        )
        for n in range(10)
    ]  # fmt: skip
    labels = [replace(overall.label(n), source="person", label=n < 2) for n in range(4)]
    (judge,) = judges_of(verdicts, labels)
    assert (judge.people.ok, judge.people.of) == (2, 4)
    assert (judge.checks.ok, judge.checks.of) == (6, 6)


def test_the_ladder_tells_what_hand_overs_cost_and_what_was_saved() -> None:
    log = overall.ended(0)
    envelopes = logs.enveloped("e0", log)
    made = summary_of(
        ("e0", "1", "g"), envelopes, (), fold(envelopes), lambda model, _: 0.1 if "opus" in model else 0.01
    )
    account = ladder_of(
        [made, replace(made, execution="e1", spent=stayed(made))], [replace(overall.label(0), label=False)]
    )
    assert [(each.name, each.tasks, each.solved) for each in account.sums] == [
        ("all", 2, 1), ("handed over", 1, 0), ("not handed over", 1, 1),
    ]  # fmt: skip
    assert account.rises_cost == pytest.approx(0.0531 - 0.02)
    assert account.rises[0].rule == "same_error"
    assert account.saved[0] < account.saved[1]
    assert ladder_of([], []).saved == (0.0, 0.0)


def stayed(made: TaskSummary) -> Spent:
    assert made.spent is not None
    return replace(made.spent, execution="e1", handed_over=False, solved=True)


def test_what_the_bot_tells_of_its_health_is_shown_whatever_form_it_has() -> None:
    told = told_health(
        {
            "parts": [{"name": "discord", "state": "ok", "what": "it is connected", "todo": ""}, "noise"],
            "longest_stall_seconds": 0.7, "queues": {"slots": 4}, "sandboxes": [{"thread": "1", "backend": "docker"}],
            "threads": 3, "lost leases": 2,
        }
    )  # fmt: skip
    assert [(part.name, part.state) for part in told.parts] == [("discord", "ok")]
    assert told.slow
    assert [(table.title, table.rows) for table in told.tables] == [
        ("queues", (("slots", "4"),)), ("lost leases", (("2",),)), ("sandboxes", (("1", "docker"),)), ("threads", (("3",),)),
    ]  # fmt: skip
    empty = told_health({"parts": None, "longest_stall_seconds": "long"})
    assert (empty.parts, empty.stall, empty.slow, empty.tables) == ((), None, False, ())


@pytest.mark.parametrize(
    ("ended", "missing", "words"),
    [
        (0, 0, "No task has ended yet."),
        (1, 0, "the tour, small talk and side questions do not"),
        (1, 1, "still to be read"),
    ],
)
def test_judgement_says_that_a_task_has_ended_which_the_ladder_does_not_count(
    ended: int, missing: int, words: str
) -> None:
    page = Pages().render(
        "judgement.html", viewer=None, calibration=calibration_of([]), judges=(), ladder=ladder_of([], []), trouble="",
        missing=missing, waits=False, ended=ended, assumptions=(), tasks=1, labels=1,
    )  # fmt: skip
    assert words in page
    assert ("No task has ended yet." in page) is not bool(ended)


def test_a_task_that_was_set_aside_waits_for_somebody_in_the_terminal_too() -> None:
    log = TaskLog(ExecutionRow("e", logs.THREAD, "Fix", 2), None)
    log.take(logs.enveloped("e", [logs.started(), Quarantined(reason="it crashed")]), Discretion())
    row = row_of(log, log.events[-1].at)
    assert (row.needs, row.waits_for, row.state) == (True, "anybody", "Set aside")


def test_a_lease_is_held_by_a_process() -> None:
    assert ThreadLoad("1", "", "575bc/4026/28471/99").process == "process 28471"
    assert ThreadLoad("1", "", "worker-1").process == "worker-1"


def test_a_task_that_went_wrong_says_what_to_do() -> None:
    failed = summary([*logs.events(1, ended=False), *logs.end("failed", "No model answers.")])
    fine = summary(logs.events(1))
    assert [each.task for each in troubles([failed, fine, TaskSummary("x", "1", "g", 1)])] == [
        failed, TaskSummary("x", "1", "g", 1),
    ]  # fmt: skip


def test_a_log_without_an_event_is_no_reason_to_fail() -> None:
    assert summary([]).costs == ()
