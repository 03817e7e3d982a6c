"""A task turn by turn with everything that was said and done, whole, as the files of it show it; pure.

The pages show a task by ``views/story.py``, which keeps a short form of each text in memory. Here nothing is shortened and
nothing kept: turns are made one after the other from the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from agentic.core.claims import confidence
from agentic.core.events.execution_events import (
    Asked,
    BlobRef,
    CallBlock,
    Decided,
    Envelope,
    Event,
    FileRef,
    Finished,
    InputReceived,
    Intervened,
    ModelAnswered,
    ModelRequested,
    ReasoningBlock,
    Started,
    TextBlock,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    Usage,
)
from agentic.core.events.ids import call_id
from bot.history.payments import HELPER, Payment, Payments, after_the_end
from bot.messages.log_text import NOTE, AnswersInWords, labels_of, question_text, told


@dataclass(frozen=True, slots=True)
class Utterance:
    """What a person, a rule or the bot said, or an event in a line."""

    sort: Literal["person", "question", "note", "event", "end"]
    seq: int
    at: datetime
    who: str
    """A person's name, the sort of a question, the rule of a note, the reason of an end."""
    text: str
    files: tuple[FileRef, ...] = ()


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call as the model meant it, with what came of it; ``result`` is None where it has none yet."""

    call: str
    block: CallBlock
    result: ToolFinished | None

    @property
    def state(self) -> str:
        """Its outcome in a word."""
        return self.result.outcome if self.result is not None else "open"

    @property
    def whole(self) -> BlobRef | None:
        """Its whole output, where the result has only part of that."""
        return self.result.output if self.result is not None else None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """An answer of a model; ``purpose`` is 'turn' where it is the agent's own."""

    seq: int
    at: datetime
    request: str
    purpose: str
    model: str
    tier: int
    text: str
    reasoning: str
    calls: tuple[CallRecord, ...]
    usage: Usage
    usd: float

    @property
    def tokens_in(self) -> int:
        """All that was sent, also what came from the provider's cache."""
        return self.usage.input + self.usage.cache_read + self.usage.cache_write


@dataclass(slots=True)
class TranscriptTurn:
    """A turn; 0 is what came before the first."""

    number: int
    at: datetime
    entries: list[Utterance | ModelReply] = field(default_factory=list[Utterance | ModelReply])
    paid: list[Payment] = field(default_factory=list[Payment])
    confidence: int | None = None

    @property
    def replies(self) -> list[ModelReply]:
        """The model's answers in it."""
        return [entry for entry in self.entries if isinstance(entry, ModelReply)]

    @property
    def calls(self) -> list[CallRecord]:
        """The calls in it."""
        return [call for reply in self.replies for call in reply.calls]

    @property
    def usd(self) -> float:
        """What it cost, with failed requests and the helpers that ended in it."""
        return sum(each.usd for each in self.paid)

    @property
    def copied(self) -> bool:
        """Another task paid it."""
        return any(each.copied for each in self.paid)


@dataclass(slots=True)
class ModelUse:
    """What the requests to one model came to; of helpers their number and tokens are not known."""

    requests: int = 0
    failed: int = 0
    tokens_in: int = 0
    cached: int = 0
    tokens_out: int = 0
    usd: float = 0.0


@dataclass(slots=True)
class TaskTotals:
    """What a task came to."""

    turns: int = 0
    models: dict[str, ModelUse] = field(default_factory=dict[str, ModelUse])
    calls: Counter[str] = field(default_factory=Counter[str])
    """By outcome."""
    tool_seconds: float = 0.0
    copied_usd: float = 0.0
    """What the part had cost that was copied from another task, which paid it; in nothing else."""

    def pay(self, paid: Payment) -> None:
        """Count what was paid."""
        if paid.copied:
            self.copied_usd += paid.usd
            return
        use = self.models.setdefault(paid.name, ModelUse())
        use.requests += paid.purpose != HELPER
        use.failed += paid.failed
        use.tokens_in += paid.used.input + paid.used.cache_read + paid.used.cache_write
        use.cached += paid.used.cache_read
        use.tokens_out += paid.used.output
        use.usd += paid.usd

    def take(self, turn: TranscriptTurn) -> None:
        """Add a turn."""
        self.turns += 1 if turn.number else 0
        for paid in turn.paid:
            self.pay(paid)
        for call in turn.calls:
            self.calls[call.state] += 1
            self.tool_seconds += call.result.seconds if call.result is not None else 0.0

    @property
    def whole(self) -> ModelUse:
        """All models together."""
        uses = self.models.values()
        return ModelUse(
            sum(use.requests for use in uses), sum(use.failed for use in uses), sum(use.tokens_in for use in uses),
            sum(use.cached for use in uses), sum(use.tokens_out for use in uses), sum(use.usd for use in uses),
        )  # fmt: skip


