"""Questions that the rules themselves put to a person, and what follows from the answer."""

from __future__ import annotations

import re

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    Event,
    Finished,
    InputReceived,
    Intervened,
    Option,
    PlanExited,
    PolicyChanged,
    ToolFinished,
)
from agentic.core.events.ids import question_id
from agentic.core.fold.people import ALLOW, DENY, MACHINE
from agentic.core.prompt import recap
from agentic.core.prompt.roles import PROPOSE
from agentic.core.rules import model_failures, used_up_limits
from agentic.core.rules.approvals import said_yes, verdict
from agentic.core.rules.task_end import (
    close,
    ended_for,
    quoted,
    reported,
    stopped_here,
    stuck_at_the_top,
)
from agentic.core.state.actions import (
    Action,
    Record,
    Timer,
    Wait,
)
from agentic.core.state.execution import Execution
from agentic.core.text import amounts, foreign_text
from agentic.core.text.amounts import (
    COUNTED,
    STOP,
    STOPS,
    YES,
)
from agentic.core.text.answers import option_of

FREE = "text"
"""The choice of an answer in words of one's own."""
AGAIN = "again"
"""The choice that changes no cap: a new day has begun."""
PLAN_OPTIONS = (Option(id=ALLOW, label="Go ahead"), Option(id=DENY, label="Drop it"))
"""What can be said to a plan; other words say how it has to change."""
_MORE = 10
_NUMBER = re.compile(
    r"\+?(\d{1,3})\b|.*\b(\d{1,3}) (?:more )?turns?\b|.*\bfor (\d{1,3})[.!]?$", re.IGNORECASE | re.DOTALL
)


def waiting(execution: Execution) -> Action | None:
    """A question is open: wait for the person, without end unless it says when."""
    question, answer = execution.question, execution.answer
    if question is None:
        return None
    return Wait(expiry(question)) if answer is None else Record((decision(execution, question, answer),))


def decided(execution: Execution) -> Action | None:
    """Act on what the person decided about a cap or about being stuck."""
    if execution.decided is None or execution.decided_on is None or execution.decided_on.call:
        return None
    if execution.decided_on.what == "account" and execution.decided.choice != STOP:
        other = model_failures.other_tier(
            execution
        )  # else the same is asked again; what people write of it is not for a model
        return Record((other,)) if other is not None else None
    if execution.decided.choice == STOP:
        return close(execution, declined(execution), "it was ended here")
    return Record(granted(execution))


def stuck(execution: Execution, trigger: str) -> Asked:
    """What now?  There is no stronger model left."""
    said, done = execution.turn.text.strip(), recap.in_short(execution)
    text = f"{stuck_at_the_top(execution, trigger)}{reported(execution)}"
    if done:
        text += "\nWhat I tried:\n" + "\n".join(f"- {line}" for line in done)
    if said:
        text += f"\nWhere I am:\n{quoted(said, 800)}"
    text += "\nWrite a hint, or choose."
    options = (Option(id="again", label="Try once more"), _stop())
    return Asked(question=_id(execution), sort="question", text=text, options=options)


def choice_of(question: Asked, answer: InputReceived) -> tuple[str, str]:
    """The option an answer names by id, label or number, with its label; else 'text' and what was said."""
    said = answer.text.strip()
    option = option_of(question.options, said)
    if option is not None:
        return option.id, option.label
    if not question.call and STOPS.match(said):
        return STOP, said
    return FREE, said


def decision(execution: Execution, question: Asked, answer: InputReceived) -> Decided:
    """What an answer decides."""
    choice, text = choice_of(question, answer)
    if question.sort == "plan" and said_yes(answer.text):
        choice, text = ALLOW, ""
    if question.sort == "approval":
        choice, text = verdict(question.options, answer.text, answer.author.name)
    return Decided(
        question=question.question, by=answer.author, choice=choice, text=text, answers=dict(execution.partial)
    )


def too_late(question: Asked) -> Decided:
    """What nobody approved in time is denied; a cap of a day needs no answer where the day is over."""
    if question.sort == "extension":
        return Decided(question=question.question, by=MACHINE, choice=AGAIN, text="a new day began")
    return Decided(question=question.question, by=MACHINE, choice=DENY, text="nobody approved it in time")


