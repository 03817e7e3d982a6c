"""What a scripted endpoint answers: one ``Reply`` for each request, with every way a provider goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Self

from pydantic import JsonValue

from agentic.core.events.execution_events import StopReason, Usage

Breakage = Literal["stall", "reset", "error"]
"""stall: nothing more comes; reset: the connection is dropped; error: the stream says that it failed."""


@dataclass(frozen=True, slots=True)
class Break:
    """A stream that goes wrong after ``after`` pieces."""

    how: Breakage
    after: int = 1


@dataclass(frozen=True, slots=True)
class Failure:
    """A provider's error, rendered in the words of the protocol that was asked."""

    message: str
    type: str = ""
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer.  Arguments of a call given as ``str`` are sent as they are: that is how they come malformed.

    ``delay`` seconds pass before the first byte and ``pace`` between pieces of ``piece`` characters.
    ``usage`` None counts characters; ``without_usage`` sends none.  ``raw`` replaces the whole body.
    """

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, JsonValue] | str], ...] = ()
    stop: StopReason | None = None
    delay: float = 0.0
    status: int = 200
    raw: bytes | str | None = None
    usage: Usage | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    reasoning: str = ""
    signature: str = ""
    ids: tuple[str, ...] | None = None
    """The calls' ids; None makes unique ones, '' leaves an id out."""
    pace: float = 0.0
    piece: int = 24
    broken: Break | None = None
    without_usage: bool = False
    failure: Failure | None = None

    @property
    def stop_reason(self) -> StopReason:
        """Why the answer ends, derived where the script does not say."""
        return self.stop or ("tool_use" if self.calls else "end")

    @classmethod
    def error(
        cls,
        status: int,
        message: str = "",
        *,
        type: str = "",
        code: str | None = None,
        retry_after: float | None = None,
        delay: float = 0.0,
    ) -> Self:
        """A refusal with a body like a provider's own; the words are chosen by ``status`` where none are given."""
        headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
        return cls(status=status, headers=headers, delay=delay, failure=Failure(message, type, code))

    @classmethod
    def stall_after(
        cls, pieces: int, text: str = "This sentence will never be finished, because the stream stalls."
    ) -> Self:
        """A stream that sends ``pieces`` pieces of text and then nothing; without streaming, no byte at all."""
        return cls(text=text, broken=Break("stall", pieces))

    @classmethod
    def reset_after(
        cls, pieces: int, text: str = "This sentence will never be finished, because the line drops."
    ) -> Self:
        """A connection dropped after ``pieces`` pieces; without streaming, before the answer."""
        return cls(text=text, broken=Break("reset", pieces))

    @classmethod
    def error_after(cls, pieces: int, text: str = "This sentence will never be finished, because of an error.") -> Self:
        """A stream that ends in the provider's own error event."""
        return cls(text=text, broken=Break("error", pieces))
