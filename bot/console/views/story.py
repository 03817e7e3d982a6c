"""A task turn by turn, as a chat: what people said, what the model said and did, what came of it.

Events are taken one by one, so that a running task costs what is new.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, cast

import orjson

from agentic.core.claims import confidence
from agentic.core.events.execution_events import (
    Asked,
    CallBlock,
    Decided,
    Envelope,
    Event,
    Finished,
    InputReceived,
    Intervened,
    ModelAnswered,
    ModelRequested,
    OwnerChanged,
    ReasoningBlock,
    Started,
    SubagentFinished,
    TextBlock,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    WorkspaceRestored,
)
from agentic.core.events.ids import call_id
from bot.console.page_templates import many, usd
from bot.console.views.task_figures import TaskFigures, TurnFigures
from bot.messages.log_text import NOTE, AnswersInWords, labels_of, question_text, told

SHOWN = 1_500
"""Characters of a text that a page shows at first; the rest is asked for."""
LINE = 160
"""Characters of a call's arguments in its line."""

Sort = Literal["person", "model", "call", "question", "note", "event", "end"]
CallState = Literal["", "open", "running", "asks", "ok", "failed", "denied", "refused", "cancelled", "unknown"]


@dataclass(slots=True)
class Item:
    """One thing that was said or done. ``seq`` is the event that began it, ``last`` the one that ended it."""

    sort: Sort
    seq: int
    at: datetime
    who: str = ""
    text: str = ""
    cut: bool = False
    """There is more of the text."""
    tool: str = ""
    call: str = ""
    state: str = ""
    """Of a call: how far it is, or what it came to."""
    seconds: float = 0.0
    """Of a call: how long it took, from when it began, or began again after an approval."""
    waited: float = 0.0
    """Of a call: how long it took a person to answer what it asked; then it did nothing else."""
    exit_code: int | None = None
    result: str = ""
    result_cut: bool = False
    ended: int = 0
    """The event with the result; 0 while there is none."""
    whole: int = 0
    """Bytes of the whole output, where the model saw only a part."""
    files: tuple[str, ...] = ()
    """Paths that a call changed."""


@dataclass(slots=True)
class StoryTurn:
    """A turn of the model; 0 is what came before the first."""

    number: int
    seq: int
    at: datetime
    figures: TurnFigures
    """What it cost."""
    items: list[Item] = field(default_factory=list[Item])
    model: str = ""
    tier: int = 0
    reasons: bool = False
    """The model's reasoning was kept, be it encrypted."""
    confidence: int | None = None
    until: datetime | None = None
    """When its last event came."""
    last: int = 0
    """Sequence number of its last event."""

    @property
    def seconds(self) -> float:
        """From its first event to its last."""
        return (self.until - self.at).total_seconds() if self.until is not None else 0.0


