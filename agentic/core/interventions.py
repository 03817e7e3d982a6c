"""Nudges: one pure function each over the state; what it returns stands in the next request."""

from __future__ import annotations

from collections.abc import Callable

from agentic.core import completion
from agentic.core.actions import Action, Record
from agentic.core.events import Intervened
from agentic.core.evolving import EVIDENCE
from agentic.core.execution import Execution
from agentic.core.telling import NOTE


def empty_answer(execution: Execution) -> str:
    """The answer held neither text nor a call."""
    if not execution.judged.empty_answers or execution.judged.empty_answers > execution.policy.empty_answers_nudged:
        return ""
    return (
        f"{NOTE} Your last answer was empty. Go on in one of these ways: call a tool for the next step; "
        "if you lack something only the person knows, call ask_user; if the task is done, call finish."
    )


def truncated_answer(execution: Execution) -> str:
    """The answer was cut off by the length limit."""
    if execution.turn.stop != "length" or not execution.judged.truncated_answers:
        return ""
    return (
        f"{NOTE} Your last answer was cut off at the length limit; a call that was cut off did not run. "
        "Continue in smaller steps: write long files in several edits."
    )


def act_or_finish(execution: Execution) -> str:
    """Text without a call, in a task."""
    textual = execution.judged.textual_answers
    if execution.talk or not textual or textual > execution.policy.textual_answers_nudged:
        return ""
    return (
        f"{NOTE} You answered without acting. If the task is done, call finish with your claims and their evidence; "
        "otherwise call a tool for the next step."
    )


def evidence(execution: Execution) -> str:
    """The log denies what the completion claims; said once."""
    denied = completion.contradicted(execution)
    if not denied or execution.judged.evidence_nudges:
        return ""
    facts = "\n".join(f"- {claim.text} ({claim.command or claim.file}): {claim.note}" for claim in denied)
    return (
        f"{NOTE} You called finish, but the log denies what you claim:\n{facts}\nMend it, or finish with what is true."
    )


INTERVENTIONS: tuple[tuple[str, Callable[[Execution], str]], ...] = (
    (EVIDENCE, evidence),
    ("empty_answer", empty_answer),
    ("truncated_answer", truncated_answer),
    ("act_or_finish", act_or_finish),
)
"""In the order in which they speak; the first one that applies does."""


def intervene(execution: Execution) -> Action | None:
    """One nudge a turn, where one applies."""
    if not execution.turn.ended or execution.turn.intervened:
        return None
    for name, intervention in INTERVENTIONS:
        text = intervention(execution)
        if text:
            return Record((Intervened(rule=name, text=text),))
    return None
