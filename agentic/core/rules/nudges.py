"""Nudges: one pure function each over the state; what it returns stands in the next request.

One speaks a turn, the first in the order below that has something to say.  None says the same thing for the same cause turn
after turn: what a nudge does not change is answered by ``escalation``, by the limits, or by the end.
"""

from __future__ import annotations

from collections.abc import Callable

from agentic.core.claims import completion
from agentic.core.events.execution_events import Intervened
from agentic.core.fold.fold import EVIDENCE
from agentic.core.fold.loop_detection import repeating
from agentic.core.prompt.recap import open_steps, steps_told
from agentic.core.prompt.user_messages import NOTE
from agentic.core.state.actions import Action, Record
from agentic.core.state.execution import Execution
from agentic.core.text.announced_intent import promises

REPETITION, SNAPSHOT = "repetition", "snapshot"
_STEPS = 5
"""Steps that a snapshot tells of."""


def empty_answer(execution: Execution) -> str:
    """The answer held neither text nor a call: concrete ways on, other ones the second time."""
    times = execution.judged.empty_answers
    if not times or times > execution.policy.empty_answers_nudged:
        return ""
    if times == 1:
        return (
            f"{NOTE} Your last answer was empty. Go on in one of these ways: call a tool for the next step; "
            "if you lack something only the person knows, call ask_user; if the task is done, call finish."
        )
    planned = open_steps(execution)[:1]
    last = steps_told(execution)[-1:]
    ways = [f"go on with what you planned: {step}" for step in planned]
    ways += [f"look at what came of your last step ({step}), and take the one that follows from it" for step in last]
    ways += ["call list for the files of the workspace", "call report with status stuck, and say what is in the way"]
    return f"{NOTE} Your answer was empty again. Do one of these now:\n" + "\n".join(f"- {way}" for way in ways)


def truncated_answer(execution: Execution) -> str:
    """The answer was cut off by the length limit."""
    times = execution.judged.truncated_answers
    if not times:
        return ""
    if times > 1:
        return (
            f"{NOTE} Your answer was cut off at the length limit again. Write no long text and no whole file: call one tool "
            "with short arguments, and add to a file piece by piece."
        )
    return (
        f"{NOTE} Your last answer was cut off at the length limit; a call that was cut off did not run. "
        "Continue in smaller steps: write long files in several edits."
    )


def productivity(execution: Execution) -> str:
    """Turns running without a tool that looks or acts."""
    idle, patience = execution.judged.repeats.idle_turns, execution.policy.productivity_turns
    if execution.talk or not idle or idle % patience:
        return ""
    return (
        f"{NOTE} For {idle} turns you used no tool that looks or acts. Do one of these now: take the next step with a tool; "
        "call finish, if the task is done; or name what blocks you, with ask_user or with report and status stuck."
    )


def unfinished_intent(execution: Execution) -> str:
    """It says what it is about to do, and does not do it."""
    if execution.talk or execution.turn.calls or _spoke(execution, "unfinished_intent", turns=1):
        return ""
    if not promises(execution.turn.text):
        return ""
    return f"{NOTE} You said what you are about to do, but called no tool, so nothing was done. Make the call now."


def act_or_finish(execution: Execution) -> str:
    """Text without a call, in a task."""
    turn = execution.turn
    if execution.talk or turn.calls or not turn.text:
        return ""
    return (
        f"{NOTE} You answered without acting. If the task is done, call finish with your claims and their evidence; "
        "otherwise call a tool for the next step."
    )


def evidence(execution: Execution) -> str:
    """The log denies what the completion claims; said once."""
    against = completion.objections(execution)
    if not against or execution.judged.evidence_nudges:
        return ""
    return (
        f"{NOTE} You said that the task is done, but the log does not bear it out:\n{completion.facts(against)}\n"
        "Mend it, run what is stale or hidden again by itself, and finish with what is true. If a test is meant to fail, "
        "claim its command with the exit code it has; if the task cannot be done, finish with success false."
    )


def premature(execution: Execution) -> str:
    """The marker beside calls: what came of them was not known when it was written."""
    others = completion.beside(execution)
    if not others or not completion.is_marked(execution):
        return ""
    return (
        f"{NOTE} You wrote that the task is done beside calls whose results you had not seen, so it does not count:\n"
        f"{completion.results_told(others)}\nMend what failed; if they bear you out, call finish by itself."
    )


def repetition(execution: Execution) -> str:
    """What it does repeats itself; said once, and again only when it has lasted a while."""
    again = repeating(execution)
    if not again or _spoke(execution, REPETITION, turns=execution.policy.repeats_nudged):
        return ""
    return (
        f"{NOTE} You repeat yourself: {again}. Once more will not help. Look at something you have not looked at, or go "
        "another way; if nothing is left to try, call ask_user, or report with status stuck."
    )


def snapshot(execution: Execution) -> str:
    """Now and then, in the first turns: what was done last, and what is next."""
    policy, number = execution.policy, execution.turn.number
    due = number >= policy.snapshot_from and (number - policy.snapshot_from) % policy.snapshot_every == 0
    given = sum(rule == SNAPSHOT for rule, _ in execution.judged.nudges)
    if execution.talk or not due or given >= policy.snapshots or not execution.turn.calls:
        return ""
    done = steps_told(execution)[-_STEPS:]
    planned = open_steps(execution)[:1]
    following = f"Next on your list: {planned[0]}." if planned else "What is the next step to the goal? Take it."
    return f"{NOTE} So far: {'; '.join(done)}. {following}"


INTERVENTIONS: tuple[tuple[str, Callable[[Execution], str]], ...] = (
    (EVIDENCE, evidence),
    ("premature", premature),
    ("empty_answer", empty_answer),
    ("truncated_answer", truncated_answer),
    ("productivity", productivity),
    ("unfinished_intent", unfinished_intent),
    ("act_or_finish", act_or_finish),
    (REPETITION, repetition),
    (SNAPSHOT, snapshot),
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


def _spoke(execution: Execution, name: str, *, turns: int) -> bool:
    """It spoke within the last turns."""
    since = execution.turn.number - turns
    return any(rule == name and turn >= since for rule, turn in execution.judged.nudges)
