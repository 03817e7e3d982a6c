"""The part of the fold that people cause: what they say, what they are asked, what they decide, what they hold."""

from __future__ import annotations

from datetime import datetime

from agentic.core.claims import confidence
from agentic.core.claims.call_counts import call_of, change_call
from agentic.core.events.execution_events import (
    AllowancesEnded,
    AllowanceUsed,
    Asked,
    Decided,
    Envelope,
    Gated,
    InputReceived,
    Person,
    PolicyChanged,
)
from agentic.core.fold import escalation_signs, exposure
from agentic.core.fold.ownership import brought, heard_from, unsaved_with
from agentic.core.prompt.user_messages import guidance, pictures_of
from agentic.core.state.counters import DayRaise
from agentic.core.state.execution import Allowance, CallReply, Execution, Failure
from agentic.core.state.replace import changed
from agentic.core.text.amounts import COUNTED, read
from agentic.core.text.answers import in_parts, option_of, refusal
from agentic.core.text.foreign_text import mark_of, one_line

ALLOW = "allow"
"""The choice that lets a gated call run, once."""
ALWAYS = "always"
"""The choice that lets it run, and keeps for later tasks what it opens."""
FOR_TASK = "for_task"
"""The choice that lets it run, and lets the task do the same again without a question."""
DENY = "deny"
MACHINE = Person(id="0", name="Threadwright", level="operator")
"""Who acts where no person does: a time that is over, a thread that is locked."""


def input_received(execution: Execution, event: InputReceived, envelope: Envelope) -> Execution:
    """A stop, a pause, an answer, a correction or guidance of a person."""
    execution = brought(heard_from(execution, event, machine=MACHINE.id), event)
    execution = changed(execution, exposure=exposure.heard(execution, event))
    if event.sort == "stop":
        return changed(execution, stopping=execution.stopping or event, dropped=())
    if event.sort == "queue":
        return changed(execution, dropped=(*execution.dropped, quoted(event)))
    if event.sort in ("pause", "resume"):
        return _held(execution, event)
    if event.sort == "revoke":
        return asks_again(execution)
    if event.sort == "deleted":
        return _deleted(execution, event)
    if event.sort == "answer" and event.target and refusal(execution, event):
        return _turned_down(execution, event)
    if _answers(execution, event):
        return _answered(execution, event)
    if event.sort == "correction":
        judged = changed(
            execution.judged, corrections=execution.judged.corrections + 1, climb=escalation_signs.corrected(execution)
        )
        execution = changed(execution, judged=judged)
    if event.sort == "escalate":
        return escalation_signs.asked_for(execution, event)
    if event.sort == "feedback":
        return _voted(execution, event)
    return _told(execution, event)


def _voted(execution: Execution, event: InputReceived) -> Execution:
    """A vote on what runs moves how sure it counts as, at once and in the turns that follow."""
    votes = confidence.standing(execution.judged.votes, event.author.id, confidence.vote_of(event))
    sure = execution.confidence
    return changed(
        execution,
        judged=changed(execution.judged, votes=votes),
        confidence=confidence.voted(sure, confidence.points(votes)) if sure is not None else None,
    )


def _answers(execution: Execution, event: InputReceived) -> bool:
    if execution.question is None or execution.answer is not None or event.sort not in ("answer", "guidance"):
        return False
    return not refusal(execution, event)


def _turned_down(execution: Execution, event: InputReceived) -> Execution:
    """A choice that does not count changes nothing; words about what was asked reach the model all the same."""
    for question in (execution.question, execution.decided_on):
        if question is not None and question.question == event.target.partition("#")[0]:
            options = (*question.options, *(option for part in question.parts for option in part.options))
            chosen = option_of(options, event.text) or (question.what in COUNTED and read(question.what, event.text))
            return execution if chosen else _told(execution, event)
    return execution


def _answered(execution: Execution, event: InputReceived) -> Execution:
    """The question has its answer when every part of it has."""
    question = execution.question
    assert question is not None
    partial = in_parts(question, execution.partial, event)
    complete = all(part.id in partial for part in question.parts)
    return changed(execution, partial=partial, answer=event if complete else None)


def _told(execution: Execution, event: InputReceived) -> Execution:
    text = guidance(event, mark_of(execution.started))
    if not text:
        return execution
    told, mind = execution.told, execution.mind
    pictures = (*told.pictures, *pictures_of(event.files))
    told = changed(told, texts=(*told.texts, text), unseen=(*told.unseen, quoted(event)), pictures=pictures)
    return changed(execution, told=told, mind=changed(mind, guided=(*mind.guided, text)))


def quoted(event: InputReceived) -> str:
    """What somebody said, as people are told of it: its first words, the files where there are none."""
    said = " ".join(event.text.split()) or ", ".join(file.name for file in event.files)
    return f"“{one_line(said, 100)}”" if said else "your last message"


def pause_holder(holder: str, event: InputReceived) -> str:
    """Return whose pause stands after an event ('' for none), where ``holder``'s stood before it.

    A pause of a person stands over one of the machine, and only a person lifts it.
    """
    by_a_person, itself = holder not in ("", MACHINE.id), event.author.id == MACHINE.id
    if event.sort == "pause":
        return holder if by_a_person or (holder and itself) else event.author.id
    return holder if event.sort != "resume" or (by_a_person and itself) else ""


def _held(execution: Execution, event: InputReceived) -> Execution:
    before = execution.paused.author.id if execution.paused is not None else ""
    holder = pause_holder(before, event)
    return execution if holder == before else changed(execution, paused=event if holder else None)


