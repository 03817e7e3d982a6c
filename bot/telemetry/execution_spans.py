"""Spans of one execution, made of its durable events; pure.

A span is called by where it begins in the log, so every process that reads the log makes the same spans with the same
ids, and logs, events and traces can be joined by the execution's id. It is told when it ends: what runs over a restart
(a question, a call whose result is found out later) is told by whoever sees its end. An execution is one span for each
process that worked on it, the later ones linked to the earlier ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from agentic.core.events.execution_events import (
    Asked,
    Block,
    CallBlock,
    DeadlinePassed,
    Decided,
    Envelope,
    Finished,
    HandedOver,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OwnerChanged,
    Started,
    StopReason,
    TextBlock,
    ToolFinished,
    ToolStarted,
    Triaged,
    Usage,
    WorkspaceRestored,
)
from agentic.core.events.ids import call_id, child_id, span_id, trace_id
from agentic.models.providers.catalogue import provider_of
from bot.telemetry import names

Value = str | int | float | bool | tuple[str, ...]
Kind = Literal["agent", "inference", "tool", "wait"]
Mask = Callable[[str], str]
CONTENT_CHARACTERS = 8_000
"""So much of a text stands in a trace."""
CHILDREN = 16
"""Children of one call that are looked for."""
NOBODY = "threadwright"
"""The name of an agent without a role."""
FAULTLESS = frozenset(("done", "tour", "stopped", "cancelled"))
"""Reasons to end that are nobody's fault."""
_STOPS: Mapping[StopReason, str] = {"end": "stop", "tool_use": "tool_call", "filtered": "content_filter"}


@dataclass(frozen=True, slots=True)
class EndedSpan:
    """One span, whole. Ids are hexadecimal; ``parent`` is '' at the top; ``links`` are (trace, span)."""

    kind: Kind
    trace: str
    id: str
    parent: str
    name: str
    begun: datetime
    ended: datetime
    attributes: Mapping[str, Value]
    links: tuple[tuple[str, str], ...] = ()
    error: str = ""
    requests: int = 0
    """Of an agent's span: how often it asked a model."""
    calls: int = 0
    """How many results of tool calls it got."""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return max((self.ended - self.begun).total_seconds(), 0.0)


@dataclass(slots=True)
class _Open:
    """A span that has begun."""

    kind: Kind
    id: str
    parent: str
    name: str
    begun: datetime
    attributes: dict[str, Value]
    links: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Sums:
    """What one process did of an execution."""

    requests: int = 0
    calls: int = 0
    input: int = 0
    output: int = 0
    usd: float = 0.0


