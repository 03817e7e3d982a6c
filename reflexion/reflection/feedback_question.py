"""What a person is asked who says that a result was wrong, and how long their answer is waited for; pure.

A 👎 says that something was wrong and not what; a reflection that has to guess is one that misleads.  So it is asked once,
with what is wrong most often as buttons.  Nobody has to answer (docs/decisions/0027).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from agentic.core.events.execution_events import (
    Asked,
    DeadlinePassed,
    Event,
    FeedbackGiven,
    Option,
)
from agentic.core.events.ids import digest

PATIENCE = timedelta(minutes=5)
"""So long a reflection waits for what the person says; it does not wait once the next task of the thread begins."""
WHAT_WAS_WRONG = "What was wrong?"
REASONS = (
    Option(id="wrong", label="Wrong result", description="The result is wrong or does not work."),
    Option(id="other", label="Not what I asked", description="It is not what was asked for."),
    Option(id="dear", label="Too slow or too expensive", description="It took too long or cost too much."),
)


def question_of(execution: str, now: datetime) -> Asked:
    """The one question about an execution's result."""
    name = "w" + digest("what was wrong", execution, length=11)
    return Asked(question=name, text=WHAT_WAS_WRONG, options=REASONS, expires=now + PATIENCE)


def open_question(events: Iterable[Event]) -> str:
    """The id of the question what was wrong, as long as its answer is waited for; '' where it is not."""
    question = ""
    for event in events:
        if isinstance(event, Asked):
            question = event.question
        elif (isinstance(event, DeadlinePassed) and event.ref == question) or (
            isinstance(event, FeedbackGiven) and event.why
        ):
            question = ""
    return question


def reason_of(number: int) -> str:
    """What somebody said by pressing the button of this number, from 0."""
    return REASONS[number].description
