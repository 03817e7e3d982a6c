"""How long a request is: characters are counted here, and a provider's count of the last request makes tokens of them.

The fold keeps running sums, so that no rule walks the history to learn its length.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from agentic.core.events.execution_events import ModelRequested, Usage
from agentic.core.prompt.user_messages import answers_of
from agentic.core.state.conversation import Message, Picture
from agentic.core.state.execution import Execution, Extent
from agentic.core.state.replace import changed

USUAL = 0.25
"""Tokens a character, until a provider has counted."""
LEAST, MOST = 0.1, 1.0
"""A count outside of this is not believed."""
LONG_SIDE, PIXELS_A_TOKEN = 1568, 750
"""Of pictures, as Anthropic counts them; others count as much or less."""
AROUND = 40
"""Characters that stand around each part of a message."""


def characters(messages: Iterable[Message]) -> int:
    """About how many characters these messages are sent as."""
    return sum([_message(message) for message in messages])


def picture(shown: Picture) -> int:
    """About how many characters a picture costs as much as; providers make the long side of larger ones smaller."""
    if not shown.width:
        return 0
    scale = min(1.0, LONG_SIDE / max(shown.width, shown.height))
    tokens = shown.width * shown.height * scale * scale / PIXELS_A_TOKEN
    return int(tokens / USUAL) + AROUND


def pending(execution: Execution) -> int:
    """Characters that the next request adds to the history."""
    turn = execution.turn
    answers = answers_of(turn) if turn.answered else ()
    said = sum(map(len, execution.told.texts)) + sum(map(picture, execution.told.pictures))
    return sum(len(answer.text) + AROUND for answer in answers) + said


def requested(extent: Extent, event: ModelRequested, history: int) -> Extent:
    """A request is under way, over a history of so many characters."""
    segments = event.segments
    rest = segments.system.size + segments.tools.size + len(segments.tail) if segments is not None else extent.rest
    return changed(extent, history=history, rest=rest, asked=rest + history)


def answered(extent: Extent, usage: Usage, added: int) -> Extent:
    """The provider has counted the request, and the answer adds to the history."""
    return changed(
        extent,
        history=extent.history + added,
        characters=extent.asked,
        tokens=usage.input + usage.cache_read + usage.cache_write,
    )


def rate(execution: Execution) -> float:
    """Tokens a character, as the provider counted the last request."""
    extent = execution.extent
    counted = extent.tokens / extent.characters if extent.characters else USUAL
    return counted if LEAST <= counted <= MOST else USUAL


def history_tokens(execution: Execution) -> int:
    """Tokens of the history, with what the next request adds to it."""
    return int((execution.extent.history + pending(execution)) * rate(execution))


def request_tokens(execution: Execution) -> int:
    """Tokens of the next request."""
    return int((execution.extent.rest + execution.extent.history + pending(execution)) * rate(execution))


def window(execution: Execution, model: str) -> int | None:
    """Tokens that a model reads, less what it needs to answer; None where that is not known."""
    size = execution.policy.windows.get(model)
    return None if size is None else size - min(execution.policy.answer_tokens, size // 4)


def _message(message: Message) -> int:
    count = AROUND + len(message.text)
    for shown in message.pictures:
        count += picture(shown)
    for answer in message.answers:
        count += AROUND + len(answer.text)
    for call in message.calls:
        count += AROUND + len(call.tool) + _value(call.arguments)
    for _, text, opaque in message.reasoning:
        count += len(text) + len(opaque)
    return count


def _value(value: JsonValue) -> int:
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, dict):
        return sum([len(name) + 4 + _value(one) for name, one in value.items()])
    if isinstance(value, list):
        return sum([1 + _value(one) for one in value])
    return 5
