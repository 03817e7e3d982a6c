"""A request as it was sent, rebuilt from the log: system text and tools from their blobs, the history by folding.

``Segments.history_sha`` says whether the history comes out the same; where a newer version tells it in other words, it
does not, and that is said rather than shown as if it had been sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.conversation import Prompt
from agentic.core.events import Envelope, ModelRequested
from agentic.core.evolving import evolve
from agentic.core.execution import Execution
from agentic.core.lazy_dataclass import dataclass
from agentic.ports import Store
from agentic.segments import chain_of, prompt_for, specs_in


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
    messages = prompt_for(execution, specs, event.purpose).messages
    prompt = Prompt(system=system.decode(), tools=specs, messages=messages, tail=segments.tail)
    return Sent(event, prompt, exact=chain_of(messages) == segments.history_sha)
