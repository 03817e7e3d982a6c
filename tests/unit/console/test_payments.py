"""What a task cost is the same wherever it stands: failed requests, helpers, learning, and what was copied told apart."""

from __future__ import annotations

import json
import re

import pytest

from agentic.core.events.execution_events import (
    Event,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Policy,
    SubagentFinished,
    Usage,
    WorkspaceRestored,
)
from agentic.core.events.values import TOUR, Tier
from agentic.ports.runtime import ExecutionRow, SessionRow
from bot.console.exports.atif_export import Trajectory, atif
from bot.console.exports.html_export import html_file
from bot.console.exports.markdown_export import turn_text, whole_task
from bot.console.exports.transcript import transcript
from bot.console.hindsight.task_comparison import cost_split, steps_of
from bot.console.logs.task_log import TaskLog
from bot.console.overall.figures.task_summary import summary_of
from bot.console.page_templates import Pages
from bot.console.pages.downloads import source_of
from bot.console.pages.figures_page import figures_of, rows_of
from bot.console.views.task_status import status_of
from bot.rendering.secrets import Discretion
from tests.integration.console import logs

PAGES = Pages()
USED = Usage(input=100, output=10, cache_read=50)


def asked(request: str, turn: int, usd: float, purpose: str = "turn", model: str = "m/one") -> list[Event]:
    one = {"request": request, "turn": turn, "purpose": purpose, "tier": 2, "model": model, "reserved_usd": 0.5}
    return [ModelRequested.model_validate(one), ModelAnswered(request=request, blocks=(), usd=usd, usage=USED)]


SHORT = {"metrics": "$4.25", "html": "$4.25"}
FAILED = [*asked("lost", 2, 0)[:1], ModelFailed(request="lost", failure="timed_out")]
HELPED = SubagentFinished(child="h1", spent_usd=0.25, spent_tokens=70, models={"m/small": 0.2})
"""It does not say of which model all of it was."""


def task(*more: Event, outcome: tuple[Event, ...] = (), **begun: object) -> TaskLog:
    events: list[Event] = [
        logs.started("Fix it", **begun), *asked("r1", 1, 1.0), *FAILED, *asked("r2", 2, 2.0), *asked("s", 2, 0.125, "summary"),
        HELPED, *more, *logs.end(),
    ]  # fmt: skip
    session = SessionRow(logs.THREAD, logs.CHANNEL, logs.GUILD)
    log = TaskLog(ExecutionRow("e", logs.THREAD, "Fix", len(events), finished="done"), session)
    log.take(logs.enveloped("e", events), Discretion())
    log.outcome = logs.enveloped("e", outcome)
    return log


def stated(log: TaskLog) -> dict[str, object]:
    """What each place says that the task cost."""
    status, figures = status_of(log), figures_of(log)
    tables = [sum(spend.usd for _, spend in rows) for _, _, rows in figures["totals"]]  # pyright: ignore
    home = summary_of(("e", logs.THREAD, logs.GUILD), log.events, log.outcome, log.folded, lambda model, used: None)
    source = source_of(log, "Fix", {})
    html, text = "".join(html_file(source, PAGES)), "".join(whole_task(source))
    foot = re.search(r"<tfoot>.*?([$][0-9.]+)</td></tr></tfoot>", html)
    said = re.search(r"Cost: ([0-9.]+) US", text)
    row = re.findall(r"requests?(?:, [0-9]+ of them failed)?, ([0-9.]+) US", text)
    metrics = re.search(
        r"<p>([$][0-9.]+) for", PAGES.render("figures.html", log=log, status=status, path="", **figures)
    )
    harbor = json.loads("".join(atif(Trajectory("e", "t", tuple(log.events), "1", status.usd))))
    assert foot is not None
    assert said is not None
    assert metrics is not None
    return {
        "status": status.usd,
        **{f"metrics table {place}": usd + log.story.figures.helpers_usd for place, usd in enumerate(tables)},
        "metrics": metrics[1],
        "home": home.usd,
        "compare": sum(cost_split(log.events, log.outcome).values()),
        "html": foot[1],
        "markdown": float(said[1]),
        "markdown by model": sum(map(float, row)),
        "atif": harbor["final_metrics"]["total_cost_usd"],
    }


def test_all_places_state_one_cost_with_failures_helpers_and_learning() -> None:
    learning = (
        *asked("j", 0, 0.0625, "judge", "m/judge"),
        *asked("l", 0, 0)[:1],
        ModelFailed(request="l", failure="lost"),
    )
    log = task(outcome=learning)
    whole = 1.0 + 0.5 + 2.0 + 0.125 + 0.25 + 0.0625 + 0.5
    assert stated(log) == dict.fromkeys(stated(log), pytest.approx(whole)) | {"metrics": "$4.44", "html": "$4.44"}
    status = status_of(log)
    assert (status.learned_usd, status.copied_usd, status.tokens) == (0.5625, 0.0, 3 * 160 + 70 + 160)


def test_a_turn_has_one_cost_in_thoughts_metrics_compare_and_files() -> None:
    log = task()
    told = next(each for each in transcript(log.events) if each.number == 2)
    turn = log.story.turn(2)
    assert turn is not None
    (row,) = rows_of(log, frozenset({2}))
    costs = [turn.figures.usd, row.figures.usd, steps_of(log.events)[1].usd, told.usd]
    assert costs == [pytest.approx(0.5 + 2.0 + 0.125 + 0.25)] * 4
    shown = PAGES.render("more_turns.html", log=log, path="/t/1/e", turns=[turn], before=0, after=0)
    assert "$2.88 ·" in shown
    assert "2.8750 US dollars" in turn_text(told, {})


def test_what_a_fork_copied_is_told_apart_everywhere_and_counted_where_it_was_paid() -> None:
    log = task(WorkspaceRestored(manifest="m", way="rewind", turn=2), *asked("r3", 3, 4.0), forked_from=("src", 9))
    assert log.events[8].event is not HELPED
    assert (
        stated(log) == dict.fromkeys(stated(log), pytest.approx(4.25)) | SHORT
    )  # the helper ended after the copied part
    status = status_of(log)
    assert status.copied_usd == pytest.approx(3.625)
    assert status.usd + status.copied_usd == pytest.approx(log.folded.spent.usd)
    turns = {turn.number: turn.figures for turn in log.story.turns}
    assert [turns[number].copied_usd for number in (1, 2, 3)] == [pytest.approx(1.0), pytest.approx(2.625), 0.0]
    assert [step.copied for step in steps_of(log.events)] == [True, True, False]
    assert "$3.62 copied" in PAGES.render("status.html", status=status)
    source = source_of(log, "Fix", {})
    assert "had cost $3.62; that task paid it" in "".join(html_file(source, PAGES))
    assert "3.6250 more was paid by the task" in "".join(whole_task(source))


def test_the_tour_costs_nothing_anywhere() -> None:
    log = task(policy=Policy(tiers=(Tier(number=2, models=(TOUR,)),)))
    assert (status_of(log).usd, status_of(log).tokens) == (0, 550)
    assert cost_split(log.events) == {}
