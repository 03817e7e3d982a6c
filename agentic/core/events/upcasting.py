"""Events of older versions, read as if today's had written them; and what only newer versions may touch.

Most changes need nothing of this: fields are only added, with defaults, and unknown ones are ignored.  Where a shape has
to change for good, ``SCHEMA`` counts up and a function here brings the raw JSON from the version before to the next; each
does one step and is never changed once it is released.  Old rows stay as they were written.

The other way round, a version that is too old must not go on with what it would misread.  A kind or a value that it does
not know it cannot read at all, and says so.  But an unknown *field* is ignored: where that would be wrong (a side question
would be taken for a task, say), ``READER`` counts up and ``SINCE`` names the events.  A store that holds one of them
refuses leases to older readers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from agentic.core.events.execution_events import (
    EVENT,
    SCHEMA,
    Envelope,
    Event,
)

Raw = dict[str, JsonValue]
"""An event as JSON."""

UPCASTERS: dict[int, Callable[[Raw], Raw]] = {}
"""By the version they start from: what makes its events those of the next version."""

READER = 1
"""What this version can read rightly; a lease is given to readers of at least what the store holds."""


class ShapeUnknown(ValueError):
    """Events of a version that is not known here; the message says which, and why."""


@dataclass(frozen=True, slots=True)
class ReaderVersion:
    """What a version can read, and which events older ones would misread."""

    reader: int = READER
    since: tuple[tuple[int, Callable[[Event], bool]], ...] = ()
    """(reader, whether an event needs at least that one)."""

    def needs(self, events: Iterable[Event]) -> int:
        """The smallest reader that reads all of them rightly."""
        if not self.since:
            return 1
        return max((reader for event in events for reader, misread in self.since if misread(event)), default=1)


READING = ReaderVersion()


def read_event(text: str | bytes, version: int = SCHEMA) -> Event:
    """An event from the JSON that ``version`` wrote.  Raises ``ShapeUnknown``."""
    try:
        if version == SCHEMA:
            return EVENT.validate_json(text)
        return EVENT.validate_python(_raised(json.loads(text), version))
    except ValidationError as error:
        raise ShapeUnknown(_unknown(error)) from error


def read_envelope(text: str | bytes) -> Envelope:
    """An envelope from a line of JSON of any version, at today's.  Raises ``ShapeUnknown``."""
    raw = json.loads(text)
    version = raw.get("schema_version", SCHEMA)
    try:
        raised = {**raw, "event": _raised(raw["event"], version), "schema_version": SCHEMA}
        return Envelope.model_validate_json(json.dumps(raised))
    except ValidationError as error:
        raise ShapeUnknown(_unknown(error)) from error


def _raised(raw: Raw, version: int) -> Raw:
    if version > SCHEMA:
        raise ShapeUnknown(f"version {version} of its shapes, this one knows {SCHEMA}")
    for step in range(version, SCHEMA):
        if step not in UPCASTERS:
            raise ShapeUnknown(f"version {step} of its shapes, which was never released")
        raw = UPCASTERS[step](raw)
    return raw


def _unknown(error: ValidationError) -> str:
    """The first thing that is not as it is known here."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