@dataclass(slots=True)
class ExecutionSpans:
    """The spans of an execution; ``parent_of`` finds the span that a child's work is part of.

    ``mask`` takes secrets out of words; without it no words are told.
    """

    execution: str
    parent_of: Callable[[str, str], str]
    mask: Mask | None = None
    last: datetime | None = None
    """When the last event was."""
    _started: Started | None = None
    _role: str = ""
    _turn: int = 0
    _owner: _Open | None = None
    _before: str = ""
    """The span of the process that worked on it before."""
    _sums: _Sums = field(default_factory=_Sums)
    _requests: dict[str, _Open] = field(default_factory=dict[str, _Open])
    _calls: dict[str, _Open] = field(default_factory=dict[str, _Open])
    _questions: dict[str, _Open] = field(default_factory=dict[str, _Open])
    _tools: dict[str, str] = field(default_factory=dict[str, str])
    """Tools of calls that the last answers made and that have not begun."""

    @property
    def trace(self) -> str:
        """The trace that it belongs to."""
        started = self._started
        return trace_id(started.root or started.parent if started is not None and started.child else self.execution)

    def of_child(self, child: str) -> str:
        """The span that a child is part of: the call that has it, else what runs of this execution, '' for none."""
        for call, span in self._calls.items():
            if any(child_id(call, index) == child for index in range(CHILDREN)):
                return span.id
        return self._owner.id if self._owner is not None else ""

    def saw(self, envelope: Envelope) -> list[EndedSpan]:
        """Take an event in; returns what ended by it."""
        event, at = envelope.event, envelope.at
        ended = self._owned(envelope)
        self.last = at
        match event:
            case Triaged():
                self._role = event.role or self._role
            case ModelRequested():
                self._turn = max(self._turn, event.turn)
                self._requests[event.request] = self._request(event, envelope)
            case ModelAnswered() | ModelFailed():
                ended += self._answered(event, at)
            case ToolStarted():
                self._calls[event.call] = self._call(event.tool, event.call, envelope, event.effect)
                if self.mask is not None:
                    self._calls[event.call].attributes[names.ARGUMENTS] = self._words(json.dumps(event.arguments))
            case ToolFinished():
                ended.append(self._used(event, envelope))
            case Asked():
                self._questions[event.question] = self._question(event, envelope)
            case Decided() | DeadlinePassed():
                ended += self._decided(event, at)
            case Finished():
                ended += self._finished(event, at)
            case _:
                pass
        return ended

    # --- who works on it ---

    def _owned(self, envelope: Envelope) -> list[EndedSpan]:
        """Who works on it, as far as the event says that; any event of somebody who works opens their span."""
        event, at, ended = envelope.event, envelope.at, list[EndedSpan]()
        if isinstance(event, Started):
            self._started, self._role = event, event.role
            self._owner = self._process(envelope, _linked(event))
        elif isinstance(event, HandedOver):
            ended += self._left(at, "handed_over")
        elif isinstance(event, WorkspaceRestored) and event.way == "rewind":
            self._forget()  # what stands before it was copied, and told by the execution that it was copied of
        elif isinstance(event, OwnerChanged):
            crashed = self._owner is not None
            ended += self._left(self.last or at, "owner_lost", "owner_lost")
            self._owner = self._process(envelope, self._link())
            self._owner.attributes[names.TAKEN_UP] = "crash" if crashed else "handover"
        elif self._owner is None and self._started is not None:
            self._owner = self._process(envelope, self._link())
        return ended

    def _forget(self) -> None:
        self._owner = None
        self._sums = _Sums()
        for spans in (self._requests, self._calls, self._questions):
            spans.clear()

    def _link(self) -> tuple[tuple[str, str], ...]:
        return ((self.trace, self._before),) if self._before else ()

    def _process(self, envelope: Envelope, links: tuple[tuple[str, str], ...]) -> _Open:
        started, parent = self._started, ""
        attributes = self._common(names.INVOKE_AGENT)
        if started is not None and started.child:
            parent = self.parent_of(started.parent, self.execution)
            attributes[names.PARENT] = started.parent
        return _Open(
            "agent", span_id(self.execution, envelope.seq), parent, names.INVOKE_AGENT, envelope.at, attributes, links
        )

    def _left(
        self, at: datetime, outcome: str, error: str = "", more: Mapping[str, Value] | None = None
    ) -> list[EndedSpan]:
        """One process has done with it."""
        owner, self._owner = self._owner, None
        if owner is None:
            return []
        self._before, sums, self._sums = owner.id, self._sums, _Sums()
        role = self._role or NOBODY
        owner.name = f"{names.INVOKE_AGENT} {role}"
        owner.attributes |= {
            names.AGENT: role,
            names.OUTCOME: outcome,
            names.TURNS: self._turn,
            names.INPUT_TOKENS: sums.input,
            names.OUTPUT_TOKENS: sums.output,
            names.USD: sums.usd,
            **(more or {}),
        }
        return [replace(self._ended(owner, at, error), requests=sums.requests, calls=sums.calls)]

    def _finished(self, event: Finished, at: datetime) -> list[EndedSpan]:
        left = [*self._requests.values(), *self._calls.values(), *self._questions.values()]
        ended = [self._ended(span, at, "unfinished") for span in left]
        for spans in (self._requests, self._calls, self._questions):
            spans.clear()
        more: dict[str, Value] = {}
        if self.mask is not None and self._started is not None:
            more[names.INPUT_MESSAGES] = self._message("user", (TextBlock(text=self._started.task),))
            more[names.OUTPUT_MESSAGES] = self._message("assistant", (TextBlock(text=event.answer),))
        error = "" if event.reason in FAULTLESS else event.reason
        return [*ended, *self._left(at, event.reason, error, more)]

    # --- requests ---

    def _request(self, event: ModelRequested, envelope: Envelope) -> _Open:
        provider, model = asked_of(event.model)
        attributes = self._common(names.CHAT) | {
            names.PROVIDER: provider,
            names.ASKED_MODEL: model,
            names.REQUEST: event.request,
            names.PURPOSE: event.purpose,
            names.ATTEMPT: event.attempt,
            names.TURN: event.turn,
            names.TIER: event.tier,
        }
        return self._open("inference", f"{names.CHAT} {model}", envelope, attributes)

    def _answered(self, event: ModelAnswered | ModelFailed, at: datetime) -> list[EndedSpan]:
        span = self._requests.pop(event.request, None)
        if isinstance(event, ModelAnswered):
            self._tools = {call_id(event.request, n): call.tool for n, call in enumerate(event.calls)}
        if span is None:
            return []
        usd, used = event.usd or 0.0, event.usage
        sent = used.input + used.cache_read + used.cache_write
        self._sums.requests += 1
        self._sums.input += sent
        self._sums.output += used.output
        self._sums.usd += usd
        span.attributes |= _usage(used, sent) | {names.USD: usd}
        if isinstance(event, ModelFailed):
            span.attributes[names.FINISH_REASONS] = ("error",)
            return [self._ended(span, at, event.failure)]
        span.attributes |= {
            names.FINISH_REASONS: (_STOPS.get(event.stop, event.stop),),
            names.ANSWERING_MODEL: asked_of(event.served_by or str(span.attributes[names.ASKED_MODEL]))[1],
            names.ESTIMATED: event.estimated,
        }
        if self.mask is not None:
            span.attributes[names.OUTPUT_MESSAGES] = self._message("assistant", event.blocks)
        return [self._ended(span, at)]

    # --- tools ---

    def _call(self, tool: str, call: str, envelope: Envelope, effect: str = "") -> _Open:
        known = {ref.name for ref in self._started.tools} if self._started is not None else set[str]()
        tool = tool if effect or tool in known else names.OTHER
        attributes = self._common(names.EXECUTE_TOOL) | {
            names.AGENT: self._role or NOBODY,
            names.TOOL: tool,
            names.TOOL_TYPE: "function",
            names.CALL: call,
        }
        if effect:
            attributes[names.EFFECT] = effect
        return self._open("tool", f"{names.EXECUTE_TOOL} {tool}", envelope, attributes)

    def _used(self, event: ToolFinished, envelope: Envelope) -> EndedSpan:
        """A call has its result, also one that never began."""
        span = self._calls.pop(event.call, None)
        if span is None:
            span = self._call(self._tools.get(event.call, ""), event.call, envelope)
        self._sums.calls += 1
        span.attributes[names.OUTCOME] = event.outcome
        if event.exit_code is not None:
            span.attributes[names.EXIT_CODE] = event.exit_code
        if self.mask is not None:
            span.attributes[names.RESULT] = self._words(event.preview)
        return self._ended(span, envelope.at, "" if event.outcome == "ok" else event.outcome)

    # --- people ---

    def _question(self, event: Asked, envelope: Envelope) -> _Open:
        attributes = self._common(names.WAIT) | {names.QUESTION: event.question, names.QUESTION_SORT: event.sort}
        if event.call:
            attributes[names.CALL] = event.call
        return self._open("wait", f"{names.WAIT} {event.sort}", envelope, attributes)

    def _decided(self, event: Decided | DeadlinePassed, at: datetime) -> list[EndedSpan]:
        answered = isinstance(event, Decided)
        span = self._questions.pop(event.question if answered else event.ref, None)
        if span is None:
            return []
        span.attributes[names.OUTCOME] = "answered" if answered else "expired"
        return [self._ended(span, at)]

    # --- all ---

    def _common(self, operation: str) -> dict[str, Value]:
        thread = self._started.thread if self._started is not None else ""
        return {names.OPERATION: operation, names.CONVERSATION: thread, names.EXECUTION: self.execution}

    def _open(self, kind: Kind, name: str, envelope: Envelope, attributes: dict[str, Value]) -> _Open:
        parent = self._owner.id if self._owner is not None else ""
        return _Open(kind, span_id(self.execution, envelope.seq), parent, name, envelope.at, attributes)

    def _ended(self, span: _Open, at: datetime, error: str = "") -> EndedSpan:
        if error:
            span.attributes[names.ERROR] = error
        return EndedSpan(
            span.kind, self.trace, span.id, span.parent, span.name, span.begun, max(at, span.begun),
            span.attributes, span.links, error,
        )  # fmt: skip

    def _message(self, role: str, blocks: Sequence[Block]) -> str:
        """One message as the conventions write it."""
        parts = [
            {"type": "tool_call", "name": block.tool, "arguments": self._words(json.dumps(block.arguments))}
            if isinstance(block, CallBlock)
            else {"type": "text" if isinstance(block, TextBlock) else "reasoning", "content": self._words(block.text)}
            for block in blocks
        ]
        return json.dumps([{"role": role, "parts": parts}])

    def _words(self, text: str) -> str:
        assert self.mask is not None
        shown = self.mask(text[: 2 * CONTENT_CHARACTERS])  # masked first: half a secret has no known form
        return shown if len(shown) <= CONTENT_CHARACTERS else shown[: CONTENT_CHARACTERS - 1] + "…"


def _linked(started: Started) -> tuple[tuple[str, str], ...]:
    """The executions that one follows on: copied, an earlier attempt, or asked about while it runs."""
    others = [started.forked_from[0] if started.forked_from is not None else "", started.trial_of]
    others += [started.parent] if started.side else []
    return tuple((trace_id(other), span_id(other, 1)) for other in others if other)


def _usage(used: Usage, sent: int) -> dict[str, Value]:
    values: dict[str, Value] = {names.INPUT_TOKENS: sent, names.OUTPUT_TOKENS: used.output}
    parts = {names.CACHE_READ: used.cache_read, names.CACHE_WRITE: used.cache_write, names.REASONING: used.reasoning}
    return values | {name: tokens for name, tokens in parts.items() if tokens}


def asked_of(model: str) -> tuple[str, str]:
    """The provider and the model of a LiteLLM name, as the conventions call them."""
    first, slash, rest = model.partition("/")
    known = provider_of(model)
    provider = first if slash else known.name if known is not None else first
    return names.PROVIDERS.get(provider, provider), rest if slash else model