def expiry(question: Asked) -> tuple[Timer, ...]:
    """When the time for deciding it is over; none where it stays open without end."""
    return (Timer(question.question, question.expires),) if question.expires is not None else ()


def answer_of(question: Asked | None, decided: Decided) -> str:
    """The result of a call that asked, in words for the model."""
    name = decided.by.name
    if question is not None and question.parts:
        lines = (f"{part.text}\n-> {decided.answers.get(part.id) or '(nothing)'}" for part in question.parts)
        return f"{name} answered:\n" + "\n".join(lines)
    said = decided.text or (decided.choice if decided.choice != FREE else "(nothing)")
    return f"{name} answered: {said}"


def plan_answer(execution: Execution, call: str) -> tuple[Event, ...]:
    """What an answer to a plan comes to: it is carried out, made anew, or dropped."""
    question, decided = execution.decided_on, execution.decided
    assert question is not None
    assert decided is not None
    name = decided.by.name
    if decided.choice == ALLOW:
        told = f"{name} agreed to the plan. Carry it out now, as it stands; it stays in your sight."
        return PlanExited(plan=question.text), ToolFinished(call=call, outcome="ok", preview=told)
    if decided.choice == DENY:
        told = f"{name} does not want this plan carried out. Finish with what you found, unless they say what else they want."
    else:
        told = f"{name} wants the plan changed:\n{decided.text}\nChange it, and call {PROPOSE} again."
    return (ToolFinished(call=call, outcome="ok", preview=told),)


def granted(execution: Execution) -> tuple[Event, ...]:
    """What a decision to go on changes; words beside a number or a yes reach the model as guidance."""
    decided, question = execution.decided, execution.decided_on
    assert decided is not None
    assert question is not None
    said = decided.text if decided.choice == FREE else ""
    if question.sort != "extension":
        return (_hint(decided.by.name, said or "Try once more, in another way than before."),)
    if question.what in COUNTED:
        more, plain = _counted(execution, question, decided)
    else:
        named = _NUMBER.match(said or decided.choice)
        turns = int(next(number for number in named.groups() if number)) if named else _MORE
        more = PolicyChanged(by=decided.by.id, question=question.question, add_turns=max(turns, 1))
        plain = YES.match(said) is not None or (named is not None and named.end() == len(said))
    return (more,) if plain or not said else (more, _hint(decided.by.name, said))


def _counted(execution: Execution, question: Asked, decided: Decided) -> tuple[PolicyChanged, bool]:
    """What a decision adds to a cap on tokens, money or time, and whether it says nothing beside that.

    An option's id is its amount; a yes without an amount takes what is recommended.
    """
    said = decided.text if decided.choice == FREE else decided.choice
    amount, plain = (
        amounts.read(question.what, said) or amounts.read(question.what, question.options[0].id) or (0.0, True)
    )
    raised = PolicyChanged(by=decided.by.id, question=question.question)
    if question.what == "day":
        assert execution.refused is not None
        day = {"day": execution.refused.day, "whose": execution.refused.whose}
        return raised.model_copy(update={"add_day_usd": 0.0 if decided.choice == AGAIN else amount, **day}), plain
    added = int(amount) if question.what == "tokens" else amount
    return raised.model_copy(update={f"add_{question.what}": added}), plain


def _hint(name: str, text: str) -> Intervened:
    return Intervened(rule="hint", text=f"[User guidance from {foreign_text.name(name)}]\n{text}")


def declined(execution: Execution) -> Finished:
    """The end after a decision to stop."""
    question = execution.decided_on
    what = question.what if question is not None else ""
    if what == "account":
        options = question.options if question is not None else ()
        unknown = option_of(options, model_failures.HIGHER) is not None
        reason = "The provider doesn't know the model" if unknown else "The provider's account still needs attention"
        return ended_for(execution, "failed", f"{reason}. Ended here, as you chose.")
    if question is None or question.sort != "extension":
        return stopped_here(execution)
    return used_up_limits.ended(execution, what or "turns")


def _stop() -> Option:
    return Option(id=STOP, label="Stop here")


def _id(execution: Execution) -> str:
    return question_id(execution.id, execution.seq + 1)
