"""decide(execution) -> Action: one visible, ordered tuple of rules; the first that answers wins.

Total and deterministic: it reads the execution and nothing else.  Time enters as ``DeadlinePassed``; what a rule
waits for stands in ``Wait``.  The order holds the promises: a stop comes before everything that could begin
something new, an intent of an earlier owner is settled before anything is begun, and money is looked at before work.
"""

from __future__ import annotations

from collections.abc import Callable

from agentic.core.claims import completion, confidence
from agentic.core.events.execution_events import (
    ModelFailed,
    Quarantined,
    ToolFinished,
    TurnEnded,
)
from agentic.core.fold import ownership
from agentic.core.rules import approvals as approving
from agentic.core.rules import (
    checkpoints,
    escalation,
    model_failures,
    questions,
    task_end,
)
from agentic.core.rules.budget import budget, limit, out_of_time
from agentic.core.rules.compaction import compact
from agentic.core.rules.escalation import escalate
from agentic.core.rules.nudges import intervene
from agentic.core.rules.questions import decided, waiting
from agentic.core.rules.triage import untriaged
from agentic.core.rules.watchers.watch_rules import watch_calls, watch_turn, watched
from agentic.core.state.actions import (
    Action,
    Ask,
    Checkpoint,
    Finish,
    Inspect,
    Record,
    Think,
    UseTools,
    Wait,
)
from agentic.core.state.execution import Call, Execution
from agentic.core.state.tiers import model_of

RULES_VERSION = 5
"""Recorded in each log, so that ``agentic/core/audit/verification.py`` knows which logs these rules can judge.
Counts up with every change after
which some log would be continued otherwise; the golden runs of tests/golden show that one has happened."""


def decide(execution: Execution) -> Action:
    """What to do next."""
    for rule in RULES:
        action = rule(execution)
        if action is not None:
            return action
    return think(execution)


def finished(execution: Execution) -> Action | None:
    """Nothing happens before the start or after the end."""
    return Wait() if execution.finished is not None or execution.started is None else None


def unrestored(execution: Execution) -> Action | None:
    """An owner ended while it restored what a call had destroyed that was told to end: before the end this is ended."""
    ended = any(call.id in execution.cancelled for call in ownership.cut_off(execution))
    return inspect(execution) if ended and not ownership.is_crashing(execution) else None


def stopping(execution: Execution) -> Action | None:
    """A stop ends what runs, gives every open call its result, and then the execution."""
    if execution.stopping is None:
        return None
    return task_end.close(execution, task_end.stopped(execution), f"stopped by {execution.stopping.author.name}")


def withdrawn(execution: Execution) -> Action | None:
    """The task's message was deleted before anything had been done: nothing is."""
    if execution.withdrawn is None:
        return None
    return task_end.close(execution, task_end.withdrawn(execution), "its message was deleted")


def quarantine(execution: Execution) -> Action | None:
    """What ended its owners again and again is left alone until a person says something."""
    if execution.quarantined is not None:
        return Wait()
    if not ownership.is_crashing(execution):
        return None
    return Record((Quarantined(reason=f"the bot crashed {execution.crashes} times while it worked on this"),))


def inspect(execution: Execution) -> Action | None:
    """An owner ended while files might have been changing: what became of them comes before anything else."""
    return Inspect(model_failures.standing_timers(execution)) if execution.suspect else None


def older_fence(execution: Execution) -> Action | None:
    """Intents of an earlier owner: what may run again runs again, the rest is said to be unknown."""
    request = execution.request
    if request is not None and request.fence != execution.fence:
        return Record(
            (ModelFailed(request=request.id, failure="lost", message="the bot stopped before the answer came"),)
        )
    left = [call for call in execution.open_calls if call.intent and not call.asked and call.fence != execution.fence]
    reads = tuple(call for call in left if call.intent and call.intent.effect == "read")
    keyed = tuple(call for call in left if call.intent and call.intent.effect == "keyed")
    if execution.paused is not None and (reads or keyed):
        return Wait()
    if reads or keyed:
        return UseTools(reads[: execution.policy.parallel_reads] or keyed[:1])
    return Record(tuple(task_end.unknown(call) for call in left)) if left else None


def paused(execution: Execution) -> Action | None:
    """What runs ends by itself, and nothing new begins; only the time for an approval goes on."""
    if execution.paused is None:
        return None
    waits = execution.question if not execution.expired else None
    return Wait(questions.expiry(waits) if waits is not None else ())


def deadlines(execution: Execution) -> Action | None:
    """What nobody decided in time is decided: an approval is denied."""
    if execution.question is None or not execution.expired:
        return None
    return Record((questions.too_late(execution.question),))


def in_flight(execution: Execution) -> Action | None:
    """Effects run: wait for them, for people, and for the cap on time."""
    if execution.request_in_flight is None and not execution.calls_in_flight:
        return None
    return Wait(model_failures.standing_timers(execution))


