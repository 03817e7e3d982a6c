"""How an execution ends, and how a call gets its result without having run."""

from __future__ import annotations

from agentic.core.claims.completion import (
    Completion,
    denied,
    finished_by,
    judged_claims,
    objections,
    shown_files,
    too_early,
    unchanged,
    unmarked,
)
from agentic.core.events.execution_events import (
    Claim,
    Event,
    Finished,
    ModelFailed,
    Reason,
    ToolFinished,
)
from agentic.core.fold.fold import EVIDENCE
from agentic.core.prompt import roles
from agentic.core.prompt.tools_on_demand import described
from agentic.core.state.actions import (
    Action,
    Cancel,
    Finish,
    Record,
    Wait,
)
from agentic.core.state.execution import FINISH, Call, Execution
from agentic.core.state.tiers import strongest
from agentic.core.text.last_note import LAST_NOTE, without_own_fields

UNSEEN = (
    "Not used:",
    "What was written last did not reach me any more; write it again if it still matters.",
)
"""How an end says that no request carried what people said last: now, and in logs by rules before version 4."""
QUOTED = 3
"""So many messages that were not used are quoted; more are counted."""
WITHOUT_FINISH = Claim(text="This answer was given without calling finish.", note="no evidence was given")


def stopped(execution: Execution) -> Finished:
    """The end after a stop."""
    who = execution.stopping.author.name if execution.stopping else "a person"
    return ended_for(execution, "stopped", f"Stopped by {who}.")


def withdrawn(execution: Execution) -> Finished:
    """The end of a task whose message was deleted before anything had been done."""
    return ended_for(execution, "cancelled", "The task's message was deleted before I began, so I dropped the task.")


def at_limit(execution: Execution) -> Finished:
    """The end at the turn limit."""
    turns = "1 turn" if execution.turn_limit == 1 else f"{execution.turn_limit} turns"
    return ended_for(execution, "limit", f"I stopped at my limit of {turns} before I was done.")


def stuck(execution: Execution, trigger: str) -> Finished:
    """The end when no stronger model and no person can help."""
    return ended_for(execution, "stuck", stuck_at_the_top(execution, trigger))


def stuck_at_the_top(execution: Execution, trigger: str) -> str:
    """The words for being stuck with no stronger model left; '' as the trigger where its own report says why."""
    why = f" Why: {trigger}." if trigger else ""
    return f"I'm stuck, and this is already {strongest(execution)}.{why}"


def reported(execution: Execution) -> str:
    """The note with which the model reported that it is stuck, quoted; '' where there is none."""
    report = execution.judged.reported
    if report is None or report.status != "stuck" or not report.note.strip():
        return ""
    return f"\n\nIn the model's own words:\n{quoted(report.note, 800)}"


def quoted(said: str, most: int) -> str:
    """Words of the model as a quotation."""
    return "\n".join(f"> {line}" for line in said.strip()[:most].splitlines())


def stopped_here(execution: Execution) -> Finished:
    """The end that a person chose when it was stuck."""
    return ended_for(
        execution, "stuck", f"I was stuck, and this was already {strongest(execution)}. Ended here, as you chose."
    )


def completed(execution: Execution) -> Finished | None:
    """The end that the current turn states, or None.  Evidence wins: what the log denies is sent back, then no success."""
    completion = finished_by(execution)
    turn = execution.turn
    if execution.policy.tour:
        return _toured(execution, completion)
    if completion is not None:
        if objections(execution) and (EVIDENCE in turn.intervened or not execution.judged.evidence_nudges):
            return None
        shown = shown_files(execution, completion.files)
        return _claimed(execution, completion, completion.answer or turn.text, shown)
    if turn.stop == "filtered":
        return ended_for(execution, "failed", "The provider's content rules refused this. Put the task in other words.")
    if turn.calls or not turn.text or turn.stop == "length":
        return None
    if execution.talk:
        return _ended(execution, "done", turn.text)
    if execution.judged.textual_answers > execution.policy.textual_answers_nudged:
        return _claimed(execution, None, unmarked(turn.text), shown_files(execution))
    return None


def _toured(execution: Execution, completion: Completion | None) -> Finished | None:
    """The end of the tour, which is no answer: no claims, no confidence."""
    if completion is None and (execution.turn.calls or not execution.turn.text):
        return None
    said = completion or Completion()
    return Finished(reason="tour", answer=said.answer or execution.turn.text, files=said.files)


