"""What a person's words say to an open question: whose answer counts, which option it names, which parts it answers.

Used by the fold, so that an answer is read once, when it comes in, by the question as it stood then.
"""

from __future__ import annotations

import re

from agentic.core.events.execution_events import (
    Asked,
    InputReceived,
    Level,
    Option,
    Person,
)
from agentic.core.state.execution import Execution
from agentic.core.text.amounts import (
    COUNTED,
    STOP,
    STOPS,
    understood,
)

LEVELS: tuple[Level, ...] = ("viewer", "executor", "operator", "owner")
CLOSED = "This question is no longer open."
LATE = "Too late: nobody approved this in time, so it was denied."
ANEW = "A new day has started, so no more is needed. I'm continuing."
UNCLEAR = {
    "usd": "I couldn't find an amount in that. Choose one above, or write one, such as $3; 🛑 stops the task.",
    "day": "I couldn't find an amount in that. Choose one above, or write one, such as $3; 🛑 stops the task.",
    "minutes": "I couldn't find a time in that. Choose one above, or write one, such as 20 minutes; 🛑 stops the task.",
    "tokens": "I couldn't find a number of tokens in that. Choose one above, or write one, such as 100k; 🛑 stops the task.",
}
"""Words that neither name an amount nor say yes or no leave a cap as it is, and the question open."""
_END = " Ask one, or press “Stop here”."
_GIVES = {
    "usd": "Only an operator can give this task more money.",
    "day": "Only an operator can raise today's budget.",
    "tokens": "Only an operator can give this task more tokens.",
    "minutes": "Only {name}, who asked for this, or an operator can give it more time.",
    "turns": "Only {name}, who asked for this, or an operator can give it more turns.",
}
_NUMBERED = re.compile(r"(?:^|[\n,;])\s{0,20}(\d{1,2})\s*[:.)=]\s*")
_MARKS = " .!?,;:()[]*`'\"\u201c\u201d"
"""What may stand around a name without changing it."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_PLACE = re.compile(
    rf"(?:(?:i(?:'d| would)? )?(?:take|choose|pick|prefer|use|go (?:with|for)) |let'?s (?:take|use|go with) )?(?:the )?"
    rf"(?:(?:option|number|no\.?|nr\.?|answer) ?|#)?(?P<which>\d{{1,3}}|{'|'.join(_ORDINALS)}|last)"
    r"(?:st|nd|rd|th)?(?: (?:one|option|answer))?(?:,? please)?"
)


def at_least(level: Level, needed: Level) -> bool:
    """Whether ``level`` includes ``needed``."""
    return LEVELS.index(level) >= LEVELS.index(needed)


def refusal(execution: Execution, event: InputReceived) -> str:
    """Why an answer does not count, in words for who gave it; '' where it does."""
    question = execution.question
    if question is None or event.target.partition("#")[0] not in ("", question.question):
        return CLOSED
    if execution.answer is not None and event.target:
        return CLOSED  # somebody was quicker; it is acted on in this moment, or after a pause
    if execution.expired:
        return ANEW if question.sort == "extension" else LATE
    if question.sort == "extension" and question.what != "account":
        return _of_extension(execution, question, event)
    needed = least(question, event.text)
    if not at_least(event.author.level, needed):
        who = {"viewer": "Anyone", "executor": "An executor", "operator": "An operator", "owner": "An owner"}
        return f"{who[needed]} has to decide this."
    return ""


def least(question: Asked, said: str) -> Level:
    """The least level that may give this answer."""
    option = option_of(question.options, said) if question.options else None
    return (option.who_may if option is not None else None) or question.who_may


def _of_extension(execution: Execution, question: Asked, event: InputReceived) -> str:
    """Who asked for the task may end it at any cap, and give it more turns and time; an operator may give all of it."""
    own = _own_or_operator(execution, event.author) and at_least(event.author.level, "executor")
    if not own or not (at_least(event.author.level, question.who_may) or ends(question, event.text)):
        return _GIVES[question.what or "turns"].format(name=execution.requester.name) + (_END if own else "")
    option = option_of(question.options, event.text)
    if option is None and question.what in COUNTED and not understood(question.what, event.text):
        return UNCLEAR[question.what]
    return ""


def ends(question: Asked, said: str) -> bool:
    """Whether words choose to end the execution where more of something is asked for."""
    option = option_of(question.options, said)
    return option.id == STOP if option is not None else STOPS.match(said.strip()) is not None


def _own_or_operator(execution: Execution, person: Person) -> bool:
    return person.id == execution.requester.id or at_least(person.level, "operator")


def option_of(options: tuple[Option, ...], said: str) -> Option | None:
    """The option that is named by its id, label, number or place."""
    wanted = said.strip().casefold()
    bare = wanted.strip(_MARKS)
    for number, option in enumerate(options, start=1):
        names = (option.id.casefold(), option.label.casefold(), str(number))
        if wanted in names or bare in names:
            return option
    return _by_place(options, bare)


def advised(options: tuple[Option, ...]) -> int:
    """The place of the option that is recommended, from 1; 0 where there is none."""
    return next((place for place, option in enumerate(options, 1) if option.recommended), min(len(options), 1))


def _by_place(options: tuple[Option, ...], said: str) -> Option | None:
    """The option that is named by where it stands: "option 2", "the second one, please", "the last"."""
    found = _PLACE.fullmatch(said)
    if found is None:
        return None
    which = found["which"]
    place = int(which) if which.isdecimal() else len(options) if which == "last" else _ORDINALS.index(which) + 1
    return options[place - 1] if 0 < place <= len(options) else None


def label_of(options: tuple[Option, ...], said: str) -> str:
    """What was chosen, in words: the label of the option that was named, else what was said."""
    option = option_of(options, said)
    return option.label if option is not None else said.strip()


def in_parts(question: Asked, known: dict[str, str], event: InputReceived) -> dict[str, str]:
    """The answers to the parts of a question, with this one: of the part it names, or of those its words answer."""
    part = event.target.partition("#")[2]
    said = {part: event.text} if part else _said_of_each(question, known, event.text)
    return known | {each.id: label_of(each.options, said[each.id]) for each in question.parts if each.id in said}


def _said_of_each(question: Asked, known: dict[str, str], text: str) -> dict[str, str]:
    """By number ("1: yes, 2: no"), else a line for each open part, else the whole text for all that are open."""
    before, *pieces = _NUMBERED.split(text)
    numbered = {int(number): said for number, said in zip(pieces[::2], pieces[1::2], strict=True)}
    if numbered and not before.strip() and all(1 <= number <= len(question.parts) for number in numbered):
        return {question.parts[number - 1].id: said for number, said in numbered.items()}
    still_open = [part.id for part in question.parts if part.id not in known]
    lines = [line for line in text.splitlines() if line.strip()]
    return dict(zip(still_open, lines if len(lines) == len(still_open) else [text] * len(still_open), strict=True))
