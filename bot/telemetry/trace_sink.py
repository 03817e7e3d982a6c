"""A sink that has traces and metrics made of what happens: it notes each event, and a task of its own does the rest.

What the process has not seen of an execution is read from its log, when the first event of somebody else's work comes.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Protocol

from agentic.core.events.execution_events import Envelope, Finished, HandedOver, Started
from agentic.core.events.ids import span_id
from agentic.ports.errors import StoreError
from bot.telemetry import names
from bot.telemetry.execution_spans import EndedSpan, ExecutionSpans, Mask, Value
from bot.telemetry.names import Metric

EVENTS = 2_048
"""Events that wait to be read at most."""
KNOWN = 1_024
"""Executions that are remembered between two events; of others the log is read again."""
READ_SECONDS = 20.0
"""So long reading a log may take."""
AT_ONCE = 64
"""Events that are read before others get a turn."""

log = logging.getLogger(__name__)


class Export(Protocol):
    """Where spans and metrics go."""

    def tell(self, span: EndedSpan) -> None:
        """Take a span, and count it."""
        ...

    def count(self, metric: Metric, value: float, attributes: Mapping[str, Value]) -> None:
        """Add to a metric."""
        ...

    def close(self) -> None:
        """Send what waits; blocks."""
        ...


class TraceSink:
    """Notes events from the beginning; they are read once ``run`` runs."""

    def __init__(self, read: Callable[[str], AsyncIterator[Envelope]], mask: Mask | None = None) -> None:
        self._read, self._mask = read, mask
        self._events: asyncio.Queue[Envelope] = asyncio.Queue(EVENTS)
        self._known: OrderedDict[str, ExecutionSpans] = OrderedDict()
        self.shut = False
        """Nothing is traced any more."""
        self.dropped = 0
        """Events for which there was no room."""
        self._told = 0

    def saw(self, envelope: Envelope) -> None:
        """Note an event; where too many wait it is dropped."""
        if self.shut:
            return
        try:
            self._events.put_nowait(envelope)
        except asyncio.QueueFull:
            if not self.dropped:
                log.warning(
                    "events come faster than traces are made of them: what finds no room is dropped and counted"
                )
            self.dropped += 1

    def streamed(self, execution: str, text: str) -> None:
        """Ignore streamed text."""

    def end(self) -> None:
        """Note nothing more, and let go of what waits."""
        self.shut = True
        while not self._events.empty():
            self._events.get_nowait()

    async def run(self, export: Export) -> None:
        """Make spans of events and have them told, until cancelled; what waits then is read by ``rest``."""
        while True:
            await self._take(await self._events.get(), export)
            for _ in range(min(AT_ONCE, self._events.qsize())):
                await self._take(self._events.get_nowait(), export)
            await asyncio.sleep(0)

    async def rest(self, export: Export) -> None:
        """Read what waits, at the end."""
        while not self._events.empty():
            await self._take(self._events.get_nowait(), export)

    async def _take(self, envelope: Envelope, export: Export) -> None:
        if self.dropped > self._told:
            export.count(names.DROPPED, self.dropped - self._told, {names.SIGNAL: "events"})
            self._told = self.dropped
        try:
            async with asyncio.timeout(READ_SECONDS):
                spans = await self._spans(envelope)
            for span in spans.saw(envelope):
                export.tell(span)
        except (StoreError, TimeoutError) as error:
            log.info(
                "execution %s is not traced now: %s", envelope.execution, error or "its log takes too long to read"
            )
        except Exception:  # a bug: others are traced, and nothing else depends on it
            log.exception("a fault of ours: an event of execution %s is not traced", envelope.execution)
        if isinstance(envelope.event, Finished | HandedOver):
            self._known.pop(envelope.execution, None)

    async def _spans(self, envelope: Envelope) -> ExecutionSpans:
        """The spans of an execution, as they were before this event.  Raises ``StoreError``."""
        name = envelope.execution
        spans = self._known.get(name)
        if spans is None:
            spans = ExecutionSpans(name, self._parent_of, self._mask)
            if not isinstance(envelope.event, Started):
                async for earlier in self._read(name):
                    if earlier.seq >= envelope.seq:
                        break
                    spans.saw(earlier)  # whoever saw it has told what ended by it
            self._known[name] = spans
            while len(self._known) > KNOWN:
                self._known.popitem(last=False)
        self._known.move_to_end(name)
        return spans

    def _parent_of(self, parent: str, child: str) -> str:
        spans = self._known.get(parent)
        return spans.of_child(child) if spans is not None else span_id(parent, 1)
