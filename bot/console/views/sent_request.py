"""A request to a model: its parts, their sizes, and what differs from another one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import unified_diff
from itertools import islice
from typing import Literal

from agentic.core.events.execution_events import (
    CallBlock,
    Compacted,
    Envelope,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Perceived,
    ReasoningBlock,
    TextBlock,
    ToolFinished,
)
from agentic.core.events.ids import call_id
from agentic.core.state.conversation import Message, ToolAnswer, ToolCall, ToolSpec
from agentic.core.state.execution import Execution

PieceSort = Literal["reasoning", "result", "text", "call", "picture"]
LINES_COMPARED = 4_000
"""Longer texts are not compared line by line."""
PARTS = {"system": "System prompt", "tools": "Tools", "tail": "What was added after the messages"}
ENCRYPTED = "Encrypted by {provider}: only the provider can read it."


@dataclass(frozen=True, slots=True)
class SentRequest:
    """What a model was sent. ``exact``: the history has the recorded hash; None where none was recorded."""

    seq: int
    at: datetime
    event: ModelRequested
    state: Execution
    """After the request was recorded."""
    system: str | None
    """None where it is not stored any more, or never was; ``tools`` likewise."""
    tools: tuple[ToolSpec, ...] | None
    messages: tuple[Message, ...]
    tail: str
    exact: bool | None


@dataclass(frozen=True, slots=True)
class Piece:
    """One part of a message; ``name`` says which: 'm12.1' is the second part of the twelfth message."""

    name: str
    sort: PieceSort
    about: str
    """The tool of a call or result, the provider of reasoning, a picture's path."""
    text: str
    failed: bool = False
    call: str = ""
    """Of a result: the provider's id of its call."""


@dataclass(frozen=True, slots=True)
class Happening:
    """What came between two requests and changed what the model sees."""

    seq: int
    event: Perceived | Compacted


@dataclass(frozen=True, slots=True)
class RequestAnswer:
    """What came of a request: the answer and its calls' results as messages, or why there is none."""

    seq: int = 0
    """The event; 0 where there is no answer yet."""
    said: Message | None = None
    results: Message | None = None
    event: ModelAnswered | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class RequestDifference:
    """What was added to, and removed from, an earlier request."""

    system: tuple[str, ...]
    """Lines of a unified diff; () where nothing differs."""
    tools_added: tuple[str, ...]
    tools_removed: tuple[str, ...]
    tools_changed: tuple[str, ...]
    same: int
    """Messages that are alike, from the first one on."""
    removed: int
    added: int
    tail: tuple[str, ...]


def requests_of(events: Sequence[Envelope]) -> list[tuple[Envelope, ModelRequested]]:
    """All requests of a log, in order."""
    return [(envelope, envelope.event) for envelope in events if isinstance(envelope.event, ModelRequested)]


def pieces_of(place: int, message: Message) -> tuple[Piece, ...]:
    """The parts of a message in the order in which they are sent; ``place`` counts from 1."""
    return tuple(Piece(f"m{place}.{number}", *piece) for number, piece in enumerate(_pieces(message)))


def _pieces(message: Message) -> Iterator[tuple[PieceSort, str, str, bool, str]]:
    for provider, text, _ in message.reasoning:
        yield "reasoning", provider, text or ENCRYPTED.format(provider=provider or "the provider"), False, ""
    for answer in message.answers:
        yield "result", answer.tool, answer.text, answer.failed, answer.provider_id
    if message.text:
        yield "text", "", message.text, False, ""
    for call in message.calls:
        yield "call", call.tool, arguments_text(call.arguments), False, ""
    for picture in message.pictures:
        yield "picture", picture.path, f"{picture.media}, {picture.size:,} bytes", False, ""


def arguments_text(arguments: Mapping[str, object]) -> str:
    """A call's arguments as people read them, each on a line; one of several lines stands below its name."""
    shown = ((name, value if isinstance(value, str) else written(value)) for name, value in arguments.items())
    return "\n".join(f"{name}:\n{value}" if "\n" in value else f"{name}: {value}" for name, value in shown)


