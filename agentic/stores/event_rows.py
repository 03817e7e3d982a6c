"""Events as rows, and back: compact columns, the event's JSON, a checksum over all of it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import cast

from agentic.core.events.execution_events import Envelope
from agentic.core.events.upcasting import ShapeUnknown, read_event
from agentic.ports.errors import StoreCorrupt, StoreTooNew
from agentic.ports.maintenance import EVENT_FIELDS, EventRow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

COLUMNS = ", ".join(EVENT_FIELDS)


def to_row(envelope: Envelope) -> EventRow:
    """An envelope as a row of its execution."""
    # Not EVENT.dump_json: the same bytes, but the event's own serialiser need not look for its member of the union.
    event = envelope.event.__pydantic_serializer__.to_json(envelope.event).decode()
    at = micros(envelope.at)
    checksum = _checksum(
        envelope.execution,
        envelope.seq,
        at,
        envelope.fence,
        envelope.schema_version,
        envelope.cause,
        envelope.build,
        event,
    )
    return (
        envelope.seq,
        at,
        envelope.fence,
        envelope.schema_version,
        checksum,
        envelope.cause,
        envelope.build,
        event,
    )


def to_envelope(execution: str, row: Sequence[object]) -> Envelope:
    """A row as an envelope of today's shapes.

    Raises ``StoreCorrupt`` if it is not what was written, and ``StoreTooNew`` if it holds what only newer versions know.
    """
    seq, at, fence, version, checksum, cause, build, event = cast(EventRow, row)
    place = f"event {execution}/{seq}"
    if _checksum(execution, seq, at, fence, version, cause, build, event) != checksum:
        raise StoreCorrupt(f"{place} does not match its checksum: restore the database from a backup")
    try:
        read = read_event(event, version)
    except ShapeUnknown as unknown:
        # It is just what was written, so it is not damaged: another version wrote it.
        raise StoreTooNew(f"{place} was written by a newer Threadwright ({unknown}): update Threadwright") from unknown
    return Envelope(execution=execution, seq=seq, at=moment(at), fence=fence, event=read, cause=cause, build=build)


def micros(at: datetime) -> int:
    """Microseconds since 1970, exactly."""
    return (at - _EPOCH) // _MICROSECOND


def moment(at: int) -> datetime:
    """The moment that many microseconds after 1970."""
    return _EPOCH + at * _MICROSECOND


def _checksum(execution: str, seq: int, at: int, fence: int, version: int, cause: str, build: str, event: str) -> int:
    head = f"{execution}\0{seq}\0{at}\0{fence}\0{version}\0{cause}\0{build}\0"
    return zlib.crc32(event.encode(), zlib.crc32(head.encode()))