def totals_of(turns: Iterator[TranscriptTurn], outcome: Sequence[Envelope] = ()) -> TaskTotals:
    """What the turns came to, and what followed the end."""
    totals = TaskTotals()
    for turn in turns:
        totals.take(turn)
    for paid in after_the_end(outcome):
        totals.pay(paid)
    return totals


def transcript(log: Sequence[Envelope]) -> Iterator[TranscriptTurn]:
    """The turns of a log; a result stands with its call."""
    results = {each.event.call: each.event for each in log if isinstance(each.event, ToolFinished)}
    asked: dict[str, ModelRequested] = {}
    labels: dict[str, str] = {}
    answers = AnswersInWords()
    payments = Payments()
    turn: TranscriptTurn | None = None
    for envelope in log:
        event = envelope.event
        if turn is None:
            turn = TranscriptTurn(0, envelope.at)
        turn.paid += payments.of(envelope)
        if isinstance(event, ModelRequested):
            asked[event.request] = event
            if event.purpose == "turn" and event.turn != turn.number:
                yield turn
                turn = TranscriptTurn(event.turn, envelope.at)
        elif isinstance(event, ModelAnswered):
            turn.entries.append(_reply(envelope, event, asked.pop(event.request, None), results))
        elif isinstance(event, TurnEnded):
            turn.confidence = confidence.told(event.confidence, None)
        else:
            if isinstance(event, Asked):
                labels = labels_of(event)
                answers.ask(event)
            if (said := _utterance(envelope, event, labels, answers)) is not None:
                turn.entries.append(said)
    if turn is not None:
        yield turn


def _utterance(envelope: Envelope, event: Event, labels: dict[str, str], answers: AnswersInWords) -> Utterance | None:
    seq, at = envelope.seq, envelope.at
    match event:
        case Started():
            return Utterance("person", seq, at, event.requester.name, event.task, event.files)
        case InputReceived(sort="guidance" | "task" | "answer" | "correction" | "ask"):
            return Utterance("person", seq, at, event.author.name, answers.said(event), event.files)
        case Asked():
            return Utterance("question", seq, at, event.sort, question_text(event))
        case Decided() if answers.repeats(event):
            return None
        case Intervened():
            return Utterance("note", seq, at, event.rule, event.text.replace(NOTE, "").strip())
        case Finished():
            return Utterance("end", seq, at, event.reason, event.answer)
        case ToolStarted() | ToolFinished():
            return None
        case _:
            line = told(event, labels).strip()
            return Utterance("event", seq, at, "", line) if line else None


def _reply(
    envelope: Envelope, event: ModelAnswered, asked: ModelRequested | None, results: dict[str, ToolFinished]
) -> ModelReply:
    blocks = [block for block in event.blocks if isinstance(block, CallBlock)]
    names = [call_id(event.request, place) for place in range(len(blocks))]
    calls = tuple(CallRecord(name, block.meant, results.get(name)) for name, block in zip(names, blocks, strict=True))
    return ModelReply(
        envelope.seq, envelope.at, event.request,
        asked.purpose if asked is not None else "turn",
        (asked.model if asked is not None else "") or event.served_by,
        asked.tier if asked is not None else 0,
        "\n\n".join(block.text for block in event.blocks if isinstance(block, TextBlock) and block.text.strip()),
        "\n\n".join(block.text for block in event.blocks if isinstance(block, ReasoningBlock) and block.text.strip()),
        calls, event.usage, event.usd,
    )  # fmt: skip


def shown_of(sizes: Sequence[int], most: int) -> tuple[int, int]:
    """Which turns a file of at most so many characters has: those before the first place, and from the second one on.

    The beginning gets a quarter of the room and the end the rest, since how it ended is read first; the last turn is there
    in any case.
    """
    if sum(sizes) <= most:
        return len(sizes), len(sizes)
    first, room = 0, most // 4
    while first < len(sizes) - 1 and sizes[first] <= room:
        room -= sizes[first]
        first += 1
    last, room = len(sizes) - 1, most - most // 4 - sizes[-1]
    while last > first and sizes[last - 1] <= room:
        last -= 1
        room -= sizes[last]
    return first, last