def _deleted(execution: Execution, event: InputReceived) -> Execution:
    """The task's message is gone: where nothing has been done the task is too, else the model is told."""
    started = execution.started
    if started is None or event.message not in ("", started.inbox):
        return execution
    if execution.turn.number < 2 and not execution.turn.answered:
        return changed(execution, withdrawn=event)
    text = guidance(event, mark_of(execution.started))
    return changed(execution, told=changed(execution.told, texts=(*execution.told.texts, text)))


def rested(execution: Execution, at: datetime) -> Execution:
    """The time in which a person is asked, or holds it, is nobody's work: no cap counts it."""
    rests = execution.question is not None or execution.paused is not None or execution.quarantined is not None
    since = execution.resting_since
    if rests == (since is not None):
        return execution
    if since is None:
        return changed(execution, resting_since=at)
    waiting = execution.spent.waiting + max((at - since).total_seconds(), 0.0)
    return changed(execution, resting_since=None, spent=changed(execution.spent, waiting=waiting))


def policy_changed(execution: Execution, event: PolicyChanged, envelope: Envelope) -> Execution:
    """What people added to the caps; more minutes begin now, however late it is."""
    caps, spent = execution.caps, execution.spent
    if event.add_minutes:
        over = worked(execution, envelope.at) - 60 * (execution.policy.max_minutes + caps.minutes)
        spent = changed(spent, minutes_passed=False, waiting=spent.waiting + max(over, 0.0))
    days = caps.days
    if event.add_day_usd and event.whose is not None:
        days = (*days, DayRaise(event.question, event.whose, event.day, event.add_day_usd))
    caps = changed(
        caps,
        turns=caps.turns + event.add_turns,
        tokens=caps.tokens + event.add_tokens,
        usd=caps.usd + event.add_usd,
        minutes=caps.minutes + event.add_minutes,
        days=days,
    )
    refused = None if event.day else execution.refused
    return changed(execution, caps=caps, spent=spent, refused=refused, decided=None)


def worked(execution: Execution, at: datetime) -> float:
    """Seconds since it began that a cap counts."""
    begun = execution.started_at or at
    return (at - begun).total_seconds() - execution.spent.waiting


def gated(execution: Execution, event: Gated, envelope: Envelope) -> Execution:
    """A call waits for an approval; one that was given for another state of the world counts no more.

    One that had run, and was put back, has not begun; what it left besides is there.
    """
    call = call_of(execution, event.call)
    once = call is not None and (call.asks or call.allowed is not None)
    execution = change_call(execution, event.call, gated=event, approval="", allowed=None, asks=once, denied="")
    if not event.put_back:
        return execution
    execution = changed(execution, exposure=exposure.merged(execution.exposure, event.exposure))
    execution = change_call(execution, event.call, intent=None, fence=0)
    if not event.changes:
        return execution
    deeds, turn = execution.deeds, execution.turn
    return changed(
        execution,
        deeds=changed(deeds, changes=deeds.changes + event.changes),
        unsaved=unsaved_with(execution, event.changes),
        turn=changed(turn, changed=True),
    )


def allowance_used(execution: Execution, event: AllowanceUsed, envelope: Envelope) -> Execution:
    """A call goes on without a question."""
    used = tuple(changed(each, used=each.used + (each.question == event.question)) for each in execution.allowances)
    return changed(change_call(execution, event.call, allowed=event), allowances=used)


def allowances_ended(execution: Execution, event: AllowancesEnded, envelope: Envelope) -> Execution:
    """What one person allowed counts no more."""
    return asks_again(execution, event.person)


def asks_again(execution: Execution, person: str = "") -> Execution:
    """Nothing is allowed for the whole task any more, by one person or by anybody; what has begun goes on."""
    left = tuple(each for each in execution.allowances if person not in ("", each.by.id))
    calls = tuple(
        changed(call, allowed=None)
        if call.allowed is not None and call.intent is None and person in ("", call.allowed.by.id)
        else call
        for call in execution.turn.calls
    )
    return changed(execution, allowances=left, turn=changed(execution.turn, calls=calls))


def asked(execution: Execution, event: Asked, envelope: Envelope) -> Execution:
    """A question is open."""
    if event.call and event.sort != "approval":
        execution = change_call(execution, event.call, asked=event.question)
    return changed(execution, question=event, partial={}, answer=None, expired=False, decided=None)


def _resumed(execution: Execution, question: Asked, event: Decided) -> Execution:
    """A call that asked begins again, with the answer."""
    call = call_of(execution, question.call)
    replies = call.replies if call is not None else ()
    reply = CallReply(question.resume, event.choice, event.text, event.answers)
    return change_call(execution, question.call, asked="", intent=None, fence=0, replies=(*replies, reply))


def decided(execution: Execution, event: Decided, envelope: Envelope) -> Execution:
    """The question is closed; what the rules count begins anew."""
    question = execution.question
    options = question.options if question is not None and question.what == "account" else ()
    again = bool(options) and all(option.id != event.choice for option in options)
    if question is not None and question.sort == "approval":
        allowed = event.choice in (ALLOW, ALWAYS, FOR_TASK)
        if event.choice == FOR_TASK and question.allows:
            allowance = Allowance(question.question, event.by, question.allows)
            execution = changed(execution, allowances=(*execution.allowances, allowance))
        denied = "" if allowed else event.text or f"{event.by.name} denied it"
        approval, lasting = question.question if allowed else "", event.choice == ALWAYS
        execution = change_call(execution, question.call, approval=approval, lasting=lasting, denied=denied)
    elif question is not None and question.resume:
        execution = _resumed(execution, question, event)
    return changed(
        execution,
        question=None,
        partial={},
        answer=None,
        expired=False,
        decided=event,
        decided_on=question,
        failure=Failure() if options else execution.failure,
        unknown=frozenset[str]() if again else execution.unknown,  # somebody says that it is known now
        judged=escalation_signs.decided(execution, question),
    )
