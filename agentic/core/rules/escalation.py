"""When to move up a tier, and when back down.

All triggers count from the last change of tier or advice; after one, none fires for two turns (escalation_signs.py).
 A stronger
model may be asked for one advice before it takes over.  At the top a person is asked; where nobody can answer it ends.

Advice of a stronger model, before it takes over: what it is asked, and what becomes of its answer.

The request is bounded whatever the history holds, and everything in it that others wrote is marked as data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentic.core.claims.completion import failing_tests, finished_by
from agentic.core.events.execution_events import Escalated, Intervened
from agentic.core.fold import loop_detection
from agentic.core.fold.escalation_signs import ADVICE_RULE
from agentic.core.prompt import recap
from agentic.core.prompt.user_messages import ADVICE, ADVICE_ENDS
from agentic.core.rules import questions, task_end
from agentic.core.state.actions import (
    Action,
    Ask,
    Consult,
    Finish,
    Record,
)
from agentic.core.state.conversation import Message, Prompt, ToolSpec
from agentic.core.state.counters import Consulted
from agentic.core.state.execution import Execution
from agentic.core.state.tiers import (
    left_of,
    model_of,
    next_tier,
    short,
    tier_below,
)
from agentic.core.text.foreign_text import mark_of, one_line, section
from agentic.prompts.advice import SYSTEM

_TASK, _LOG_LINES, _SAID, _ADVICE = 3_000, 24, 1_000, 4_000
MOST = 16_000
"""Characters that the request has at most, beside its instructions."""


def prompt(execution: Execution, tools: tuple[ToolSpec, ...]) -> Prompt:
    """What the stronger model is asked: the task, what was done, what fails as it is, where the weaker one stands."""
    mark = mark_of(execution.started)
    files = sorted({change.path for change in execution.deeds.changes})[:20]
    parts = (
        ("Task", execution.task[:_TASK]),
        ("To do", "\n".join(f"[{item.state}] {item.text[:150]}" for item in execution.todo[:15])),
        ("Notes", "\n".join(note[:200] for note in execution.mind.notes[-8:])),
        ("Work so far, oldest first", "\n".join(recap.work_log(execution, _LOG_LINES))),
        ("Files changed", "\n".join(map(one_line, files))),
        ("What fails", "\n\n".join(recap.failures(execution))),
        ("Its last words", execution.turn.text[-_SAID:]),
    )
    text = "\n\n".join(section(mark, f"[{title}]", body) for title, body in parts if body)
    names = ", ".join(tool.name for tool in tools)
    asked = f"{text[:MOST]}\n\n{mark} [End of the data]\nIt can use: {names}.\nWhat do you advise?"
    return Prompt(system=SYSTEM, tools=(), messages=(Message("user", text=asked),))


def given(advice: Consulted) -> Intervened:
    """The advice as the present model is told it."""
    text = (
        f"{ADVICE}, {short(advice.model)}]\n{advice.text[:_ADVICE]}\n{ADVICE_ENDS} Follow it "
        "where it fits what you see; where it does not, say why. If it does not help, the stronger model takes over."
    )
    return Intervened(rule="advice", text=text)


Rule = Literal[
    "person", "empty_answers", "gave_up", "reported_stuck", "asked_for", "repetition", "same_error", "low_confidence",
    "corrections", "no_change",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trigger:
    """Why a stronger model should take over now; ``text`` in words for people."""

    rule: Rule
    text: str


def escalate(execution: Execution) -> Action | None:
    """Stuck: advice or a stronger model; at the top the person; where nobody can answer, the end."""
    if not execution.turn.ended:
        return None
    advice = execution.consulted
    if advice is not None and advice.purpose == ADVICE_RULE and not advice.failed:
        return Record((given(advice),))
    why = trigger(execution)
    if why is None:
        return _down(execution)
    higher = next_tier(execution)
    if higher is None:
        trigger_told = "" if why.rule == "reported_stuck" else why.text
        if execution.attended:
            return Ask(questions.stuck(execution, trigger_told))
        return Finish(task_end.stuck(execution, trigger_told))
    if _advises(execution, why):
        return _consult(execution, higher)
    return Record((_change(execution, higher, why.rule, why.text),))


def trigger(execution: Execution) -> Trigger | None:
    """What calls for a stronger model now, or None."""
    judged, policy = execution.judged, execution.policy
    if judged.climb.by_person:
        return Trigger("person", judged.climb.wanted)
    if judged.empty_answers > policy.empty_answers_nudged:
        return Trigger("empty_answers", "only empty answers")
    if words := gave_up(execution):
        return Trigger("gave_up", words)
    if execution.turn.number <= judged.climb.rests_through:
        return None
    return _signs(execution)


def gave_up(execution: Execution) -> str:
    """How its own end of the turn is none yet, because a stronger model can try; '' where it is, or where it goes on.

    Whoever says that it cannot be done, or still calls done what the log denies, is as stuck as who reports it.
    """
    turn, told = execution.turn, execution.told
    if not execution.policy.failure_escalates or next_tier(execution) is None or turn.number >= execution.turn_limit:
        return ""
    if turn.stop == "filtered" or told.unseen or told.put_back:
        return ""
    ended = task_end.completed(execution)
    if ended is None or ended.reason != "failed" or went_on(execution):
        return ""
    completion = finished_by(execution)
    gave = completion is not None and not completion.success
    if gave:
        return "it said it can't do this"
    return f"{'the tests contradict' if failing_tests(execution.deeds) else 'its own steps contradict'} its “done”"


def went_on(execution: Execution) -> bool:
    """Another model, or advice, already follows on the present turn: what it stated is no end any more."""
    turn = execution.turn
    return ADVICE_RULE in turn.intervened or (turn.answered and execution.judged.escalated_at_turn == turn.number)


def _signs(execution: Execution) -> Trigger | None:
    """The signs of being stuck, the plainest first."""
    judged, policy, climb = execution.judged, execution.policy, execution.judged.climb
    if judged.stuck_since:
        return Trigger("reported_stuck", "it said it is stuck")
    if climb.wanted:
        return Trigger("asked_for", climb.wanted)
    if again := loop_detection.stuck(execution):
        return Trigger("repetition", again)
    if judged.same_error >= policy.same_error_escalates:
        return Trigger("same_error", f"same error {judged.same_error} times")
    if climb.low_turns >= policy.low_confidence_turns:
        return Trigger("low_confidence", f"confidence below {policy.low_confidence} for {climb.low_turns} turns")
    if climb.corrections >= policy.corrections_escalate:
        return Trigger("corrections", f"corrected {climb.corrections} times")
    changing = execution.triage is not None and execution.triage.changes_files
    if changing and climb.unchanged_turns >= policy.unchanged_turns_escalate:
        turns = climb.unchanged_turns + climb.learned_turns
        return Trigger("no_change", f"{turns} turns without a file change")
    return None


def _advises(execution: Execution, why: Trigger) -> bool:
    """Advice comes first: once a tier, unless a person wants the model itself or nobody could follow it."""
    if not execution.policy.advise_first or why.rule in ("person", "empty_answers"):
        return False
    tried = execution.consulted is not None and execution.consulted.purpose == ADVICE_RULE
    return not tried and not execution.judged.climb.advised


def _consult(execution: Execution, higher: int) -> Consult:
    policy = execution.policy
    return Consult(
        purpose=ADVICE_RULE,
        turn=execution.turn.number,
        tier=higher,
        model=left_of(execution, higher)[0],
        max_tokens=policy.advice_tokens,
        seconds=min(policy.advice_seconds, policy.request_seconds),
    )


def _down(execution: Execution) -> Action | None:
    """Easy steps remain: the tier below goes on, where the policy says so; once."""
    climb, policy = execution.judged.climb, execution.policy
    if not policy.come_down or climb.came_down or not climb.risen or climb.calm_turns < policy.come_down_turns:
        return None
    lower = tier_below(execution)
    if lower is None:
        return None
    return Record((_change(execution, lower, "recovered", f"{climb.calm_turns} turns without a failure"),))


def _change(execution: Execution, to: int, rule: str, text: str) -> Escalated:
    """The change with what it was decided on."""
    judged, climb = execution.judged, execution.judged.climb
    return Escalated(
        from_tier=execution.tier,
        to_tier=to,
        trigger=text,
        rule=rule,
        from_model=model_of(execution),
        to_model=left_of(execution, to)[0],
        turn=execution.turn.number,
        confidence=execution.confidence.heuristic if execution.confidence is not None else None,
        usd=execution.spent.usd,
        tokens=execution.spent.tokens,
        counted={
            "low_turns": climb.low_turns,
            "unchanged_turns": climb.unchanged_turns,
            "learned_turns": climb.learned_turns,
            "corrections": climb.corrections,
            "same_error": judged.same_error,
            "empty_answers": judged.empty_answers,
            "advised": climb.advised,
            "risen": climb.risen,
        },
    )
