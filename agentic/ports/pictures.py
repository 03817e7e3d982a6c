"""Messages with the pictures that go with them, as adapters send them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agentic.core.state.conversation import Message


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as it is sent: its media type, and its bytes as base64."""

    media: str
    data: str


@dataclass(frozen=True, slots=True)
class PicturedMessage(Message):
    """A person's message with its pictures filled in, for a model that can see."""

    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Sight:
    """Reads pictures, and knows which models can see them."""

    read: Callable[[str, str, int], Awaitable[bytes | None]]
    """A file of a thread's workspace, at most so many bytes; None where it cannot be read."""
    sees: Callable[[str], bool]
    """Whether a model, by its name, takes pictures."""


def images_of(message: Message) -> tuple[Image, ...]:
    """The pictures that are sent with a message."""
    return message.images if isinstance(message, PicturedMessage) else ()
