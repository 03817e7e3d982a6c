"""evolve(execution, envelope) -> execution: the fold.

State is what the events say; there is no second truth.  One function an event, in a table one can read; an event
that is not in the table changes nothing but the position.  What rules count is derived here, and
``tests/unit/core/test_derived.py`` holds each derived value equal to a scan of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from agentic.core.claims.call_counts import take_report, turn_with, with_deeds
from agentic.core.events.execution_events import (
    BudgetRefused,
    CancelRequested,
    CheckpointSaved,
    CommitCreated,
    DeadlinePassed,
    Envelope,
    Escalated,
    Event,
    Finished,
    Intervened,
    Noted,
    Perceived,
    PlanEntered,
    PlanExited,
    PullRequestOpened,
    Reported,
    RulesChanged,
    Started,
    SubagentFinished,
    TodoChanged,
    ToolFinished,
    ToolStarted,
    Triaged,
    TurnEnded,
    WorkspaceRestored,
)
from agentic.core.fold import escalation_signs, exposure, loop_detection
from agentic.core.fold.compacted_turns import compacted
from agentic.core.fold.model_requests import model_answered, model_failed, model_requested
from agentic.core.fold.ownership import (
    handed_over,
    may_touch,
    owner_changed,
    quarantined,
    unsaved_with,
    workspace_found,
)
from agentic.core.fold.people import (
    allowance_used,
    allowances_ended,
    asked,
    asks_again,
    decided,
    gated,
    input_received,
    policy_changed,
    rested,
)
from agentic.core.fold.watchers import watched
from agentic.core.prompt.user_messages import (
    first_message,
    intervened,
    pictures_of,
    put_back,
    taken_over,
)
from agentic.core.state.execution import Execution, Failure, Told
from agentic.core.state.replace import changed, settled
from agentic.core.state.tiers import starting_tier, tier_for
from agentic.core.text.foreign_text import mark_of

MINUTES = "minutes"
"""The deadline of the whole execution."""
EVIDENCE = "evidence"
"""The intervention that sends a contradicted completion back."""


def fold(envelopes: Iterable[Envelope]) -> Execution:
    """The state after these events, from nothing."""
    execution = Execution()
    for envelope in envelopes:
        execution = evolve(execution, envelope)
    return execution


def evolve(execution: Execution, envelope: Envelope) -> Execution:
    """The state after one more event."""
    event = envelope.event
    step = _STEPS.get(event.kind)
    after = execution if step is None else rested(step(execution, event, envelope), envelope.at)
    return settled(
        after if after is not execution else changed(execution),
        id=envelope.execution,
        seq=envelope.seq,
        at=envelope.at,
        fence=max(execution.fence, envelope.fence),
    )


def _started(execution: Execution, event: Started, envelope: Envelope) -> Execution:
    return changed(
        execution,
        started=event,
        started_at=envelope.at,
        rules=event.rules,
        tier=starting_tier(event.policy),
        opened_hosts=event.opened_hosts,
        exposure=exposure.begun(event),
        told=Told(texts=(first_message(event),), pictures=pictures_of(event.files)),
        mind=changed(execution.mind, planning=event.planning),
    )


def _rules_changed(execution: Execution, event: RulesChanged, envelope: Envelope) -> Execution:
    return changed(execution, rules=event.rules)


def _triaged(execution: Execution, event: Triaged, envelope: Envelope) -> Execution:
    return changed(execution, triage=event, tier=tier_for(execution, event), consulted=None)


def _perceived(execution: Execution, event: Perceived, envelope: Envelope) -> Execution:
    """What was perceived stays until an answer has been given in its sight, also over a request that failed."""
    execution = changed(execution, exposure=exposure.merged(execution.exposure, event.exposure))
    if not (event.stale or event.changes or event.environment):
        return execution
    before = execution.mind.perceived
    if before is not None:
        event = Perceived(
            stale=(*before.stale, *event.stale),
            changes=(*before.changes, *event.changes),
            environment=event.environment or before.environment,
        )
    return changed(execution, mind=changed(execution.mind, perceived=event))


def _tool_started(execution: Execution, event: ToolStarted, envelope: Envelope) -> Execution:
    return may_touch(
        execution, event, turn_with(execution.turn, event.call, {"intent": event, "fence": envelope.fence})
    )


def _tool_finished(execution: Execution, event: ToolFinished, envelope: Envelope) -> Execution:
    judged, turn = execution.judged, execution.turn
    errors, repeats = loop_detection.with_result(execution, event)
    ran = event.outcome in ("ok", "failed")
    ok = event.outcome == "ok"
    tests, passes_more = judged.tests, False
    if event.tests_passed is not None or event.tests_failed is not None:
        tests = (event.tests_passed or 0, event.tests_failed or 0)
        passes_more = judged.tests is not None and tests[0] > judged.tests[0]
    return changed(
        execution,
        deeds=with_deeds(execution, event),
        exposure=exposure.resulted(execution, event),
        unsaved=unsaved_with(execution, event.changes) if event.changes else execution.unsaved,
        opened_hosts=tuple(dict.fromkeys((*execution.opened_hosts, *event.opened_hosts))),
        told=_shown(execution.told, event),
        judged=changed(
            judged,
            calls=judged.calls + ran,
            calls_ok=judged.calls_ok + ok,
            errors_since=errors,
            tests=tests,
            repeats=repeats,
        ),
        turn=turn_with(
            turn,
            event.call,
            {"result": event},
            failed_calls=turn.failed_calls + (event.outcome == "failed"),
            changed=turn.changed or bool(event.changes) or passes_more or event.outcome == "unknown",
        ),
    )


def _shown(told: Told, event: ToolFinished) -> Told:
    """The pictures that a call brought go with its result."""
    pictures = pictures_of(event.files) if event.files else ()
    return changed(told, pictures=(*told.pictures, *pictures)) if pictures else told


def _cancel_requested(execution: Execution, event: CancelRequested, envelope: Envelope) -> Execution:
    return changed(execution, cancelled=execution.cancelled.union(event.refs))


def _turn_ended(execution: Execution, event: TurnEnded, envelope: Envelope) -> Execution:
    judged, turn = execution.judged, execution.turn
    ran = [call for call in turn.calls if call.result and call.result.outcome in ("ok", "failed")]
    ok = len([call for call in ran if call.result and call.result.outcome == "ok"])
    return changed(
        execution,
        confidence=event.confidence,
        turn=changed(turn, ended=True),
        judged=changed(
            judged,
            recent=(*judged.recent, (ok, len(ran)))[-3:],
            turns_unchanged=0 if turn.changed else judged.turns_unchanged + 1,
            turns_changed=judged.turns_changed + turn.changed,
            turns_unreported=0 if judged.reported_this_turn else judged.turns_unreported + 1,
            climb=escalation_signs.turn_ended(execution, event.confidence),
            repeats=loop_detection.turn_ended(execution),
        ),
    )


def _deadline_passed(execution: Execution, event: DeadlinePassed, envelope: Envelope) -> Execution:
    if event.ref == MINUTES:
        return changed(execution, spent=changed(execution.spent, minutes_passed=True))
    if execution.question is not None and event.ref == execution.question.question:
        return changed(execution, expired=True)
    return changed(execution, failure=changed(execution.failure, waited=True))


def _intervened(execution: Execution, event: Intervened, envelope: Envelope) -> Execution:
    told, turn = execution.told, execution.turn
    judged = escalation_signs.advised(execution) if event.rule == escalation_signs.ADVICE_RULE else execution.judged
    return changed(
        execution,
        judged=changed(
            judged,
            evidence_nudges=judged.evidence_nudges + (event.rule == EVIDENCE),
            nudges=(*judged.nudges, (event.rule, turn.number)),
        ),
        told=changed(told, texts=(*told.texts, intervened(event.text, mark_of(execution.started)))),
        turn=changed(turn, intervened=(*turn.intervened, event.rule)),
        decided=None,
        consulted=None,
    )


def _escalated(execution: Execution, event: Escalated, envelope: Envelope) -> Execution:
    told = changed(execution.told, texts=(*execution.told.texts, taken_over(event, mark_of(execution.started))))
    execution = changed(execution, tier=event.to_tier, judged=escalation_signs.escalated(execution, event), told=told)
    return changed(execution, decided=None, consulted=None, failure=Failure())


def _noted(execution: Execution, event: Noted, envelope: Envelope) -> Execution:
    if event.text not in execution.mind.notes:
        execution = loop_detection.progressed(execution)
    execution = changed(execution, mind=changed(execution.mind, notes=(*execution.mind.notes, event.text)))
    return changed(execution, turn=changed(execution.turn, changed=True))


def _reported(execution: Execution, event: Reported, envelope: Envelope) -> Execution:
    return take_report(execution, event)


def _todo_changed(execution: Execution, event: TodoChanged, envelope: Envelope) -> Execution:
    done_before = sum(item.state == "done" for item in execution.mind.todo)
    done_now = sum(item.state == "done" for item in event.items)
    if done_now > done_before:
        execution = loop_detection.progressed(execution)
    execution = changed(execution, mind=changed(execution.mind, todo=event.items))
    return changed(execution, turn=changed(execution.turn, changed=execution.turn.changed or done_now > done_before))


def _plan_entered(execution: Execution, event: PlanEntered, envelope: Envelope) -> Execution:
    return changed(execution, mind=changed(execution.mind, planning=True))


def _plan_exited(execution: Execution, event: PlanExited, envelope: Envelope) -> Execution:
    """Whoever agreed has seen where it stands: that is progress, whatever the turns before it came to."""
    execution = loop_detection.progressed(execution)
    execution = changed(execution, mind=changed(execution.mind, planning=False, plan=event.plan))
    return changed(execution, turn=changed(execution.turn, changed=True))


def _checkpoint_saved(execution: Execution, event: CheckpointSaved, envelope: Envelope) -> Execution:
    execution = changed(execution, checkpoint=execution.checkpoint or event, saved=event, touched=False)
    return changed(execution, unsaved=(), beside=event.not_kept) if event.manifest else execution


def _workspace_restored(execution: Execution, event: WorkspaceRestored, envelope: Envelope) -> Execution:
    """It goes on from here: what had ended or held it is over, and the time between is nobody's work.

    Whoever allowed something for the whole task did not allow it here.
    """
    gone = (envelope.at - execution.at).total_seconds() if execution.at and execution.resting_since is None else 0.0
    spent = changed(execution.spent, minutes_passed=False, waiting=execution.spent.waiting + max(gone, 0.0))
    told = changed(
        execution.told, texts=(*execution.told.texts, put_back(event, mark_of(execution.started))), put_back=True
    )
    execution = changed(execution, stopping=None, withdrawn=None, paused=None, refused=None, told=told, spent=spent)
    execution = changed(execution, question=None, partial={}, answer=None, expired=False, decided=None)
    execution = changed(execution, crashes=0, handed_over=True, quarantined=None, suspect=False, beside=(), unsaved=())
    execution = asks_again(execution)
    return changed(execution, failure=Failure(), mind=changed(execution.mind, perceived=None), touched=False)


def _commit_created(execution: Execution, event: CommitCreated, envelope: Envelope) -> Execution:
    execution = changed(execution, mind=changed(execution.mind, offers=(*execution.mind.offers, event)))
    offered = execution.deeds.offered | frozenset(event.paths)
    execution = changed(execution, deeds=changed(execution.deeds, offered=offered))
    return changed(execution, turn=changed(execution.turn, changed=True))


def _pull_request_opened(execution: Execution, event: PullRequestOpened, envelope: Envelope) -> Execution:
    execution = changed(execution, mind=changed(execution.mind, pulls=(*execution.mind.pulls, event)))
    return changed(execution, turn=changed(execution.turn, changed=True))


def _subagent_finished(execution: Execution, event: SubagentFinished, envelope: Envelope) -> Execution:
    """What a child spent was granted to it out of what its parent may spend."""
    spent = execution.spent
    return changed(
        execution, spent=changed(spent, usd=spent.usd + event.spent_usd, tokens=spent.tokens + event.spent_tokens)
    )


def _budget_refused(execution: Execution, event: BudgetRefused, envelope: Envelope) -> Execution:
    return changed(execution, refused=event)


def _finished(execution: Execution, event: Finished, envelope: Envelope) -> Execution:
    return changed(execution, finished=event, question=None)


_Step = Callable[[Execution, Event, Envelope], Execution]

_STEPS = cast(
    "dict[str, _Step]",
    {
        "started": _started,
        "owner_changed": owner_changed,
        "handed_over": handed_over,
        "quarantined": quarantined,
        "workspace_found": workspace_found,
        "rules_changed": _rules_changed,
        "triaged": _triaged,
        "input_received": input_received,
        "policy_changed": policy_changed,
        "perceived": _perceived,
        "model_requested": model_requested,
        "model_answered": model_answered,
        "model_failed": model_failed,
        "tool_started": _tool_started,
        "tool_finished": _tool_finished,
        "cancel_requested": _cancel_requested,
        "turn_ended": _turn_ended,
        "asked": asked,
        "decided": decided,
        "deadline_passed": _deadline_passed,
        "intervened": _intervened,
        "escalated": _escalated,
        "compacted": compacted,
        "noted": _noted,
        "reported": _reported,
        "stronger_wanted": escalation_signs.stronger_wanted,
        "todo_changed": _todo_changed,
        "plan_entered": _plan_entered,
        "plan_exited": _plan_exited,
        "watched": watched,
        "gated": gated,
        "allowance_used": allowance_used,
        "allowances_ended": allowances_ended,
        "checkpoint_saved": _checkpoint_saved,
        "workspace_restored": _workspace_restored,
        "commit_created": _commit_created,
        "pull_request_opened": _pull_request_opened,
        "subagent_finished": _subagent_finished,
        "budget_refused": _budget_refused,
        "finished": _finished,
    },
)
