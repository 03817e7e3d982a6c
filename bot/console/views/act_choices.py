"""What somebody may ask of a task at this moment: the open question with its options, and the buttons that make sense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentic.core.events.execution_events import Finished, InputReceived, ModelRequested
from agentic.core.events.ids import is_child
from agentic.core.fold.people import MACHINE

if TYPE_CHECKING:
    from agentic.core.events.execution_events import Asked, Option
    from agentic.core.state.execution import Execution
    from bot.console.logs.task_log import TaskLog


@dataclass(frozen=True, slots=True)
class OptionButton:
    """A button that answers; ``do`` is what the form sends."""

    do: str
    label: str
    detail: str


@dataclass(frozen=True, slots=True)
class AskedPart:
    """A question with its buttons."""

    text: str
    options: tuple[OptionButton, ...]
    answer: str = ""
    """What was answered already."""


@dataclass(frozen=True, slots=True)
class ActChoices:
    """``form`` is the same for as long as nothing changed that a button depends on: a button is sent once, however often
    it is pressed. What has ended changes no more, and is tried again as often as somebody asks: by the page's own name.
    """

    form: str
    steers: bool = False
    """It runs, and words reach it."""
    ended: bool = False
    paused: bool = False
    question: str = ""
    text: str = ""
    parts: tuple[AskedPart, ...] = ()
    last_turn: int = 0
    stronger: bool = False
    """There is a stronger model than the one that works on it."""


def choices_of(log: TaskLog) -> ActChoices:
    """What may be asked of a task; of a helper or a side question nothing, which its task steers."""
    execution = log.folded
    asked = execution.question
    form = f"{log.execution}.{log.story.inputs}.{asked.question if asked else ''}.{execution.finished is not None:d}"
    if is_child(log.execution) or (execution.started is not None and execution.started.side):
        return ActChoices(form)
    turn = execution.turn.number
    if execution.finished is not None:
        return ActChoices(form, ended=True, last_turn=turn)
    stronger = execution.tier < len(execution.policy.tiers)
    paused = execution.paused is not None and execution.paused.author.id != MACHINE.id
    if asked is None:
        return ActChoices(form, steers=True, paused=paused, last_turn=turn, stronger=stronger)
    return ActChoices(
        form,
        steers=True,
        paused=paused,
        question=asked.question,
        text=asked.text,
        parts=_parts(execution, asked),
        last_turn=turn,
        stronger=stronger,
    )


def settled(log: TaskLog, since: int) -> bool:
    """Whether what a receipt announced has come true since an event: the next turn began, it rests as it was asked to, or
    it has ended.
    """
    new = [envelope.event for envelope in log.events[since:]]
    if any(
        isinstance(event, Finished) or (isinstance(event, ModelRequested) and event.purpose == "turn") for event in new
    ):
        return True
    now = log.folded
    rests = now.paused is not None and now.request_in_flight is None and not now.calls_in_flight
    return rests and any(not isinstance(event, InputReceived) or event.sort == "pause" for event in new)


def _parts(execution: Execution, asked: Asked) -> tuple[AskedPart, ...]:
    if not asked.parts:
        return (AskedPart("", _buttons(asked.options, "")),)
    said = execution.partial
    return tuple(
        AskedPart(part.text, () if part.id in said else _buttons(part.options, part.id), said.get(part.id, ""))
        for part in asked.parts
    )


def _buttons(options: tuple[Option, ...], part: str) -> tuple[OptionButton, ...]:
    return tuple(
        OptionButton(f"choose.{number}.{part}", option.label, option.description)
        for number, option in enumerate(options)
    )
