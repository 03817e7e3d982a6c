"""Questions that the rules themselves put to a person, and what follows from the answer."""

from __future__ import annotations

import re

from agentic.core.closing import at_limit
from agentic.core.closing import stuck as ended_stuck
from agentic.core.events import Asked, Event, Finished, InputReceived, Intervened, Option, PolicyChanged
from agentic.core.execution import Execution
from agentic.core.identity import question_id

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
    for number, option in enumerate(question.options, start=1):
        if said.casefold() in (option.id.casefold(), option.label.casefold(), str(number)):
            return option.id, option.label
    if not question.call and _STOPS.match(said):
        return STOP, said
    return FREE, said


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
    return ended_stuck(execution, "you chose to stop here")


def _stop() -> Option:
    return Option(id=STOP, label="Stop here")


def _id(execution: Execution) -> str:
    return question_id(execution.id, execution.seq + 1)
