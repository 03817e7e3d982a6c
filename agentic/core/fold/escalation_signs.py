"""The part of the fold that counts what calls for a stronger model.

All of it counts from the last escalation, advice or decision of a person about being stuck, and after each of these no
trigger fires for so many turns as the policy says: so a new model, a piece of advice or a hint has time to show what it
is worth, and a confidence that flaps around the threshold moves nothing.  What a person asked for waits for nothing.
"""

from __future__ import annotations

from agentic.core.events.execution_events import (
    Asked,
    Confidence,
    Envelope,
    Escalated,
    InputReceived,
    StrongerWanted,
)
from agentic.core.state.counters import Climb, Repeats
from agentic.core.state.execution import Execution, SignCounts
from agentic.core.state.replace import changed
from agentic.core.state.tiers import next_tier

LEARNED_TURNS = 15
"""So many turns without a file change are progress because they told something new; then only a change is."""
ADVICE_RULE = "advice"
"""The intervention that carries what a stronger model advises."""


def turn_ended(execution: Execution, confidence: Confidence) -> Climb:
    """A turn more, before it counts as ended."""
    judged, turn = execution.judged, execution.turn
    climb = judged.climb
    low = confidence.heuristic < execution.policy.low_confidence
    results = [call.result for call in turn.calls if call.result is not None]
    tests_fail = judged.tests is not None and judged.tests[1] > 0
    acted = [result for result in results if result.outcome == "ok"]
    calm = acted and not turn.failed_calls and not tests_fail and not low
    unchanged, learned = _without_change(execution)
    return changed(
        climb,
        low_turns=climb.low_turns + 1 if low else 0,
        unchanged_turns=unchanged,
        learned_turns=learned,
        calm_turns=climb.calm_turns + 1 if calm else 0,
    )


def _without_change(execution: Execution) -> tuple[int, int]:
    """The turns since a file was changed, with this one: those that led nowhere, and those that told something new."""
    judged, climb = execution.judged, execution.judged.climb
    if execution.mind.planning or any(call.result and call.result.changes for call in execution.turn.calls):
        return 0, 0
    if judged.repeats.news and climb.learned_turns < LEARNED_TURNS:
        return climb.unchanged_turns, climb.learned_turns + 1
    return climb.unchanged_turns + 1, climb.learned_turns


def corrected(execution: Execution) -> Climb:
    """A person said that it was wrong."""
    climb = execution.judged.climb
    return changed(climb, corrections=climb.corrections + 1)


def asked_for(execution: Execution, event: InputReceived) -> Execution:
    """A person wants a stronger model; at the top there is none."""
    if next_tier(execution) is None:
        return execution
    climb = changed(execution.judged.climb, wanted=f"{event.author.name} asked for it", by_person=True)
    return changed(execution, judged=changed(execution.judged, climb=climb))


def stronger_wanted(execution: Execution, event: StrongerWanted, envelope: Envelope) -> Execution:
    """The model wants a stronger one; what a person said of it stands above that."""
    climb = execution.judged.climb
    if climb.by_person:
        return execution
    climb = changed(climb, wanted=f"it asked for help (“{' '.join(event.reason.split())[:300]}”)")
    return changed(execution, judged=changed(execution.judged, climb=climb))


def escalated(execution: Execution, event: Escalated) -> SignCounts:
    """The tier changed, up or down: everything counts anew, and rests."""
    climb = execution.judged.climb
    up = event.to_tier > event.from_tier
    lasting = Climb(risen=climb.risen + up, came_down=climb.came_down or not up)
    turn = execution.turn  # one without an answer yet is the new tier's own
    return changed(_anew(execution, lasting), escalated_at_turn=turn.number - (not turn.ended and not turn.answered))


def advised(execution: Execution) -> SignCounts:
    """A stronger model gave advice: the present one gets its time to follow it."""
    climb = execution.judged.climb
    return _anew(execution, _kept(climb, advised=climb.advised + 1))


def decided(execution: Execution, question: Asked | None) -> SignCounts:
    """A person decided something; after a hint for being stuck there is time to follow it."""
    kept = _kept(execution.judged.climb)
    if question is not None and question.sort == "question" and not question.call:
        return _anew(execution, kept)
    return changed(_anew(execution, kept), climb=kept)


def _kept(climb: Climb, **changes: int) -> Climb:
    """What outlasts an advice or a decision: the wish of a person, the rest, and what happened so far."""
    wish = climb.wanted if climb.by_person else ""
    kept = Climb(
        wanted=wish,
        by_person=climb.by_person,
        advised=climb.advised,
        rests_through=climb.rests_through,
        risen=climb.risen,
        came_down=climb.came_down,
    )
    return changed(kept, **changes)


def _anew(execution: Execution, climb: Climb) -> SignCounts:
    rests = execution.turn.number + execution.policy.escalation_hysteresis
    return changed(
        execution.judged,
        errors_since=(),
        stuck_since=False,
        empty_answers=0,
        repeats=Repeats(),
        climb=changed(climb, rests_through=rests),
    )