class Story:
    """The turns so far. ``changed_since`` says which of them a page has to show anew."""

    def __init__(self) -> None:
        self.turns: list[StoryTurn] = []
        self.figures = TaskFigures()
        self.inputs = 0
        """How often people were heard."""
        self._calls: dict[str, Item] = {}
        self._place: dict[str, StoryTurn] = {}
        self._models: dict[str, tuple[str, int]] = {}
        self._labels: dict[str, str] = {}
        self._answers = AnswersInWords()
        self._restored = False
        """The last event put an earlier state back: the new owner that follows is part of that."""

    def turn(self, number: int) -> StoryTurn | None:
        """A turn by its number."""
        return next((each for each in self.turns if each.number == number), None)

    def changed_since(self, seq: int) -> list[StoryTurn]:
        """The turns with events after ``seq``, in order."""
        changed: list[StoryTurn] = []
        for turn in reversed(self.turns):
            if turn.last > seq:
                changed.append(turn)
            elif changed and turn.number < changed[-1].number - 1:
                break  # results come back to a turn or two before, never further
        return changed[::-1]

    def take(self, envelope: Envelope) -> None:
        """Add an event."""
        event = envelope.event
        self.inputs += isinstance(event, InputReceived)
        self.figures.take(envelope)
        if not self.turns:
            self._begin(0, envelope)
        if isinstance(event, ModelRequested):
            self._models[event.request] = event.model, event.tier
            if event.purpose == "turn" and event.turn != self.turns[-1].number:
                self._begin(event.turn, envelope)
        turn = self._placed(event)
        turn.last, turn.until = envelope.seq, envelope.at
        if not (self._restored and isinstance(event, OwnerChanged)):
            self._show(turn, envelope)
        self._restored = isinstance(event, WorkspaceRestored)

    def _begin(self, number: int, envelope: Envelope) -> None:
        self.turns.append(StoryTurn(number, envelope.seq, envelope.at, self.figures.turns[-1]))

    def _placed(self, event: Event) -> StoryTurn:
        """The turn that an event belongs to: a result belongs where its call is."""
        if isinstance(event, ToolStarted | ToolFinished):
            return self._place.get(event.call, self.turns[-1])
        return self.turns[-1]

    def _show(self, turn: StoryTurn, envelope: Envelope) -> None:
        event, seq, at = envelope.event, envelope.seq, envelope.at
        match event:
            case Started():
                turn.items.append(_said("person", seq, at, event.requester.name, event.task))
            case InputReceived(sort="feedback"):
                self._note(turn, envelope)
            case InputReceived():
                said = self._answers.said(event) or ", ".join(file.name for file in event.files) or event.sort
                item = _said("person", seq, at, event.author.name, said)
                item.state = "" if event.sort in ("guidance", "task", "answer") else event.sort
                turn.items.append(item)
            case ModelRequested():
                turn.model, turn.tier = (
                    (event.model, event.tier) if event.purpose == "turn" else (turn.model, turn.tier)
                )
            case ModelAnswered():
                self._answer(turn, envelope, event)
            case ToolStarted():
                if (call := self._calls.get(event.call)) is not None:
                    call.state, call.at = "running", at
            case ToolFinished():
                self._finish_call(envelope, event)
            case TurnEnded():
                turn.confidence = confidence.told(event.confidence, None)
            case _:
                self._show_more(turn, envelope)

    def _show_more(self, turn: StoryTurn, envelope: Envelope) -> None:
        event, seq, at = envelope.event, envelope.seq, envelope.at
        match event:
            case Asked():
                self._labels = labels_of(event)
                self._answers.ask(event)
                if (call := self._calls.get(event.call)) is not None:
                    call.state, call.at = "asks", at
                turn.items.append(_said("question", seq, at, event.sort, question_text(event)))
            case Decided() if self._answers.repeats(event):
                pass
            case Intervened():
                turn.items.append(_said("note", seq, at, event.rule, event.text.replace(NOTE, "").strip()))
            case SubagentFinished():
                came = f"{event.result.replace('_', ' ')} in {many(event.turns, 'turn')}, {usd(event.spent_usd)}"
                turn.items.append(_said("event", seq, at, "", f"a helper ended: {came}"))
            case Finished():
                turn.items.append(_said("end", seq, at, event.reason, event.answer))
            case _:
                self._note(turn, envelope)

    def _note(self, turn: StoryTurn, envelope: Envelope) -> None:
        if line := told(envelope.event, self._labels):
            turn.items.append(_said("event", envelope.seq, envelope.at, "", line.strip()))

    def _answer(self, turn: StoryTurn, envelope: Envelope, event: ModelAnswered) -> None:
        model = self._models.get(event.request, ("", 0))[0] or event.served_by
        calls = 0
        for block in event.blocks:
            if isinstance(block, TextBlock) and block.text.strip():
                turn.items.append(_said("model", envelope.seq, envelope.at, model, block.text))
            elif isinstance(block, ReasoningBlock):
                turn.reasons = True
            elif isinstance(block, CallBlock):
                meant, name = block.meant, call_id(event.request, calls)
                calls += 1
                item = Item("call", envelope.seq, envelope.at, tool=meant.tool, call=name, state="open")
                item.text, item.cut = _cut(about(meant.arguments.items()), LINE)
                turn.items.append(item)
                self._calls[name] = item
                self._place[name] = turn

    def _finish_call(self, envelope: Envelope, event: ToolFinished) -> None:
        item = self._calls.get(event.call)
        if item is None:
            return
        took = max((envelope.at - item.at).total_seconds(), 0.0)
        if item.state == "asks":
            item.waited = took
        else:
            item.seconds = event.seconds or took
        item.state, item.exit_code = event.outcome, event.exit_code
        item.ended, item.whole = envelope.seq, event.output.size if event.output is not None else 0
        item.result, item.result_cut = _cut(event.preview, SHOWN)
        item.files = tuple(change.path for change in event.changes)


def about(arguments: Iterable[tuple[str, object]]) -> str:
    """A call's arguments in a line; the reason that it gives, and what holds nothing, are left out."""
    shown = [(name, _plain(value)) for name, value in arguments if name not in ("reasoning", "expectation")]
    shown = [(name, text) for name, text in shown if text]
    if len(shown) == 1 or (shown and shown[0][0] == "answer"):
        return shown[0][1]
    return " · ".join(f"{name}: {text}" for name, text in shown)


def _plain(value: object) -> str:
    match value:
        case str():
            return value
        case bool():
            return "yes" if value else "no"
        case list():
            texts = [_words_of(each) for each in cast("list[object]", value)]
            return ", ".join(texts) if all(texts) else orjson.dumps(value).decode()
        case dict():
            return orjson.dumps(value).decode() if value else ""
        case _:
            return str(value)


def _words_of(entry: object) -> str:
    """An entry of a list in words: a text, or what has one, such as a question; '' for any other."""
    text = cast("dict[str, object]", entry).get("text") if isinstance(entry, dict) else entry
    return text if isinstance(text, str) else ""


def _said(sort: Sort, seq: int, at: datetime, who: str, text: str) -> Item:
    shown, cut = _cut(text, SHOWN)
    return Item(sort, seq, at, who=who, text=shown, cut=cut)


def _cut(text: str, most: int) -> tuple[str, bool]:
    return (text, False) if len(text) <= most else (text[:most].rstrip() + "…", True)
