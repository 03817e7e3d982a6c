"""A request as references: what was sent, stored once, however often it was sent.

System prompt and tools are blobs by hash; the history is the span of the log it was rendered from, with a hash chained
over its messages, so that a later rendering can be held against what was sent.  The cost is linear in the new messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from operator import is_
from typing import Any

import orjson

from agentic.core.consulting import prompt_of
from agentic.core.conversation import Message, Prompt, ToolSpec
from agentic.core.events import Purpose, Segments
from agentic.core.execution import Execution
from agentic.core.prompt import build_prompt
from agentic.core.telling import pending_message
from agentic.effects import Blob, blob


def prompt_for(execution: Execution, specs: tuple[ToolSpec, ...], purpose: Purpose = "turn") -> Prompt:
    """What is sent: a turn, or what is asked beside the turns."""
    if purpose == "turn":
        return build_prompt(execution, execution.mind.perceived, specs)
    return prompt_of(execution, purpose, specs)


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
        if self._tools is None or self._tools[0] is not specs:
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
    return hashlib.sha256(chain.encode() + written).hexdigest(), len(written)


def _goes_on(known: list[Message], messages: tuple[Message, ...]) -> bool:
    """The history grew at its end; its last message may have been made anew since, with the same words."""
    if not known or len(messages) < len(known):
        return not known
    return all(map(is_, known[:-1], messages)) and messages[len(known) - 1] == known[-1]
