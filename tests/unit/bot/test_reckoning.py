"""What tasks would have cost at one tier alone, from their logs."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    Escalated,
    Finished,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    TextBlock,
    Usage,
)
from bot.history.cost_summary import Spent, spent, summed
from tests.unit.core.building import Log

TIERS = tuple({"number": number, "models": (f"m{number}",)} for number in (2, 3, 4))
PRICES = {"m2": 1.0, "m3": 2.0, "m4": 5.0}


def price(model: str, usage: Usage) -> float | None:
    """A token costs what the model is called."""
    return PRICES[model] * usage.total if model in PRICES else None


def turn(log: Log, tokens: int, purpose: str = "turn") -> None:
    name, execution = f"r{log.execution.seq}", log.execution
    model = f"m{execution.tier}"
    asked = {"request": name, "turn": execution.turn.number + 1, "tier": execution.tier, "model": model}
    log.add(ModelRequested.model_validate({**asked, "purpose": purpose}))
    usd = PRICES[model] * tokens
    log.add(ModelAnswered(request=name, blocks=(TextBlock(text="x"),), usage=Usage(output=tokens), usd=usd))


def handed_over(reason: str = "done") -> Log:
    """Ten tokens at tier 2, an advice, then three at tier 3."""
    log = Log(tiers=TIERS)
    turn(log, 10)
    turn(log, 4, "advice")
    log.add(Escalated(from_tier=2, to_tier=3, trigger="stuck"))
    turn(log, 3)
    log.add(Finished.model_validate({"reason": reason, "answer": "x"}))
    return log


def at_once() -> Log:
    log = Log(tiers=TIERS)
    turn(log, 10)
    log.add(Finished(reason="done", answer="x"))
    return log


def of(log: Log, label: bool | None = None) -> Spent:
    found = spent(log.envelopes, label, price)
    assert found is not None
    return found


def test_a_task_costs_what_its_log_says_and_the_same_turns_at_one_tier_are_the_estimate() -> None:
    task = of(handed_over())
    assert (task.usd, task.handed_over, task.solved, task.labelled) == (10 + 4 + 6, True, True, False)
    assert (task.cheap, task.premium_low, task.premium_high) == (13, 15, 65)


@pytest.mark.parametrize(
    ("reason", "label", "solved"), [("done", False, False), ("failed", True, True), ("stuck", None, False)]
)
def test_a_label_says_whether_it_is_solved_else_how_it_ended(reason: str, label: bool | None, solved: bool) -> None:
    task = of(handed_over(reason), label)
    assert (task.solved, task.labelled) == (solved, label is not None)


def test_what_runs_is_talk_or_on_the_side_is_no_task_that_ended() -> None:
    assert spent([], None, price) is None
    assert spent(Log().envelopes, None, price) is None
    for log in (Log(talk=True), Log(side=True)):
        log.add(Finished(reason="done", answer="hello"))
        assert spent(log.envelopes, None, price) is None


def test_a_model_without_a_price_counts_as_it_was() -> None:
    log = Log(tiers=({"number": 2, "models": ("m2",)}, {"number": 4, "models": ("unknown",)}))
    turn(log, 10)
    log.add(Finished(reason="done", answer="x"))
    assert of(log).premium_high == 10


def test_together_they_are_dollars_for_each_solved_task() -> None:
    rows = [of(handed_over()), of(at_once()), of(handed_over("stuck"))]
    whole = summed("all", rows)
    assert (whole.tasks, whole.solved, whole.handed_over, whole.usd) == (3, 2, 2, 50)
    assert whole.per_solved == 25
    assert (whole.cheap_solved, whole.cheap_per_solved) == (1, 36)
    assert whole.premium_per_solved == (80 / 2, 180 / 2)
    none = summed("none", [])
    assert (none.per_solved, none.cheap_per_solved, none.premium_per_solved) == (None, None, None)


def test_a_request_that_was_cut_off_was_paid_too() -> None:
    log = Log(tiers=TIERS)
    turn(log, 10)
    log.request(usd=7.0)
    log.add(ModelFailed(request=log.envelopes[-1].event.request, failure="cancelled"))  # type: ignore[union-attr]
    log.add(Finished(reason="stopped", answer="x"))
    assert of(log).usd == 17
