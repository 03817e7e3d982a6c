"""What a calibrator reads of an execution at the end of a turn: counts of what happened, each about one in size.

Counts rather than shares: each failed call is evidence of its own, so that the logarithm of the odds is nearly a sum of
them.  Each is bounded, because what is rare was never seen often enough to be believed beyond that.
"""

from __future__ import annotations

from agentic.core.state.execution import Execution, SignCounts

__all__ = ["FEATURES", "features_of"]

FEATURES: tuple[str, ...] = (
    "failed", "failed_lately", "succeeded", "same_error", "errors", "tests_share", "tests_all", "turns", "unchanged",
    "changed", "corrections", "self_report", "done", "proven", "stuck",
)  # fmt: skip
"""Their names; a calibrator keeps the names it was fitted on, so that more may come."""

_LATELY = 3


def features_of(execution: Execution, self_report: float, *, proven: bool | None = None) -> dict[str, float]:
    """The values of ``FEATURES`` before ``TurnEnded``; ``proven`` where the turn says that it is done."""
    judged, turn = execution.judged, execution.turn
    share = _tests(judged)
    results = [call.result for call in turn.calls if call.result and call.result.outcome in ("ok", "failed")]
    now = (sum(result.outcome == "ok" for result in results), len(results))
    lately = sum(ran - ok for ok, ran in (*judged.recent, now)[-_LATELY:])
    unchanged = 0 if turn.changed else judged.turns_unchanged + 1
    return {
        "failed": _bounded(judged.calls - judged.calls_ok, 8) / 2,
        "failed_lately": _bounded(lately, 4) / 2,
        "succeeded": _bounded(judged.calls_ok, 20) / 5,
        "same_error": _bounded(judged.same_error - 1, 4) / 2,
        "errors": _bounded(len(judged.errors_since), 6) / 2,
        "tests_share": 0.0 if share is None else 2 * share - 1,
        "tests_all": 0.0 if share is None else 1.0 if share == 1.0 else -1.0,
        "turns": _bounded(turn.number, 30) / 5,
        "unchanged": _bounded(unchanged, 5) / 2,
        "changed": _bounded(judged.turns_changed + turn.changed, 12) / 3,
        "corrections": _bounded(judged.corrections, 3),
        "self_report": (self_report - 75) / 25,
        "done": 0.0 if proven is None else 1.0,
        "proven": 1.0 if proven else 0.0,
        "stuck": 1.0 if judged.stuck_since else 0.0,
    }


def _tests(judged: SignCounts) -> float | None:
    """The share of the last tests that passed, None where none ran."""
    if judged.tests is None or sum(judged.tests) == 0:
        return None
    return judged.tests[0] / sum(judged.tests)


def _bounded(count: int, most: int) -> float:
    return float(max(0, min(count, most)))
