"""A request as references, and rebuilt from the log.

System prompt and tools are blobs by hash; the history is the span of the log it was rendered from, with a hash chained
over its messages (``Segments.history_sha``).  Where a newer version renders the history in other words, the hash differs,
and that is said rather than shown as if it had been sent.  The cost is linear in the new messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any

import orjson

from agentic.core.events.execution_events import Envelope, ModelRequested, Purpose, Segments
from agentic.core.fold.fold import evolve
from agentic.core.fold.prompt_size import picture
from agentic.core.prompt.build import build_prompt
from agentic.core.prompt.user_messages import pending_message
from agentic.core.rules import compaction, escalation, triage
from agentic.core.rules.watchers import peek
from agentic.core.state.conversation import Message, Prompt, ToolSpec
from agentic.core.state.execution import Execution
from agentic.ports.runtime import Store
from agentic.runtime.effects import Blob, blob

BESIDE: Mapping[Purpose, Callable[[Execution, tuple[ToolSpec, ...]], Prompt]] = {
    "triage": triage.prompt,
    "advice": escalation.prompt,
    "summary": compaction.prompt,
    "watcher": peek.prompt,
}
"""Requests beside the turns; each is sent once, and its failure blocks nothing."""


def prompt_for(execution: Execution, specs: tuple[ToolSpec, ...], purpose: Purpose = "turn") -> Prompt:
    """Build what is sent: a turn, or a request beside the turns."""
    if purpose == "turn":
        return build_prompt(execution, execution.mind.perceived, specs)
    return BESIDE[purpose](execution, specs)


NO_PICTURES = b',"pictures":[]}'
"""How a message without pictures ends; left out, so that the hashes in older logs still fit."""


class SegmentKeeper:
    """Keeps the hash of the history so far and what was already stored."""

    def __init__(self) -> None:
        self.characters = 0
        """Size of the last request: system, tools, history, tail."""
        self._stored: set[str] = set()
        self._chained: list[Message] = []
        self._chain = ""
        self._history_characters = 0
        self._texts: dict[str, Blob] = {}
        self._tools: tuple[tuple[ToolSpec, ...], Blob] | None = None

    def of(
        self, execution: Execution, specs: tuple[ToolSpec, ...], purpose: Purpose = "turn"
    ) -> tuple[Segments, list[Blob]]:
        """The segments of the next request, and the blobs that are not stored yet."""
        prompt = prompt_for(execution, specs, purpose)
        system = self._text(prompt.system)
        tools = self._tools_blob(prompt.tools)
        pending = pending_message(execution) if purpose == "turn" else None
        self._chain_up((*prompt.messages, pending) if pending else prompt.messages)
        self.characters = system[0].size + tools[0].size + self._history_characters + len(prompt.tail)
        fresh = [stored for stored in (system, tools) if stored[0].sha not in self._stored]
        self._stored.update(reference.sha for reference, _ in fresh)
        compacted = execution.mind.compacted
        segments = Segments(
            system=system[0],
            tools=tools[0],
            history_from=compacted.through_seq if compacted else 0,
            history_through=execution.seq,
            history_sha=self._chain,
            tail=prompt.tail,
        )
        return segments, fresh

    def _text(self, text: str) -> Blob:
        if text not in self._texts:
            self._texts = {text: blob(text.encode())}
        return self._texts[text]

    def _tools_blob(self, specs: tuple[ToolSpec, ...]) -> Blob:
        if self._tools is None or self._tools[0] != specs:  # most often the very same ones
            self._tools = (specs, blob(orjson.dumps(specs), "application/json"))
        return self._tools[1]

    def _chain_up(self, messages: tuple[Message, ...]) -> None:
        known = self._chained
        if not _goes_on(known, messages):
            known, self._chain, self._history_characters = [], "", 0
        for message in messages[len(known) :]:
            self._chain, size = _linked(self._chain, message)
            self._history_characters += size
        self._chained = [*messages]


def chain_of(messages: Iterable[Message]) -> str:
    """The hash of a history: what ``Segments.history_sha`` is of the one that was sent."""
    chain = ""
    for message in messages:
        chain, _ = _linked(chain, message)
    return chain


def specs_in(tools: bytes) -> tuple[ToolSpec, ...]:
    """The tools of a request, from the blob that its segments name."""
    rows: list[dict[str, Any]] = orjson.loads(tools)
    return tuple(ToolSpec(**row) for row in rows)


def _linked(chain: str, message: Message) -> tuple[str, int]:
    written = orjson.dumps(message)
    if not message.pictures:
        written = written.removesuffix(NO_PICTURES) + b"}"
    return hashlib.sha256(chain.encode() + written).hexdigest(), len(written) + sum(map(picture, message.pictures))


def _goes_on(known: list[Message], messages: tuple[Message, ...]) -> bool:
    """The history grew at its end; its last message may have been made anew since, with the same words."""
    if not known or len(messages) < len(known):
        return not known
    return all(map(is_, known[:-1], messages)) and messages[len(known) - 1] == known[-1]


@dataclass(frozen=True, slots=True)
class Sent:
    """A request with what it held; ``exact`` says that the history is the one that was sent."""

    event: ModelRequested
    prompt: Prompt
    exact: bool


class NotStored(Exception):
    """What a request was made of is not stored; the text says what."""


async def as_sent(store: Store, log: Sequence[Envelope], request: str) -> Sent:
    """The request with this id, or with an id that begins so.  Raises ``NotStored``."""
    execution = Execution()
    for envelope in log:
        execution = evolve(execution, envelope)
        event = envelope.event
        if isinstance(event, ModelRequested) and event.request.startswith(request):
            return await _sent(store, execution, event)
    raise NotStored(f"there is no request {request!r} in it")


def messages_of(execution: Execution, specs: tuple[ToolSpec, ...], purpose: Purpose) -> tuple[Message, ...]:
    """The messages of a request, from the tools that were sent with it and the state in which it was recorded."""
    if purpose == "advice" and execution.started is not None:  # it names the tools of the task, and is sent none
        tools = execution.started.tools
        specs = tuple(ToolSpec(tool.name, "", {}, tool.effect, tool.permission) for tool in tools)
    return prompt_for(execution, specs, purpose).messages


def requests_in(log: Sequence[Envelope]) -> list[ModelRequested]:
    """All requests of a log, in order."""
    return [envelope.event for envelope in log if isinstance(envelope.event, ModelRequested)]


async def _sent(store: Store, execution: Execution, event: ModelRequested) -> Sent:
    segments = event.segments
    if segments is None:
        raise NotStored(f"what request {event.request} held was not recorded")
    system, tools = await store.get_blob(segments.system.sha), await store.get_blob(segments.tools.sha)
    if system is None or tools is None:
        raise NotStored(f"the system text or the tools of request {event.request} are not stored any more")
    specs = specs_in(tools)
    messages = messages_of(execution, specs, event.purpose)
    prompt = Prompt(system=system.decode(), tools=specs, messages=messages, tail=segments.tail)
    return Sent(event, prompt, exact=chain_of(messages) == segments.history_sha)
