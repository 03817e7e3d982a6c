"""The confidence, 0-100: the heuristic with its parts (behaviour.md), and the number that people are shown.

Success is read from exit codes and typed results, never from words.  The rules read the heuristic; people are shown
what the calibrator in ``Started`` makes of the trajectory, or the heuristic where there is none.  Votes that people give
while it runs move both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from agentic.core.claims.features import features_of
from agentic.core.events.calibrator import probability
from agentic.core.events.execution_events import (
    Confidence,
    ConfidenceParts,
    Finished,
    InputReceived,
    Reported,
)
from agentic.core.state.execution import Execution, SignCounts

_STATED = re.compile(r"^[^\S\n]*confidence:\s*(\d{1,3})\b", re.IGNORECASE | re.MULTILINE)
_BEFORE_ANY_REPORT = 70.0
_PATIENCE = 5
"""Turns without a change after which progress counts nothing."""
IDLE = 20
"""At most so sure is who answers a task that asks for a change without having done anything."""
SESSION_BEGINS = 80
UP, DOWN = 15, -20
"""Points by which a 👍 and a 👎 move a confidence, that of a run and that of a session."""
_VOTED_LEAST, _VOTED_MOST = 10, 100
"""No vote moves it beyond these."""
MOST_SHOWN = 99
"""Nobody is ever told that something is certain."""
Band = Literal["high", "moderate", "low", "critical"]


def band(score: int) -> Band:
    """A score 0-100 as a word."""
    if score > 70:
        return "high"
    if score >= 50:
        return "moderate"
    return "low" if score >= 30 else "critical"


def session_ended(confidence: int, final: int) -> int:
    """A session's confidence after an execution: the mean with its final score."""
    return round((confidence + final) / 2)


def session_voted(confidence: int, *, up: int, down: int) -> int:
    """A session's confidence after people's votes: 15 up for each 👍, 20 down for each 👎, within 10-100."""
    return max(_VOTED_LEAST, min(_VOTED_MOST, confidence + UP * up + DOWN * down))


def vote_of(event: InputReceived) -> str:
    """The vote that somebody gave while it ran: 'up', 'down', or 'none' where it was taken back."""
    return event.text if event.text in ("up", "down", "none") else event.target


def standing(votes: tuple[tuple[str, str], ...], person: str, vote: str) -> tuple[tuple[str, str], ...]:
    """The votes that stand after one more: the last one of each person."""
    others = tuple(known for known in votes if known[0] != person)
    return (*others, (person, vote)) if vote in ("up", "down") else others


def points(votes: Iterable[tuple[str, str]]) -> int:
    """By how much these votes move a run's confidence."""
    return sum(UP if vote == "up" else DOWN for _, vote in votes)


def voted(confidence: Confidence, moved: int) -> Confidence:
    """The confidence as these points of people's votes move it, whatever moved it before."""
    shown, heuristic = before_votes(confidence)
    if not moved:
        return confidence.model_copy(update={"shown": shown, "heuristic": heuristic, "moved_from": None})
    update = {
        "shown": min(_moved(shown, moved), MOST_SHOWN),
        "heuristic": _moved(heuristic, moved),
        "moved_from": (shown, heuristic),
    }
    return confidence.model_copy(update=update)


def before_votes(confidence: Confidence) -> tuple[int, int]:
    """(shown, heuristic) without what people's votes moved."""
    return confidence.moved_from or (confidence.shown, confidence.heuristic)


def told(last: Confidence | None, end: Finished | None) -> int | None:
    """The one number that people are shown of an execution, wherever they look; None where none is known.

    An end that is no success says nothing of how sure it was, but for one that did nothing of what was asked for.
    """
    if end is not None and end.reason != "done" and not end.unchanged:
        return None
    if end is not None:
        return min(end.confidence, MOST_SHOWN) or None
    return min(last.shown, MOST_SHOWN) if last is not None else None


def is_fitted(last: Confidence | None) -> bool:
    """The number follows how enough earlier tasks came out; else it is an estimate."""
    return last is not None and last.calibrator != "none"


