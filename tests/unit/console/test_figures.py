"""What turns cost, in figures and as charts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentic.core.audit.verification import copied_through
from agentic.core.events.execution_events import (
    Envelope,
    Escalated,
    Event,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Reported,
    SubagentFinished,
    ToolFinished,
    TurnEnded,
    Usage,
)
from agentic.core.events.ids import call_id
from agentic.core.events.upcasting import read_envelope
from agentic.core.fold.fold import evolve, fold
from agentic.core.state.execution import Execution
from bot.console.views.chart import POINTS, Frame, Series, bars, grouped, lines, rounded_up
from bot.console.views.task_figures import TaskFigures, charts
from bot.console.views.time_split import split
from tests.integration.console import logs

BEGUN = datetime(2026, 11, 26, 9, tzinfo=UTC)
RUNS = sorted((Path(__file__).parents[2] / "golden").glob("*/runs/*.jsonl"))


def of(*log: Event) -> TaskFigures:
    figures = TaskFigures()
    for seq, event in enumerate(log, 1):
        figures.take(Envelope(execution="e", seq=seq, at=BEGUN + timedelta(seconds=seq), fence=1, event=event))
    return figures


def requested(request: str, turn: int, purpose: str = "turn", reserved: float = 0.0, tier: int = 2) -> Event:
    named = {"request": request, "turn": turn, "purpose": purpose, "reserved_usd": reserved, "tier": tier}
    return ModelRequested.model_validate({**named, "model": "m/one" if purpose == "turn" else "m/small"})


def answered(request: str, usd: float, **used: int) -> Event:
    return ModelAnswered(request=request, blocks=(), usd=usd, usage=Usage(**used))


def test_a_turn_costs_all_that_was_spent_in_it() -> None:
    """Its answer, the failed try before it, the summary and the watcher, and the helper that ended in it."""
    figures = of(
        logs.started(), requested("r1", 1), answered("r1", 0.5, input=10),
        requested("lost", 2, reserved=0.25), ModelFailed(request="lost", failure="lost"),
        requested("r2", 2), answered("r2", 0.1, input=20, cache_read=60, cache_write=20, output=7),
        requested("s", 2, "summary", tier=1), answered("s", 0.02, input=5),
        SubagentFinished(child="c1", spent_usd=0.3), requested("r3", 3), answered("r3", 1.0),
    )  # fmt: skip
    second = figures.turns[2]
    assert [round(turn.usd, 6) for turn in figures.turns] == [0, 0.5, 0.67, 1.0]
    assert (second.helpers_usd, second.spend.failed, second.spend.requests) == (0.3, 1, 3)
    assert (second.spend.tokens_in, second.spend.tokens_out, second.spend.cached) == (105, 7, 60)
    assert round(figures.tables.by_purpose["turn"].usd, 6) == 1.85
    assert {tier: round(spend.usd, 6) for tier, spend in figures.tables.by_tier.items()} == {2: 1.85, 1: 0.02}
    assert figures.tables.by_model["m/small"].usd == 0.02
    assert figures.tables.by_model["m/one"].cache_share == pytest.approx(60 / 110)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.parents[1].name}-{run.stem}")
def test_turns_and_totals_add_up_to_what_the_state_says_was_spent(run: Path) -> None:
    log = [read_envelope(line) for line in run.read_text().splitlines()]
    figures, state, copied = TaskFigures(), fold(log), fold(log[: copied_through(log)])
    for envelope in log:
        figures.take(envelope)
    assert figures.usd == pytest.approx(state.spent.usd - copied.spent.usd)
    assert figures.copied_usd == pytest.approx(copied.spent.usd)
    assert sum(turn.usd for turn in figures.turns) == pytest.approx(state.spent.usd)
    tables = figures.tables
    for totals in (tables.by_model, tables.by_tier, tables.by_purpose):
        assert sum(spend.usd for spend in totals.values()) + figures.helpers_usd == pytest.approx(figures.usd)
    assert figures.tokens == state.spent.tokens - copied.spent.tokens
    assert figures.tokens == sum(spend.tokens_in + spend.tokens_out for spend in tables.by_purpose.values()) + sum(
        one.spent_tokens for one in figures.helpers
    )


def test_many_turns_are_drawn_with_few_points_and_a_change_of_tier_is_told() -> None:
    log = logs.events(700)
    log.insert(2 + 5 * 299, Escalated(from_tier=2, to_tier=3, trigger="the same error came 3 times"))
    drawn = {one.name: one for one in charts(of(*log), split(logs.enveloped("e", log)).turns)}
    assert list(drawn) == ["confidence", "cost", "tokens", "cache", "time"]
    assert all(
        shape.path.count("M") + shape.path.count("L") <= 2 * POINTS for one in drawn.values() for shape in one.shapes
    )
    assert drawn["confidence"].marks[0].text == "Turn 299: tier 2 → 3: the same error came 3 times"
    assert "shown from 60 (turn 20) to 79 (turn 19), last 60" in drawn["confidence"].about
    assert drawn["cost"].each == 3


def test_values_that_share_a_point_are_added_in_bars_and_ranged_in_lines() -> None:
    frame = Frame("x", "X", range(1, 601), str)
    summed = bars(frame, [Series("a", [1.0] * 599 + [3.0])])
    assert (summed.top, summed.shapes[0].path.count("M")) == ("5.0", POINTS)
    assert "V20.00" in summed.shapes[0].path.split("M")[-1]  # 4 of 5
    ranged = lines(frame, [Series("b", [0.0, 100.0] * 300)], 100)
    assert [shape.sort for shape in ranged.shapes] == ["range", "line"]
    assert ranged.shapes[1].path.startswith("M1.7 50.0")


def test_a_line_has_a_gap_where_nothing_is_known() -> None:
    one = lines(Frame("x", "X", [1, 2, 3, 4], str), [Series("a", [10, None, 20, 30])], 100)
    assert one.shapes[0].path == "M125.0 90.0h0.1M625.0 80.0h0.1L875.0 70.0"


@pytest.mark.parametrize(
    ("value", "top"), [(0, 1), (0.03, 0.05), (1, 1), (1.1, 2), (7, 10), (100, 100), (51_000, 100_000)]
)
def test_a_scale_ends_with_a_round_number(value: float, top: float) -> None:
    assert rounded_up(value) == pytest.approx(top)


def test_no_turn_is_left_out_of_the_groups() -> None:
    for count in (0, 1, 299, 300, 301, 5_000):
        groups = grouped(count)
        assert [place for group in groups for place in group] == list(range(count))
        assert len(groups) <= POINTS


def test_what_was_never_reported_run_or_tested_is_called_an_assumption() -> None:
    words = dict(of(logs.started(), *logs.turn(1)[:2], logs.turn(1)[-1]).turns[1].parts)
    assert words["How sure it says it is"] == "not reported; 70 of 100 is assumed"
    assert words["Tests"] == "none were run; 50% is assumed"
    assert words["Calls that worked"] == "no call ran; 100% is assumed"
    said = Reported(status="progressing", confidence=70)
    ran = ToolFinished(call=call_id("r1", 0), outcome="failed", preview="", tests_passed=3, tests_failed=1)
    figures = of(logs.started(), *logs.turn(1)[:3], ran, said, logs.turn(1)[-1], *logs.turn(2))
    first, second = (dict(turn.parts) for turn in figures.turns[1:])
    assert (first["How sure it says it is"], first["Tests"]) == ("70 of 100", "3 of 4 passed")
    assert second["How sure it says it is"] == "70 of 100, in turn 1"
    later = of(*(event for number in range(3) for event in logs.turn(number + 1)))
    counted = "70 of 100 is assumed, since so many of its last calls worked"
    assert dict(later.turns[-1].parts)["How sure it says it is"] == f"not reported; {counted}"
    again = of(said, *(event for number in range(3) for event in logs.turn(number + 1)))
    assert dict(again.turns[-1].parts)["How sure it says it is"] == f"not since turn 0; {counted}"
    assert (figures.confidence_at(0), figures.confidence_at(9)) == (None, figures.turns[2])


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.stem)
def test_what_a_confidence_rests_on_is_what_the_rules_read(run: Path) -> None:
    figures, state = TaskFigures(), Execution()
    for line in run.read_text(encoding="utf-8").splitlines():
        envelope = read_envelope(line)
        before = state.judged
        state = evolve(state, envelope)
        figures.take(envelope)
        if isinstance(envelope.event, TurnEnded):
            grounds, ran = figures.turns[-1].grounds, sum(count for _, count in state.judged.recent)
            reported = before.reported.confidence if before.reported is not None else None
            assert (grounds.reported, grounds.calls, grounds.tests) == (reported, before.calls, before.tests)
            assert grounds.counted == (not before.reported_this_turn and before.turns_unreported > 0 and ran > 0)