def checkpoint(execution: Execution) -> Action | None:
    """The workspace is saved before the first change, every few turns, and before a person is asked."""
    moment = checkpoints.due(execution)
    return Checkpoint(model_failures.standing_timers(execution), moment) if moment is not None else None


def approvals(execution: Execution) -> Action | None:
    """The next call must be approved by a person: ask, unless they allowed it for the whole task.

    What was denied, or what nobody can approve, gets its result.
    """
    call = next(iter(execution.open_calls), None)
    if call is None or not call.held_back or execution.question is not None:
        return None
    denied = approving.denial(execution, call)
    settled = denied or approving.allowance(execution, call)
    return Record((settled,)) if settled is not None else Ask(approving.approval(execution, call))


def rule_of_two(execution: Execution) -> Action | None:
    """Words of strangers were read and what is private is at hand: the next act outside is put to a person."""
    call = next(iter(execution.open_calls), None)
    if call is None or call.intent is not None or call.gated is not None or task_end.refused(execution, call):
        return None
    leaving = approving.leaving(execution, call)
    return UseTools((call,), leaving) if leaving is not None else None


def open_calls(execution: Execution) -> Action | None:
    """Calls run in the order given; reads that stand next to each other run together, acts outside alone."""
    calls = execution.open_calls
    if not calls or calls[0].asked:
        return _answered_call(execution, calls[0]) if calls else None
    if calls[0].held_back:
        return None
    refused = task_end.refused(execution, calls[0])
    if refused is not None:
        return Record((refused,))
    effects = {tool.name: tool.effect for tool in execution.started.tools} if execution.started else {}
    batch: list[Call] = []
    for call in calls[: execution.policy.parallel_reads]:
        reads = effects.get(call.block.tool) == "read" and not approving.goes_to(execution, call)
        if not reads or call.block.problem or call.held_back:
            break
        batch.append(call)
    return UseTools(tuple(batch) or calls[:1])


def end_of_turn(execution: Execution) -> Action | None:
    """Every call has its result: the turn ends with its confidence."""
    turn = execution.turn
    if turn.ended or not turn.answered or execution.open_calls:
        return None
    value = confidence.of_turn(execution, proven=completion.proven(execution), idle=completion.ends_idly(execution))
    return Record((TurnEnded(turn=turn.number, confidence=value),))


def model_failed(execution: Execution) -> Action | None:
    """Later, by another model of the tier; an account out of order rests; the tier below; else a visible end."""
    if model_failures.is_final(execution):
        account, back = model_failures.account(execution), model_failures.tier_back(execution)
        if account is not None:
            return Ask(account)
        return Record((back,)) if back is not None else Finish(model_failures.ended(execution))
    timer = model_failures.back_off(execution)
    return Wait((timer, *model_failures.standing_timers(execution))) if timer is not None else None


def completed(execution: Execution) -> Action | None:
    """Done, unless a person said something the model has not seen, or had it go on from there, or a stronger one follows."""
    if not execution.turn.answered or execution.told.unseen or execution.told.put_back:
        return None
    ended = task_end.completed(execution)
    open_ = ended is None or escalation.went_on(execution) or escalation.gave_up(execution)
    return Finish(ended) if ended is not None and not open_ else None


def think(execution: Execution) -> Action:
    """Nothing else is to be done: the next turn."""
    turn, policy = execution.turn, execution.policy
    return Think(
        turn=turn.number + 1 if turn.ended else turn.number,
        tier=execution.tier,
        model=model_of(execution),
        attempt=execution.failure.count + 1,
        max_tokens=policy.answer_tokens,
        seconds=policy.request_seconds,
    )


Rule = Callable[[Execution], Action | None]

RULES: tuple[Rule, ...] = (
    finished,
    unrestored,
    stopping,
    withdrawn,
    out_of_time,
    quarantine,
    inspect,
    older_fence,
    paused,
    deadlines,
    in_flight,
    watched,
    budget,
    watch_calls,
    checkpoint,
    approvals,
    rule_of_two,
    open_calls,
    end_of_turn,
    waiting,
    decided,
    untriaged,
    model_failed,
    completed,
    limit,
    escalate,
    intervene,
    compact,
    watch_turn,
)
"""The order of events.md; ``think`` comes last, where no rule answers."""


def _answered_call(execution: Execution, call: Call) -> Action | None:
    decision = execution.decided
    if decision is None or decision.question != call.asked:
        return None
    if execution.decided_on is not None and execution.decided_on.sort == "plan":
        return Record(questions.plan_answer(execution, call.id))
    preview = questions.answer_of(execution.decided_on, decision)
    return Record((ToolFinished(call=call.id, outcome="ok", preview=preview),))
