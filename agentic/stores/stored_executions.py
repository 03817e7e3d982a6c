"""Executions verbatim, as they go from one store to another: are they as they were written, and are two of them one."""

from __future__ import annotations

from agentic.core.events.execution_events import Envelope
from agentic.ports.errors import StoreCorrupt, StoreError
from agentic.ports.maintenance import EventRow, StoredExecution
from agentic.stores.event_rows import to_envelope

IMPORTED = "imported"
"""What stands in the place of its end for an execution that was open where it came from: nobody takes it up here."""


class OtherContent(StoreError):
    """What is to come in bears the name of something else that is there."""


def streams(stored: StoredExecution) -> tuple[list[Envelope], list[Envelope]]:
    """Its log and its outcome, each event held against its checksum."""
    log, outcome = ([to_envelope(stored.name, row) for row in rows] for rows in (stored.events, stored.outcomes))
    return log, outcome


def problems(stored: StoredExecution) -> list[StoreError]:
    """Events that do not match their checksum, and places that are empty."""
    found: list[StoreError] = []
    for row in (*stored.events, *stored.outcomes):
        try:
            to_envelope(stored.name, row)
        except StoreCorrupt as corrupt:
            found.append(corrupt)
    if [row[0] for row in stored.events] != list(range(1, len(stored.events) + 1)):
        found.append(StoreCorrupt(f"events are missing from the log of {stored.name}"))
    return found


def missing(known: StoredExecution, coming: StoredExecution) -> tuple[EventRow, ...]:
    """What of the outcome of the same execution is not known: its log is the same, one outcome begins with the other.

    Raises ``OtherContent`` where it is another execution.
    """
    shorter = min(len(known.outcomes), len(coming.outcomes))
    same = (known.execution[:4], known.events) == (coming.execution[:4], coming.events)
    if not same or known.outcomes[:shorter] != coming.outcomes[:shorter]:
        raise OtherContent(
            f"there is an execution {coming.name} here already, and it is another one; it was left as it is"
        )
    return coming.outcomes[shorter:]


def being_deleted(name: str) -> OtherContent:
    """Its log is being deleted, and has to be gone first."""
    return OtherContent(f"the log of execution {name} is being deleted here: start the bot once, then import it again")