def _moved(score: int, by: int) -> int:
    """A 👎 never lifts what lies under the least, nor does a 👍 lower what is above the most."""
    if by < 0:
        return max(score + by, min(score, _VOTED_LEAST))
    return min(score + by, max(score, _VOTED_MOST))


def stated_in(text: str) -> Reported | None:
    """The report that a line ``confidence: N`` in the model's text makes; the last such line counts."""
    found = _STATED.findall(text)
    return Reported(status="progressing", confidence=min(int(found[-1]), 100)) if found else None


def score(parts: ConfidenceParts, turn: int) -> int:
    """The heuristic: five weighed parts less the corrections, rounded, within 0-100."""
    repeated = 1 - min(2 * parts.same_error / max(turn, 1), 1)
    value = (
        0.4 * parts.self_report / 100
        + 0.2 * parts.tool_ok
        + 0.2 * repeated
        + 0.1 * parts.tests
        + 0.1 * parts.progress
        - min(0.15 * parts.corrections, 0.3)
    )
    return max(0, min(100, round(100 * value)))


def of_turn(execution: Execution, *, proven: bool | None = None, idle: bool = False) -> Confidence:
    """The confidence at the end of the current turn, before ``TurnEnded``; ``proven`` where it says that it is done.

    ``idle``: it answers a task that asks for a change, and did nothing.
    """
    judged, turn = execution.judged, execution.turn
    unchanged = 0 if turn.changed else judged.turns_unchanged + 1
    progress = 1.0 if turn.changed else max(0.0, 1 - unchanged / _PATIENCE)
    if proven is None and judged.reported_this_turn and judged.reported is not None:
        proven = _tests(judged) == 1.0 if judged.reported.status == "done" else None
    if proven is not None:
        progress = 1.0 if proven else 0.0
    parts = ConfidenceParts(
        self_report=_self_report(execution),
        tool_ok=judged.calls_ok / judged.calls if judged.calls else 1.0,
        same_error=judged.same_error,
        tests=_tests(judged),
        progress=progress,
        corrections=judged.corrections,
    )
    most = IDLE if idle else 100
    value = min(score(parts, turn.number), most)
    calibrated = _calibrated(execution, features_of(execution, parts.self_report, proven=proven))
    shown, calibrator = calibrated if calibrated is not None else (value, "none")
    shown = min(shown, most, MOST_SHOWN)
    unmoved = Confidence(shown=shown, heuristic=value, parts=parts, calibrator=calibrator)
    return voted(unmoved, points(judged.votes)) if judged.votes else unmoved


def role_of(execution: Execution) -> str:
    """The role it works in: triage's, or the one it began with."""
    if execution.triage is not None and execution.triage.role:
        return execution.triage.role
    return execution.started.role if execution.started else ""


def model_of(execution: Execution) -> str:
    """The model it works with: the first of its tier."""
    return next(
        (tier.models[0] for tier in execution.policy.tiers if tier.number == execution.tier and tier.models), ""
    )


def _calibrated(execution: Execution, features: dict[str, float]) -> tuple[int, str] | None:
    """What the calibrator says, and which one it is."""
    calibrator = execution.started.calibrator if execution.started else None
    if calibrator is None:
        return None
    value = probability(calibrator, role_of(execution), model_of(execution), features)
    return None if value is None else (round(100 * value), calibrator.id)


def _tests(judged: SignCounts) -> float:
    if judged.tests is None or sum(judged.tests) == 0:
        return 0.5
    passed, failed = judged.tests
    return passed / (passed + failed)


def _self_report(execution: Execution) -> float:
    judged, turn = execution.judged, execution.turn
    if judged.reported_this_turn and judged.reported is not None:
        return float(judged.reported.confidence)
    if judged.turns_unreported >= 1:
        ran = [call.result for call in turn.calls if call.result and call.result.outcome in ("ok", "failed")]
        recent = (*judged.recent, (sum(result.outcome == "ok" for result in ran), len(ran)))[-3:]
        all_calls = sum(count for _, count in recent)
        if all_calls:
            return 100 * sum(ok for ok, _ in recent) / all_calls
    return float(judged.reported.confidence) if judged.reported is not None else _BEFORE_ANY_REPORT
