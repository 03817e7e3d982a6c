"""`threadwright replay EXECUTION --request REQ`: show a request to a model word for word, and check that it is the one
sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

from agentic.core.events.execution_events import Envelope, ModelRequested
from agentic.core.state.conversation import Message
from agentic.ports.runtime import Store
from agentic.runtime.request_refs import (
    NotStored,
    Sent,
    as_sent,
    requests_in,
)
from bot.cli.console import fail, note, say

EXACT = "This is the request exactly as it was sent; its history matches the recorded hash."
OTHER = (
    "The history is NOT exactly what was sent: this version builds it differently. System text, tools and tail are "
    "unchanged."
)


async def show_request(store: Store, log: Sequence[Envelope], wanted: str) -> int:
    """Print one request, or with ``list`` a line for each; 0 where it is shown as it was sent."""
    if wanted == "list":
        for event in requests_in(log):
            say(line_of(event))
        note("\n`threadwright replay EXECUTION --request REQUEST` shows one of them as it was sent.")
        return 0
    try:
        sent = await as_sent(store, log, wanted)
    except NotStored as missing:
        return fail(f"This request cannot be shown: {missing}. `--request list` names all of them.")
    for part in parts_of(sent):
        say(part)
    say(EXACT if sent.exact else OTHER)
    return 0 if sent.exact else 1


def line_of(event: ModelRequested) -> str:
    """Return a request in a line."""
    return f"{event.request}  turn {event.turn}  {event.purpose:<8} attempt {event.attempt}  tier {event.tier}  {event.model}"


def parts_of(sent: Sent) -> Iterator[str]:
    """Yield the parts of the request in the order in which they were sent, each under a heading."""
    yield f"=== request {line_of(sent.event)}"
    yield f"=== system\n{sent.prompt.system}"
    for spec in sent.prompt.tools:
        yield f"=== tool {spec.name}\n{spec.description}\n{orjson.dumps(spec.parameters).decode()}"
    for number, message in enumerate(sent.prompt.messages, 1):
        yield from _message(number, message)
    if sent.prompt.tail:
        yield f"=== after the history, never cached\n{sent.prompt.tail}"


def _message(number: int, message: Message) -> Iterator[str]:
    said = f"=== message {number}, {message.role}"
    for provider, text, _ in message.reasoning:
        yield f"{said}, reasoning for {provider}\n{text or '(encrypted)'}"
    for answer in message.answers:
        failed = ", failed" if answer.failed else ""
        yield f"{said}, result of {answer.tool} ({answer.provider_id}){failed}\n{answer.text}"
    if message.text:
        yield f"{said}\n{message.text}"
    for call in message.calls:
        yield f"{said}, call of {call.tool} ({call.provider_id})\n{orjson.dumps(call.arguments).decode()}"