def written(value: object) -> str:
    """JSON as people read it."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def tools_text(tools: Sequence[ToolSpec]) -> str:
    """The tools as the model is told them, one after the other."""
    return "\n\n".join(f"{tool.name}\n{tool.description}\n{written(tool.parameters)}" for tool in tools)


def whole_outputs(events: Iterable[Envelope]) -> dict[str, tuple[int, int]]:
    """Results of which the model saw only a part, by the provider's id of their call: their event, and the bytes in all."""
    names: dict[str, str] = {}
    found: dict[str, tuple[int, int]] = {}
    twice: set[str] = set()
    for envelope in events:
        event = envelope.event
        if isinstance(event, ModelAnswered):
            for number, call in enumerate(event.calls):
                if call.provider_id in found:
                    twice.add(call.provider_id)
                names[call_id(event.request, number)] = call.provider_id
        elif isinstance(event, ToolFinished) and event.output is not None and (name := names.get(event.call)):
            found[name] = envelope.seq, event.output.size
    return {name: place for name, place in found.items() if name not in twice}


def piece_title(sent: SentRequest, name: str) -> str:
    """A part in words, with the request that it is in."""
    event = sent.event
    where = f"the request of turn {event.turn}" if event.turn else "the request before the first turn"
    if name in PARTS:
        return f"{PARTS[name]} of {where}"
    place, _, number = name.removeprefix("m").partition(".")
    piece = pieces_of(int(place), sent.messages[int(place) - 1])[int(number)]
    about = f" of {piece.about}" if piece.about and piece.sort in ("call", "result") else ""
    return f"{piece.sort.capitalize()}{about} in message {place} of {where}"


def piece_text(sent: SentRequest, name: str, shown: Callable[[Message], Message] = lambda each: each) -> str | None:
    """A part by its name: ``system``, ``tools``, ``tail`` or a part of a message; None where there is none.

    ``shown`` makes of a message what may be shown of it.
    """
    if name == "system":
        return sent.system
    if name == "tools":
        return tools_text(sent.tools) if sent.tools is not None else None
    if name == "tail":
        return sent.tail
    place, _, number = name.removeprefix("m").partition(".")
    if not (place.isdecimal() and number.isdecimal() and 1 <= int(place) <= len(sent.messages)):
        return None
    pieces = pieces_of(int(place), shown(sent.messages[int(place) - 1]))
    return pieces[int(number)].text if int(number) < len(pieces) else None


def sizes(sent: SentRequest) -> tuple[tuple[str, int], ...]:
    """Characters of each sort of content, those that there are."""
    counted = {
        "System prompt": len(sent.system or ""),
        "Tools": sum(tool.tokens * 4 for tool in sent.tools or ()),
        "Task, people and notes": 0,
        "What the model said": 0,
        "Reasoning sent back": 0,
        "Calls": 0,
        "Results": 0,
        "Added after the messages": len(sent.tail),
    }
    names = {"reasoning": "Reasoning sent back", "result": "Results", "call": "Calls"}
    for message in sent.messages:
        said = "What the model said" if message.role == "assistant" else "Task, people and notes"
        for sort, _, text, *_ in _pieces(message):
            if sort != "picture":
                counted[names.get(sort, said)] += len(text)
    return tuple((name, size) for name, size in counted.items() if size)


def happened(events: Sequence[Envelope], after: int, until: int) -> tuple[Happening, ...]:
    """What was perceived and compacted after one event and before another, by their sequence numbers."""
    found: list[Happening] = []
    for envelope in events[after : max(until - 1, 0)]:
        event = envelope.event
        if isinstance(event, Compacted) or (
            isinstance(event, Perceived) and (event.stale or event.changes or event.environment)
        ):
            found.append(Happening(envelope.seq, event))
    return tuple(found)


