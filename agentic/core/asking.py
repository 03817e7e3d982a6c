"""Questions that the rules themselves put to a person, and what follows from the answer."""

from __future__ import annotations

import re

from agentic.core.actions import Timer
from agentic.core.answering import option_of
from agentic.core.approvals import verdict
from agentic.core.closing import at_limit, stopped_here
from agentic.core.events import Asked, Decided, Event, Finished, InputReceived, Intervened, Option, PolicyChanged
from agentic.core.execution import Execution
from agentic.core.identity import question_id
from agentic.core.peopled import DENY, MACHINE

STOP = "stop"
FREE = "text"
"""The choice of an answer in words of one's own."""
_MORE = 10
_STOPS = re.compile(
    r"(please )?(no|nope|nah|stop|don.?t|do not|not|enough|end|cancel|halt|quit|abort)\b|.*\bplease stop\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\+?(\d{1,3})\b|.*\b(\d{1,3}) (?:more )?turns?\b|.*\bfor (\d{1,3})[.!]?$", re.IGNORECASE | re.DOTALL
)
_YES = re.compile(r"(yes|yep|sure|ok|okay|go on|go ahead|continue|please|do|of course|[ ,.!])+$", re.IGNORECASE)


def extension(execution: Execution) -> Asked:
    """May it take more turns?"""
    text = f"I have used my {execution.turn_limit} turns and am not done. Shall I go on?"
    options = (Option(id="10", label="10 more turns"), Option(id="20", label="20 more turns"), _stop())
    return Asked(question=_id(execution), sort="extension", text=text, options=options)


def stuck(execution: Execution, trigger: str) -> Asked:
    """What now?  There is no stronger model left."""
    tried = execution.turn.text.strip()
    text = f"I am stuck: {trigger}, and there is no stronger model to hand over to."
    if tried:
        text += "\nWhere I am:\n" + "\n".join(f"> {line}" for line in tried[:800].splitlines())
    text += "\nWrite a hint, or choose."
    options = (Option(id="again", label="Try once more"), _stop())
    return Asked(question=_id(execution), sort="question", text=text, options=options)


def choice_of(question: Asked, answer: InputReceived) -> tuple[str, str]:
    """The option an answer names by id, label or number, with its label; else 'text' and what was said."""
    said = answer.text.strip()
    option = option_of(question.options, said)
    if option is not None:
        return option.id, option.label
    if not question.call and _STOPS.match(said):
        return STOP, said
    return FREE, said


def decision(execution: Execution, question: Asked, answer: InputReceived) -> Decided:
    """What an answer decides."""
    choice, text = choice_of(question, answer)
    if question.sort == "approval":
        choice, text = verdict(answer.text, answer.author.name)
    return Decided(
        question=question.question, by=answer.author, choice=choice, text=text, answers=dict(execution.partial)
    )


def too_late(question: Asked) -> Decided:
    """What nobody approved in time is denied."""
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


def granted(execution: Execution) -> tuple[Event, ...]:
    """What a decision to go on changes; words beside a number or a yes reach the model as guidance."""
    decided, question = execution.decided, execution.decided_on
    assert decided is not None
    assert question is not None
    said = decided.text if decided.choice == FREE else ""
    if question.sort != "extension":
        return (_hint(decided.by.name, said or "Try once more, in another way than before."),)
    named = _NUMBER.match(said or decided.choice)
    turns = int(next(number for number in named.groups() if number)) if named else _MORE
    more = PolicyChanged(by=decided.by.id, add_turns=max(turns, 1))
    plain = not said or _YES.match(said) or (named is not None and named.end() == len(said))
    return (more,) if plain else (more, _hint(decided.by.name, said))


def _hint(name: str, text: str) -> Intervened:
    return Intervened(rule="hint", text=f"[User guidance from {name}]\n{text}")


def declined(execution: Execution) -> Finished:
    """The end after a decision to stop."""
    if execution.decided_on is not None and execution.decided_on.sort == "extension":
        return at_limit(execution)
    return stopped_here(execution)


def _stop() -> Option:
    return Option(id=STOP, label="Stop here")


def _id(execution: Execution) -> str:
    return question_id(execution.id, execution.seq + 1)
