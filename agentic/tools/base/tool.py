"""What a tool is: a name, typed arguments, an effect class, and a function that acts.

Each tool has a file of its own, which ends in one `Tool` value.  A tool is passive: it is given validated arguments and the
world, and answers an observation; what follows from it is decided elsewhere.  What a model wrote never raises here:
arguments that do not fit become a refusal in words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar, cast

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError, model_validator

from agentic.core.events.execution_events import Effect, EquippedSkill, Finding, Outside, Permission
from agentic.core.rules.approvals import reasons
from agentic.core.state.execution import CallReply
from agentic.ports.children import Children
from agentic.ports.runtime import (
    NotBegun,
    Observation,
    Prepared,
    Preview,
    Refused,
    ToolSpec,
)
from agentic.remotes.thread_remote import WayOut
from agentic.sandbox.protocol.call_journal import Remembered
from agentic.tools.base.argument_schema import compact_schema, explain, shape
from agentic.tools.base.secret_placeholders import (
    UNMASKED,
    Masked,
    mask,
    mask_beside,
)
from agentic.tools.base.stored_outputs import KeptOutputs
from agentic.workspace.file_knowledge import WorldModel
from agentic.workspace.workspace import RealWorld

TOOL_SECONDS = 120.0
APPROVED = ".approved"
"""Ends the id of a call that a person let run: it is another effect than the call that was held."""
_JSON_OBJECT = TypeAdapter(dict[str, JsonValue])


class Arguments(BaseModel):
    """What a model may write in a call; anything else is refused.  A null means that the argument was left out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, written: object) -> object:
        if not isinstance(written, dict):
            return written
        given = cast(dict[object, object], written)
        return {name: value for name, value in given.items() if value is not None or name not in cls.model_fields}


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class AgentWorld:
    """The real world as one agent has it: what it knows of the files, and how far it has read its outputs and jobs."""

    real: RealWorld
    model: WorldModel
    outputs: KeptOutputs
    jobs: dict[str, int] = field(default_factory=dict[str, int])
    """For each background command, the offset in its output that the agent has seen."""
    begun: set[str] = field(default_factory=set[str])
    """The background commands that the agent began itself."""
    masks: bool = True
    """Secrets of known form are shown as placeholders."""

    @property
    def agent(self) -> str:
        """Who acts, as other agents of the thread are told of its changes."""
        return self.model.agent

    def hide(self, text: str) -> str:
        """An output as the agent is shown it."""
        return mask(text).text if self.masks else text

    async def seen(self, text: str, before: Masked = UNMASKED) -> Masked:
        """A file as the agent is shown it; what was shown ``before`` keeps its placeholders."""
        return await mask_beside(text, before.hidden) if self.masks else Masked(text, {})


@dataclass(frozen=True, slots=True)
class CallContext:
    """One call in progress.  ``world`` opens the world when it is first asked for."""

    id: str
    timeout: float
    on_output: Callable[[str], None]
    world: Callable[[], Awaitable[AgentWorld]]
    approved: str = ""
    """The state of what it touches that a person's approval is bound to; '' without one."""
    way_out: WayOut | None = None
    """Where commits may be published; None where the thread has no repository."""
    children: Children | None = None
    """Who has parts of the work done; None where nobody does."""
    attended: bool = True
    """Somebody can answer what it asks."""
    replies: tuple[CallReply, ...] = ()
    """What people answered to it so far; it goes on from there."""
    skills: tuple[EquippedSkill, ...] = ()
    """Those of its task."""

    @property
    def logged(self) -> str:
        """The id that the log has of the call, whether a person let it run or not."""
        return self.id.removesuffix(APPROVED)


Recall = Callable[[str], Awaitable[Remembered]]
"""What the sandbox wrote down of a key."""
Recalled = Observation | NotBegun | None
"""What became of a call, by what its sandbox wrote down; None where nobody knows."""


class AnyTool(Protocol):
    """A tool whose arguments only it knows."""

    @property
    def name(self) -> str:
        """How the model calls it."""
        ...

    @property
    def spec(self) -> ToolSpec:
        """What the model and the rules see."""
        ...

    @property
    def permission(self) -> Permission:
        """What it may do."""
        ...

    def prepare(self, arguments: Mapping[str, JsonValue], created: frozenset[str] = frozenset()) -> Prepared | Refused:
        """Validate, and say whether a person must approve it; pure."""
        ...

    def look(self, arguments: Mapping[str, JsonValue]) -> str:
        """A command that lists what a gated call would touch; '' where there is nothing to look at."""
        ...

    async def run(self, prepared: Prepared, call: CallContext) -> Observation:
        """Act."""
        ...

    async def preview(self, prepared: Prepared, call: CallContext) -> Preview:
        """What it would do outside."""
        ...

    async def recall(self, arguments: Mapping[str, JsonValue], call: CallContext, recall: Recall) -> Recalled:
        """What became of a call whose owner died."""
        ...