def _claimed(execution: Execution, completion: Completion | None, answer: str, files: tuple[str, ...]) -> Finished:
    """The end with its claims as the log judges them; an answer that was given without ``finish`` has none."""
    said = completion or Completion(answer=answer)
    claims = judged_claims(execution, said) if completion is not None else (WITHOUT_FINISH,)
    against = denied(execution, said)
    reason: Reason = "done" if said.success and not against else "failed"
    extra = tuple(claim for claim in against if claim not in claims)
    return _ended(
        execution,
        reason,
        answer,
        claims=(*extra, *claims),
        files=files,
        last_words=reason != "done",
        unchanged=said.success and unchanged(execution),
    )


def close(execution: Execution, ended: Finished, reason: str) -> Action:
    """End what runs, then give every open call its result, then finish."""
    ending = ended_running(execution, reason)
    if ending is not None:
        return ending
    closed = results_of_open(execution, reason)
    return Record(closed) if closed else Finish(ended)


def ended_running(execution: Execution, reason: str) -> Action | None:
    """End what runs, and wait until it has its result; None where nothing runs."""
    running = [call.id for call in execution.calls_in_flight]
    if execution.request_in_flight is not None:
        running.append(execution.request_in_flight.id)
    fresh = tuple(ref for ref in running if ref not in execution.cancelled)
    if fresh:
        return Cancel(fresh, reason)
    return Wait() if running else None


def refused(execution: Execution, call: Call) -> ToolFinished | None:
    """The result of a call that cannot run as it was written; None where it can be tried."""
    block = call.block
    known = {tool.name for tool in roles.recorded(execution)}
    if block.problem == "cut_off":
        text = "This call was cut off at the length limit and did not run. Make it shorter and send it again."
    elif block.problem == "malformed":
        text = (
            "This call did not run: its arguments are not a JSON object. Send the same call again with valid JSON. "
            f"It began: {block.raw[:200]}"
        )
    elif execution.talk and block.tool in known:
        text = "This did not run: there were no tools in this turn. They come with the next one; send the call again."
    elif block.tool not in known:
        tools = ", ".join(sorted(tool.name for tool in described(roles.known(execution))))
        text = f"There is no tool {block.tool!r}. The tools are: {tools}."
    elif block.tool == FINISH and (early := too_early(execution, call)):
        text = early
    else:
        text = roles.refusal(execution, call)
    return ToolFinished(call=call.id, outcome="refused", preview=text) if text else None


def unknown(call: Call) -> ToolFinished:
    """The result of an effect whose owner died: it may or may not have happened, and is not repeated."""
    text = (
        "Outcome unknown: Threadwright was interrupted while this ran. It may have run wholly, partly or not at all, "
        "and it was not repeated. Look at the state before you go on."
    )
    return ToolFinished(call=call.id, outcome="unknown", preview=text)


def results_of_open(execution: Execution, reason: str) -> tuple[Event, ...]:
    """A result for everything that is still open when the execution ends."""
    events: list[Event] = []
    if execution.request is not None:
        events.append(ModelFailed(request=execution.request.id, failure="lost", message=reason))
    for call in execution.open_calls:
        begun = call.intent is not None and not call.asked and call.intent.effect == "unkeyed"
        preview = f"Cancelled: {reason}."
        events.append(unknown(call) if begun else ToolFinished(call=call.id, outcome="cancelled", preview=preview))
    return tuple(events)


def unseen(execution: Execution) -> str:
    """What people said and no request carried is said to be lost, by its words."""
    lost = execution.told.unseen
    if not lost:
        return ""
    more = f" and {len(lost) - QUOTED} more" if len(lost) > QUOTED else ""
    return f" {UNSEEN[0]} {', '.join(lost[:QUOTED])}{more}."


def ended_for(execution: Execution, reason: Reason, answer: str) -> Finished:
    """An end that nothing proves, with the last words of the model."""
    answer += unseen(execution)
    if reason == "stuck":
        answer += reported(execution)
    said = without_own_fields(execution.turn.text).strip()
    if said:
        answer += f"\n\n{LAST_NOTE}\n{quoted(said, 1_500)}"
    return _ended(execution, reason, answer, files=())


def _ended(
    execution: Execution,
    reason: Reason,
    answer: str,
    *,
    claims: tuple[Claim, ...] = (),
    files: tuple[str, ...] = (),
    last_words: bool = False,
    unchanged: bool = False,
) -> Finished:
    shown = execution.confidence.shown if execution.confidence else 0
    return Finished(
        reason=reason,
        answer=answer,
        claims=claims,
        files=files,
        confidence=shown,
        last_words=last_words,
        unchanged=unchanged,
    )