def answer_to(events: Sequence[Envelope], sent: SentRequest) -> RequestAnswer:
    """What came of a request. ``events`` are all of its log."""
    found = RequestAnswer()
    calls: dict[str, ToolCall] = {}
    results: list[ToolAnswer] = []
    for envelope in islice(events, sent.seq, None):
        event = envelope.event
        if isinstance(event, ModelAnswered) and event.request == sent.event.request:
            said = _said(event)
            calls = {call_id(event.request, number): call for number, call in enumerate(said.calls)}
            found = replace(found, seq=envelope.seq, said=said, event=event)
        elif isinstance(event, ModelFailed) and event.request == sent.event.request:
            words = f"{event.failure.replace('_', ' ')}: {event.message}".removesuffix(": ")
            return replace(found, seq=envelope.seq, failure=words)
        elif isinstance(event, ToolFinished) and event.call in calls:
            call = calls[event.call]
            results.append(ToolAnswer(call.provider_id, call.tool, event.preview, failed=event.outcome != "ok"))
        elif isinstance(event, ModelRequested) and event.purpose == "turn":
            break
    return replace(found, results=Message("user", answers=tuple(results))) if results else found


def _said(event: ModelAnswered) -> Message:
    blocks = [block for block in event.blocks if isinstance(block, CallBlock)]
    return Message(
        "assistant",
        text="\n".join(block.text for block in event.blocks if isinstance(block, TextBlock)),
        calls=tuple(ToolCall(block.provider_id, block.tool, block.arguments) for block in blocks),
        reasoning=tuple(
            (block.provider, block.text, block.opaque) for block in event.blocks if isinstance(block, ReasoningBlock)
        ),
    )


def difference(before: SentRequest, now: SentRequest) -> RequestDifference:
    """What ``now`` has that ``before`` had not, and the other way round."""
    were = {tool.name: tool for tool in before.tools or ()}
    are = {tool.name: tool for tool in now.tools or ()}
    same = alike(before.messages, now.messages)
    return RequestDifference(
        _lines(before.system or "", now.system or ""),
        tuple(name for name in are if name not in were),
        tuple(name for name in were if name not in are),
        tuple(name for name, tool in are.items() if name in were and were[name] != tool),
        same,
        len(before.messages) - same,
        len(now.messages) - same,
        _lines(before.tail, now.tail),
    )


def alike(before: Sequence[Message], now: Sequence[Message]) -> int:
    """How many messages are the same, from the first one on."""
    pairs = zip(before, now, strict=False)
    return next((place for place, (was, is_now) in enumerate(pairs) if was != is_now), min(len(before), len(now)))


def cache_breaks(before: SentRequest, now: SentRequest) -> tuple[str, ...]:
    """Why a provider's cache of one request is of no use, or of less use, for the next one; () where it serves all."""
    found: list[str] = []
    if before.event.model != now.event.model:
        found.append(f"Another model is asked: {now.event.model} instead of {before.event.model}.")
    were, are = before.event.segments, now.event.segments
    if were is not None and are is not None:
        if were.system.sha != are.system.sha:
            found.append("The system prompt is another one.")
        if were.tools.sha != are.tools.sha:
            found.append("The tools are others.")
    same = alike(before.messages, now.messages)
    if same < len(before.messages):
        found.append(
            f"Message {same + 1} is the first that differs; {len(before.messages) - same:,} of the "
            f"{len(before.messages):,} messages of the request before are gone or changed."
        )
    return tuple(found)


def _lines(before: str, now: str) -> tuple[str, ...]:
    if before == now:
        return ()
    was, is_now = before.splitlines(), now.splitlines()
    if len(was) + len(is_now) > LINES_COMPARED:
        return ("Too long to be compared line by line.",)
    return tuple(
        line for line in unified_diff(was, is_now, "before", "now", lineterm="") if line[:3] not in ("---", "+++")
    )