def _ordinary_seconds(_: Arguments) -> float:
    return TOOL_SECONDS


def _never_gated(_: Arguments, __: frozenset[str]) -> tuple[Finding, ...]:
    return ()


async def _forgotten(_: Arguments, __: CallContext, ___: Recall) -> Recalled:
    return None


def _nothing_expected(_: Arguments) -> str:
    return ""


async def _unseen(_: Arguments, __: CallContext) -> Preview:
    return Preview()


def _nothing_opened(_: Arguments) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class Tool(Generic[A]):
    """A tool with arguments of type ``A``; ``seconds`` is how long a call may take in all.  It is equal only to itself."""

    name: str
    description: str
    example: A
    act: Callable[[A, CallContext], Awaitable[Observation]]
    effect: Effect
    permission: Permission
    cognitive: bool = False
    asks: bool = False
    untrusted: bool = False
    """Its results hold what anybody may have written."""
    private: bool = False
    """Its results hold what is not public."""
    outside: Outside = "no"
    version: int = 1
    effects: Callable[[A], Effect] | None = None
    """The effect of one call, where that depends on its arguments; ``effect`` is then the strongest one."""
    seconds: Callable[[A], float] = _ordinary_seconds
    expects: Callable[[A], str] = _nothing_expected
    gates: Callable[[A, frozenset[str]], tuple[Finding, ...]] = _never_gated
    """All for which a person must approve a call, given the files that this execution made itself."""

    opens: Callable[[A], tuple[str, ...]] = _nothing_opened
    """What a gated call would let commands reach."""

    looks: Callable[[A], str] = _nothing_expected
    """A command that lists what a gated call would touch; '' where there is nothing to look at."""

    previews: Callable[[A, CallContext], Awaitable[Preview]] = _unseen
    """What a call would do outside, for whoever has to approve it.  May raise what ``act`` may."""

    recalls: Callable[[A, CallContext, Recall], Awaitable[Recalled]] = _forgotten
    """What became of an unkeyed call whose owner died; all that it does to the world it must do under the call's key."""

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model sees it, with an example of a good call."""
        return ToolSpec(
            name=self.name,
            description=f"{self.description}\nExample: {_canonical(self.example)}",
            parameters=compact_schema(type(self.example)),
            effect=self.effect,
            permission=self.permission,
            cognitive=self.cognitive,
            asks=self.asks,
            untrusted=self.untrusted,
            private=self.private,
            outside=self.outside,
            version=self.version,
        )

    def prepare(self, arguments: Mapping[str, JsonValue], created: frozenset[str] = frozenset()) -> Prepared | Refused:
        """The call as it will be recorded, or what is wrong with it and which shape is expected."""
        try:
            valid = type(self.example).model_validate(dict(arguments))
        except ValidationError as wrong:
            expected = f"{shape(type(self.example))}\nExample: {_canonical(self.example)}"
            return Refused(f"{self.name} was not run: {explain(wrong)}.\nExpected: {expected}")
        written = _canonical(valid)
        args_sha = hashlib.sha256(written.encode()).hexdigest()
        effect = self.effects(valid) if self.effects is not None else self.effect
        findings = self.gates(valid, created)
        return Prepared(
            arguments=_JSON_OBJECT.validate_json(written),
            args_sha=args_sha,
            effect=effect,
            key=args_sha if effect == "keyed" else "",
            expectation=self.expects(valid),
            timeout=self.seconds(valid),
            gate=reasons(findings),
            findings=findings,
            created=created,
            hosts=self.opens(valid),
        )

    def look(self, arguments: Mapping[str, JsonValue]) -> str:
        """A command that lists what a gated call would touch, for arguments that ``prepare`` has let through."""
        return self.looks(type(self.example).model_validate(arguments))

    async def run(self, prepared: Prepared, call: CallContext) -> Observation:
        """Act on arguments that ``prepare`` has let through."""
        return await self.act(type(self.example).model_validate(prepared.arguments), call)

    async def preview(self, prepared: Prepared, call: CallContext) -> Preview:
        """What it would do outside, on arguments that ``prepare`` has let through."""
        return await self.previews(type(self.example).model_validate(prepared.arguments), call)

    async def recall(self, arguments: Mapping[str, JsonValue], call: CallContext, recall: Recall) -> Recalled:
        """What became of a call that ``prepare`` had let through."""
        return await self.recalls(type(self.example).model_validate(dict(arguments)), call, recall)


def _canonical(arguments: Arguments) -> str:
    """Sorted, compact JSON of what was written; lone surrogates, which no file or log can hold, become '?'."""
    written = arguments.model_dump(mode="python", exclude_unset=True)
    text = json.dumps(written, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()
