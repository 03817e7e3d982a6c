"""What a model is sent: tools, messages, and the prompt that holds them.

Messages are values that keep their identity from request to request (the fold makes each once), so an adapter may
cache their wire form by ``id()`` and the cost of a request does not grow with its history.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import JsonValue

from agentic.core.events.execution_events import Effect, Outside, Permission, ToolRef

__all__ = ["Message", "Picture", "Prompt", "ToolAnswer", "ToolCall", "ToolSpec"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it and as the rules treat it; ``parameters`` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    effect: Effect
    permission: Permission
    cognitive: bool = False
    version: int = 1
    asks: bool = False
    """It puts a question to a person."""
    untrusted: bool = False
    """Its results hold what anybody may have written: pages, issues, what a foreign server answers."""
    private: bool = False
    """Its results hold what is not public: mail, memory, documents of a server that needs a credential."""
    outside: Outside = "no"
    """Whether a call can change or tell something outside of the workspace.  A foreign tool that does not say that it
    only reads is ``always``."""

    @property
    def tokens(self) -> int:
        """About how many its description takes in a prompt."""
        return (len(self.name) + len(self.description) + len(json.dumps(self.parameters))) // 4

    @property
    def ref(self) -> ToolRef:
        """What a log keeps of it."""
        return ToolRef(
            name=self.name, effect=self.effect, permission=self.permission, version=self.version,
            cognitive=self.cognitive, asks=self.asks, untrusted=self.untrusted, private=self.private, outside=self.outside,
            tokens=self.tokens,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call in the history, with the provider's id."""

    provider_id: str
    tool: str
    arguments: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The result of a call in the history, paired by the provider's id."""

    provider_id: str
    tool: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that goes with a message, by reference: its bytes are read just before a request is sent."""

    path: str
    media: str
    sha: str
    size: int
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the history.

    user: ``text``, after ``answers`` where there are any (results first, in call order, then what people said).
    assistant: ``reasoning`` (opaque, only for the provider that signed it), ``text``, ``calls``.
    Messages keep their identity from request to request: an adapter may cache their wire form by ``id()``.
    """

    role: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    answers: tuple[ToolAnswer, ...] = ()
    reasoning: tuple[tuple[str, str, str], ...] = ()
    """(provider, text, opaque)."""
    landmark: bool = False
    """What stands up to its end is worth keeping in a provider's cache by itself."""
    pictures: tuple[Picture, ...] = ()
    """What a person attached to it, for models that can see."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request's content: a stable prefix (system, tools), the history, a volatile tail.

    ``tail`` is what is perceived now; an adapter sends it as a last user text after the history and never caches it.
    """

    system: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    tail: str = ""
